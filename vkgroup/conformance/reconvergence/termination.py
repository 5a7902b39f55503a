"""Cases of fragments that are demoted, terminated or discarded, and their shader.

They test what ``reconvergence.maximal.fragment``, ``reconvergence.terminate_invocation`` and
``subgroup_uniform_control_flow.discard`` of the Vulkan CTS test, in every subgroup of the draw: some
fragments end or are demoted, then the others record their masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vkgroup.conformance.arrays import Flags, Indices
from vkgroup.conformance.family import TableCase, table
from vkgroup.conformance.fragment.scenes import GRID, SCENES, TriangleScene
from vkgroup.programs.glsl import MODES
from vkgroup.programs.nodes import Promise

# Selections of fragments


@dataclass(frozen=True)
class Selection:
    """Set of fragments that leave, which means that they are demoted, terminated or discarded."""

    glsl: str  # the condition, of x, y, place (0 to 3 in the quad), quad (its number), lane and helper
    flags: Callable[[Indices, Indices, Indices], Flags]  # the same for covered pixels, from x, y and lane
    sentence: str  # description of the set
    #: Lanes whose fragments leave, covered or not; None if unknown for helper invocations.
    lanes: int | None = None
    helpers: bool = False  # whether helper invocations leave


_QUADS_A_ROW = 32
_CHOSEN = "quad % 3u == 1u"
_EVEN_LANES = int("55" * 16, 16)


def _position(x: Indices, y: Indices) -> Indices:
    return np.asarray(x % 2 + 2 * (y % 2))


def _quad(x: Indices, y: Indices) -> Indices:
    return np.asarray(x // 2 + y // 2 * _QUADS_A_ROW)


def _in_third_quads(places: int, sentence: str) -> Selection:
    """Return the fragments at some positions of every third quad; `places` has a bit for each."""
    return Selection(
        f"{_CHOSEN} && ({places}u >> place & 1u) == 1u",
        lambda x, y, lane: (_quad(x, y) % 3 == 1) & (places >> _position(x, y) & 1 == 1),
        f"{sentence} of every third quad",
    )


def _one_in_turns(operator: str, sentence: str) -> Selection:
    """Return one fragment of every third quad, or the others of the quad."""

    def flags(x: Indices, y: Indices, lane: Indices) -> Flags:
        one = _position(x, y) == _quad(x, y) // 3 % 4
        return np.asarray((_quad(x, y) % 3 == 1) & (one if operator == "==" else ~one))

    return Selection(
        f"{_CHOSEN} && place {operator} quad / 3u % 4u", flags, f"{sentence}, in turns, of every third quad"
    )


SELECTIONS = {
    "entire_quad": _in_third_quads(0b1111, "all four fragments"),
    "half_quad_top": _in_third_quads(0b0011, "the upper half"),
    "half_quad_bottom": _in_third_quads(0b1100, "the lower half"),
    "half_quad_left": _in_third_quads(0b0101, "the left half"),
    "half_quad_right": _in_third_quads(0b1010, "the right half"),
    "half_quad_slash": _in_third_quads(0b0110, "one diagonal"),
    "half_quad_backslash": _in_third_quads(0b1001, "the other diagonal"),
    "invocation": _one_in_turns("==", "one invocation"),
    "all_but_one": _one_in_turns("!=", "all but one"),
    "even": Selection(
        "(lane & 1u) == 0u",
        lambda x, y, lane: lane % 2 == 0,
        "the fragments of every other lane",
        _EVEN_LANES,
    ),
    "even_and_helpers": Selection(
        "(lane & 1u) == 0u || helper",
        lambda x, y, lane: lane % 2 == 0,
        "the fragments of every other lane and all helper invocations",
        _EVEN_LANES,
        helpers=True,
    ),
    "helpers": Selection(
        "helper", lambda x, y, lane: lane < 0, "all helper invocations", lanes=0, helpers=True
    ),
    "nobody": Selection("values[1] == 12345u", lambda x, y, lane: lane < 0, "no fragments", lanes=0),
    "corner": Selection(
        "x < 8u && y < 8u && place == 1u",
        lambda x, y, lane: (x < 8) & (y < 8) & (_position(x, y) == 1),
        "some fragments in a corner",
    ),
}
"""All selections by name."""

# Cases


@dataclass(frozen=True)
class TerminationTest:
    """Behaviour of the fragments, without the scene."""

    name: str  # part of the name of a case
    verb: str  # a key of `VERBS`
    selection: str  # fragments that leave, a key of `SELECTIONS`
    promise: Promise | None  # reconvergence guarantee afterwards; None if ballots are not compared
    flow: str = "switch"  # control flow before they leave, a key of `FLOWS`
    #: Action of the remaining fragments, a key of `_PROBES`: ``"read"`` (memory at an index that is invalid
    #: for those that left), ``"quad_any"`` (a vote whether the quad has a helper invocation), ``"any_left"``
    #: (a vote whether a fragment that left is active), or "" for none.
    probe: str = ""


def _tests() -> Iterator[TerminationTest]:
    for selection in list(SELECTIONS)[:9]:
        for verb in ("demote", "terminate"):
            yield TerminationTest(f"maximal.fragment.{verb}_{selection}", verb, selection, Promise.MAXIMAL)
    stem = "terminate_invocation"
    yield TerminationTest(f"{stem}.bit_count", "terminate", "even", Promise.MAXIMAL, "plain")
    yield TerminationTest(f"{stem}.bit_count_parted", "terminate", "even", Promise.MAXIMAL)
    yield TerminationTest(
        f"{stem}.terminate_helpers", "terminate", "helpers", Promise.MAXIMAL, "plain", "any_left"
    )
    yield TerminationTest(f"{stem}.oob_read", "terminate", "even", None, "plain", "read")
    yield TerminationTest(f"{stem}.quad_any", "terminate", "even_and_helpers", None, "plain", "quad_any")
    for selection in ("nobody", "corner"):
        yield TerminationTest(
            f"subgroup_uniform.discard.{selection}", "discard", selection, Promise.SUBGROUP, "elect"
        )


TESTS: dict[str, TerminationTest] = {test.name: test for test in _tests()}
"""All tests by name."""

_SCENES = ("whole", "triangle", "dots")


class TerminationAxes(NamedTuple):
    """Axes: a key of `TESTS`, a key of `SCENES`, and ``"full_quads"`` or "".

    With ``"full_quads"`` the shader requests full quads (SPV_KHR_quad_control).
    """

    test: str
    scene_name: str
    full_quads: str

    @property
    def scene(self) -> TriangleScene:
        """Scene that is drawn."""
        return SCENES[self.scene_name]


TerminationCase = TableCase[TerminationAxes]


def _sentence(axes: TerminationAxes) -> str:
    """Return the requirement that a case tests."""
    test = TESTS[axes.test]
    full = ", with full quads" if axes.full_quads else ""
    left, flow = VERBS[test.verb].participle, FLOWS[test.flow][1]
    return (
        f"In {axes.scene.sentence}{full}, {SELECTIONS[test.selection].sentence} are {left}{flow} and write "
        f"nothing more; the remaining fragments {_PROBES[test.probe][1]}."
    )


# Votes in quads belong to the same extension as full quads.
CASES = table(
    "reconvergence",
    TerminationAxes,
    _sentence,
    test=TESTS,
    scene_name=_SCENES,
    full_quads=lambda test, scene: ("full_quads",) if TESTS[test].probe == "quad_any" else ("", "full_quads"),
)


# Shader

PLANES = {
    "started": 0, "lane": 1, "subgroup": 2, "size": 3, "elected": 4, "before": 5, "real": 9,
    "ended": 13, "after": 14, "left": 18, "probe": 22,
}  # fmt: skip
"""First plane of each value that a fragment records: before it may leave, and from "ended" on afterwards."""

COUNT = 23
"""Number of planes."""

WILD = 0xFFFFFFFF
"""Index at which fragments that left would read."""

VALUE = 7
"""Value that the remaining fragments read."""


class Verb(NamedTuple):
    """Statement that ends or demotes a fragment, participle, GLSL extension and feature; empty if none."""

    statement: str
    participle: str
    extension: str = ""
    feature: str = ""


VERBS = {
    "demote": Verb(
        "demote;", "demoted", "GL_EXT_demote_to_helper_invocation", "shaderDemoteToHelperInvocation"
    ),
    "terminate": Verb(
        "terminateInvocation;", "terminated", "GL_EXT_terminate_invocation", "shaderTerminateInvocation"
    ),
    "discard": Verb("discard;", "discarded"),
}
"""Statements that end or demote fragments."""

FLOWS = {
    "plain": ("if (leaves) {{ {leave} }}", ""),
    # They diverge four ways, through loops that elected fragments leave one by one.
    "switch": (
        """if (leaves) {{
        switch (lane & 3u) {{
        case 0u:
            for (;;) {{ subgroupMemoryBarrier(); if (subgroupElect()) break; }}
            {leave}
            break;
        case 1u:
            do {{ subgroupMemoryBarrierBuffer(); }} while (!subgroupElect());
            {leave}
            break;
        case 2u:
            while (values[1] != 12345u) {{ if (subgroupElect()) break; }}
            {leave}
            break;
        case 3u:
            if (values[0] == 7u) {{ {leave} }}
            break;
        }}
    }}""",
        " after diverging four ways",
    ),
    "elect": (
        """if (elected) {{
        color = 1u;
    }} else if (!leaves) {{
        color = 2u;
    }} else {{
        {leave}
    }}""",
        " in the last of three branches",
    ),
}
"""Control flow before fragments leave: GLSL with ``{leave}``, and words."""

_PROBES = {
    "": ("0u", "are together as far as the device promises it"),
    "read": (
        f"values[leaves ? {WILD}u : 0u]", "read memory at an index that is invalid for those that left"
    ),
    "quad_any": (
        "uint(quad_any(gl_HelperInvocation))", "have no helper invocation in their quad, by a vote"
    ),
    "any_left": (
        "uint(subgroupAny(leaves))", "are together and, by a vote, none of those that left is active"
    ),
}  # fmt: skip

_TEMPLATE = """#version 460
// Fragments that leave: {title}.
// binding 0: planes of a word for each pixel; binding 1: values that no invocation writes.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
{extensions}
{modes}
layout(location = 0) out uint color;
layout(std430, binding = 0) writeonly buffer Outputs {{ uint outputs[]; }};
layout(std430, binding = 1) readonly buffer Values {{ uint values[]; }};
const uint GRID = {grid}u;
const uint PIXELS = {pixels}u;

