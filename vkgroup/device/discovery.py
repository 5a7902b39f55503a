"""Discovery of this machine's devices, and selection of one of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from vkgroup.base import processes
from vkgroup.base.errors import NoDevice
from vkgroup.base.files import expanded
from vkgroup.base.suggestions import nearest
from vkgroup.device import vk
from vkgroup.device.capabilities import Capabilities, DeviceInfo
from vkgroup.device.fetched import driver_of, is_compile_only, needs_own_process, newest_names
from vkgroup.device.launch import Launch, launch
from vkgroup.device.manifests import Manifest, find_manifests, read_manifest
from vkgroup.drivers import version_key
from vkgroup.drivers.gpus import GPUS, compile_only_hint, gpu_of_product

_INSPECT = "vkgroup.device.inspect"

TIMEOUT = 30.0
"""Time limit in seconds for one driver to list its devices."""

#: Software drivers that can be chosen by one word: words in an ICD's name or file, and in a driver's name.
_SOFTWARE = {
    "lavapipe": (("lavapipe", "lvp_icd"), "llvmpipe"),
    "swiftshader": (("swiftshader",), "swiftshader"),
}
_RANK = {"discrete_gpu": 0, "integrated_gpu": 1, "virtual_gpu": 2}
_HOW = (
    "Fetch a software driver (`vkgroup drivers fetch swiftshader`), or install your GPU's Vulkan driver"
    " (Debian and Ubuntu, software and open drivers: mesa-vulkan-drivers)."
)


@dataclass(frozen=True)
class IcdReport:
    """Result of inspecting one driver."""

    manifest: str
    name: str
    library: str
    # ``"ok"``, or what failed: ``"manifest"`` (no such file, broken JSON, no library named), ``"library"``
    # (does not load), ``"not_a_driver"``, ``"instance"`` (vkCreateInstance), ``"no_devices"``, ``"crash"``,
    # ``"timeout"``
    status: str
    message: str  # description of the failure; empty if there is none
    devices: tuple[DeviceInfo, ...]
    system: bool = False  # as in `Manifest`
    named: bool = False


@dataclass(frozen=True)
class Discovery:
    """All drivers of this machine in the order of search, and the Vulkan loader or why there is none."""

    loader: str
    icds: tuple[IcdReport, ...]
    problem: str = ""

    @property
    def devices(self) -> tuple[DeviceInfo, ...]:
        """All devices; a device's index as a choice is its index here."""
        return tuple(device for icd in self.icds for device in icd.devices)

    @property
    def default(self) -> DeviceInfo | None:
        """Return the default device: a GPU, else lavapipe, else SwiftShader, else the first that executes.

        Of several drivers of one kind, it is the newest; see `_by_preference`.
        """
        candidates = (
            *_gpus(self),
            *_software(self, "lavapipe"),
            *_software(self, "swiftshader"),
            *self.devices,
        )
        return next((device for device in candidates if device.can_execute), None)


def discover(timeout: float = TIMEOUT) -> Discovery:
    """Inspect every driver of this machine in its own process; one that fails is reported, too."""
    loader = vk.load()
    manifests = find_manifests()
    with ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool:
        reports = list(pool.map(lambda manifest: _inspect(manifest, timeout), manifests))
    return Discovery(loader, tuple(reports))


@dataclass(frozen=True)
class _Answer:
    """Report of a process that inspects a driver; see `vkgroup.device.inspect`."""

    status: str
    message: str
    devices: tuple[DeviceInfo, ...] = ()
    declarations: tuple[dict[str, Any], ...] = ()


def _inspect(manifest: Manifest, timeout: float) -> IcdReport:
    """Inspect one driver in its own process; a broken manifest needs none."""
    if manifest.problem:
        report = _Answer("manifest", manifest.problem)
    else:
        command = processes.command(_INSPECT, str(manifest.path), manifest.name)
        report = _answer((command, processes.environment()), timeout)
    found = report.status, report.message, report.devices
    known = str(manifest.path), manifest.name, manifest.library
    return IcdReport(*known, *found, manifest.system, manifest.named)


