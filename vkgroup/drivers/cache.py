"""Known drivers with their packages, and the user's cache of drivers: folders, metadata, integrity.

A driver is one folder with all its files (library, ICD manifest, loader, validation layer and libraries that
the host lacks). Its ``driver.json`` describes them with relative paths, so the folder can be moved or packed
into a bundle unchanged.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import msgspec

from vkgroup.base.errors import DriverFetchError, InvalidInput
from vkgroup.base.files import cache_folder, require_regular
from vkgroup.base.suggestions import nearest
from vkgroup.drivers.gpus import why_absent

_FORMAT = 1

FORMAT_WITH_START = 2
"""Format of the metadata of a driver with its own C library; versions of vkgroup that know none ignore it."""

METADATA = "driver.json"
"""Metadata file in a driver's folder; written last."""
_TEMPORARY = "unfinished-"


@dataclass(frozen=True)
class Start:
    """Start of a process that loads a driver with its own C library; no other process can load the driver."""

    linker: Path  # the dynamic linker
    libraries: Path  # folder with the driver's libraries, among them the C library
    # the library that answers in place of the kernel's driver; None for a driver that executes
    shim: Path | None
    variable: str  # the environment variable that names the GPU; empty if there is only one GPU

    def command(self, program: Sequence[str]) -> list[str]:
        """Return the command that starts a program in such a process."""
        preload = [] if self.shim is None else ["--preload", str(self.shim)]
        return [str(self.linker), *preload, "--library-path", str(self.libraries), *program]


@dataclass(frozen=True)
class CachedDriver:
    """One driver in the user's cache."""

    name: str  # family and version, such as ``lavapipe-25.0.7``
    family: str  # a key of `FAMILIES`
    version: str  # the upstream version
    package: str  # the distribution's package and its full version
    folder: Path  # folder with all files of this driver
    icd: Path  # the ICD manifest, for ``VK_DRIVER_FILES``
    loader: Path  # its Vulkan loader (``libvulkan.so.1``)
    # folder with the manifest of the Khronos validation layer, for ``VK_LAYER_PATH``; None if the
    # distribution has no such layer
    layers: Path | None
    runtime: tuple[str, ...]  # the packages of its loader and validation layer
    # libraries that the host lacked; they must be loaded in this order before the loader opens the driver.
    # Empty on most hosts
    preload: tuple[Path, ...]
    size: int  # bytes on disk
    start: Start | None = None  # how a process starts that loads it; None if each process can

    @property
    def is_compile_only(self) -> bool:
        """Whether it compiles for absent GPUs, and executes nothing."""
        return self.start is not None and self.start.shim is not None


class _File(msgspec.Struct):
    """A file of a driver, as its folder was finished."""

    size: int
    modified: int
    sha256: str


class StartFiles(msgspec.Struct):
    """A `Start` with paths relative to the driver's folder."""

    linker: str
    libraries: str
    shim: str
    variable: str


class DriverMetadata(msgspec.Struct, kw_only=True):
    """The content of `METADATA`; paths are relative to the driver's folder."""

    family: str
    version: str
    package: str
    distribution: str = ""
    runtime: tuple[str, ...]
    icd: str
    loader: str
    layers: str | None
    preload: tuple[str, ...]
    format: int = _FORMAT
    files: dict[str, _File] = {}
    start: StartFiles | None = None


def drivers_folder() -> Path:
    """Return the folder that contains one folder per driver."""
    return cache_folder() / "drivers"


def write_metadata(folder: Path, metadata: DriverMetadata) -> None:
    """Write a driver's metadata file, with size and SHA-256 of every file in the folder."""
    files = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != METADATA):
        status = path.stat()
        files[path.relative_to(folder).as_posix()] = _File(status.st_size, status.st_mtime_ns, _sha256(path))
    encoded = msgspec.json.encode(msgspec.structs.replace(metadata, files=files))
    (folder / METADATA).write_bytes(msgspec.json.format(encoded, indent=1) + b"\n")


def read_metadata(folder: Path) -> DriverMetadata:
    """Return the metadata in a driver's folder; raise OSError or ValueError if it has none."""
    return msgspec.json.decode((folder / METADATA).read_bytes(), type=DriverMetadata)


