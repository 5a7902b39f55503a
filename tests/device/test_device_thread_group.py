"""NV_shader_thread_group on devices: warps of at most 32 threads, SM built-ins by name, the three tokens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from refusals import lacks
from test_requirements import ALL

import vkgroup
from vkgroup.base.errors import Unsupported
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.device import Capabilities, SizeControl, SmBuiltins, Subgroup
from vkgroup.device.requirements import missing, missing_for_thread_group, thread_group_state
from vkgroup.dispatch import Device
from vkgroup.spirv import Module

WIDE = replace(ALL, subgroup=replace(ALL.subgroup, size=64))


def module_of(value: str, target: TargetEnvironment = TargetEnvironment.VULKAN_1_1) -> Module:
    source = (
        "#version 430\n#extension GL_NV_shader_thread_group : require\nlayout(local_size_x = 8) in;\n"
        f"layout(binding = 0) buffer Found {{ uint found[]; }};\nvoid main() {{ found[0] = {value}; }}\n"
    )
    return compile_source(source, stage="compute", dialect="gl", target=target)


PLAIN = module_of("gl_WarpSizeNV")


def test_the_tokens_of_a_device_with_sm_builtins() -> None:
    has = Capabilities(
        name="gpu", type="discrete_gpu", subgroup=Subgroup(32), sm_builtins=SmBuiltins(132, 64)
    )
    assert thread_group_state(has) == {"WARP_SIZE_NV": 32, "WARPS_PER_SM_NV": 64, "SM_COUNT_NV": 132}


def test_the_tokens_of_a_device_without() -> None:
    state = thread_group_state(Capabilities(name="cpu", type="cpu", subgroup=Subgroup(8)))
    assert state == {"WARP_SIZE_NV": 8, "WARPS_PER_SM_NV": None, "SM_COUNT_NV": None}


def test_warps_of_more_than_32_threads_are_refused() -> None:
    (said,) = missing(PLAIN, WIDE)
    assert "at most 32" in said
    assert "64" in said
    assert missing(PLAIN, WIDE, subgroup_size=32) == []
    assert missing(PLAIN, replace(ALL, subgroup=replace(ALL.subgroup, size=32))) == []
    assert missing_for_thread_group(PLAIN, ALL, subgroup_size=64) != []


def test_a_module_without_the_extension_may_have_any_size() -> None:
    source = "#version 430\nlayout(local_size_x = 8) in;\nvoid main() {}\n"
    assert missing(compile_source(source, stage="compute", dialect="gl"), WIDE) == []


def test_sizes_that_may_vary_count_with_their_largest() -> None:
    varying = replace(ALL, size_control=SizeControl(True, 32, 64))
    assert missing_for_thread_group(PLAIN, varying) == []
    newer = module_of("gl_WarpSizeNV", TargetEnvironment.VULKAN_1_3)
    assert missing_for_thread_group(newer, varying) != []
    assert missing_for_thread_group(newer, varying, subgroup_size=32) == []


@pytest.mark.parametrize("name", ["gl_WarpIDNV", "gl_SMIDNV", "gl_WarpsPerSMNV", "gl_SMCountNV"])
def test_sm_builtins_are_missing_by_name(name: str) -> None:
    lacking = replace(
        ALL,
        features=ALL.features - {"shaderSMBuiltins"},
        extensions={key: 1 for key in ALL.extensions if key != "VK_NV_shader_sm_builtins"},
    )
    assert missing(module_of(name), lacking) == ["shaderSMBuiltins", "VK_NV_shader_sm_builtins"]
    assert missing(module_of(name), ALL) == []


def test_programs_with_sm_builtins_are_unsupported_and_the_others_run(device: Device) -> None:
    assert device.capabilities.sm_builtins is None
    with pytest.raises(Unsupported) as refused:
        device.run(module_of("gl_SMCountNV"), 1, {"Found": np.zeros(1, np.uint32)})
    assert "shaderSMBuiltins" in refused.value.missing
    found = device.run(PLAIN, 1, {"Found": np.zeros(1, np.uint32)})
    assert found["Found"].tolist() == [device.capabilities.subgroup.size]


@pytest.mark.parametrize("size", [64, 128])
def test_the_reference_device_refuses_at_sizes_over_32(size: int) -> None:
    with vkgroup.open(f"reference:{size}") as wide:
        with lacks("at most 32 invocations, for GL_NV_shader_thread_group"):
            wide.run(PLAIN, 1, {"Found": np.zeros(1, np.uint32)})
        narrow = wide.run(PLAIN, 1, {"Found": np.zeros(1, np.uint32)}, subgroup_size=32)
        assert narrow["Found"].tolist() == [32]


def test_a_draw_refuses_at_sizes_over_32() -> None:
    fragment = compile_source(
        "#version 430\n#extension GL_NV_shader_thread_group : require\n"
        "layout(location = 0) out uint color;\nvoid main() { color = activeThreadsNV(); }\n",
        stage="fragment",
        dialect="gl",
    )
    with vkgroup.open("reference:64") as wide, lacks("at most 32 invocations"):
        wide.draw(fragment, (4, 4))
