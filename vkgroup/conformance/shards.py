"""Shards: parts of a selection of cases, each for one machine or job.

The shard of a case depends on the selection only, not on the device. Shards have no case in common, and all
shards together have every case. Cases that can share a batch stay together in chunks, which are dealt in
turns, so that shards have about the same size and mix of cases, and full batches.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from vkgroup.conformance.families import family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.plan import neighbours
from vkgroup.errors import InvalidInput

CHUNK = 64
"""Maximum number of cases in a chunk: two full batches of the families with the largest batches."""

DEALS = 4
"""Chunks that each shard gets at least, on average, if the selection has enough cases."""


@dataclass(frozen=True)
class Shard:
    """One of several parts: number `index`, from 1, of `count`."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def of(self, cases: Sequence[AnyCase]) -> tuple[AnyCase, ...]:
        """Return the cases of this shard, in their given order."""
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
    """Return the shard of a text such as ``2/8``; InvalidInput if it is not a shard."""
    index, slash, count = text.partition("/")
    if not (slash and index.isascii() and index.isdigit() and count.isascii() and count.isdigit()):
        raise InvalidInput(f"{text!r} is not a shard: write 2/8 for the second of eight")
    if len(text) > 20 or not 1 <= int(index) <= int(count):
        raise InvalidInput(f"there is no shard {text}: shards are numbered from 1/N to N/N")
    return Shard(int(index), int(count))
