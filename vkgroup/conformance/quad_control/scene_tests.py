"""Tests of full quads that reconverge: what the fragments of a scene compute, and their results.

In GLSL every fragment has `x`, `y`, its pixel, and `lane`; helper invocations have them as well. All shaders
declare RequireFullQuadsKHR and MaximallyReconvergesKHR: each quad starts with four active invocations, and
helper invocations stay active for its life (Vulkan 1.4, Helper Invocations). So the result of a quad
operation depends only on the four pixels, for any branches.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.arrays import Flags, Indices
from vkgroup.conformance.fragment.derivatives import DERIVATIVES, F, derivatives_of, f_of
from vkgroup.conformance.fragment.drawn import Expect, FragmentProbe, Legal, PixelRecord
from vkgroup.conformance.fragment.scenes import GONE, GRID, leaves_at
from vkgroup.conformance.quad_control.values import LEVELS, SIDE

AFTER = ("", "terminate", "demote")
"""How some fragments leave before the test: terminated ones end, demoted ones become helpers."""

_COVERED = ("triangle", "dots", "strip", "overlap")
_SCENES = ("whole", "odd", *_COVERED)
"""Scenes; tests that need helper invocations use those with triangles inside the target."""


def _test(
    name: str, sentence: str, code: str, expect: Expect, scenes: tuple[str, ...] = _SCENES, after: str = ""
) -> FragmentProbe:
    """Return a probe whose code sets `result`, a float."""
    return FragmentProbe(name, sentence, scenes, expect, code, "float", leaves=after)


# --- the pixels of a quad -----------------------------------------------------------------------------------


def _pixels(drawn: PixelRecord) -> tuple[Indices, Indices]:
    """Return x and y of the four pixels of each pixel's quad, (4, layers, GRID, GRID)."""
    place = np.arange(4).reshape(4, 1, 1, 1)
    return (drawn.x & ~1) | (place & 1), (drawn.y & ~1) | (place >> 1)


def _hash(x: Indices, y: Indices) -> Flags:
    return np.asarray((x * 5 + y * 3 + x * y) % 4 != 0)


def _rare(x: Indices, y: Indices) -> Flags:
    return np.asarray((x * 3 + y * 7) % 11 == 0)


def _branch(x: Indices, y: Indices) -> Flags:
    return np.asarray((x + 2 * y + x * y) % 3 != 1)


_GLSL = {
    "mixed": "((x * 5u + y * 3u + x * y) % 4u != 0u)",
    "rare": "((x * 3u + y * 7u) % 11u == 0u)",
    "never": "(x > 4000u)",
    "always": "(x < 4000u)",
    "helper": "helper",
    "covered": "(!helper)",
    "left": f"({GONE})",
    "stayed": f"(!({GONE}))",
}
"""Predicates of the votes."""

_BRANCH = "((x + 2u * y + x * y) % 3u != 1u)"


def _predicate(name: str, drawn: PixelRecord, after: str) -> Flags:
    """Return a predicate of the four pixels, (4, layers, GRID, GRID)."""
    x, y = _pixels(drawn)
    if name in ("helper", "covered"):
        helper = ~drawn.shaded[drawn.layer, np.minimum(y, GRID - 1), np.minimum(x, GRID - 1)]
        if after == "demote":
            helper = helper | leaves_at(x, y)
        return helper if name == "helper" else ~helper
    if name in ("left", "stayed"):
        return leaves_at(x, y) if name == "left" else ~leaves_at(x, y)
    constant = {"never": False, "always": True}.get(name)
    if constant is not None:
        return np.full(x.shape, constant)
    return _hash(x, y) if name == "mixed" else _rare(x, y)


def _there(drawn: PixelRecord, after: str) -> Flags:
    """Return which of the four invocations remain: all except terminated ones."""
    x, y = _pixels(drawn)
    return ~leaves_at(x, y) if after == "terminate" else np.ones(x.shape, np.bool_)


