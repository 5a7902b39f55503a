"""Immediate post-dominators of segments: where all paths from a branch meet again."""

from __future__ import annotations

from vkgroup.reference.interpreter.program.segments import Segment

END = 1 << 30
"""Number of the end of the shader, where all paths meet."""


def post_dominators(segments: list[Segment]) -> list[int]:
    """Return for each segment the nearest other one that lies on every path from it to the end.

    Cooper, Harvey and Kennedy's iteration, on the reversed graph. A segment from which nothing leads to the
    end has `END`.
    """
    count = len(segments)
    after = [_targets(segment, count) for segment in segments]
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


def _targets(segment: Segment, end: int) -> list[int]:
    targets = [edge.target.number for edge in segment.terminator.edges]
    return targets or [end]


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
