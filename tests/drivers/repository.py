"""A package repository in a folder: real packages and the real apt, but no network."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from elf_files import write_library


@dataclass
class Repository:
    """A folder of packages with the index that apt reads.

    Attributes
    ----------
    folder : where it is.
    """

    folder: Path
    _stanzas: dict[str, str] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """The line that names it in apt's list of sources."""
        return f"deb [trusted=yes] file:{self.folder} ./"

    def add(self, name: str, version: str, files: dict[str, Path], depends: str = "") -> Path:
        """Build a package out of `files` (path in the package: file) and put it into the index."""
        work = self.folder / "work"
        for target, file in files.items():
            (work / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, work / target)
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
        (self.folder / "Packages").write_text("\n".join(self._stanzas.values()))
        return archive

    def add_swiftshader(self, version: str) -> Path:
        """Add a package with the files of Chromium's that make SwiftShader and its runtime."""
        library = write_library(self.folder / "lib.so", "libvk_swiftshader.so")
        folder = "usr/lib/chromium"
        files = dict.fromkeys(
            (
                f"{folder}/libvk_swiftshader.so",
                f"{folder}/libvulkan.so.1",
                f"{folder}/libVkLayer_khronos_validation.so",
                f"{folder}/a-large-browser",
            ),
            library,
        )
        files[f"{folder}/vk_swiftshader_icd.json"] = self._manifest("./libvk_swiftshader.so")
        return self.add("chromium-common", version, files)

    def add_lavapipe(self, version: str, needed: tuple[str, ...] = (), depends: str = "") -> Path:
        """Add a package with the files of Mesa's that make lavapipe, and a driver for a GPU."""
        library = write_library(self.folder / "lvp.so", "libvulkan_lvp.so", needed)
        files = {
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