def _answer(start: Launch, timeout: float) -> _Answer:
    """Return the report of a process that inspects a driver."""
    command, environment = start
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, env=environment
        )
    except subprocess.TimeoutExpired:
        return _Answer("timeout", f"the driver did not answer within {timeout:g} s")
    try:
        return msgspec.convert(json.loads(done.stdout), _Answer)
    except ValueError:
        return _Answer("crash", _death(done.returncode, done.stderr))


def _death(code: int, stderr: bytes) -> str:
    """Return how a process without a report ended, with the last line that it printed."""
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    last = f"; the last it printed: {lines[-1]}" if lines else ""
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = "unknown"
        return f"the driver crashed with signal {-code} ({name}){last}"
    return f"the driver ended the process with exit code {code}{last}"


def inspect_in_own_process(choice: str, timeout: float = TIMEOUT) -> tuple[DeviceInfo, Capabilities]:
    """Return a device such as ``radv:navi31`` and its capabilities; NoDevice: the driver reports none."""
    driver, gpu = driver_of(choice)
    name = "" if gpu is None else gpu.name
    report = _answer(launch(driver, gpu, _INSPECT, str(driver.icd), driver.name, name), timeout)
    if not report.devices:
        raise NoDevice(f"{choice} gives no device: {report.message.rstrip('.')}.")
    if gpu is not None and report.devices[0].type == "cpu":
        raise NoDevice(f"{choice}: {driver.icd} is of {report.devices[0].driver_name}, not of {gpu.family}.")
    return report.devices[0], Capabilities.from_json(report.declarations[0])


# --- choosing -----------------------------------------------------------------------------------------


def select(choice: str | int | None = None, find: Callable[[], Discovery] | None = None) -> DeviceInfo:
    """Return the chosen device; raise `NoDevice` if none matches.

    A choice is an index into `Discovery.devices`; an ICD's JSON file; a driver's name as ICD
    (``"lavapipe-22.3.6"``); ``"gpu"``, ``"lavapipe"``, ``"swiftshader"``; a device's UUID; part of a device's
    or driver's name; a product whose GPU a fetched driver compiles for. None takes `VKGROUP_DEVICE`, else
    `Discovery.default`.
    """
    choice = normal_choice(choice)
    if isinstance(choice, str) and (is_compile_only(choice) or needs_own_process(choice)):
        return inspect_in_own_process(choice)[0]
    if isinstance(choice, str):
        manifest = direct_manifest(choice)
        if manifest is not None:
            vk.load()
            return first_device(manifest)
    return choose((find or discover)(), choice)


def normal_choice(choice: str | int | None) -> str | int | None:
    """Fill in `VKGROUP_DEVICE`, and the GPU for a product with a build: ``Radeon RX 7600@icd.json``."""
    if choice is None:
        choice = os.environ.get("VKGROUP_DEVICE") or None
    if not isinstance(choice, str):
        return choice
    product, at, build = choice.strip().partition("@")
    gpu = gpu_of_product(product) if at else None
    return choice.strip() if gpu is None else f"{gpu.choice}@{build}"


def direct_manifest(choice: str) -> Manifest | None:
    """Return the driver that a choice names directly; None if devices must be searched.

    That is an ICD's JSON file, an ICD's name, or the word for a software driver if its files show which is
    preferred (see `_by_preference`): they state a version of Vulkan, which rises with the driver's version.
    """
    if is_compile_only(choice):
        return None
    if choice.endswith(".json") or Path(choice).is_file():
        return read_manifest(expanded(choice).absolute())
    words = _SOFTWARE.get(choice.lower(), ((), ""))[0]
    manifests = [manifest for manifest in find_manifests() if not manifest.problem]
    exact = [manifest for manifest in manifests if manifest.name.lower() == choice.lower()]
    likely = [m for m in manifests if any(word in f"{m.name} {m.library}".lower() for word in words)]
    if exact or not likely:
        return next(iter(exact), None)
    likely.sort(key=lambda manifest: manifest.system)
    likely.sort(key=lambda manifest: manifest.api_version, reverse=True)
    first, *others = sorted(likely, key=lambda manifest: not manifest.named)
    same = [m for m in others if (m.named, m.api_version) == (first.named, first.api_version)]
    # The files of the fetched drivers are in the order of their versions already.
    unknown = not first.named and any(manifest.system for manifest in (first, *same))
    return None if same and unknown else first