def load(folder: Path) -> CachedDriver | None:
    """Return the driver in `folder`; None if there is none or it is damaged.

    A file is intact if it has the recorded size and either the recorded time or the recorded SHA-256. Files
    are therefore read only if the folder was changed.
    """
    try:
        metadata = read_metadata(folder)
        if metadata.format not in (_FORMAT, FORMAT_WITH_START):
            return None
        if not all(map(_is_own, _named(metadata))):
            return None
        for name, entry in metadata.files.items():
            status = (folder / name).stat()
            if status.st_size != entry.size:
                return None
            if status.st_mtime_ns != entry.modified and _sha256(folder / name) != entry.sha256:
                return None
    except (OSError, ValueError, RecursionError):
        return None
    return CachedDriver(
        name=f"{metadata.family}-{metadata.version}",
        family=metadata.family,
        version=metadata.version,
        package=metadata.package,
        folder=folder,
        icd=folder / metadata.icd,
        loader=folder / metadata.loader,
        layers=folder / metadata.layers if metadata.layers else None,
        runtime=metadata.runtime,
        preload=tuple(folder / name for name in metadata.preload),
        size=sum(entry.size for entry in metadata.files.values()),
        start=_start(folder, metadata.start),
    )


def _named(metadata: DriverMetadata) -> Iterator[str]:
    """Yield all files that a driver's metadata names."""
    yield from (metadata.icd, metadata.loader, metadata.layers or "", *metadata.preload, *metadata.files)
    if metadata.start is not None:
        yield from (metadata.start.linker, metadata.start.libraries, metadata.start.shim)


def _is_own(name: str) -> bool:
    """Return whether a name in a driver's metadata stays in its folder."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _start(folder: Path, files: StartFiles | None) -> Start | None:
    if files is None:
        return None
    shim = folder / files.shim if files.shim else None
    return Start(folder / files.linker, folder / files.libraries, shim, files.variable)


def installed() -> list[CachedDriver]:
    """Return all intact drivers in the user's cache, in the order of `FAMILIES`, newest version first."""
    try:
        folders = [path for path in drivers_folder().iterdir() if path.is_dir()]
    except OSError:
        return []
    loaded = [load(path) for path in folders if not path.name.startswith(_TEMPORARY)]
    by_version = sorted((d for d in loaded if d), key=lambda d: version_key(d.version), reverse=True)
    order = {family: number for number, family in enumerate(FAMILIES)}
    return sorted(by_version, key=lambda d: order.get(d.family, len(order)))


def version_key(version: str) -> tuple[int, ...]:
    """Return the numbers of an upstream version as sort key: ``25.0.7`` → (25, 0, 7)."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


@contextmanager
def locked() -> Iterator[Path]:
    """Lock the drivers' folder against other processes; yield the folder.

    Unfinished files of an earlier fetch that was killed are removed first.
    """
    import fcntl  # Unix only, like the packages that are fetched under this lock

    folder = drivers_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise DriverFetchError(
            f"The driver cache {folder} cannot be written: {error}. Set VKGROUP_CACHE to a writable folder."
        ) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        for leftover in folder.glob(f"{_TEMPORARY}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield folder
    finally:
        with suppress(OSError):  # apt's index of lists takes 80 MB for each release, and is made in a second
            for index in (cache_folder() / "apt").rglob("*pkgcache.bin"):
                index.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def unfinished(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder beside the drivers; finished folders must be moved out of it."""
    with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=folder, ignore_cleanup_errors=True) as work:
        yield Path(work)


def put_in_place(finished: Path, target: Path) -> None:
    """Move a finished driver folder to `target`, replacing a damaged one."""
    if target.exists():
        # A folder cannot be renamed to an existing one with content, so the old one is moved away first.
        target.rename(finished.parent / f"replaced-{target.name}")
    finished.rename(target)


