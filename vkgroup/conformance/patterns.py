"""Shapes of workgroups, and patterns of activity: the control flow around the operation that a case tests.

A pattern is GLSL with marks ``@OBSERVE(slot)``. At each mark the shader records the active
mask (`subgroupBallot(true)`) and every result under test into `slot`. An invocation writes a slot at
most once, so that (slot, subgroup, mask) names one dynamic instance of the operation.

Every device allows 128 invocations per workgroup (Vulkan 1.4, Required Limits,
maxComputeWorkGroupInvocations), and no subgroup has more than 128. A partial shape has
123 = 3 × 41 invocations, which is odd, so it is not a multiple of any subgroup size above 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from vkgroup.conformance.arrays import Flags, Indices

WORKGROUPS = 4
"""Number of workgroups in a dispatch; each has data of a different kind."""


@dataclass(frozen=True)
class WorkgroupShape:
    """A workgroup's extent, whole and partial."""

    name: str
    whole: tuple[int, int, int]
    partial: tuple[int, int, int]

    def local_size(self, partial: bool) -> tuple[int, int, int]:
        """Return the workgroup's size in x, y and z."""
        return self.partial if partial else self.whole

    def invocations(self, partial: bool) -> int:
        """Return the number of invocations in one workgroup."""
        return prod(self.local_size(partial))


SHAPES: dict[str, WorkgroupShape] = {
    shape.name: shape
    for shape in (
        WorkgroupShape("1d", (128, 1, 1), (123, 1, 1)),
        WorkgroupShape("2d", (16, 8, 1), (41, 3, 1)),
        WorkgroupShape("3d", (8, 4, 4), (41, 1, 3)),
    )
}
"""All shapes by name."""


@dataclass(frozen=True)
class Leave:
    """A statement that ends or demotes fragments: its GLSL, extension, and the Vulkan feature it needs."""

    statement: str
    extension: str = ""
    feature: str = ""

    @property
    def features(self) -> list[str]:
        """The Vulkan features that it needs."""
        return [self.feature] if self.feature else []


LEAVES: dict[str, Leave] = {
    "": Leave(""),
    "discard": Leave("discard"),
    "demote": Leave("demote", "GL_EXT_demote_to_helper_invocation", "shaderDemoteToHelperInvocation"),
    "terminate": Leave("terminateInvocation", "GL_EXT_terminate_invocation", "shaderTerminateInvocation"),
}
"""The statements that end or demote fragments, by name; "" for none."""


@dataclass(frozen=True)
class PatternLanes:
    """Invocations with what the conditions of patterns use; arrays, (invocations,), as in `Stage.start`."""

    lane: Indices
    size: int
    group: Indices
    turn: Indices
    selected: Flags  # whether data selects them

    @property
    def chosen_lane(self) -> Indices:
        """The lane that is chosen in the subgroup of each."""
        return np.asarray((self.turn * 5 + self.group + 2) % self.size)


Paths = Callable[[PatternLanes], list[Flags]]


@dataclass(frozen=True)
class Pattern:
    """Control flow in which some invocations of a subgroup are active and others are not."""

    name: str  # the pattern's part in the name of a case
    sentence: str  # what the pattern does, to complete "the operation is executed …"
    #: GLSL expression over the names that `Stage.start` sets, true for invocations that reach at least one
    #: ``@OBSERVE`` mark. Other invocations read *decoy* data, which must not affect any result.
    active: str
    code: str  # GLSL of the pattern, with marks ``@OBSERVE(slot)``
    paths: Paths  # which invocations execute the mark of each slot
    slots: int = 1  # number of slots that one invocation may write
    #: The control flow is uniform in the workgroup, so all existing invocations of a subgroup must be
    #: active together.
    uniform: bool = False
    partial: bool = False  # the workgroup's size is not a multiple of any subgroup size above 1
    least_size: int = 1  # the smallest subgroup size at which any invocation is active
    #: Invocations may become helper invocations, which take part without a record.
    demotes: bool = False
    leave: Leave = LEAVES[""]  # the key in `LEAVES` of the statement that ends fragments


_DATA_MASK = "inputs[MASK_BASE + own] != 0u"


def _everyone(i: PatternLanes) -> list[Flags]:
    return [np.ones(len(i.lane), np.bool_)]


def _not_every_third(i: PatternLanes) -> list[Flags]:
    return [i.lane % 3 != 2]


