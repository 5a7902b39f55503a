"""Creation of a bundle, with network: ``python -m vkgroup.bootstrap.making FOLDER [DRIVER…]``.

The wheels are stored uncompressed in one compressed archive, because they have much common content (NumPy's
BLAS for each Python, glslang's libraries under three names). This reduces 80 MB of compressed wheels to 21
MB. The files in the wheels are unchanged.
"""

from __future__ import annotations

import json
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from vkgroup import drivers
from vkgroup.base.errors import DriverFetchError, VkgroupError
from vkgroup.bootstrap.bundle import COMPILERS, DRIVERS, FORMAT, MANIFEST, WHEELS, sha256
from vkgroup.bootstrap.environment import SetupError, say
from vkgroup.drivers.compilers import pack_compilers

_COMPILER = "compiler:"
"""Beginning of the names of compilers on the command line."""

PYTHONS = ("3.11", "3.12", "3.13")
SIZE_LIMIT = 100_000_000
"""Maximum size of a bundle in bytes."""

# The dictionary must be larger than two wheels of NumPy, which have 50 MB each without compression.
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 128 << 20, "mf": lzma.MF_HC4}]
# pip accepts only wheels of the listed platforms; 2.31 is the C library of Debian 11.
_MANYLINUX = ("1", "2010", "2014", *(f"_2_{minor}" for minor in (5, 12, 17, 24, 26, 27, 28, 31)))


def make(root: Path, folder: Path, drivers: Sequence[str], compilers: Sequence[str] = ()) -> int:
    """Create a bundle of drivers and compilers, replacing an older one; return its size in bytes.

    Runs in the clone's virtual environment, with network.

    Raises SetupError: a file could not be fetched, or the bundle would exceed `SIZE_LIMIT`.
    """
    with tempfile.TemporaryDirectory(prefix="bundle-", dir=folder.resolve().parent) as temporary:
        work, wheels = Path(temporary) / "bundle", Path(temporary) / "wheels"
        (work / DRIVERS).mkdir(parents=True)
        wheels.mkdir()
        _collect_wheels(root, wheels)
        say("packing the wheels")
        _pack_wheels(wheels, work / WHEELS)
        _add_drivers(work, drivers)
        if compilers:
            say(f"fetching {' and '.join(compilers)}")
            pack_compilers(compilers, work / COMPILERS)
        _add_companions(work)
        size = _write_manifest(work, wheels)
        if size > SIZE_LIMIT:
            raise SetupError(
                f"The bundle would have {size / 1e6:.1f} MB, but the limit is {SIZE_LIMIT / 1e6:.0f} MB. "
                "Choose fewer drivers; swiftshader is the smallest (5 MB)."
            )
        if folder.exists():
            if not (folder / MANIFEST).is_file():
                raise SetupError(f"{folder} already exists and is not a bundle. Choose another folder.")
            shutil.rmtree(folder)
        work.rename(folder)
    return size


def _collect_wheels(root: Path, wheels: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    # An editable installation also needs the build requirements and pip.
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"], "editables", "pip"]
    say("building vkgroup's own wheel")
    _pip("wheel", "--no-deps", "--wheel-dir", str(wheels), str(root))
    constraints = wheels / "constraints.txt"
    constraints.write_text("", encoding="utf-8")
    for version in PYTHONS:
        say(f"fetching wheels for Python {version}")
        options = ["--only-binary", ":all:", "--python-version", version, "--implementation", "cp"]
        for tag in _MANYLINUX:
            options += ["--platform", f"manylinux{tag}_{platform.machine()}"]
        options += ["--constraint", str(constraints), "--dest", str(wheels)]
        _pip("download", *options, *wanted)
        # Use the same versions for every Python, so that common content compresses well.
        pairs = sorted({tuple(path.name.split("-")[:2]) for path in wheels.glob("*.whl")})
        constraints.write_text("".join(f"{name}=={number}\n" for name, number in pairs), encoding="utf-8")
    constraints.unlink()


def _pip(command: str, *arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", command, "--quiet", *arguments], check=False)
    if done.returncode:
        raise SetupError(f"`pip {command}` failed (see its messages above). Check the network connection.")


def _pack_wheels(wheels: Path, archive: Path) -> None:
    with lzma.open(archive, "w", filters=_FILTERS) as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
        for path in sorted(wheels.glob("*.whl")):
            _store(path)
            tar.add(path, arcname=path.name)


def _store(wheel: Path) -> None:
    """Rewrite a wheel without compression, with its files sorted by name."""
    stored = wheel.with_suffix(".stored")
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(stored, "w", zipfile.ZIP_STORED) as new:
        for entry in sorted(old.infolist(), key=lambda entry: entry.filename):
            new.writestr(entry, old.read(entry), zipfile.ZIP_STORED)
    os.replace(stored, wheel)


def _add_drivers(work: Path, names: Sequence[str]) -> None:
    chosen = []
    for name in names:
        say(f"fetching {name} with all its libraries")
        chosen.append(drivers.fetch(name, self_contained=True))
    for driver in chosen:
        say(f"packing {driver.name}")
        drivers.pack(driver, work / DRIVERS)
    if not chosen:
        say("fetching a Vulkan loader")
        try:
            chosen.append(drivers.fetch("swiftshader"))
        except DriverFetchError:
            chosen.append(drivers.fetch("lavapipe"))
    shutil.copyfile(chosen[0].loader, work / drivers.LOADER)


def _add_companions(work: Path) -> None:
    say("fetching the libraries that NVIDIA's driver opens")
    with tempfile.TemporaryDirectory() as temporary:
        unpacked = drivers.fetch_package(["libglvnd0", "libegl1"], Path(temporary), dependencies=False)
        for name in drivers.COMPANIONS:
            shutil.copyfile(next(unpacked.rglob(name)), work / name)


def _write_manifest(work: Path, wheels: Path) -> int:
    files = {
        path.relative_to(work).as_posix(): {"size": path.stat().st_size, "sha256": sha256(path)}
        for path in sorted(p for p in work.rglob("*") if p.is_file())
    }
    manifest = {
        "format": FORMAT,
        "python": PYTHONS,
        "machine": platform.machine(),
        "wheels": {path.name: sha256(path) for path in sorted(wheels.glob("*.whl"))},
        "files": files,
    }
    (work / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return sum(path.stat().st_size for path in work.rglob("*") if path.is_file())


def main(arguments: Sequence[str]) -> int:
    """Create the bundle of the command line; return the exit code."""
    folder, names = Path(arguments[0]), arguments[1:]
    compilers = [name.removeprefix(_COMPILER) for name in names if name.startswith(_COMPILER)]
    chosen = [name for name in names if not name.startswith(_COMPILER)]
    try:
        size = make(Path(__file__).resolve().parents[2], folder, chosen, compilers)
    except VkgroupError as error:
        print(f"vkgroup: {error}", file=sys.stderr)
        return 3
    say(f"{folder} has {size / 1e6:.1f} MB; on the other host: make conform OFFLINE={folder.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
