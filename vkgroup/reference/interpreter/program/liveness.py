"""Liveness: the values that outlive their segment, and the last use of every other value."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.reference.interpreter.program.segments import Segment


@dataclass(frozen=True, slots=True)
class SegmentLife:
    """The slots of one segment.

    Attributes
    ----------
    imports : slots that it reads and another segment writes.
    exports : slots that it writes and another segment reads.
    frees : for each of its instructions, the slots that nothing reads after it.
    """

    imports: tuple[int, ...]
    exports: tuple[int, ...]
    frees: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Liveness:
    """The slots of a whole program.

    Attributes
    ----------
    segments : by number.
    carried : slots whose values are stored between segments: imports, and targets of copies on edges.
    """

    segments: tuple[SegmentLife, ...]
    carried: frozenset[int]


def find_liveness(segments: list[Segment], constants: frozenset[int]) -> Liveness:
    """Return the life of every slot; slots of `constants` never end."""
    imports = [_imports(segment, constants) for segment in segments]
    carried = frozenset(slot for slots in imports for slot in slots)
    for segment in segments:
        for edge in segment.terminator.edges:
            carried |= {target for target, _ in edge.copies}
    segment_lives = []
    for segment, imported in zip(segments, imports, strict=True):
        made = [op.result for op in segment.ops if op.result >= 0]
        exports = tuple(slot for slot in made if slot in carried)
        segment_lives.append(SegmentLife(tuple(imported), exports, _frees(segment, imported, exports)))
    return Liveness(tuple(segment_lives), carried)


def _imports(segment: Segment, constants: frozenset[int]) -> list[int]:
    made: set[int] = set()
    imports: dict[int, None] = {}
    for op in segment.ops:
        for slot in op.uses:
            if slot not in made and slot not in constants:
                imports[slot] = None
        made.add(op.result)
    for slot in segment.terminator.uses:
        if slot not in made and slot not in constants:
            imports[slot] = None
    return list(imports)


def _frees(segment: Segment, imported: list[int], exports: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return for each instruction the slots that it uses last; those of the terminator live to the end."""
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
