"""Graphs and linked lists."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from program import Array, Claim, Outcome, Program, exact

_NONE = 2**32 - 1
_DEPTH, _FRONTIER = 3, 70


def _search_inputs(rng: np.random.Generator) -> dict[str, Array]:
    """A graph of 300 vertices; 70 of them are the frontier at depth 2, 60 more have been visited."""
    degrees = rng.integers(0, 6, 300)
    starts = np.concatenate([[0], np.cumsum(degrees)])
    order = rng.permutation(300)
    depths = np.full(300, _NONE)
    depths[order[:_FRONTIER]] = _DEPTH - 1
    depths[order[_FRONTIER : _FRONTIER + 60]] = 1
    return {
        "Starts": starts.astype(np.uint32),
        "Neighbours": rng.integers(0, 300, starts[-1]).astype(np.uint32),
        "Depths": depths.astype(np.uint32),
        "Frontier": order[:_FRONTIER].astype(np.uint32),
        "Next": np.zeros(301, np.uint32),
    }


def _searched(outcome: Outcome) -> Iterator[Claim]:
    given, depths = outcome.inputs, outcome.inputs["Depths"].copy()
    reached: set[int] = set()
    for vertex in given["Frontier"]:
        reached |= set(given["Neighbours"][given["Starts"][vertex] : given["Starts"][vertex + 1]].tolist())
    wanted = sorted(vertex for vertex in reached if depths[vertex] == _NONE)
    depths[wanted] = _DEPTH
    yield exact(outcome, "Depths", depths)
    found = outcome.outputs["Next"]
    yield Claim("next_count", found[:1], np.array([len(wanted)]))
    yield Claim("next, sorted", np.sort(found[1 : 1 + len(wanted)]), np.array(wanted))


def _edges(rng: np.random.Generator) -> dict[str, Array]:
    """Some small components, one long path in a random order, and vertices alone."""
    path = 120 + rng.permutation(100)
    edges = np.concatenate([rng.integers(0, 110, (70, 2)), np.stack([path[:-1], path[1:]], axis=1)])
    return {"Edges": rng.permutation(edges).astype(np.uint32), "Labels": np.zeros(256, np.uint32)}


def _components(outcome: Outcome) -> Iterator[Claim]:
    """By merging sets of vertices, one edge after the other."""
    labels = np.arange(256)
    for a, b in outcome.inputs["Edges"].tolist():
        low, high = sorted((labels[a], labels[b]))
        labels[labels == high] = low
    yield exact(outcome, "Labels", labels)


def _lists(rng: np.random.Generator) -> dict[str, Array]:
    order, next_nodes = rng.permutation(256), np.zeros(256, np.uint32)
    ends = set(rng.choice(255, 4, replace=False).tolist()) | {255}
    for place, node in enumerate(order):
        next_nodes[node] = node if place in ends else order[place + 1]
    blank = np.zeros(256, np.uint32)
    return {"Next": next_nodes, "Ranks": blank, "Ends": blank}


def _ranked(outcome: Outcome) -> Iterator[Claim]:
    next_nodes, ranks, ends = outcome.inputs["Next"].tolist(), [], []
    for node in range(256):
        rank = 0
        while next_nodes[node] != node:
            node, rank = next_nodes[node], rank + 1
        ranks.append(rank)
        ends.append(node)
    yield exact(outcome, "Ranks", ranks)
    yield exact(outcome, "Ends", ends)


def _adjacency(rng: np.random.Generator) -> dict[str, Array]:
    upper = np.triu(rng.random((96, 96)) < 0.15, 1)
    rows = np.packbits(upper | upper.T, axis=1, bitorder="little").view(np.uint32)
    return {"Rows": rows, "Total": np.zeros(1, np.uint32)}


def _triangles(outcome: Outcome) -> Iterator[Claim]:
    """The trace of the adjacency matrix's third power counts each triangle six times."""
    matrix = np.unpackbits(outcome.inputs["Rows"].view(np.uint8), axis=1, bitorder="little").astype(np.int64)
    yield exact(outcome, "Total", [np.trace(matrix @ matrix @ matrix) // 6])


def _roads(rng: np.random.Generator) -> dict[str, Array]:
    distances = rng.integers(1, 1000, (32, 32))
    distances[rng.random((32, 32)) < 0.9] = _NONE
    np.fill_diagonal(distances, 0)
    return {"Distances": distances.astype(np.uint32)}


def _shortest(outcome: Outcome) -> Iterator[Claim]:
    """Paths of at most 31 edges, one edge more each time."""
    edges = outcome.inputs["Distances"].astype(np.float64)
    edges[edges == _NONE] = np.inf
    paths = edges
    for _ in range(31):
        paths = np.min(paths[:, :, None] + edges[None], axis=1)
    yield exact(outcome, "Distances", np.where(np.isinf(paths), _NONE, paths))


PROGRAMS = (
    Program(
        "bfs_step",
        2,
        _search_inputs,
        _searched,
        push={"frontier_count": _FRONTIER, "depth": _DEPTH},
    ),
    Program("components", 1, _edges, _components),
    Program("list_ranking", 1, _lists, _ranked),
    Program("triangle_count", 1, _adjacency, _triangles),
    Program("floyd_warshall", 1, _roads, _shortest),
)