void keep(uint index, uint plane, uvec4 mask) {{
    for (uint word = 0u; word < 4u; ++word) outputs[index + (plane + word) * PIXELS] = mask[word];
}}

void main() {{
    uint x = uint(gl_FragCoord.x);
    uint y = uint(gl_FragCoord.y);
    uint index = y * GRID + x;
    uint lane = gl_SubgroupInvocationID;
    uint place = (x & 1u) + 2u * (y & 1u);
    uint quad = x / 2u + y / 2u * 32u;
    bool helper = gl_HelperInvocation;
    bool leaves = {selected};
    uvec4 before = subgroupBallot(true);
    uvec4 real = subgroupBallot(!helper);
    bool elected = subgroupElect();
    outputs[index] = 1u;
    outputs[index + {lane}u * PIXELS] = lane;
    outputs[index + {subgroup}u * PIXELS] = subgroupBroadcastFirst(index);
    outputs[index + {size}u * PIXELS] = gl_SubgroupSize;
    outputs[index + {elected}u * PIXELS] = uint(elected);
    keep(index, {before}u, before);
    keep(index, {real}u, real);

    {flow}

    uvec4 after = subgroupBallot(true);
    uvec4 left = subgroupBallot(!{now_helper});
    uint probe = {probe_code};
    outputs[index + {ended}u * PIXELS] = 1u;
    keep(index, {after}u, after);
    keep(index, {left}u, left);
    outputs[index + {probe}u * PIXELS] = probe;
    color = index + 1u;
}}
"""

_QUADS = 'extensions = ["SPV_KHR_quad_control"], capabilities = [5087]'  # QuadControlKHR
_QUAD_ANY = 5111  # OpGroupNonUniformQuadAnyKHR
_FULL_QUADS = 5089  # RequireFullQuadsKHR


def source_of(case: TerminationCase) -> str:
    """Return the GLSL of a case."""
    axes, test = case.axes, TESTS[case.axes.test]
    verb = VERBS[test.verb]
    extensions, modes = {verb.extension} - {""}, []
    if test.probe == "any_left":
        extensions.add("GL_KHR_shader_subgroup_vote")
    if test.promise is not None or axes.full_quads:
        extensions.add("GL_EXT_spirv_intrinsics")
    if test.promise is not None:
        extension, number = MODES[test.promise]
        modes.append(f'spirv_execution_mode(extensions = ["{extension}"], {number});')
    if axes.full_quads:
        modes.append(f"spirv_execution_mode({_QUADS}, {_FULL_QUADS});")
    if test.probe == "quad_any":
        modes.append(f"spirv_instruction({_QUADS}, id = {_QUAD_ANY}) bool quad_any(bool predicate);")
    return _TEMPLATE.format(
        title=case.name,
        extensions="\n".join(f"#extension {name} : require" for name in sorted(extensions)),
        modes="\n".join(modes),
        grid=GRID,
        pixels=axes.scene.layers * GRID * GRID,
        selected=SELECTIONS[test.selection].glsl,
        flow=FLOWS[test.flow][0].format(leave=verb.statement),
        now_helper="helperInvocationEXT()" if test.verb == "demote" else "gl_HelperInvocation",
        probe_code=_PROBES[test.probe][0],
        **PLANES,
    )
