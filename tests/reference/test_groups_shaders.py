"""Small shaders with group instructions: older functions, lanes in any order, causes that reach a buffer."""

from __future__ import annotations

import numpy as np
import pytest

from vkgroup.compiler import compile_source
from vkgroup.reference.interpreter.execution.execute import execute
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.values.value import HARD


def run(extensions, body, result, invocations=16, **options):
    """Run a shader over `found`, a uint for each invocation; return memory, program and outcome."""
    lines = "\n".join(f"#extension {name} : require" for name in extensions.split())
    source = f"""#version 460
{lines}
layout(local_size_x = {invocations}) in;
layout(std430, binding = 0) buffer Found {{ uint found[]; }};
void main() {{
    uint i = gl_GlobalInvocationID.x;
    {body}
}}"""
    program = ExecutableShader(compile_source(source, stage="compute"))
    memory = Memory(result.view(np.uint8), "found")
    outcome = execute(program, (result.size // invocations, 1, 1), {(0, 0): [memory]}, **options)
    return memory, program, outcome


def kinds(memory, program):
    """Return the kind of each word's cause, None where it is defined."""
    if memory.causes is None:
        return [None] * (memory.nbytes // 4)
    return [program.causes[number].kind if number else None for number in memory.causes.tolist()]


ARB = "GL_ARB_shader_ballot GL_ARB_gpu_shader_int64"


@pytest.mark.parametrize(
    ("extensions", "expression", "expected"),
    [
        (ARB, "uint(ballotARB(i % 3u == 0u))", [0b1001001] * 8 + [0b10010010] * 8),
        (ARB, "readInvocationARB(i * 3u, 5u)", [15] * 8 + [39] * 8),
        (ARB, "uint(readInvocationARB(float(i), 7u))", [7] * 8 + [15] * 8),
        (ARB, "readFirstInvocationARB(i)", [0] * 8 + [8] * 8),
        ("GL_ARB_shader_group_vote", "uint(anyInvocationARB(i == 9u))", [0] * 8 + [1] * 8),
        ("GL_ARB_shader_group_vote", "uint(allInvocationsARB(i != 9u))", [1] * 8 + [0] * 8),
        ("GL_ARB_shader_group_vote", "uint(allInvocationsEqualARB(i < 9u))", [1] * 8 + [0] * 8),
        (
            "GL_AMD_shader_ballot",
            "addInvocationsAMD(i) + 0u * addInvocationsNonUniformAMD(i)",
            [28] * 8 + [92] * 8,
        ),
        ("GL_AMD_shader_ballot", "minInvocationsNonUniformAMD(i + 1u)", [1] * 8 + [9] * 8),
        (
            "GL_AMD_shader_ballot",
            "addInvocationsExclusiveScanNonUniformAMD(1u)",
            [*range(8), *range(8)],
        ),
    ],
)
def test_the_older_functions(extensions, expression, expected) -> None:
    result = np.zeros(16, np.uint32)
    memory, _, outcome = run(extensions, f"found[i] = {expression};", result, subgroup_size=8)
    assert result.tolist() == expected
    assert memory.causes is None or not memory.causes.any()
    assert outcome.events == ()


@pytest.mark.parametrize("size", [4, 16, 64])
def test_lanes_may_be_assigned_in_any_order(size) -> None:
    """A scan counts through the lanes as they are assigned, which the built-in variables say."""
    result = np.zeros(4 * 48, np.uint32)
    body = """
    uint sum = subgroupInclusiveAdd(i);
    uint place = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
    found[i] = sum << 8 | place;"""
    run("GL_KHR_shader_subgroup_arithmetic", body, result, invocations=48, subgroup_size=size, shuffle=3)
    place = (result & 0xFF).reshape(4, 48)
    sums = (result >> 8).reshape(4, 48)
    assert (np.sort(place, axis=1) == np.arange(48)).all()
    assert (place != np.arange(48)).any()
    for workgroup in range(4):
        for i in range(48):
            lane = place[workgroup, i] % size
            lower = [
                48 * workgroup + j
                for j in range(48)
                if place[workgroup, j] // size == place[workgroup, i] // size
                and place[workgroup, j] % size <= lane
            ]
            assert sums[workgroup, i] == sum(lower)


def test_a_tree_of_shuffles_reports_only_lanes_beyond_the_end() -> None:
    """The sum of lane 0 is defined; what the upper lanes add up is not, each step spoiling more of them."""
    result = np.arange(16, dtype=np.uint32)
    body = """
    uint sum = found[i];
    for (uint step = 4u; step > 0u; step /= 2u) sum += subgroupShuffleDown(sum, step);
    found[i] = sum;"""
    memory, program, _ = run("GL_KHR_shader_subgroup_shuffle_relative", body, result, subgroup_size=8)
    assert result[[0, 8]].tolist() == [28, 92]
    assert kinds(memory, program) == ([None] + ["lane_out_of_range"] * 7) * 2


def test_an_undefined_value_spoils_the_reduction_it_enters() -> None:
    result = np.ones(16, np.uint32)
    body = """
    uint read = subgroupShuffle(found[i], i == 3u ? 99u : 0u);
    found[i] = subgroupAdd(read);"""
    extensions = "GL_KHR_shader_subgroup_shuffle GL_KHR_shader_subgroup_arithmetic"
    memory, program, _ = run(extensions, body, result, subgroup_size=8)
    assert kinds(memory, program) == ["lane_out_of_range"] * 8 + [None] * 8
    assert result[8:].tolist() == [8] * 8


def test_the_sign_of_a_zero_that_a_minimum_chooses_is_not_called_undefined() -> None:
    result = np.zeros(16, np.uint32)
    body = "found[i] = floatBitsToUint(subgroupMin(i % 2u == 0u ? 0.0 : uintBitsToFloat(0x80000000u)));"
    memory, program, outcome = run("GL_KHR_shader_subgroup_arithmetic", body, result, subgroup_size=8)
    assert set(kinds(memory, program)) == {"order"}
    assert (memory.causes < HARD).all()
    assert outcome.events == ()


def test_a_branch_on_an_undefined_vote_is_noticed_with_its_cause() -> None:
    result = np.zeros(16, np.uint32)
    body = "if (subgroupAny(subgroupShuffleXor(found[i], 8u) == 1u)) found[i] = 1u;"
    extensions = "GL_KHR_shader_subgroup_shuffle GL_KHR_shader_subgroup_vote"
    _, _, outcome = run(extensions, body, result, subgroup_size=8)
    assert [event.kind for event in outcome.events] == ["undefined"]
    cause = outcome.events[0].cause
    assert cause is not None
    assert cause.detail == "subgroupShuffleXor() reads a lane that a subgroup of 8 does not have"
    _, _, outcome = run(extensions, body, result, subgroup_size=16)
    assert outcome.events == ()
