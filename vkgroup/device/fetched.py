"""Devices of fetched drivers that need their own process: choices, globs, and names in tables.

They are absent GPUs, for which a driver only compiles, and drivers with their own C library that execute.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from vkgroup import drivers
from vkgroup.base.errors import NoDevice
from vkgroup.base.files import expanded
from vkgroup.base.suggestions import nearest
from vkgroup.device.capabilities import DeviceInfo
from vkgroup.device.manifests import read_manifest
from vkgroup.drivers import CachedDriver
from vkgroup.drivers.cache import version_key
from vkgroup.drivers.gpus import WITHOUT_SHIM, Gpu, gpus_of, why_absent


def driver_of(choice: str) -> tuple[CachedDriver, Gpu | None]:
    """Return driver and GPU of a choice such as ``radv:navi31``; None for the GPU of ``lavapipe-26.1.6``.

    With another build of the driver (``radv:navi31@icd.json``), the driver has its manifest, and the GPU's
    name has the absolute path of the file.

    Raises NoDevice: the driver is not in the cache, or does not know the GPU, or the other build's file is no
    manifest; the message says what to do.
    """
    name, colon, rest = choice.partition(":")
    name = name.lower()
    word, at, build = rest.partition("@")
    _require_shim(name)
    if colon and may_be_several(name + word):
        raise NoDevice(
            f"{choice!r} may be several GPUs, and one is needed here, as in radv:navi31. `vkgroup conform`,"
            " `probe`, `cost` and `check --compile-on` take globs and lists."
        )
    family, _ = drivers.parse_name(name)
    if not colon:
        return drivers.path(name), None
    known = [gpu.name for gpu in gpus_of(family.name)]
    gpu = next((gpu for gpu in gpus_of(family.name) if word.lower() in (gpu.name, gpu.llvm)), None)
    if gpu is None:
        # A similar gfx name is that of another chip.
        hint = "" if word.lower().startswith("gfx") else nearest(word, known)
        raise NoDevice(f"{family.name} has no GPU {word!r}.{hint} It compiles for {', '.join(known)}.")
    driver = drivers.path(name)
    if not _knows(driver, gpu):
        raise NoDevice(
            f"{driver.name} does not know {gpu.name}, which needs {family.name} {gpu.since} or newer. Fetch"
            f" the newest with `vkgroup drivers fetch {family.name}`, and choose {gpu.choice}."
        )
    if not at:
        return driver, gpu
    icd = expanded(build).absolute()
    if problem := read_manifest(icd).problem:
        raise NoDevice(f"{gpu.choice}@{icd}: {problem}. Name the ICD manifest of a build of {gpu.family}.")
    return replace(driver, icd=icd), replace(gpu, name=f"{gpu.name}@{icd}")


def _require_shim(name: str) -> None:
    """Raise NoDevice for a family of drivers that cannot compile without its GPU."""
    if problem := why_absent(name):
        raise NoDevice(problem)


def _knows(driver: CachedDriver, gpu: Gpu) -> bool:
    """Return whether a driver of the GPU's family has a version that compiles for the GPU."""
    return version_key(driver.version) >= version_key(gpu.since)


def gpu_of(device: DeviceInfo) -> Gpu:
    """Return the GPU of a compile-only device."""
    gpu = driver_of(device.choice)[1]
    assert gpu is not None
    return gpu


def newest_names() -> list[str]:
    """Return the names of the drivers whose version a label can leave out; see `labels`."""
    return [driver.name for driver in _newest_drivers()]


def fetched_gpus() -> list[tuple[CachedDriver, Gpu]]:
    """Return the GPUs that the newest drivers in the cache compile for."""
    return _gpus_of(_newest_drivers())


def _newest_drivers() -> list[CachedDriver]:
    """Return the drivers in the cache that compile for absent GPUs; of several versions the newest."""
    newest: dict[str, CachedDriver] = {}
    for driver in _compile_only_drivers():
        newest.setdefault(driver.family, driver)
    return list(newest.values())


def _compile_only_drivers() -> list[CachedDriver]:
    return [driver for driver in drivers.installed() if driver.is_compile_only]


def _gpus_of(chosen: Iterable[CachedDriver]) -> list[tuple[CachedDriver, Gpu]]:
    return [(driver, gpu) for driver in chosen for gpu in gpus_of(driver.family) if _knows(driver, gpu)]


def representatives() -> list[str]:
    """Return the choices of the first GPU of each generation that the fetched drivers compile for."""
    first: dict[tuple[str, str], str] = {}
    for driver, gpu in fetched_gpus():
        first.setdefault((gpu.family, gpu.generation), f"{driver.name}:{gpu.name}")
    return list(first.values())


