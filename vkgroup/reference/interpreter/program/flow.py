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
    made = set(constants)
    imports: dict[int, None] = {}
    for uses, result in (*((op.uses, op.result) for op in segment.ops), (segment.terminator.uses, -1)):
        imports |= dict.fromkeys(slot for slot in uses if slot not in made)
        made.add(result)
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


END = 1 << 30
"""Number of the end of the shader, where all paths meet."""


def post_dominators(segments: list[Segment]) -> list[int]:
    """Return for each segment the nearest other one that lies on every path from it to the end.

    Cooper, Harvey and Kennedy's iteration, on the reversed graph. A segment from which nothing leads to the
    end has `END`.
    """
    count = len(segments)
    after = [[edge.target.number for edge in segment.terminator.edges] or [count] for segment in segments]
    order = _from_the_end(after)
    rank = {node: position for position, node in enumerate(order)}
    dominators: dict[int, int] = {count: count}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            known = [target for target in after[node] if target in dominators]
            nearest = known[0]
            for target in known[1:]:
                nearest = _meet(nearest, target, dominators, rank)
            if dominators.get(node) != nearest:
                dominators[node] = nearest
                changed = True
    return [END if dominators.get(number, count) == count else dominators[number] for number in range(count)]


def _from_the_end(after: list[list[int]]) -> list[int]:
    """Return the nodes from which the end is reached, in reverse post-order of the reversed graph."""
    end = len(after)
    before: list[list[int]] = [[] for _ in range(end + 1)]
    for node, targets in enumerate(after):
        for target in targets:
            before[target].append(node)
    done: list[int] = []
    seen = {end}
    stack = [(end, iter(before[end]))]
    while stack:
        node, rest = stack[-1]
        following = next((other for other in rest if other not in seen), None)
        if following is None:
            done.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(before[following])))
    done.reverse()
    return done


def _meet(a: int, b: int, dominators: dict[int, int], rank: dict[int, int]) -> int:
    while a != b:
        while rank[a] > rank[b]:
            a = dominators[a]
        while rank[b] > rank[a]:
            b = dominators[b]
    return a
