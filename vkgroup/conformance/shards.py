"""Shards: parts of a selection of cases, for as many machines or jobs to judge.

Which part a case falls to depends on the selection alone, and not on the device: any two shards share no
case, and all of them together have each. Cases that can share a batch stay together in chunks, dealt in
turns, so that shards are of about one size, have their share of everything, and fill their batches.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from vkgroup.conformance.families import family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.plan import neighbours
from vkgroup.errors import InvalidInput

CHUNK = 64
"""Cases that stay together at most: two full batches of the families with the largest."""

DEALS = 4
"""Chunks that each shard gets at least, in the mean, where the selection has so many cases."""


@dataclass(frozen=True)
class Shard:
    """One part of several: the `index`-th, from 1, of `count`."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def of(self, cases: Sequence[AnyCase]) -> tuple[AnyCase, ...]:
        """Return the cases of this shard, in the order in which they were given."""
        groups: dict[tuple[str, Hashable], list[AnyCase]] = {}
        for case in cases:
            family = family_of(case)
            groups.setdefault((family.name, family.batch_key(case)), []).append(case)
        size = max(1, min(CHUNK, len(cases) // (self.count * DEALS)))
        turn, mine = 0, set()
        for members in groups.values():
            members.sort(key=neighbours)
            for start in range(0, len(members), size):
                if turn % self.count == self.index - 1:
                    mine.update(members[start : start + size])
                turn += 1
        return tuple(case for case in cases if case in mine)


def parse_shard(text: str) -> Shard:
    """Return the shard that ``2/8`` names; InvalidInput if the text names none."""
    index, slash, count = text.partition("/")
    if not (slash and index.isascii() and index.isdigit() and count.isascii() and count.isdigit()):
        raise InvalidInput(f"{text!r} names no shard: 2/8 is the second of eight")
    if len(text) > 20 or not 1 <= int(index) <= int(count):
        raise InvalidInput(f"there is no shard {text}: they are numbered from 1/N to N/N")
    return Shard(int(index), int(count))