def expand(choice: str) -> list[str]:
    """Return the choices of a glob over absent GPUs, such as ``radv:navi*``; else the choice alone.

    The part before the colon is matched with the names of drivers without their version, which chooses the
    newest ones (``*:navi*``), or with it (``radv-25.0.7:navi*``, ``radv-*:navi31``).

    Raises NoDevice: no GPU of the fetched drivers matches, or the choice names a driver and no GPU.
    """
    name, colon, rest = choice.strip().partition(":")
    pattern, at, build = rest.partition("@")
    name, pattern = name.lower(), pattern.lower()
    if not colon:
        _require_no_driver(name)
    if not colon or not _is_glob(name + pattern):
        return [choice]
    _require_shim(name)
    newest = [driver for driver in _newest_drivers() if fnmatchcase(driver.family, name)]
    matching = newest or [driver for driver in _compile_only_drivers() if fnmatchcase(driver.name, name)]
    if not matching:
        raise NoDevice(f"No fetched driver fits {choice!r}. {_how_to_fetch(name)}")
    known = _gpus_of(matching)
    fitting = [
        f"{driver.name}:{gpu.name}"
        for driver, gpu in known
        if fnmatchcase(gpu.name, pattern) or fnmatchcase(gpu.llvm, pattern)
    ]
    if not fitting:
        names = ", ".join(gpu.choice if newest else f"{driver.name}:{gpu.name}" for driver, gpu in known)
        raise NoDevice(f"No GPU of the fetched drivers matches {choice!r}. There are {names}.")
    return [f"{name}{at}{build}" for name in fitting]


def _is_glob(text: str) -> bool:
    return any(letter in text for letter in "*?[")


def _require_no_driver(name: str) -> None:
    """Raise NoDevice if a choice without a colon names compile-only drivers: ``radv-26.1.6``, ``radv-*``.

    A family alone is accepted: a device that executes may have a driver of this name.
    """
    family, _, version = name.partition("-")
    if not (version and gpus_of(family)) and not _is_glob(name):
        return
    if any(fnmatchcase(driver.name, name) for driver in _compile_only_drivers()):
        raise NoDevice(f"{name!r} names drivers and no GPU. All their GPUs are '{name}:*'.")


def _how_to_fetch(name: str) -> str:
    """Return what to do if no compile-only driver in the cache has this name, which may be a glob."""
    fetched = ", ".join(driver.name for driver in _compile_only_drivers())
    if fetched:
        return f"In the cache are {fetched}; `vkgroup drivers list` shows which others can be fetched."
    family = name.partition("-")[0]
    return f"Fetch one with `vkgroup drivers fetch {family if gpus_of(family) else 'radv'}`."


def without_version(choice: str) -> str:
    """Return ``radv:navi31`` for ``radv-26.1.6:navi31``; choices without a colon unchanged."""
    driver, colon, gpu = choice.partition(":")
    return f"{driver.partition('-')[0]}:{gpu}" if colon else choice


def labels(choices: Collection[str], newest: Collection[str] | None = None) -> dict[str, str]:
    """Return the names of compile-only devices in a table, by choice: ``radv:navi31`` without a version.

    The version is left in if the choices have several versions of a driver. `newest`: names of drivers; with
    them, the version of any other driver is left in, too.
    """
    used = {choice.partition(":")[0] for choice in choices}
    versions = Counter(driver.partition("-")[0] for driver in used)
    names = {}
    for choice in choices:
        driver = choice.partition(":")[0]
        is_clear = versions[driver.partition("-")[0]] == 1 and (newest is None or driver in newest)
        names[choice] = without_version(choice) if is_clear else choice
    return names


def without_builds(names: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return names of devices with numbers in place of the files of builds, and a line for each file.

    `names`: by choice, as `labels` returns them.
    """
    files = dict.fromkeys(name.partition("@")[2] for name in names.values() if "@" in name)
    marks = {f"@{file}": f"@{number}" for number, file in enumerate(files, 1)}
    short = {choice: re.sub("@.*", lambda file: marks[file[0]], name) for choice, name in names.items()}
    return short, [f"{mark}: {file[1:]}" for file, mark in marks.items()]


def own_drivers() -> list[str]:
    """Return the names of the drivers in the cache that have their own C library and execute."""
    executing = (driver for driver in drivers.installed() if not driver.is_compile_only)
    return [driver.name for driver in executing if driver.start is not None]


def needs_own_process(choice: str) -> bool:
    """Return whether a choice names a driver in the cache that has its own C library and executes."""
    return choice.lower() in own_drivers()


def may_be_several(choice: str) -> bool:
    """Return whether a choice has a character of lists or globs; names of devices may have commas, too."""
    return any(letter in choice for letter in ",*?[")


def is_compile_only(choice: str) -> bool:
    """Return whether a choice names an absent GPU, whether or not its driver was fetched."""
    name, colon, _ = choice.partition(":")
    family = name.partition("-")[0].lower()
    return bool(colon) and (bool(gpus_of(family)) or family in WITHOUT_SHIM)
