"""Two-level segregated fit (TLSF): a range of bytes, divided into allocations in constant time.

M. Masmano, I. Ripoll, A. Crespo, J. Real: "TLSF: a New Dynamic Memory Allocator for Real-Time Systems", 2004.

Free ranges are in lists by size. The first level of a list is the size's power of two; the second level
divides each power of two into `_CLASSES` equal parts. Two bitmaps say which lists have entries, so that the
first list in which every range is large enough is found without a search. A freed range is merged with its
free neighbours.

Only offsets are managed here, not memory: offsets and sizes are multiples of `GRANULE`.

Ctrl-C may interrupt an operation between any two of its steps. `_allocated` is what counts: one step of an
operation changes it, and everything else is made from it again if an operation did not end.
"""

from __future__ import annotations

from dataclasses import dataclass

GRANULE = 256
"""Alignment of all ranges in bytes; at least the alignment that most drivers require of buffers."""

_CLASS_BITS = 4
_CLASSES = 1 << _CLASS_BITS


@dataclass(eq=False, slots=True)
class _Range:
    """A part of the bytes, in granules, with its neighbours."""

    start: int
    size: int
    free: bool = False
    before: _Range | None = None
    after: _Range | None = None


class SegregatedFit:
    """Divides `size` bytes."""

    def __init__(self, size: int) -> None:
        self.size = size // GRANULE * GRANULE
        self._allocated: dict[int, _Range] = {}
        self._complete = False
        self._used = 0
        self._make_lists()

    @property
    def used(self) -> int:
        """The allocated bytes, with the granules' rounding."""
        if not self._complete:
            self._make_lists()
        return self._used * GRANULE

    def __contains__(self, offset: int) -> bool:
        """Whether there is an allocation at an offset."""
        return offset // GRANULE in self._allocated

    def allocate(self, size: int, alignment: int = 1) -> int | None:
        """Return the offset of `size` free bytes, a multiple of a power of two; None if there are none."""
        if not self._complete:
            self._make_lists()
        granules = self.rounded(size) // GRANULE
        step = max(1, alignment // GRANULE)
        self._complete = False
        entry = self._take(granules + step - 1)
        if entry is None:
            self._complete = True
            return None
        if gap := -entry.start % step:
            # The part before the aligned offset remains free.
            self._add(self._split(entry, gap))
        if entry.size > granules:
            rest, entry = entry, self._split(entry, granules)
            self._add(rest)
        entry.free = False
        self._allocated[entry.start] = entry
        self._used += granules
        self._complete = True
        return entry.start * GRANULE

    def free(self, offset: int) -> None:
        """Free the allocation at an offset; `KeyError` if there is none."""
        if not self._complete:
            self._make_lists()
        if offset not in self:
            raise KeyError(offset)
        self._complete = False
        entry = self._allocated.pop(offset // GRANULE)
        self._used -= entry.size
        before, after = entry.before, entry.after
        if before is not None and before.free:
            self._remove(before)
            entry.start, entry.size = before.start, before.size + entry.size
            self._link(before.before, entry)
        if after is not None and after.free:
            self._remove(after)
            entry.size += after.size
            self._link(entry, after.after)
        self._add(entry)
        self._complete = True

    @staticmethod
    def rounded(size: int) -> int:
        """Return the bytes that an allocation of `size` takes."""
        return max(1, -(-size // GRANULE)) * GRANULE

    def ranges(self) -> list[tuple[int, int, bool]]:
        """Return all ranges in order: offset, size, and whether it is free."""
        if not self._complete:
            self._make_lists()
        entries = [*self._allocated.values(), *(entry for each in self._lists.values() for entry in each)]
        return sorted((entry.start * GRANULE, entry.size * GRANULE, entry.free) for entry in entries)

    def _make_lists(self) -> None:
        """Find the free ranges: what lies between the allocated ones."""
        self._complete = False
        self._used = self._levels = 0
        self._classes: dict[int, int] = {}
        # Dictionaries without values: ordered sets, from which any element is removed in constant time.
        self._lists: dict[tuple[int, int], dict[_Range, None]] = {}
        ranges: list[_Range] = []
        end = 0
        for start, entry in sorted(self._allocated.items()):
            if end < start:
                ranges.append(_Range(end, start - end, free=True))
            ranges.append(entry)
            end = start + entry.size
            self._used += entry.size
        if end < self.size // GRANULE:
            ranges.append(_Range(end, self.size // GRANULE - end, free=True))
        for before, entry, after in zip([None, *ranges], ranges, [*ranges[1:], None], strict=False):
            entry.before, entry.after = before, after
            if entry.free:
                self._add(entry)
        self._complete = True

    def _split(self, entry: _Range, granules: int) -> _Range:
        """Cut the first granules off a range that is in no list, and return them as another range."""
        front = _Range(entry.start, granules)
        self._link(entry.before, front)
        self._link(front, entry)
        entry.start += granules
        entry.size -= granules
        return front

    @staticmethod
    def _link(before: _Range | None, after: _Range | None) -> None:
        if before is not None:
            before.after = after
        if after is not None:
            after.before = before

    def _add(self, entry: _Range) -> None:
        level, number = _list_of(entry.size)
        entry.free = True
        self._lists.setdefault((level, number), {})[entry] = None
        self._levels |= 1 << level
        self._classes[level] = self._classes.get(level, 0) | 1 << number

    def _remove(self, entry: _Range) -> None:
        level, number = _list_of(entry.size)
        entries = self._lists[level, number]
        del entries[entry]
        if not entries:
            self._classes[level] &= ~(1 << number)
            if not self._classes[level]:
                self._levels &= ~(1 << level)

    def _take(self, granules: int) -> _Range | None:
        """Remove and return a free range of at least `granules`; None if there is none."""
        # Rounded up to the next list; a size at which a list begins stays.
        shift = max(0, granules.bit_length() - 1 - _CLASS_BITS)
        level, number = _list_of(granules + (1 << shift) - 1)
        classes = self._classes.get(level, 0) >> number << number
        if not classes:
            levels = self._levels >> level + 1 << level + 1
            if not levels:
                return None
            level = _lowest(levels)
            classes = self._classes[level]
        entry = next(reversed(self._lists[level, _lowest(classes)]))
        self._remove(entry)
        return entry


def _list_of(granules: int) -> tuple[int, int]:
    """Return the list that a range of this size belongs to; sizes below `_CLASSES` have one list each."""
    level = granules.bit_length() - 1
    if level < _CLASS_BITS:
        return 0, granules
    return level, (granules >> level - _CLASS_BITS) - _CLASSES


def _lowest(bits: int) -> int:
    """Return the number of the lowest bit that is set."""
    return (bits & -bits).bit_length() - 1