def _sha256(path: Path) -> str:
    require_regular(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


LOADER = "libvulkan.so.1"
AMD_NAMES = "amdgpu.ids"  # with the names of AMD's products, which libdrm reads

COMPANIONS = ("libGLdispatch.so.0", "libEGL.so.1")
"""Libraries of libglvnd, in load order, that NVIDIA's Vulkan driver opens on a host without a display.
Without them vkCreateInstance returns VK_ERROR_INCOMPATIBLE_DRIVER."""


def keep_library(library: Path) -> Path:
    """Copy a loader or companion library into the user's cache, for hosts that have only a GPU driver."""
    require_regular(library)
    with locked() as drivers, unfinished(drivers) as work:
        shutil.copyfile(library, work / library.name)
        (work / library.name).replace(drivers / library.name)
    return drivers / library.name


def kept_library(name: str) -> Path | None:
    """Return the library that `keep_library` copied into the user's cache; None if there is none."""
    library = drivers_folder() / name
    return library if library.is_file() else None


def kept_loader() -> Path | None:
    """Return the separate Vulkan loader in the user's cache; None if there is none."""
    return kept_library(LOADER)


@dataclass(frozen=True)
class DriverPackage:
    """A driver and the package that contains it."""

    name: str  # name of the driver for users
    package: str  # the distribution's package
    library: str  # the driver's library in the package, as a glob
    icd: str  # its ICD manifest in the package, as a glob
    absent: str  # advice if the distribution does not have the package
    #: Of a driver for absent GPUs: the library that answers in place of the kernel's driver, as a
    #: glob, and the environment variable that names the GPU.
    shim: str = ""
    variable: str = ""
    since: str = ""  # the first version whose package has the library; empty if all have it


@dataclass(frozen=True)
class Runtime:
    """Packages with a Vulkan loader and the Khronos validation layer."""

    packages: tuple[str, ...]  # the required packages
    loader: str  # the loader in them, as a glob
    layer: str  # the validation layer's library in them, as a glob


MESA = "mesa-vulkan-drivers"
"""The package with all of Mesa's drivers."""


def _mesa(name: str, library: str, shim: str, variable: str, since: str = "") -> DriverPackage:
    """Return a family of Mesa's drivers for GPUs, which compile without one."""
    return DriverPackage(
        name,
        MESA,
        f"usr/lib/*/libvulkan_{library}.so",
        f"usr/share/vulkan/icd.d/{library}_icd*.json",
        "It comes from Debian 13; check whether this host reaches deb.debian.org.",
        f"usr/lib/*/lib{shim}_noop_drm_shim.so",
        variable,
        since,
    )


FAMILIES = {
    family.name: family
    for family in (
        DriverPackage(
            "swiftshader",
            "chromium-common",
            "usr/lib/chromium/libvk_swiftshader.so",
            "usr/lib/chromium/vk_swiftshader_icd.json",
            "If `debian-archive-keyring` is missing too, fetch `lavapipe` instead.",
        ),
        DriverPackage(
            "lavapipe",
            MESA,
            "usr/lib/*/libvulkan_lvp.so",
            "usr/share/vulkan/icd.d/lvp_icd*.json",
            "Check whether the component or repository with Mesa is enabled.",
        ),
        _mesa("radv", "radeon", "amdgpu", "AMDGPU_GPU_ID"),
        _mesa("nvk", "nouveau", "nouveau", "NOUVEAU_CHIPSET"),
        _mesa("turnip", "freedreno", "freedreno", "FD_GPU_ID", since="26"),
        _mesa("honeykrisp", "asahi", "asahi", "", since="26"),
    )
}

# The first entry is used whose packages the distribution has. Chromium is first because Debian updates it:
# the validation layer of Debian 12 (1.3.239) does not know Vulkan 1.4, which lavapipe 25 supports, and would
# report errors for its structures.
RUNTIMES = (
    Runtime(
        ("chromium-common",),
        "usr/lib/chromium/libvulkan.so.1",
        "usr/lib/chromium/libVkLayer_khronos_validation.so",
    ),
    Runtime(
        ("libvulkan1", "vulkan-validationlayers"),
        "usr/lib/*/libvulkan.so.1",
        "usr/lib/*/libVkLayer_khronos_validation.so",
    ),
)


def parse_name(name: str) -> tuple[DriverPackage, str | None]:
    """Split ``lavapipe-25.0.7`` into its family and version; the version is None for the newest.

    Raises InvalidInput: the family is unknown.
    """
    match = re.fullmatch(r"([a-z]+)(?:-(\d[\w.]*))?", name)
    family = FAMILIES.get(match.group(1)) if match else None
    if match is None or family is None:
        why = why_absent(name) and f" {why_absent(name)}"
        raise InvalidInput(
            f"There is no driver `{name}` to fetch.{why or nearest(name.partition('-')[0], FAMILIES)}"
            f" Choose from {', '.join(sorted(FAMILIES))}, optionally with a version, such as lavapipe-25.0.7;"
            " `vkgroup drivers list` lists them."
        )
    return family, match.group(2)