def _vote(kind: str, values: Flags, active: Flags) -> NDArray[np.float32]:
    result = (values & active).any(axis=0) if kind == "Any" else (values | ~active).all(axis=0)
    return np.asarray(result, np.float32)


# --- what is expected ---------------------------------------------------------------------------------------


def _voted(kind: str, name: str, after: str, drawn: PixelRecord) -> Legal:
    return (_vote(kind, _predicate(name, drawn, after), _there(drawn, after)),)


def _divergent(kind: str, name: str, after: str, drawn: PixelRecord) -> Legal:
    x, y = _pixels(drawn)
    active = _there(drawn, after) & _branch(x, y)
    result = _vote(kind, _predicate(name, drawn, after), active)
    return (np.where(_branch(drawn.x, drawn.y), result, np.float32(7)),)


def _looped(kind: str, drawn: PixelRecord) -> Legal:
    x, y = _pixels(drawn)
    values, trips = _hash(x, y), (x + y) % 3
    result = np.zeros(drawn.x.shape, np.float32)
    for trip in range(3):
        bit = _vote(kind, values, trips >= trip) * np.float32(1 << trip)
        result += np.where((drawn.x + drawn.y) % 3 >= trip, bit, np.float32(0))
    return (result,)


def _ballot(after: str, drawn: PixelRecord) -> Legal:
    there = _there(drawn, after)
    weights = (1 << np.arange(4)).reshape(4, 1, 1, 1)
    return ((there * weights).sum(axis=0).astype(np.float32),)


def _neighbour(bits: int, drawn: PixelRecord) -> Legal:
    x, y = drawn.x ^ (bits & 1), drawn.y ^ (bits >> 1)
    return ((x + 64 * y).astype(np.float32),)


def _derivative(name: str, drawn: PixelRecord) -> Legal:
    x, y = _pixels(drawn)
    taken = _rare(x, y).any(axis=0)
    legal = derivatives_of(name, f_of(x, y), np.asarray((drawn.x & 1) | (drawn.y & 1) << 1))
    return tuple(np.where(taken, value, np.float32(777)) for value in legal)


def _level(drawn: PixelRecord) -> Legal:
    x, y = _pixels(drawn)
    level = ((drawn.x >> 1) + (drawn.y >> 1)) % LEVELS
    return (np.where(_rare(x, y).any(axis=0), level, 777).astype(np.float32),)


# --- the tests ----------------------------------------------------------------------------------------------

_SOURCE = "SPV_KHR_quad_control"


_WORDS = {"": "", "terminate": ", after some were terminated", "demote": ", after some were demoted"}


def _call(kind: str, name: str) -> str:
    return f"quad{kind}({_GLSL[name]})"


def _votes(after: str, names: tuple[str, ...]) -> list[FragmentProbe]:
    prefix = f"{after}_" if after else ""
    return [
        _test(
            f"{prefix}{kind.lower()}.{name}",
            f"quad{kind} of the predicate {name!r} is that of the invocations that are there"
            f"{_WORDS[after]}: {_SOURCE}",
            f"result = {_call(kind, name)} ? 1.0 : 0.0;",
            partial(_voted, kind, name, after),
            _COVERED if name in ("helper", "covered") or after else _SCENES,
            after,
        )
        for name in names
        for kind in ("Any", "All")
    ]


def _divergences(after: str, names: tuple[str, ...]) -> list[FragmentProbe]:
    prefix = f"{after}_divergent" if after else "divergent"
    return [
        _test(
            f"{prefix}_{kind.lower()}.{name}",
            f"quad{kind} of the predicate {name!r} in a branch is that of the invocations that took it"
            f"{_WORDS[after]}: {_SOURCE}",
            f"result = 7.0;\n        if ({_BRANCH}) result = {_call(kind, name)} ? 1.0 : 0.0;",
            partial(_divergent, kind, name, after),
            _COVERED if name in ("helper", "covered") or after else _SCENES,
            after,
        )
        for name in names
        for kind in ("Any", "All")
    ]


