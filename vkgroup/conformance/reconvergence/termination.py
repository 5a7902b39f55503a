"""Cases of fragments that are demoted, terminated or discarded before the others record their masks.

They test what ``reconvergence.maximal.fragment``, ``reconvergence.terminate_invocation`` and
``subgroup_uniform_control_flow.discard`` of the Vulkan CTS test, in every subgroup of the draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.family import TableCase
from vkgroup.conformance.fragment.scenes import SCENES, Scene
from vkgroup.programs.nodes import Promise

Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Selection:
    """Set of fragments that leave: that are demoted, terminated or discarded.

    Attributes
    ----------
    glsl : the condition, of x, y, place (0 to 3 in the quad), quad (its number), lane and helper.
    flags : the same for covered pixels, from x, y and lane.
    sentence : description of the set.
    lanes : lanes whose fragments leave, covered or not; None if unknown for helper invocations.
    helpers : whether helper invocations leave.
    """

    glsl: str
    flags: Callable[[Indices, Indices, Indices], Flags]
    sentence: str
    lanes: int | None = None
    helpers: bool = False


_QUADS_A_ROW = 32
_CHOSEN = "quad % 3u == 1u"


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


SELECTIONS = {
    "entire_quad": _in_third_quads(0b1111, "all four fragments"),
    "half_quad_top": _in_third_quads(0b0011, "the upper half"),
    "half_quad_bottom": _in_third_quads(0b1100, "the lower half"),
    "half_quad_left": _in_third_quads(0b0101, "the left half"),
    "half_quad_right": _in_third_quads(0b1010, "the right half"),
    "half_quad_slash": _in_third_quads(0b0110, "one diagonal"),
    "half_quad_backslash": _in_third_quads(0b1001, "the other diagonal"),
    "invocation": Selection(
        f"{_CHOSEN} && place == quad / 3u % 4u",
        lambda x, y, lane: (_quad(x, y) % 3 == 1) & (_position(x, y) == _quad(x, y) // 3 % 4),
        "one invocation, in turns, of every third quad",
    ),
    "all_but_one": Selection(
        f"{_CHOSEN} && place != quad / 3u % 4u",
        lambda x, y, lane: (_quad(x, y) % 3 == 1) & (_position(x, y) != _quad(x, y) // 3 % 4),
        "all but one, in turns, of every third quad",
    ),
    "even": Selection(
        "(lane & 1u) == 0u",
        lambda x, y, lane: lane % 2 == 0,
        "the fragments of every other lane",
        lanes=int("55" * 16, 16),
    ),
    "even_and_helpers": Selection(
        "(lane & 1u) == 0u || helper",
        lambda x, y, lane: lane % 2 == 0,
        "the fragments of every other lane and all helper invocations",
        lanes=int("55" * 16, 16),
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


@dataclass(frozen=True)
class Test:
    """Behaviour of the fragments, without the scene.

    Attributes
    ----------
    name : part of the name of a case.
    verb : ``"demote"``, ``"terminate"`` or ``"discard"``.
    selection : fragments that leave, a key of `SELECTIONS`.
    promise : reconvergence guarantee afterwards; None: none, so that ballots are not judged.
    flow : control flow before they leave, a key of
        `vkgroup.conformance.reconvergence.termination_shader.FLOWS`.
    probe : action of the remaining fragments: ``"read"`` (memory at an index that is invalid for those that
        left), ``"quad_any"`` (a vote whether the quad has a helper invocation), ``"any_left"`` (a vote
        whether a fragment that left is active), or "" for none.
    """

    name: str
    verb: str
    selection: str
    promise: Promise | None
    flow: str = "switch"
    probe: str = ""


def _tests() -> Iterator[Test]:
    for selection in list(SELECTIONS)[:9]:
        for verb in ("demote", "terminate"):
            yield Test(f"maximal.fragment.{verb}_{selection}", verb, selection, Promise.MAXIMAL)
    stem = "terminate_invocation"
    yield Test(f"{stem}.bit_count", "terminate", "even", Promise.MAXIMAL, "plain")
    yield Test(f"{stem}.bit_count_parted", "terminate", "even", Promise.MAXIMAL)
    yield Test(f"{stem}.terminate_helpers", "terminate", "helpers", Promise.MAXIMAL, "plain", "any_left")
    yield Test(f"{stem}.oob_read", "terminate", "even", None, "plain", "read")
    yield Test(f"{stem}.quad_any", "terminate", "even_and_helpers", None, "plain", "quad_any")
    for selection in ("nobody", "corner"):
        yield Test(f"subgroup_uniform.discard.{selection}", "discard", selection, Promise.SUBGROUP, "elect")


TESTS: dict[str, Test] = {test.name: test for test in _tests()}
"""All tests by name."""

_SCENES = ("whole", "triangle", "dots")


_FLOWS = {"switch": " after diverging four ways", "elect": " in the last of three branches", "plain": ""}

_REMAINING = {
    "": "are together as far as the device promises it",
    "read": "read memory at an index that is invalid for those that left",
    "quad_any": "have no helper invocation in their quad, by a vote",
    "any_left": "are together and, by a vote, none of those that left is active",
}


class TerminationAxes(NamedTuple):
    """Axes: a key of `TESTS`, a key of `SCENES`, and ``"full_quads"`` or "".

    With ``"full_quads"`` the shader requests full quads (SPV_KHR_quad_control).
    """

    test: str
    scene_name: str
    full_quads: str

    @property
    def scene(self) -> Scene:
        """Scene that is drawn."""
        return SCENES[self.scene_name]


TerminationCase = TableCase[TerminationAxes]


def _sentence(axes: TerminationAxes) -> str:
    """Return the requirement that a case tests."""
    test = TESTS[axes.test]
    full = ", with full quads" if axes.full_quads else ""
    left = {"demote": "demoted", "terminate": "terminated", "discard": "discarded"}[test.verb]
    selection = SELECTIONS[test.selection].sentence
    return (
        f"In {axes.scene.sentence}{full}, {selection} are {left}{_FLOWS[test.flow]} and write "
        f"nothing more; the remaining fragments {_REMAINING[test.probe]}."
    )


def all_cases() -> Iterator[TerminationCase]:
    """Yield every test with every scene, with full quads and without."""
    for name, test in TESTS.items():
        for scene in _SCENES:
            for full_quads in ("", "full_quads"):
                # Votes in quads belong to the same extension as full quads.
                if full_quads or test.probe != "quad_any":
                    axes = TerminationAxes(name, scene, full_quads)
                    yield TableCase("reconvergence", axes, _sentence(axes))
