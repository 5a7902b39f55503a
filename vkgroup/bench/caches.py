"""Last-level cache: its size, and reads that evict its contents before a run is timed."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vkgroup.closing import Closing
from vkgroup.device import Capabilities
from vkgroup.dispatch import Device
from vkgroup.resources import bench

TIMES = 4
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
_SYSFS = Path("/sys/devices/system/cpu/cpu0/cache")


@dataclass(frozen=True)
class Cache:
    """The last-level cache.

    Attributes
    ----------
    nbytes : size in bytes.
    source : source of the size, in words; says whether the size is assumed.
    """

    nbytes: int
    source: str

    @property
    def evicting_bytes(self) -> int:
        """Number of bytes of data after which the cache no longer holds earlier data."""
        return TIMES * self.nbytes


def last_level_cache(capabilities: Capabilities) -> Cache:
    """Return a device's last-level cache from a table, or from the host's CPU; Vulkan does not report it."""
    if not capabilities.is_gpu or capabilities.type == "integrated_gpu":
        return _of_host()
    for part, size, source in _KNOWN:
        if part in capabilities.name:
            return Cache(size * _MIB, source)
    return Cache(_ASSUMED_GPU * _MIB, "assumed: Vulkan does not tell, and the device is not in the table")


def host_caches() -> list[dict[str, str | int]]:
    """Return the CPU's caches in Google Benchmark's format: type, level, size, num_sharing."""
    caches: list[dict[str, str | int]] = []
    for folder in sorted(_SYSFS.glob("index*")):
        try:
            kind, level, size, sharing = (
                (folder / name).read_text().strip() for name in ("type", "level", "size", "shared_cpu_list")
            )
            nbytes = int(size.removesuffix("K")) * 1024
            caches.append({"type": kind, "level": int(level), "size": nbytes, "num_sharing": _count(sharing)})
        except (OSError, ValueError):
            continue
    return caches


def _of_host() -> Cache:
    sizes = [int(cache["size"]) for cache in host_caches()]
    if sizes:
        return Cache(max(sizes), "the host's, from /sys")
    return Cache(_ASSUMED_CPU * _MIB, "assumed: the host does not tell")


def _count(cpus: str) -> int:
    """Return the number of CPUs in a list such as ``0-3,8``."""
    ends = [part.split("-") for part in cpus.split(",")]
    return sum(int(part[-1]) - int(part[0]) + 1 for part in ends)


class Eviction(Closing):
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
        """Read all the memory and wait until this is done."""
        self._bound.dispatch(_GROUPS)

    def close(self) -> None:
        """Free the memory."""
        self._stack.close()


def eviction(device: Device, cache: Cache) -> Eviction:
    """Return the object that evicts the contents of a device's cache."""
    return DeviceEviction(device, cache) if device.capabilities.is_gpu else HostEviction(cache)
