"""Reading of bundles: all files that a host without network needs, in one folder below 100 MB.

::

    manifest.json      list of all files in the bundle, with size and SHA-256 of each
    wheels.tar.xz      vkgroup and its dependencies for each supported Python, and pip
    libvulkan.so.1     the Vulkan loader
    libGLdispatch.so.0, libEGL.so.1
                       libraries that NVIDIA's driver opens without a display
    drivers/           the requested software drivers
    compilers/         the requested compilers

`vkgroup.bootstrap.making` creates bundles. This module uses only the standard library.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vkgroup.base.archives import DamagedArchive, extract_files
from vkgroup.base.files import is_inside, read_text, require_regular
from vkgroup.bootstrap.environment import SetupError

FORMAT = 1
MANIFEST = "manifest.json"
WHEELS = "wheels.tar.xz"
DRIVERS = "drivers"
COMPILERS = "compilers"
LIBRARIES = ("libvulkan.so.1", "libGLdispatch.so.0", "libEGL.so.1")


def check(folder: Path) -> None:
    """Check that a bundle is complete and made for this host.

    Raises SetupError: `folder` is not a bundle, is damaged, or was made for other hosts.
    """
    try:
        manifest = json.loads(read_text(folder / MANIFEST))
        files = {name: (entry["size"], entry["sha256"]) for name, entry in manifest["files"].items()}
        pythons, machine = list(map(str, manifest["python"])), str(manifest["machine"])
        usable = manifest["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SetupError(
            f"{folder} is not a bundle of vkgroup ({error}). Create one with `make bundle`."
        ) from error
    if not usable:
        raise SetupError(
            f"{folder} was made by another version of vkgroup. Create it again with this version."
        )
    unlisted = {WHEELS, *LIBRARIES} - files.keys()
    if unlisted:
        raise SetupError(f"{folder / min(unlisted)} is not in the bundle's list. Create the bundle again.")
    for name, (size, digest) in files.items():
        path = folder / name
        if not is_inside(path, folder) or not path.is_file():
            raise SetupError(f"{path} is damaged or missing. Copy the bundle again.")
        if path.stat().st_size != size or sha256(path) != digest:
            raise SetupError(f"{path} is damaged or missing. Copy the bundle again.")
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    if here not in pythons:
        raise SetupError(
            f"The bundle has wheels for Python {', '.join(pythons)}, not for {here}. "
            "Choose another Python: make PYTHON=python3.12 …"
        )
    if platform.machine() != machine:
        raise SetupError(f"The bundle was made for {machine}, but this host is {platform.machine()}.")


@contextmanager
def unpacked_wheels(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder with the bundle's wheels, from which pip can install."""
    with tempfile.TemporaryDirectory(prefix="vkgroup-wheels-") as temporary:
        try:
            extract_files(folder / WHEELS, Path(temporary))
        except DamagedArchive as error:
            raise SetupError(
                f"{folder / WHEELS} cannot be unpacked: {error}. Create the bundle again."
            ) from error
        yield Path(temporary)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; raise OSError for a device, a pipe or a socket."""
    require_regular(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
