"""Quantities of a shader's cost, and the statistics of each driver that they are made of, as tables.

Sources of the names and units: the drivers' own descriptions in VkPipelineExecutableStatisticKHR, Mesa 26.1.6
(`src/amd/vulkan/radv_pipeline.c`, `src/nouveau/vulkan/nvk_shader.c`, `src/freedreno/vulkan/tu_shader.cc`,
`src/asahi/vulkan/hk_shader.c`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Value = float | int | bool


@dataclass(frozen=True)
class Representation:
    """Code in one of the compiler's intermediate or final forms."""

    name: str  # the driver's name, such as ``Assembly``
    text: str  # the code; empty if it is binary


@dataclass(frozen=True)
class Executable:
    """One executable: the result of compiling one or several stages of a pipeline."""

    name: str  # the driver's name
    stages: tuple[str, ...]  # the stages that it was made of
    subgroup_size: int  # the size that it runs with
    statistics: dict[str, Value]  # by the driver's names
    representations: tuple[Representation, ...] = ()


@dataclass(frozen=True)
class Quantity:
    """A quantity of a cost."""

    name: str
    title: str  # heading of its column
    short: str = ""  # heading in a narrow table, which has only the quantities with one
    #: Whether a larger value is worse (1), better (-1).
    worse: int = 1


FIELDS = {
    quantity.name: quantity
    for quantity in (
        Quantity("vector_registers", "vector registers", "registers"),
        Quantity("scalar_registers", "scalar registers"),
        Quantity("spills", "spills", "spills"),
        Quantity("shared_memory", "shared memory"),
        Quantity("scratch", "scratch"),
        Quantity("code_size", "code size"),
        Quantity("instructions", "instructions", "instructions"),
        Quantity("subgroup_instructions", "subgroup instructions", "subgroup"),
        Quantity("latency", "latency"),
        Quantity("inverse_throughput", "inverse throughput"),
        Quantity("waves", "waves", "waves", worse=-1),
    )
}
"""All quantities, in the order of columns."""


@dataclass(frozen=True)
class DriverStatistics:
    """The statistics of one driver.

    Attributes
    ----------
    sources : statistics of each quantity, which are added.
    factors : factor of a quantity, if the driver has another unit than the quantity.
    units : the driver's unit of a quantity.
    assembly : name of the representation with the final code; empty if the driver has none.
    """

    sources: Mapping[str, tuple[str, ...]]
    factors: Mapping[str, float]
    units: Mapping[str, str]
    assembly: str = ""


_RADV = DriverStatistics(
    sources={
        "vector_registers": ("VGPRs",),
        "scalar_registers": ("SGPRs",),
        "spills": ("Spilled SGPRs", "Spilled VGPRs"),
        "shared_memory": ("LDS size",),
        "scratch": ("Scratch size",),
        "code_size": ("Code size",),
        "instructions": ("Instructions",),
        "latency": ("Latency",),
        "inverse_throughput": ("Inverse Throughput",),
        "waves": ("Subgroups per SIMD",),
    },
    factors={},
    units={
        "vector_registers": "VGPRs",
        "scalar_registers": "SGPRs",
        "scratch": "bytes a subgroup",
        "latency": "issue and stall cycles",
        "inverse_throughput": "busy cycles a wave",
        # radv_get_max_waves in radv_shader.c: from GFX10 on, times the subgroup size divided by 32.
        "waves": "subgroups per SIMD; on RDNA, one of 64 lanes counts twice",
    },
    assembly="Assembly",
)

_NVK = DriverStatistics(
    sources={
        "vector_registers": ("Number of GPRs",),
        "spills": ("Spills to memory", "Spills to reg"),
        "scratch": ("SLM size",),
        "code_size": ("Code size",),
        "instructions": ("Instruction count",),
        "latency": ("Static cycle count",),
        "waves": ("Max warps/SM",),
    },
    factors={},
    units={
        "vector_registers": "GPRs of 32 bits",
        "scratch": "bytes of local memory",
        "latency": "cycles of instructions with fixed latency",
        "waves": "warps per SM",
    },
    assembly="NAK assembly",
)

_TURNIP = DriverStatistics(
    sources={
        "vector_registers": ("Registers used",),
        "spills": ("STP Count",),
        "code_size": ("Code size",),
        "instructions": ("Instruction Count",),
        "latency": ("Estimated cycles stalled on SS", "Estimated cycles stalled on SY"),
        "waves": ("Max Waves Per Core",),
    },
    factors={"code_size": 4.0},  # the driver counts dwords
    units={
        "vector_registers": "registers of four 32-bit components",
        "spills": "stores to private memory",
        "latency": "estimated stall cycles",
        "waves": "waves per core",
    },
)

_HONEYKRISP = DriverStatistics(
    sources={
        "vector_registers": ("GPRs",),
        "scalar_registers": ("Uniforms",),
        "spills": ("Spills",),
        "scratch": ("Scratch",),
        "code_size": ("Code size",),
        "instructions": ("Instructions",),
        "inverse_throughput": ("ALU",),
        "waves": ("Threads",),
    },
    factors={"waves": 1 / 32},  # the driver counts threads; subgroups have 32
    units={
        "vector_registers": "GPRs of 16 bits",
        "scalar_registers": "uniform registers of 16 bits",
        "scratch": "bytes a thread",
        "inverse_throughput": "estimated ALU cycles",
        "waves": "subgroups per compute unit",
    },
)

_OTHER = DriverStatistics(
    sources={
        "vector_registers": ("Register Count",),
        "scratch": ("Stack Size",),
        "shared_memory": ("Shared Memory Size",),
        "code_size": ("Binary Size", "Code size"),
        "instructions": ("Instruction Count",),
    },
    factors={},
    units={},
)
"""Names that NVIDIA's driver and others use.

NVIDIA's driver 580.159 also has "Local Memory Size", which is 2^36 for every shader.
"""

DRIVERS = {
    "radv": _RADV,
    "NVK": _NVK,
    "turnip Mesa driver": _TURNIP,
    "Honeykrisp": _HONEYKRISP,
}
"""Statistics by the name of the driver in VkPhysicalDeviceDriverProperties."""


UNITS = {"radv": _RADV.units, "nvk": _NVK.units, "turnip": _TURNIP.units, "honeykrisp": _HONEYKRISP.units}
"""Units of quantities by the family of a driver for absent GPUs."""


def statistics_of(driver_name: str) -> DriverStatistics:
    """Return the statistics of a driver."""
    return DRIVERS.get(driver_name, _OTHER)


def quantities(driver_name: str, statistics: Mapping[str, Value]) -> dict[str, float]:
    """Return the quantities that a driver's statistics contain."""
    driver = statistics_of(driver_name)
    found: dict[str, float] = {}
    for name, sources in driver.sources.items():
        values = [float(statistics[source]) for source in sources if source in statistics]
        if values:
            found[name] = sum(values) * driver.factors.get(name, 1.0)
    return found
