"""Graphs of blocks: structured order, post-dominators, liveness, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from interpreting import program

from vkgroup.reference.interpreter.program.flow import END, post_dominators, read_functions, successors

NESTED = """
layout(local_size_x = 8) in;
layout(std430, binding = 0) buffer Data { uint data[]; };
uint inner(uint x) {
    for (uint k = 0u; k < x; k++) { if (k == 5u) return k; if (k == 3u) continue; }
    return x;
}
void main() {
    uint i = gl_LocalInvocationIndex, y = 0u;
    while (y < 20u) {
        y += inner(data[i]);
        switch (data[i] & 3u) {
            case 0u: y += 1u; break;
            case 1u: if (y > 7u) break; y += 2u;
            case 2u: do { y++; if (y == 13u) continue; } while (y % 4u != 0u); break;
            default: return;
        }
        if (y == 17u) break;
    }
    data[i] = y;
}
"""


def _reachable(first: int, after: dict[int, list[int]], without: int) -> set[int]:
    seen, waiting = set(), [first]
    while waiting:
        node = waiting.pop()
        if node in seen or node == without:
            continue
        seen.add(node)
        waiting += after.get(node, [])
    return seen


@pytest.mark.parametrize("optimize", [False, "performance"])
def test_structured_order(optimize: str | bool) -> None:
    _, functions = read_functions(program(NESTED, optimize=optimize).module)
    for function in functions.values():
        place = {block.label: k for k, block in enumerate(function.blocks)}
        after = {block.label: successors(block.terminator) for block in function.blocks}
        for block in function.blocks:
            if not block.merge:
                continue
            # All that the header leads to without passing its merge block, and comes back from, is before it.
            inside = _reachable(block.label, after, block.merge)
            outside = _reachable(block.merge, after, -1)
            for label in inside - outside:
                assert place[label] < place[block.merge]
            if block.continue_target:
                body = _reachable(block.label, after, block.continue_target) - {block.merge} - outside
                for label in body:
                    if block.continue_target in _reachable(label, after, block.merge):
                        assert place[label] < place[block.continue_target]


@pytest.mark.parametrize("seed", range(40))
def test_post_dominators_by_their_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 14))
    after = [sorted(set(rng.integers(0, count, int(rng.integers(0, 3))).tolist())) for _ in range(count)]
    after[-1] = []
    graph = dict(enumerate(after))
    ends = {node for node, targets in graph.items() if not targets}
    found = post_dominators(after)
    for node in range(count):
        if not ends & _reachable(node, graph, -1):
            assert found[node] == END
            continue
        # Those without which no end is reached.
        strict = [
            other for other in range(count) if other != node and not ends & _reachable(node, graph, other)
        ]
        if not strict:
            assert found[node] == END
            continue
        # The nearest is the one that all the others post-dominate.
        (nearest,) = [
            one
            for one in strict
            if all(other == one or not ends & _reachable(one, graph, other) for other in strict)
        ]
        assert found[node] == nearest


def test_every_value_is_fetched_where_it_is_used() -> None:
    chosen = program(NESTED, optimize="performance")
    for segment, life in zip(chosen.segments, chosen.liveness.segments, strict=True):
        known = {*life.imports, *chosen.constants}
        for op, frees in zip(segment.ops, life.frees, strict=True):
            assert set(op.uses) <= known
            known.add(op.result)
            known -= set(frees)
        assert set(segment.terminator.uses) <= known
        assert set(life.exports) <= known