_TABLE = (
    Pattern("all", "by all invocations", "true", "@OBSERVE(0u)", _everyone, uniform=True),
    Pattern(
        "partial", "by all invocations of a workgroup that is no multiple of the subgroup", "true",
        "@OBSERVE(0u)", _everyone, uniform=True, partial=True,
    ),
    Pattern(
        "odd", "by odd lanes", "(lane & 1u) == 1u", "if ((lane & 1u) == 1u) { @OBSERVE(0u) }",
        lambda i: [i.lane % 2 == 1], least_size=2,
    ),
    Pattern(
        "lower_half", "by the lower half of the lanes", "lane < (gl_SubgroupSize + 1u) / 2u",
        "if (lane < (gl_SubgroupSize + 1u) / 2u) { @OBSERVE(0u) }", lambda i: [i.lane < (i.size + 1) // 2],
    ),
    Pattern(
        "one_lane", "by one lane of each subgroup", "lane == chosen_lane",
        "if (lane == chosen_lane) { @OBSERVE(0u) }", lambda i: [i.lane == i.chosen_lane],
    ),
    Pattern(
        "data_mask", "by lanes that data selects", _DATA_MASK, f"if ({_DATA_MASK}) {{ @OBSERVE(0u) }}",
        lambda i: [i.selected],
    ),
    Pattern(
        "nested", "in both arms of a branch that is nested in another", "lane % 3u != 1u",
        """if (lane % 3u != 1u) {
        if ((lane & 1u) == 0u) { @OBSERVE(0u) }
        else { @OBSERVE(0u) }
    }""", lambda i: [i.lane % 3 != 1],
    ),
    Pattern(
        "loop", "in a loop whose trip count depends on the lane", "true",
        "for (uint trip = 0u; trip < 1u + (lane + group) % 3u; ++trip) { @OBSERVE(trip) }",
        lambda i: [trip < 1 + (i.lane + i.group) % 3 for trip in range(3)], slots=3,
    ),
    Pattern(
        "early_return", "after some lanes have returned", "lane % 3u != 2u",
        "if (lane % 3u == 2u) return;\n    @OBSERVE(0u)", _not_every_third,
    ),
    Pattern(
        "switch", "in the arms of a switch, one falling through into the next", "(lane & 3u) != 2u",
        """switch (lane & 3u) {
    case 3u:
        @OBSERVE(0u)
    case 1u:
    case 0u:
        @OBSERVE(1u)
        break;
    default:
        break;
    }""", lambda i: [i.lane % 4 == 3, i.lane % 4 != 2], slots=2,
    ),
    Pattern(
        "uniform_branch", "in a branch that whole subgroups take or leave", "(turn & 1u) == 0u",
        "if ((turn & 1u) == 0u) { @OBSERVE(0u) }", lambda i: [i.turn % 2 == 0],
    ),
)  # fmt: skip

PATTERNS: dict[str, Pattern] = {pattern.name: pattern for pattern in _TABLE}
"""All patterns of compute shaders by name, in the order in which cases are listed."""


def _leaving(name: str, sentence: str, active: str = "true") -> Pattern:
    """Return a pattern in which every third fragment ends or is demoted before the others record."""
    leave = LEAVES[name]
    code = f"if (lane % 3u == 2u) {leave.statement};\n    @OBSERVE(0u)"
    return Pattern(name, sentence, active, code, _not_every_third, demotes=active == "true", leave=leave)


_FRAGMENT_TABLE = (
    PATTERNS["all"],
    replace(
        PATTERNS["partial"],
        sentence="by all fragments of a target of odd width and height, whose edges need helper invocations",
    ),
    *(PATTERNS[name] for name in ("odd", "data_mask", "nested", "loop", "early_return")),
    _leaving("discard", "after some fragments have been discarded"),
    _leaving("demote", "after some fragments have become helper invocations"),
    _leaving("terminate", "after some fragments have been terminated", "lane % 3u != 2u"),
)

FRAGMENT_PATTERNS: dict[str, Pattern] = {pattern.name: pattern for pattern in _FRAGMENT_TABLE}
"""All patterns of fragment shaders by name. A fragment that is discarded or demoted may still take part, so
it reads no decoy; a terminated one no longer takes part (SPIR-V 1.6, OpTerminateInvocation)."""


_OTHER = ("all", "partial", "data_mask", "nested")

OTHER_PATTERNS: dict[str, Pattern] = {name: PATTERNS[name] for name in _OTHER} | {
    "partial": replace(
        PATTERNS["partial"], sentence="by all invocations, whose number is no multiple of the subgroup"
    )
}
"""All patterns of the other stages by name; divergence affects them as it affects compute shaders."""

_BY_STAGE = {"compute": PATTERNS, "fragment": FRAGMENT_PATTERNS}


def patterns_of(stage: str) -> dict[str, Pattern]:
    """Return the patterns of a shader stage by name."""
    return _BY_STAGE.get(stage, OTHER_PATTERNS)
