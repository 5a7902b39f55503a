"""Derivatives in compute shaders on the reference device: the invocations of each quad, and differences."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import vkgroup
from vkgroup.base.errors import Unsupported
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.reference.interpreter import ExecutableShader, execute
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.values.arrangement import in_quads, shuffled
from vkgroup.spirv import Module

SHAPE = (6, 4, 2)

SOURCE = """#version 460
#extension GL_EXT_spirv_intrinsics : require
#extension GL_KHR_shader_subgroup_quad : require
spirv_execution_mode(extensions = ["SPV_KHR_compute_shader_derivatives"], capabilities = [%d], %d);
spirv_instruction(capabilities = [51], id = 210) float dxFine(float value);
spirv_instruction(capabilities = [51], id = 211) float dyFine(float value);
layout(local_size_x = 6, local_size_y = 4, local_size_z = 2) in;
layout(std430, binding = 0) buffer Found { vec4 found[]; };
void main() {
    float value = float(gl_LocalInvocationIndex * gl_LocalInvocationIndex);
    found[gl_LocalInvocationIndex] = vec4(dxFine(value), dyFine(value),
        float(subgroupQuadSwapHorizontal(gl_LocalInvocationIndex)),
        float(subgroupQuadSwapVertical(gl_LocalInvocationIndex)));
}"""

MODES = {"quads": (5288, 5289), "linear": (5350, 5290)}


def module(mode: str) -> Module:
    return compile_source(
        SOURCE % MODES[mode], stage="compute", target=TargetEnvironment.VULKAN_1_2, name="x"
    )


def expected(mode: str) -> npt.NDArray[np.float32]:
    """Return both differences and both neighbours of each invocation."""
    index = np.arange(48)
    x, y = index % 6, index // 6 % 4
    if mode == "quads":
        across, down = index + 1 - 2 * (x % 2), index + 6 * (1 - 2 * (y % 2))
    else:
        across, down = index ^ 1, index ^ 2
    dx = np.sign(across - index) * (across**2 - index**2)
    dy = np.sign(down - index) * (down**2 - index**2)
    return np.stack([dx, dy, across, down], axis=1).astype(np.float32)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [4, 8, 128])
def test_values_differ_between_the_invocations_of_a_quad(mode: str, size: int) -> None:
    with vkgroup.open("reference", subgroup_size=size) as device:
        result = device.run(module(mode), 1, {"Found": np.zeros((48, 4), np.float32)})
    assert np.array_equal(result["Found"].reshape(48, 4), expected(mode))
    assert result.defined["Found"].all()


@pytest.mark.parametrize("mode", MODES)
def test_shuffled_lanes_keep_their_quads(mode: str) -> None:
    memory = Memory(np.zeros(48 * 16, np.uint8), "found")
    program = ExecutableShader(module(mode))
    execute(program, (1, 1, 1), {(0, 0): [memory]}, subgroup_size=16, shuffle=3)
    assert np.array_equal(memory.data.view(np.float32).reshape(48, 4), expected(mode))


def test_whole_quads_change_places() -> None:
    quads = in_quads(SHAPE)
    found = shuffled(SHAPE, 5, 1, quads)
    assert sorted(found[2].tolist()) == list(range(48))
    assert np.array_equal(found % 4, np.broadcast_to(quads % 4, found.shape))
    assert not np.array_equal(found[0], found[1])


def test_there_are_no_quads_in_smaller_subgroups() -> None:
    with vkgroup.open("reference", subgroup_size=2) as device, pytest.raises(Unsupported, match="quads"):
        device.run(module("quads"), 1, {"Found": np.zeros((48, 4), np.float32)})
