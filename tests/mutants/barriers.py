"""Wrong barriers: memory is written late or read early, as a missing barrier permits.

Lanes in lockstep do not show that a barrier is missing. They show what a compiler may do without it.
"""

from __future__ import annotations

from typing import NamedTuple

from mutants.site import Site
from vkgroup.conformance.barriers import BARRIERS, ROUNDS


class _Round(NamedTuple):
    """Indices of instructions of one round: the barrier after its write, the one before its read, its end."""

    written: int
    read: int
    end: int


def _round(site: Site, number: int) -> _Round:
    """Return the indices of a round; see `vkgroup.conformance.barriers.body`."""
    names = ("OpControlBarrier", "OpMemoryBarrier")
    places = [place for place in range(site.end) if site.names[place] in names][-2 * ROUNDS :]
    first, second = places[2 * number : 2 * number + 2]
    if BARRIERS[site.case.operation].kind == "exchange":
        return _Round(first, first, second)
    recorded = site.names.index("OpStore", second)
    return _Round(first, second, site.names.index("OpStore", recorded + 1) + 1)


def late(site: Site, choice: str) -> None:
    """Move the write before the barrier to the end of the round, after all reads."""
    round_ = _round(site, int(choice))
    body = site.instructions
    write = round_.written - 1
    site.instructions = [
        *body[:write], *body[write + 1 : round_.end], body[write], *body[round_.end :],
    ]  # fmt: skip


def early(site: Site, choice: str) -> None:
    """Move the read after the barrier before the write."""
    round_ = _round(site, int(choice))
    body, first = site.instructions, round_.read + 1
    write = round_.written - 1
    last = _read(site, first, round_.end) + 1
    site.instructions = [*body[:write], *body[first:last], *body[write:first], *body[last:]]


def _read(site: Site, first: int, end: int) -> int:
    """Return the index of the instruction that reads the cell: the first load whose result is stored."""
    if site.case.operand == "image":
        return site.names.index("OpImageRead", first)
    store = site.names.index("OpStore", first, end)
    stored = site.instructions[store][2]
    return next(
        place
        for place in range(first, store)
        if site.names[place] == "OpLoad" and site.instructions[place][2] == stored
    )


def dropped(site: Site, choice: str) -> None:
    """Remove the barrier."""
    del site.instructions[_round(site, int(choice)).written]
