"""Which values outlive the segment that makes them, and when the others are of no more use."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.reference.interpreter.inline import Segment


@dataclass(frozen=True, slots=True)
class SegmentLife:
    """Of one segment.

    Attributes
    ----------
    imports : slots that it reads and another segment wrote.
    exports : slots that it writes and another segment reads.
    frees : for each of its instructions, the slots that nothing reads after it.
    """

    imports: tuple[int, ...]
    exports: tuple[int, ...]
    frees: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Liveness:
    """Of a whole program.

    Attributes
    ----------
    segments : by number.
    kept : slots whose values are kept between segments: what is imported, and what edges write.
    """

    segments: tuple[SegmentLife, ...]
    kept: frozenset[int]


def find_liveness(segments: list[Segment], constants: frozenset[int]) -> Liveness:
    """Work out the life of every slot; `constants` live for ever."""
    imports = [_imports(segment, constants) for segment in segments]
    kept = frozenset(slot for slots in imports for slot in slots)
    for segment in segments:
        for edge in segment.terminator.edges:
            kept |= {target for target, _ in edge.copies}
    lives = []
    for segment, imported in zip(segments, imports, strict=True):
        made = [op.result for op in segment.ops if op.result >= 0]
        exports = tuple(slot for slot in made if slot in kept)
        lives.append(SegmentLife(tuple(imported), exports, _frees(segment, imported, exports)))
    return Liveness(tuple(lives), kept)


def _imports(segment: Segment, constants: frozenset[int]) -> list[int]:
    made: set[int] = set()
    found: dict[int, None] = {}
    for op in segment.ops:
        for slot in op.uses:
            if slot not in made and slot not in constants:
                found[slot] = None
        made.add(op.result)
    for slot in segment.terminator.uses:
        if slot not in made and slot not in constants:
            found[slot] = None
    return list(found)


def _frees(segment: Segment, imported: list[int], exports: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """For each instruction the slots that it is the last to touch; the terminator's live to the end."""
    until_end = {*exports, *segment.terminator.uses}
    own = {*imported, *(op.result for op in segment.ops)} - {-1}
    frees: list[tuple[int, ...]] = []
    seen: set[int] = set(until_end)
    for op in reversed(segment.ops):
        last = [slot for slot in dict.fromkeys((*op.uses, op.result)) if slot in own and slot not in seen]
        seen.update(last)
        frees.append(tuple(last))
    frees.reverse()
    return tuple(frees)