def first_device(manifest: Manifest) -> DeviceInfo:
    """Return a driver's first device; raise `NoDevice` with the reason if it has none."""
    report = _inspect(manifest, TIMEOUT)
    if not report.devices:
        raise NoDevice(f"The driver {report.manifest} gives no device: {report.message.rstrip('.')}. {_HOW}")
    return report.devices[0]


def choose(discovery: Discovery, choice: str | int | None) -> DeviceInfo:
    """Return one of the available devices, chosen as in `select`."""
    devices = discovery.devices
    if choice is None:
        if discovery.default is None:
            raise NoDevice(_nothing("No Vulkan device was found.", discovery))
        return discovery.default
    if isinstance(choice, int) or choice.isdecimal():
        if 0 <= int(choice) < len(devices):
            return devices[int(choice)]
        raise NoDevice(_nothing(f"There is no device number {choice}.", discovery))
    word = choice.lower()
    if word == "gpu":
        matching: Sequence[DeviceInfo] = _gpus(discovery)
    elif word in _SOFTWARE:
        matching = _software(discovery, word)
    else:
        exact = [device for device in devices if device.uuid == word]
        matching = exact or [
            device
            for device in devices
            if any(word in name.lower() for name in (device.name, device.driver_name, device.icd))
        ]
    if not matching and (gpu := gpu_of_product(choice)):
        return inspect_in_own_process(gpu.choice)[0]
    if not matching and (hint := compile_only_hint(choice, newest_names())):
        raise NoDevice(f"No device of this machine fits {choice!r}. {hint}")
    if not matching:
        words = ("gpu", "reference", *_SOFTWARE, *(gpu.choice for gpu in GPUS))
        known = (*words, *(device.name for device in devices))
        raise NoDevice(_nothing(f"No device fits {choice!r}.{nearest(choice, known)}", discovery))
    return matching[0]


def _gpus(discovery: Discovery) -> list[DeviceInfo]:
    """Return the GPUs: discrete ones first; those of one driver as in `_by_preference`."""
    gpus = [device for device in discovery.devices if device.is_gpu]
    names = dict.fromkeys(device.driver_name for device in gpus)
    ordered = [
        device
        for name in names
        for device in _by_preference(discovery, {gpu for gpu in gpus if gpu.driver_name == name})
    ]
    return sorted(ordered, key=lambda device: _RANK[device.type])


def _software(discovery: Discovery, word: str) -> list[DeviceInfo]:
    """Return the devices of a software driver as in `_by_preference`."""
    words, driver = _SOFTWARE[word]
    return _by_preference(
        discovery,
        {
            device
            for device in discovery.devices
            if driver in device.driver_name.lower() or any(part in device.icd.lower() for part in words)
        },
    )


def _by_preference(discovery: Discovery, devices: Collection[DeviceInfo]) -> list[DeviceInfo]:
    """Return devices of one kind, the best driver first.

    Drivers that the environment names come first. Then a newer driver comes before an older one. Of two with
    one version, a fetched driver comes before one of the system, because it is the same on every machine.
    """
    found = [(icd, device) for icd in discovery.icds for device in icd.devices if device in devices]
    found.sort(key=lambda pair: pair[0].system)
    found.sort(key=lambda pair: version_key(pair[1].driver_version), reverse=True)
    found.sort(key=lambda pair: not pair[0].named)
    return [device for _, device in found]


def _nothing(problem: str, discovery: Discovery) -> str:
    """Return the message of a failed choice: the drivers found, and how to install one."""
    if not discovery.loader:
        return f"{problem} {discovery.problem}"
    lines = [problem, f"Loader: {discovery.loader}. Drivers (ICDs) looked at:"]
    for icd in discovery.icds:
        for device in icd.devices:
            origin = icd.manifest or "which needs no driver"
            lines.append(
                f"  [{discovery.devices.index(device)}] {device.name} ({device.driver_name}), {origin}"
            )
        if icd.status != "ok":
            lines.append(f"  {icd.manifest}: {icd.message}")
    if not any(icd.manifest for icd in discovery.icds):
        lines.append("  none: no manifest in the folders of the Vulkan loader, none fetched")
    wanted = next((name for name in _SOFTWARE if name in problem), None)
    how = _HOW.replace("fetch swiftshader", f"fetch {wanted}") if wanted else _HOW
    return "\n".join([*lines, how])
