"""A signed package repository in a folder: real packages and the real apt, but no network."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from elf_files import write_library


@dataclass(frozen=True)
class SigningKey:
    """A key of GnuPG without a passphrase.

    Attributes
    ----------
    home : GnuPG's folder with the private key.
    public : the keyring with which signatures are verified.
    """

    home: Path

    @property
    def public(self) -> Path:
        return self.home / "public.gpg"

    def armored(self) -> str:
        """Return the public key as text."""
        return _gpg(self.home, "--armor", "--export").decode()

    def sign(self, text: str) -> bytes:
        """Return a text with its signature, as ``InRelease`` has it."""
        return _gpg(self.home, "--clearsign", "--digest-algo", "SHA512", text=text)


@contextmanager
def new_key() -> Iterator[SigningKey]:
    """Make a key; its folder is short, because the path of a socket has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="key-", dir="/tmp") as folder:
        key = SigningKey(Path(folder))
        _gpg(key.home, "--quick-generate-key", "Test <test@example.org>", "ed25519", "sign", "never")
        try:
            key.public.write_bytes(_gpg(key.home, "--export"))
            yield key
        finally:
            stop = ["gpgconf", "--homedir", folder, "--kill", "all"]
            subprocess.run(stop, check=False, capture_output=True)


def _gpg(home: Path, *arguments: str, text: str = "") -> bytes:
    options = [
        "--homedir",
        str(home),
        "--batch",
        "--quiet",
        "--pinentry-mode",
        "loopback",
        "--passphrase",
        "",
    ]
    return subprocess.run(
        ["gpg", *options, *arguments], input=text.encode(), check=True, capture_output=True
    ).stdout


@dataclass
class Repository:
    """A folder of packages with the index that apt reads.

    Attributes
    ----------
    folder : where it is; it is made, with an empty index.
    key : the key that signs the index.
    """

    folder: Path
    key: SigningKey
    _stanzas: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.publish()

    @property
    def source(self) -> str:
        """The line that names it in apt's list of sources."""
        return f"deb [signed-by={self.key.public}] file:{self.folder} ./"

    def clear(self) -> None:
        """Remove all packages from the index."""
        self._stanzas.clear()
        self.publish()

    def publish(self, until: datetime | None = None) -> None:
        """Write the index and sign it; `until` is the end of its validity."""
        index = "\n".join(self._stanzas.values()).encode()
        (self.folder / "Packages").write_bytes(index)
        release = f"Date: {_date(datetime.now(UTC))}\n" + (f"Valid-Until: {_date(until)}\n" if until else "")
        release += f"SHA256:\n {hashlib.sha256(index).hexdigest()} {len(index)} Packages\n"
        (self.folder / "InRelease").write_bytes(self.key.sign(release))

    def add(self, name: str, version: str, files: dict[str, Path | str], depends: str = "") -> Path:
        """Build a package out of `files` and put it into the index.

        `files`: by its path in the package a file, the target of a link, or "" for a pipe.
        """
        work = self.folder / "work"
        for target, file in files.items():
            (work / target).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(file, Path):
                shutil.copyfile(file, work / target)
            elif file:
                (work / target).symlink_to(file)
            else:
                os.mkfifo(work / target)
        control = (
            f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody <n@example.org>\n"
        )
        control += (f"Depends: {depends}\n" if depends else "") + "Description: made for a test\n"
        (work / "DEBIAN").mkdir(parents=True)
        (work / "DEBIAN" / "control").write_text(control)
        archive = self.folder / f"{name}_{version.replace(':', '%3a')}_all.deb"
        build = ["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(work), str(archive)]
        subprocess.run(build, check=True, capture_output=True)
        shutil.rmtree(work)
        data = archive.read_bytes()
        self._stanzas[archive.name] = (
            f"{control}Filename: ./{archive.name}\nSize: {len(data)}\n"
            f"SHA256: {hashlib.sha256(data).hexdigest()}\n"
        )
        self.publish()
        return archive

    def add_swiftshader(self, version: str, **others: Path | str) -> Path:
        """Add a package with the files of Chromium's that make SwiftShader and its runtime.

        `others`: files in place of the ``driver`` or of the ``manifest``, as `add` takes them.
        """
        library = write_library(self.folder / "lib.so", "libvk_swiftshader.so")
        folder = "usr/lib/chromium"
        files: dict[str, Path | str] = dict.fromkeys(
            (
                f"{folder}/libvk_swiftshader.so",
                f"{folder}/libvulkan.so.1",
                f"{folder}/libVkLayer_khronos_validation.so",
                f"{folder}/a-large-browser",
            ),
            library,
        )
        manifest = self._manifest("./libvk_swiftshader.so")
        files[f"{folder}/vk_swiftshader_icd.json"] = others.get("manifest", manifest)
        files[f"{folder}/libvk_swiftshader.so"] = others.get("driver", library)
        return self.add("chromium-common", version, files)

    def add_lavapipe(self, version: str, needed: tuple[str, ...] = (), depends: str = "") -> Path:
        """Add a package with the files of Mesa's that make lavapipe, and a driver for a GPU."""
        library = write_library(self.folder / "lvp.so", "libvulkan_lvp.so", needed)
        files: dict[str, Path | str] = {
            "usr/lib/x86_64-linux-gnu/libvulkan_lvp.so": library,
            "usr/lib/x86_64-linux-gnu/libvulkan_radeon.so": library,
            "usr/share/vulkan/icd.d/lvp_icd.x86_64.json": self._manifest("/usr/lib/libvulkan_lvp.so"),
        }
        return self.add("mesa-vulkan-drivers", version, files, depends)

    def add_library(self, package: str, soname: str, needed: tuple[str, ...] = (), depends: str = "") -> Path:
        """Add a package with one library."""
        library = write_library(self.folder / "dep.so", soname, needed)
        return self.add(package, "1.0-1", {f"usr/lib/x86_64-linux-gnu/{soname}": library}, depends)

    def _manifest(self, library: str) -> Path:
        path = self.folder / "icd.json"
        icd = {"library_path": library, "api_version": "1.3.0"}
        path.write_text(json.dumps({"file_format_version": "1.0.0", "ICD": icd}))
        return path


def _date(moment: datetime) -> str:
    return moment.strftime("%a, %d %b %Y %H:%M:%S UTC")
