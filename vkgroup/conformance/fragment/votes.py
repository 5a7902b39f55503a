"""Votes of fragments: with helper invocations among those who vote, and on what these are.

Whether helper invocations take part in votes is read from the active mask, as for other operations. What a
vote says of them must agree with the ballot, and that with the pixels that are covered.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from vkgroup.conformance.arrays import Flags, Indices
from vkgroup.conformance.fragment.drawn import Drawn, Legal, Probe
from vkgroup.conformance.instances import unpack

_SOURCE = "KHR_shader_subgroup, section 8.18"
_MOST_LANES = 128

_VALUES: dict[str, tuple[str, Callable[[Indices], Flags]]] = {
    "mixed": ("lane * lane % 7u != 4u", lambda lane: lane * lane % 7 != 4),
    "true": ("lane < 1000u", lambda lane: lane < 1000),
    "false": ("lane >= 1000u", lambda lane: lane >= 1000),
}
"""Predicates of a lane, which helper invocations have too."""

_HELPER = "gl_HelperInvocation"

_AGREEMENTS = " | ".join(
    f"(({left}) == ({right}) ? {1 << bit}u : 0u)"
    for bit, (left, right) in enumerate(
        (
            (f"subgroupAny({_HELPER})", f"subgroupBallot({_HELPER}) != uvec4(0u)"),
            (f"subgroupAll(!{_HELPER})", f"subgroupBallot({_HELPER}) == uvec4(0u)"),
            (f"subgroupAllEqual({_HELPER})", f"subgroupBallot({_HELPER}) == uvec4(0u)"),
            (f"subgroupAll({_HELPER})", "false"),
        )
    )
)
_ALL_AGREE = 15


def _active(drawn: Drawn) -> Flags:
    """Return the active lanes of each pixel's mask, (layers, GRID, GRID, 128)."""
    bits = unpack(drawn.mask.reshape(-1, 4), _MOST_LANES)
    return np.asarray(bits.reshape(*drawn.lane.shape, _MOST_LANES))


def _voted(kind: str, name: str, drawn: Drawn) -> Legal:
    """Return what a vote of a predicate of the lane gives among the lanes of the mask."""
    active = _active(drawn)
    values = _VALUES[name][1](np.arange(_MOST_LANES))
    any_, all_ = (active & values).any(axis=-1), (~active | values).all(axis=-1)
    result = {"Any": any_, "All": all_, "AllEqual": all_ | ~any_}[kind]
    return np.asarray(result, np.uint32)


def _helpers(drawn: Drawn) -> Legal:
    """Return the bits of the quad's places that are not covered and take part."""
    active, base = _active(drawn), drawn.lane & ~3
    result = np.zeros(drawn.count.shape, np.uint32)
    for place in range(4):
        there = np.take_along_axis(active, (base + place)[..., None], axis=-1)[..., 0]
        x, y = drawn.of_lane(np.full_like(drawn.lane, place))
        result |= (there & ~drawn.at(drawn.shaded, x, y)).astype(np.uint32) << np.uint32(place)
    return result


def votes(scenes: tuple[str, ...], unclipped: tuple[str, ...], leaving: tuple[str, ...]) -> tuple[Probe, ...]:
    """Return the probes of votes.

    Parameters
    ----------
    scenes : those in which no fragment leaves.
    unclipped : those whose helper invocations are known.
    leaving : those in which some fragments leave.
    """
    by_mask = tuple(
        Probe(
            f"vote.{kind.lower()}.{name}",
            f"subgroup{kind} of a predicate ({name}) votes among the active mask's invocations: {_SOURCE}",
            (*scenes, *leaving), partial(_voted, kind, name), f"subgroup{kind}({code}) ? 1u : 0u",
            needs=("vote", "ballot"),
        )
        for kind in ("Any", "All", "AllEqual")
        for name, (code, _) in _VALUES.items()
    )  # fmt: skip
    return (
        *by_mask,
        Probe(
            "vote.helper.agrees",
            f"votes on gl_HelperInvocation say what its ballot says: {_SOURCE}",
            scenes, lambda drawn: np.array(_ALL_AGREE, np.uint32), _AGREEMENTS, needs=("vote", "ballot"),
        ),
        Probe(
            "vote.helper.ballot",
            "subgroupBallot(gl_HelperInvocation) has the bits of the quad's pixels that are not covered and "
            f"take part: {_SOURCE}; GLSL 4.60, section 7.1.5",
            unclipped, _helpers,
            f"(subgroupBallot({_HELPER})[lane / 32u] >> (lane % 32u & ~3u)) & 15u",
            needs=("ballot", "quad"),
        ),
    )  # fmt: skip
