"""Descriptions of declared properties."""

from __future__ import annotations

import dataclasses

from vkgroup.device import Capabilities, CooperativeMatrix, SizeControl, SmBuiltins, Subgroup, Timestamps
from vkgroup.probe.declared import declared, opengl

BARE = Capabilities(name="Bare", type="other")

RICH = Capabilities(
    name="Rich",
    type="discrete_gpu",
    driver_name="driver",
    driver_info="1.2",
    api_version=(1, 4, 312),
    conformance_version="1.4.1.0",
    subgroup=Subgroup(32, ("fragment", "compute"), ("basic", "shuffle_relative", "quad"), True),
    size_control=SizeControl(True, 8, 32, 64, ("compute",), True),
    timestamps=Timestamps(64, 1.5),
    features=frozenset({"shaderInt8", "shaderInt64", "shaderFloat16", "shaderMaximalReconvergence"}),
    extensions={"VK_NV_shader_subgroup_partitioned": 1},
    limits={"maxComputeWorkGroupSize": (1024, 1024, 64), "maxComputeSharedMemorySize": 49152},
    float_controls={"shaderDenormPreserveFloat32": True, "shaderRoundingModeRTEFloat32": True},
    sm_builtins=SmBuiltins(132, 64),
    cooperative_matrices=(
        CooperativeMatrix(16, 16, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32", False, "SUBGROUP"),
        CooperativeMatrix(16, 8, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32", False, "SUBGROUP"),
    ),
    cooperative_matrix_stages=("compute",),
    memory_heaps=((1 << 36, ("device_local",)), (3 << 29, ())),
)


def lines(capabilities: Capabilities) -> dict[str, str]:
    """All lines of all sections, by their labels."""
    told = [line for section in declared(capabilities) for line in section.lines]
    assert len(dict(told)) == len(told), "labels are unique"
    return dict(told)


def test_a_device_that_has_a_lot() -> None:
    told = lines(RICH)
    assert told["version"] == "Vulkan 1.4.312, declares conformance with suite 1.4.1.0"
    assert told["driver"] == "driver 1.2"
    assert told["operations"] == "basic, shuffle relative, quad"
    assert told["operations lacking"] == "vote, arithmetic, ballot, shuffle, clustered"
    assert told["quad operations"] == "in all these stages"
    assert told["required size"] == "8 to 32 in compute; at most 64 subgroups a workgroup"
    assert told["integers, other widths"] == "int8, int64"
    assert told["floats, other widths"] == "float16"
    assert told["maximal reconvergence"] == "yes"
    assert told["quad control"] == "no"
    assert told["partitioned (NV)"] == "yes"
    assert told["float32 controls"] == "denormals kept, rounding to nearest even"
    assert told["float16 controls"] == "none"
    assert told["workgroup, extent"] == "1,024 x 1,024 x 64"
    assert told["shared memory"] == "48 KiB"
    assert told["memory"] == "64 GiB (device local); 1.5 GiB (host)"
    assert told["timestamps"] == "64 bits, 1.5 ns a tick"
    assert told["SM built-ins (NV)"] == "132 multiprocessors, 64 warps each, of 32 threads"
    assert told["cooperative matrix"] == "2 shapes in compute: float16→float32"


def test_large_numbers_have_separators() -> None:
    control = dataclasses.replace(RICH.size_control, max_compute_workgroup_subgroups=(1 << 32) - 1)
    told = lines(dataclasses.replace(RICH, size_control=control))
    assert "at most 4,294,967,295 subgroups" in told["required size"]


def test_a_device_that_has_nothing() -> None:
    told = lines(BARE)
    assert told["minimum promises"].startswith("broken: subgroupSize must be at least 1")
    assert told["operations"] == "none"
    assert told["required size"] == told["timestamps"] == told["cooperative matrix"] == "no"
    assert told["shared memory"] == told["workgroup, extent"] == told["float32 controls"] == "unknown"
    assert told["driver"] == "unnamed"


def test_one_required_size_is_no_range_and_quads_may_be_limited() -> None:
    told = lines(
        dataclasses.replace(
            RICH,
            size_control=SizeControl(True, 8, 8, 32, ("compute",), False),
            subgroup=dataclasses.replace(RICH.subgroup, quad_operations_in_all_stages=False),
        )
    )
    assert told["required size"] == "8 in compute; at most 32 subgroups a workgroup"
    assert told["full subgroups"] == "no"
    assert told["quad operations"] == "in fragment and compute only"


def test_limits_of_opengl_say_what_is_missing() -> None:
    told = dict(opengl(RICH).lines)
    assert told["MAX_COMPUTE_WORK_GROUP_SIZE"] == "1,024 x 1,024 x 64"
    less = dataclasses.replace(RICH, limits={"maxComputeSharedMemorySize": 16384})
    assert opengl(less).lines == (("MAX_COMPUTE_SHARED_MEMORY_SIZE", "16,384, below the minimum of 32,768"),)
