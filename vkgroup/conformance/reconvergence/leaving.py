"""Fragments that leave on the way, and who is together behind that: tests, scenes and cases as data.

They ask what ``reconvergence.maximal.fragment``, ``reconvergence.terminate_invocation`` and
``subgroup_uniform_control_flow.discard`` of Khronos' suite ask, of every subgroup of the draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.family import TableCase
from vkgroup.conformance.fragment.scenes import SCENES, Scene
from vkgroup.conformance.reconvergence.nodes import Promise

Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Who:
    """Which fragments leave.

    Attributes
    ----------
    glsl : the condition, of x, y, place (0 to 3 in the quad), quad (its number), lane and helper.
    flags : the same of pixels that are covered, of x, y and lane.
    sentence : who they are.
    lanes : of which lanes a fragment leaves, covered or not; None where that is not known of the others.
    helpers : whether helper invocations leave.
    """

    glsl: str
    flags: Callable[[Indices, Indices, Indices], Flags]
    sentence: str
    lanes: int | None = None
    helpers: bool = False


_QUADS_A_ROW = 32
_CHOSEN = "quad % 3u == 1u"


def _place(x: Indices, y: Indices) -> Indices:
    return np.asarray(x % 2 + 2 * (y % 2))


def _quad(x: Indices, y: Indices) -> Indices:
    return np.asarray(x // 2 + y // 2 * _QUADS_A_ROW)


def _part(places: int, sentence: str) -> Who:
    """Return certain places of every third quad."""
    return Who(
        f"{_CHOSEN} && ({places}u >> place & 1u) == 1u",
        lambda x, y, lane: (_quad(x, y) % 3 == 1) & (places >> _place(x, y) & 1 == 1),
        f"{sentence} of every third quad",
    )


WHO = {
    "entire_quad": _part(0b1111, "all four"),
    "half_quad_top": _part(0b0011, "the upper half"),
    "half_quad_bottom": _part(0b1100, "the lower half"),
    "half_quad_left": _part(0b0101, "the left half"),
    "half_quad_right": _part(0b1010, "the right half"),
    "half_quad_slash": _part(0b0110, "one diagonal"),
    "half_quad_backslash": _part(0b1001, "the other diagonal"),
    "invocation": Who(
        f"{_CHOSEN} && place == quad / 3u % 4u",
        lambda x, y, lane: (_quad(x, y) % 3 == 1) & (_place(x, y) == _quad(x, y) // 3 % 4),
        "one invocation, in turns, of every third quad",
    ),
    "all_but_one": Who(
        f"{_CHOSEN} && place != quad / 3u % 4u",
        lambda x, y, lane: (_quad(x, y) % 3 == 1) & (_place(x, y) != _quad(x, y) // 3 % 4),
        "all but one, in turns, of every third quad",
    ),
    "even": Who(
        "(lane & 1u) == 0u",
        lambda x, y, lane: lane % 2 == 0,
        "every other lane",
        lanes=int("55" * 16, 16),
    ),
    "even_and_helpers": Who(
        "(lane & 1u) == 0u || helper",
        lambda x, y, lane: lane % 2 == 0,
        "every other lane, and all helper invocations",
        lanes=int("55" * 16, 16),
        helpers=True,
    ),
    "helpers": Who("helper", lambda x, y, lane: lane < 0, "all helper invocations", lanes=0, helpers=True),
    "nobody": Who("values[1] == 12345u", lambda x, y, lane: lane < 0, "nobody", lanes=0),
    "corner": Who(
        "x < 8u && y < 8u && place == 1u",
        lambda x, y, lane: (x < 8) & (y < 8) & (_place(x, y) == 1),
        "some in a corner",
    ),
}
"""All by name."""


@dataclass(frozen=True)
class Test:
    """Something that fragments do, and what must be found behind it.

    Attributes
    ----------
    name : its part in the name of a case.
    verb : how they leave: ``"demote"``, ``"terminate"`` or ``"discard"``.
    who : a key of `WHO`.
    promise : what is counted on behind it; None: nothing, so that ballots are not judged.
    flow : the control flow in which they leave, a key of `leaving_shader.FLOWS`.
    probe : what the others do afterwards: ``"read"`` (memory at an index that is wild for those who left),
        ``"quad_any"`` (whether any of the quad is a helper invocation), ``"any_left"`` (a vote whether
        anybody is left who should not be), or "" for nothing.
    """

    name: str
    verb: str
    who: str
    promise: Promise | None
    flow: str = "switch"
    probe: str = ""


def _tests() -> Iterator[Test]:
    for who in list(WHO)[:9]:
        for verb in ("demote", "terminate"):
            yield Test(f"maximal.fragment.{verb}_{who}", verb, who, Promise.MAXIMAL)
    stem = "terminate_invocation"
    yield Test(f"{stem}.bit_count", "terminate", "even", Promise.MAXIMAL, "plain")
    yield Test(f"{stem}.bit_count_parted", "terminate", "even", Promise.MAXIMAL)
    yield Test(f"{stem}.terminate_helpers", "terminate", "helpers", Promise.MAXIMAL, "plain", "any_left")
    yield Test(f"{stem}.oob_read", "terminate", "even", None, "plain", "read")
    yield Test(f"{stem}.quad_any", "terminate", "even_and_helpers", None, "plain", "quad_any")
    for who in ("nobody", "corner"):
        yield Test(f"subgroup_uniform.discard.{who}", "discard", who, Promise.SUBGROUP, "elect")


TESTS: dict[str, Test] = {test.name: test for test in _tests()}
"""All tests by name."""

_SCENES = ("whole", "triangle", "dots")


_GOING_ON = {
    "": "are together, where that is promised",
    "read": "read memory at an index that is wild for those who left",
    "quad_any": "find no helper invocation in their quad",
    "any_left": "are together and find by a vote that none of them is left",
}


class LeavingAxes(NamedTuple):
    """The axes: a key of `TESTS`, a scene, and ``"full_quads"`` or "".

    The last says whether the shader asks for full quads (SPV_KHR_quad_control).
    """

    test: str
    scene_name: str
    full_quads: str

    @property
    def scene(self) -> Scene:
        """What is drawn."""
        return SCENES[self.scene_name]


LeavingCase = TableCase[LeavingAxes]


def _sentence(axes: LeavingAxes) -> str:
    test = TESTS[axes.test]
    full = ", with full quads" if axes.full_quads else ""
    left = {"demote": "demoted", "terminate": "terminated", "discard": "discarded"}[test.verb]
    parted = {"switch": " after parting four ways", "elect": " by the last of three ways", "plain": ""}
    return (
        f"In {axes.scene.sentence}{full}, {WHO[test.who].sentence} are {left}{parted[test.flow]}; "
        f"the others {_GOING_ON[test.probe]}, and nothing is left of those."
    )


def all_cases() -> Iterator[LeavingCase]:
    """Yield every test on every scene, with full quads and without."""
    for name, test in TESTS.items():
        for scene in _SCENES:
            for full_quads in ("", "full_quads"):
                # Votes of a quad are of the extension that full quads are of.
                if full_quads or test.probe != "quad_any":
                    axes = LeavingAxes(name, scene, full_quads)
                    yield TableCase("reconvergence", axes, _sentence(axes))
