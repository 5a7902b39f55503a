"""Where the ways that part at a branch are sure to meet again: immediate post-dominators of segments."""

from __future__ import annotations

from vkgroup.reference.interpreter.inline import Segment

END = 1 << 30
"""Stands for the end of the shader, where all ways meet."""


def post_dominators(segments: list[Segment]) -> list[int]:
    """Return for each segment the nearest other one that every way from it to the end goes through.

    Cooper, Harvey and Kennedy's iteration, on the reversed graph. A segment from which nothing leads to the
    end has `END`.
    """
    count = len(segments)
    after = [_targets(segment, count) for segment in segments]
    order = _from_the_end(after)
    rank = {node: place for place, node in enumerate(order)}
    found: dict[int, int] = {count: count}
    changed = True
    while changed:
        changed = False
        for node in order[1:]:
            known = [target for target in after[node] if target in found]
            nearest = known[0]
            for target in known[1:]:
                nearest = _meet(nearest, target, found, rank)
            if found.get(node) != nearest:
                found[node] = nearest
                changed = True
    return [END if found.get(number, count) == count else found[number] for number in range(count)]


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


def _meet(a: int, b: int, found: dict[int, int], rank: dict[int, int]) -> int:
    while a != b:
        while rank[a] > rank[b]:
            a = found[a]
        while rank[b] > rank[a]:
            b = found[b]
    return a
