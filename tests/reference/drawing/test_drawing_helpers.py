"""Helper invocations: no effect on memory, part in quads, and undefined results of group operations."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import in_pixels, lanes, reference

from vkgroup.compiler import TargetEnvironment
from vkgroup.reference.interpreter.values.value import HARD

# Covers the pixels (0, 0), (1, 0) and (0, 1) of one quad of 2x2, with an edge through no pixel's center.
CORNER = in_pixels([(0, 0), (2.5, 0), (0, 2.5)], (4, 4))

STORING = """
#extension GL_KHR_shader_subgroup_quad : require
layout(binding = 0) buffer Data { uint stored[4]; uint added; uint exchanged; };
layout(binding = 1, r32ui) uniform uimage2D picture;
layout(location = 0) out uvec4 color;
void main() {
    uint lane = uint(gl_FragCoord.x) + 2u * uint(gl_FragCoord.y);
    stored[lane] = 1u + lane;
    uint before = atomicAdd(added, 1u);
    imageStore(picture, ivec2(gl_FragCoord.xy), uvec4(7));
    imageAtomicAdd(picture, ivec2(gl_FragCoord.xy), 1u);
    bool helper = subgroupQuadBroadcast(gl_HelperInvocation, 3u);
    color = uvec4(uint(helper), subgroupQuadBroadcast(lane, 3u), subgroupQuadBroadcast(before, 3u), before);
}"""


def test_stores_and_atomics_of_helpers_have_no_effect() -> None:
    device = reference(4)
    result = device.draw(
        "#version 450\n" + STORING,
        (4, 4),
        {0: np.zeros(6, np.uint32), 1: np.zeros((4, 4), np.uint32)},
        vertices={"position": CORNER},
    )
    assert result[0].tolist() == [1, 2, 3, 0, 3, 0]
    picture = np.zeros((4, 4), np.uint32)
    picture[0, :2] = picture[1, 0] = 8
    assert np.array_equal(result[1], picture)
    assert (result["color"][0, 0, :2] == (1, 3)).all()
    # What an atomic gives to a helper is anything.
    assert result.defined["color"][0, 0].tolist() == [True, True, False, True]
    assert [event.kind for event in result.events] == ["undefined"]


def test_stores_of_helpers_out_of_bounds_are_nothing() -> None:
    source = """
    layout(binding = 0) buffer Data { uint data[]; };
    layout(location = 0) out uvec4 color;
    void main() {
        uint at = uint(gl_FragCoord.x) + 2u * uint(gl_FragCoord.y);
        data[at] = 1u;
        atomicAdd(data[at], 1u);
        color = uvec4(0);
    }"""
    data = np.zeros(3, np.uint32)
    _, _, outcome = lanes(source, (4, 4), data, positions=CORNER)
    assert outcome.events == ()
    assert data.tolist() == [2, 2, 2]
    assert [event.kind for event in lanes(source, (4, 4), data[:2], positions=CORNER)[2].events] == [
        "bounds"
    ] * 2


TAKING_PART = """
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
%s
layout(location = 0) out uvec4 color;
void main() {
    uint lane = gl_SubgroupInvocationID;
    float derivative = dFdx(gl_FragCoord.x);
    color = uvec4(%s);
}"""


def taking_part(*values: str) -> tuple[np.ndarray, np.ndarray]:
    result, causes, _ = lanes(
        TAKING_PART % ("", ", ".join(values)), (4, 4), positions=CORNER, subgroup_size=8
    )
    return result, causes


def test_a_device_may_leave_helpers_out_of_group_operations() -> None:
    result, causes = taking_part(
        "subgroupBallot(true).x",
        "subgroupInclusiveAdd(1u)",
        "subgroupAdd(gl_HelperInvocation ? 0u : 1u)",
        "subgroupBroadcastFirst(lane)",
    )
    assert result[0, 0].tolist() == [15, 1, 3, 0]
    assert result[1, 0].tolist() == [15, 3, 3, 0]
    # Lane 3 is the helper: a scan up to lane 2 does not have it.
    soft = causes[0, 0]
    assert ((soft > 0) & (soft < HARD)).tolist() == [True, False, True, False]


def test_to_read_from_a_helper_may_be_to_read_from_an_inactive_lane() -> None:
    _, causes = taking_part("subgroupShuffle(lane, 3u)", "subgroupShuffleXor(lane, 1u)", "0u", "0u")
    assert causes[0, 0, 0] >= HARD
    assert causes[0, 0, 1] == 0
    assert causes[1, 0, 1] >= HARD


def test_who_is_elected_is_open_where_a_helper_comes_first() -> None:
    # The quad's first lane is not covered.
    other = in_pixels([(2, -0.5), (2, 2), (-0.5, 2)], (4, 4))
    source = TAKING_PART % ("", "uint(subgroupElect()), subgroupBroadcastFirst(lane), 0u, 0u")
    result, causes, _ = lanes(source, (4, 4), positions=other, subgroup_size=4)
    assert result[0, 1].tolist() == [0, 0, 0, 0]
    assert [bool(cause) for cause in causes[0, 1, :2]] == [True, True]
    # Lane 1 is there in any case, so no later one is the first.
    assert [bool(cause) for cause in causes[1, 0, :2]] == [False, True]


def test_with_maximal_reconvergence_helpers_take_part() -> None:
    source = TAKING_PART % (
        "#extension GL_EXT_spirv_intrinsics : require\n"
        'spirv_execution_mode(extensions = ["SPV_KHR_maximal_reconvergence"], 6023);',
        "subgroupBallot(true).x, subgroupInclusiveAdd(1u), subgroupShuffle(lane, 3u), 0u",
    )
    result, causes, _ = lanes(source, (4, 4), positions=CORNER, subgroup_size=8)
    assert result[0, 0].tolist() == [15, 1, 3, 0]
    assert not causes.any()


FULL_QUADS = """
#extension GL_EXT_spirv_intrinsics : require
#extension GL_KHR_shader_subgroup_ballot : require
#define QUADS extensions = ["SPV_KHR_quad_control"], capabilities = [5087]
spirv_instruction(QUADS, id = 5110) bool quadAll(bool value);
spirv_instruction(QUADS, id = 5111) bool quadAny(bool value);
spirv_execution_mode(QUADS, 5089);
spirv_execution_mode(extensions = ["SPV_KHR_maximal_reconvergence"], 6023);
layout(location = 0) out uvec4 color;
void main() {
    bool helper = gl_HelperInvocation;
    color = uvec4(quadAll(helper), quadAny(helper), subgroupBallot(helper).x, 1);
}"""


def test_quads_vote_with_their_helpers() -> None:
    positions = in_pixels([(0, 0), (7.5, 0), (0, 3.5)], (16, 4))
    result, causes, outcome = lanes(FULL_QUADS, (16, 4), positions=positions, subgroup_size=32)
    drawn = result[result[..., 3] == 1]
    assert not drawn[:, 0].any()
    quads = (result[..., 3] == 1).reshape(2, 2, 8, 2).sum(axis=(1, 3))
    partial = np.repeat(np.repeat((quads > 0) & (quads < 4), 2, axis=0), 2, axis=1)
    assert 0 < partial.sum() < (quads > 0).sum() * 4
    assert np.array_equal(result[..., 1] == 1, partial & (result[..., 3] == 1))
    assert bin(drawn[0, 2]).count("1") == outcome.helpers
    assert not causes.any()


# --- discard and demote -------------------------------------------------------------------------------

ENDING = """
#extension GL_KHR_shader_subgroup_quad : require
#extension GL_EXT_demote_to_helper_invocation : require
layout(binding = 0) buffer Data { uint data[16]; };
layout(location = 0) out uvec4 color;
void main() {
    uint at = uint(gl_FragCoord.x) + 4u * uint(gl_FragCoord.y);
    float slope = gl_FragCoord.x * 3.0;
    if (at == 0u) { data[at] = 1u; %s; }
    data[at] |= 2u;
    color = uvec4(5u, uint(dFdxFine(slope)), subgroupQuadBroadcast(at, 0u), 7u);
}"""


@pytest.mark.parametrize("target", [TargetEnvironment.VULKAN_1_2, TargetEnvironment.VULKAN_1_3])
def test_a_discarded_fragment_is_gone_and_so_are_its_quad_s_derivatives(target: TargetEnvironment) -> None:
    data = np.zeros(16, np.uint32)
    result, causes, _ = lanes(ENDING % "discard", (4, 4), data, target=target)
    assert data.tolist() == [1] + [2] * 15
    assert not result[0, 0].any()
    assert not causes[0, 0].any()
    # Its neighbour cannot know the slope, nor what lane 0 had; the other quads can.
    assert (causes[0, 1] >= HARD).tolist() == [False, True, True, False]
    assert (causes[1, 1] >= HARD).tolist() == [False, True, True, False]
    assert not causes[:2, 2:].any()
    assert (result[2:, 2:, 1] == 3).all()


def test_a_demoted_fragment_goes_on_as_a_helper() -> None:
    data = np.zeros(16, np.uint32)
    result, causes, outcome = lanes(ENDING % "demote", (4, 4), data)
    assert data.tolist() == [1] + [2] * 15
    assert not result[0, 0].any()
    assert result[0, 1].tolist() == [5, 3, 0, 7]
    assert not causes.any()
    assert outcome.events == ()


def test_helpers_are_known_after_demotion() -> None:
    source = """
    #extension GL_KHR_shader_subgroup_quad : require
    #extension GL_EXT_demote_to_helper_invocation : require
    layout(location = 0) out uvec4 color;
    void main() {
        bool before = helperInvocationEXT();
        if (uint(gl_FragCoord.x) == 0u) demote;
        bool after = helperInvocationEXT();
        color = uvec4(subgroupQuadBroadcast(uint(before), 0u), subgroupQuadBroadcast(uint(after), 0u),
                      subgroupQuadBroadcast(uint(gl_HelperInvocation), 0u), uint(after));
    }"""
    result, causes, _ = lanes(source, (2, 2))
    assert result[0, 1].tolist()[:2] == [0, 1]
    assert result[0, 1, 3] == 0
    # gl_HelperInvocation itself need not know of it.
    assert (causes[0, 1] >= HARD).tolist() == [False, False, True, False]


def test_a_discard_that_depends_on_an_undefined_value_leaves_the_pixel_undefined() -> None:
    source = """
    layout(location = 0) out uvec4 color;
    void main() { uint x; color = uvec4(1); if (gl_FragCoord.x < 1.0 && x == 3u) discard; }"""
    _, causes, outcome = lanes(source, (4, 2))
    assert (causes[:, 0] >= HARD).all()
    assert not causes[:, 1:].any()
    assert outcome.events[0].message.startswith("control flow depends")


@pytest.mark.parametrize("ends", ["demote", "discard"])
def test_a_fragment_that_has_ended_stays_so_if_later_control_flow_is_undefined(ends: str) -> None:
    extension = "#extension GL_EXT_demote_to_helper_invocation : require\n"
    source = """
    layout(binding = 0) buffer Data { uint added[4]; };
    layout(location = 0) out uvec4 color;
    void main() {
        uint at = uint(gl_FragCoord.x) + 2u * uint(gl_FragCoord.y);
        if (at == 1u)
            demote;
        // What the atomic gives to the helper is anything.
        uint before = atomicAdd(added[at], 1u);
        if (at == 3u || before > 1000u)
            ENDS;
        color = uvec4(7);
    }"""
    result = reference(4).draw(
        "#version 450\n" + extension + source.replace("ENDS", ends), (2, 2), {0: np.zeros(4, np.uint32)}
    )
    assert result["color"][..., 0].tolist() == [[7, 0], [7, 0]]
    assert result.defined is not None
    assert result.defined["color"].all()