def _loop(kind: str) -> FragmentProbe:
    return _test(
        f"loop_{kind.lower()}.mixed",
        f"quad{kind} in a loop is that of the invocations of the quad that still loop: {_SOURCE}",
        f"""for (uint trip = 0u; trip <= (x + y) % 3u; ++trip)
            result += {_call(kind, "mixed")} ? float(1u << trip) : 0.0;""",
        partial(_looped, kind),
    )


_QUAD_BITS = "(subgroupBallot(true)[lane / 32u] >> (lane % 32u & ~3u)) & 15u"


def _full(after: str) -> FragmentProbe:
    prefix = f"{after}_ballot" if after else "full"
    what = "those that were terminated left" if after else "all four invocations take part"
    return _test(
        f"{prefix}.mask", f"the ballot has the bits of the quad as {what}: {_SOURCE}, RequireFullQuadsKHR",
        f"result = float({_QUAD_BITS});", partial(_ballot, after), _COVERED if after else _SCENES, after,
    )  # fmt: skip


_SWAPS = (("Horizontal", 1), ("Vertical", 2), ("Diagonal", 3))

_FULL_QUADS = (
    _full(""),
    _test(
        "full.lanes", f"the four places of a quad add up to 6: {_SOURCE}, RequireFullQuadsKHR",
        "result = float((lane & 3u) + subgroupQuadSwapHorizontal(lane & 3u)"
        " + subgroupQuadSwapVertical(lane & 3u) + subgroupQuadSwapDiagonal(lane & 3u));",
        lambda drawn: np.array(6, np.float32),
    ),
    *(
        _test(
            f"full.swap{side}", f"what lies {side.lower()} in the quad is the pixel there, covered or not: "
            f"{_SOURCE}, RequireFullQuadsKHR",
            f"result = float(subgroupQuadSwap{side}(x + 64u * y));", partial(_neighbour, bits),
        )
        for side, bits in _SWAPS
    ),
)  # fmt: skip

_TAKEN = f"result = 777.0;\n        if ({_call('Any', 'rare')}) result = "
_IN_QUADS = f"{_SOURCE}, QuadDerivativesKHR; Vulkan 1.4, Derivative Operations"

_SLOPE = f"vec2(x, y) * exp2(float((x / 2u + y / 2u) % {LEVELS}u)) / {SIDE}.0"

_QUAD_DERIVATIVES = (
    *(
        _test(
            f"derivative.{name}", f"{name} in a branch that whole quads take is a difference in the quad: "
            f"{_IN_QUADS}", f"{_TAKEN}{name}({F});", partial(_derivative, name),
        )
        for name in DERIVATIVES
    ),
    _test(
        "lod.sample", f"sampling in a branch that whole quads take finds the level of the quad: {_IN_QUADS}",
        f"{_TAKEN}texture(levels, {_SLOPE}).x;", _level,
    ),
    _test(
        "lod.query", f"textureQueryLod in such a branch finds the level of the quad: {_IN_QUADS}",
        f"{_TAKEN}textureQueryLod(levels, {_SLOPE}).x;", _level,
    ),
)  # fmt: skip

_ALL = (
    *_votes("", ("mixed", "rare", "never", "always", "helper", "covered")),
    *_divergences("", ("mixed", "rare", "helper")),
    _loop("Any"),
    _loop("All"),
    *_FULL_QUADS,
    *_QUAD_DERIVATIVES,
    *_votes("terminate", ("mixed", "left", "stayed")),
    *_divergences("terminate", ("mixed",)),
    _full("terminate"),
    *_votes("demote", ("mixed", "helper", "covered")),
    *_divergences("demote", ("mixed",)),
)

TESTS: dict[str, FragmentProbe] = {test.name: test for test in _ALL}
"""All tests by name."""
