"""Undefined values: causes stay with them through addresses and branches."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import interpret, kinds, program

from vkgroup.base.formats import FORMATS
from vkgroup.reference.interpreter import Memory, execute
from vkgroup.reference.interpreter.operations.images import image_of
from vkgroup.reference.interpreter.values.value import HARD

DATA = """
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_EXT_nonuniform_qualifier : require
#extension GL_EXT_shader_explicit_arithmetic_types : require
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer Data { uint data[64]; };
layout(std430, binding = 1) buffer More { uint more[128]; };
"""

#: Nothing is known of the upper half's `v`.
UNKNOWN = "uint i = gl_LocalInvocationIndex; uint v; if (i < 32u) v = i & 3u;\n"

#: In `soft`, what the order of atomics decides.
ORDER = "uint i = gl_LocalInvocationIndex; uint soft = atomicAdd(more[127], 1u);\n"


def causes_of(source: str) -> tuple[np.ndarray, list[str]]:
    """Return the causes of data[64] after one workgroup, and the kinds of events."""
    memory = Memory(np.zeros(256, np.uint8), "data")
    outcome = interpret(DATA + source, 1, memory, np.zeros(128, np.uint32))
    return np.zeros(64, np.uint16) if memory.causes is None else memory.causes, kinds(outcome)


def test_the_element_written_through_an_undefined_index_could_be_any() -> None:
    causes, events = causes_of(
        f"""void main() {{ {UNKNOWN}
            vec4 list[2][4];
            for (int k = 0; k < 8; k++) list[k / 4][k % 4] = vec4(0.0);
            list[1][v] = vec4(1.0, 2.0, 3.0, 4.0);
            data[i] = uint(i % 2u == 0u ? list[1][2].x : list[0][2].x); }}"""
    )
    assert "undefined" in events
    assert not causes[:32].any()
    assert (causes[32::2] >= HARD).all()
    assert not causes[33::2].any()


def test_an_atomic_load_depends_on_the_order_and_on_its_address() -> None:
    source = f"void main() {{ {UNKNOWN} data[i] = atomicLoad(more[{{}}], gl_ScopeDevice, 0, 0); }}"
    known, events = causes_of(source.replace("{}", "i"))
    assert ((known > 0) & (known < HARD)).all()
    assert events == []
    unknown, _ = causes_of(source.replace("{}", "v"))
    assert (unknown[:32] < HARD).all()
    assert (unknown[32:] >= HARD).all()


def test_an_undefined_descriptor() -> None:
    source = f"""{DATA}
    layout(std430, binding = 2) buffer Part {{ uint part[64]; }} parts[4];
    void main() {{ {UNKNOWN} data[i] = parts[nonuniformEXT(v)].part[i]; }}"""
    memories = [Memory(np.zeros(512, np.uint8), f"memory {k}") for k in range(6)]
    bound = {(0, 0): memories[:1], (0, 1): memories[1:2], (0, 2): memories[2:]}
    outcome = execute(program(source), (1, 1, 1), bound)
    assert "which descriptor is used depends on an undefined value" in [e.message for e in outcome.events]
    causes = memories[0].causes
    assert causes is not None
    assert not causes[:32].any()
    assert (causes[32:64] >= HARD).all()


def test_an_image_keeps_what_was_undefined_about_the_way_and_the_place() -> None:
    source = f"""{DATA}
    layout(binding = 2, r32ui) uniform uimage1D texels;
    void main() {{ {ORDER}
        if (soft < 40u) imageStore(texels, int(i), uvec4(7u));
        if (i < 32u) imageStore(texels, int(64u + soft % 32u), uvec4(8u)); }}"""
    texels = np.zeros(128, np.uint32)
    image = image_of([texels], "texels", FORMATS["R32ui"], dimension="1D")
    memories = [Memory(np.zeros(512, np.uint8), f"memory {k}") for k in range(2)]
    execute(program(source), (1, 1, 1), {(0, 0): memories[:1], (0, 1): memories[1:], (0, 2): [image]})
    assert image.causes is not None
    assert (image.causes[:40] > 0).all()
    assert (image.causes[64:96] > 0).all()
    assert not image.causes[96:].any()


@pytest.mark.parametrize(("first", "least", "most"), [("uint w; v = w;", HARD, 0xFFFF), ("", 1, HARD - 1)])
def test_a_ballot_of_those_that_others_may_have_left(first: str, least: int, most: int) -> None:
    # Invocation 3 alone does not know where it goes, and goes elsewhere.
    source = f"""void main() {{ uint i = gl_LocalInvocationIndex, v = i;
        if (i == 3u) {{ v = atomicAdd(more[0], 1u); {first} }}
        if (v != 0u) data[i] = subgroupBallot(true).x; }}"""
    causes, _ = causes_of(source)
    others = [i for i in range(32) if i not in (0, 3)]
    assert (causes[others] >= least).all()
    assert (causes[others] <= most).all()
    assert not causes[32:].any()


def test_small_shared_numbers_are_told_apart() -> None:
    source = f"""{DATA}
    shared uint16_t part[64];
    shared uint8_t octets[64];
    void main() {{ uint i = gl_LocalInvocationIndex;
        octets[i] = uint8_t(i);
        if (i % 2u == 0u) part[i] = uint16_t(i);
        barrier();
        data[i] = uint(part[i]) + uint(octets[63u - i]); }}"""
    memory = Memory(np.zeros(256, np.uint8), "data")
    outcome = interpret(source, 1, memory, np.zeros(128, np.uint32), races=True)
    assert kinds(outcome) == ["undefined"]
    assert memory.causes is not None
    assert not memory.causes[::2].any()
    assert (memory.causes[1::2] >= HARD).all()
    assert memory.data.view(np.uint32)[::2].tolist() == [i + 63 - i for i in range(0, 64, 2)]


@pytest.mark.parametrize(
    ("index", "is_right"), [("nonuniformEXT(i % 3u)", True), ("i % 3u", False), ("i / 8u", True)]
)
def test_the_index_of_a_descriptor_is_uniform_unless_marked(index: str, is_right: bool) -> None:
    source = f"""
    #extension GL_EXT_nonuniform_qualifier : require
    layout(local_size_x = 16) in;
    layout(std430, binding = 0) buffer Data {{ uint data[]; }} parts[3];
    layout(std430, binding = 1) buffer Result {{ uint result[]; }};
    void main() {{
        uint i = gl_LocalInvocationIndex;
        result[i] = parts[{index}].data[i];
    }}"""
    parts = [Memory(np.full(64, number, np.uint8), f"part {number}") for number in range(3)]
    result = Memory(np.zeros(64, np.uint8), "result")
    outcome = execute(program(source), (1, 1, 1), {(0, 0): parts, (0, 1): [result]}, subgroup_size=8)
    assert (outcome.events == ()) == is_right
    assert (result.causes is None) == is_right
    if not is_right:
        assert {event.cause.kind for event in outcome.events if event.cause} == {"not_uniform"}


@pytest.mark.parametrize(
    ("value", "is_right"),
    [
        ("table[i % 4u]", False), ("table[i / 8u]", True), ("table[2u]", True), ("vector[i % 4u]", True),
        ("matrix[i % 2u][i % 3u]", True), ("both[i / 8u][i % 4u]", True), ("both[i % 2u][0]", False),
    ],
)  # fmt: skip
def test_an_array_of_push_constants_has_uniform_indices(value: str, is_right: bool) -> None:
    source = f"""
    layout(local_size_x = 16) in;
    layout(push_constant) uniform Push {{ uvec4 vector; mat2x3 matrix; uvec4 both[2]; uint table[4]; }};
    layout(std430, binding = 1) buffer Result {{ uint result[]; }};
    void main() {{ uint i = gl_LocalInvocationIndex; result[i] = uint({value}); }}"""
    result = Memory(np.zeros(64, np.uint8), "result")
    push = np.ones(32, np.uint32).tobytes()
    outcome = execute(program(source), (1, 1, 1), {(0, 1): [result]}, subgroup_size=8, push=push)
    assert (result.causes is None) == is_right
    assert [event.cause.kind for event in outcome.events if event.cause] == ["not_uniform"] * (not is_right)
