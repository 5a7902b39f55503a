"""The compute shaders of the tutorial, and its fragment shaders rewritten as compute shaders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from program import Array, Claim, Outcome, Program, exact, subgroups_of

LOCAL = 128
COUNT = 4 * LOCAL
_VERTEX = np.dtype([(name, np.float32) for name in "xyzuv"])


def _lanes() -> Array:
    return np.full((COUNT, 2), 0xFFFFFFFF, np.uint32)


def _foo_and_bar(rng: np.random.Generator) -> dict[str, Array]:
    """The first workgroup selects x, the second y, the third both, the fourth x in about a quarter."""
    foo = rng.integers(-100, 100, COUNT).astype(np.int32)
    share = np.repeat([1.0, 0.0, 0.5, 0.25], LOCAL)
    bar = foo + np.where(rng.random(COUNT) < share, 1, -1) * rng.integers(1, 50, COUNT)
    return {
        "layout_foo": foo,
        "layout_bar": bar.astype(np.int32),
        "layout_results": np.zeros(COUNT, np.int32),
    }


def _chosen(outcome: Outcome) -> tuple[Array, Array, Array]:
    foo, bar = outcome.inputs["layout_foo"], outcome.inputs["layout_bar"]
    return foo < bar, 2 * foo, foo + bar


def _two_ways(outcome: Outcome) -> Iterator[Claim]:
    condition, x, y = _chosen(outcome)
    yield exact(outcome, "layout_results", np.where(condition, x, y))


def _vote(outcome: Outcome) -> Iterator[Claim]:
    """`ways` has the path of each subgroup; all subgroups of a uniform workgroup take the same path."""
    yield from _two_ways(outcome)
    condition = _chosen(outcome)[0]
    ways = outcome.outputs["layout_ways"]
    yield Claim("ways of a workgroup that agrees", ways[: 2 * LOCAL], np.repeat([0, 1], LOCAL))
    yield Claim("ways of one that does not", (ways == 2) | (ways == np.where(condition, 0, 1)), ways < 3)


def _ballot_quarter(outcome: Outcome) -> Iterator[Claim]:
    condition, x, y = _chosen(outcome)
    subgroups = outcome.outputs["layout_subgroups"]
    yield Claim("gl_SubgroupSize", subgroups[:, 1], np.full(COUNT, outcome.subgroup_size))
    wanted = y.copy()
    for invocations, _ in subgroups_of(subgroups, LOCAL):
        if condition[invocations].sum() * 4 >= outcome.subgroup_size:
            wanted[invocations] = x[invocations]
    yield exact(outcome, "layout_results", wanted)


def _broadcast_first(outcome: Outcome) -> Iterator[Claim]:
    foo, wanted = outcome.inputs["layout_foo"], np.zeros((COUNT, 4), np.float32)
    for invocations, _ in subgroups_of(outcome.outputs["layout_lanes"], LOCAL):
        wanted[invocations] = foo[(int(invocations[0]) * 2654435761 % 2**32 >> 7) % len(foo)]
    yield exact(outcome, "layout_results", wanted)


def _loop_scan(inclusive: int) -> Any:
    def expected(outcome: Outcome) -> Iterator[Claim]:
        """Sums of small whole numbers, which are exact."""
        before = np.concatenate([[0], np.cumsum(outcome.inputs["layout_foo"])])
        wanted = np.zeros(COUNT)
        for invocations, lanes in subgroups_of(outcome.outputs["layout_lanes"], LOCAL):
            start = invocations[0]
            wanted[invocations] = before[start + lanes + inclusive] - before[start]
        yield exact(outcome, "layout_results", wanted)

    return expected


def _triangles(rng: np.random.Generator) -> dict[str, Array]:
    """Corners of whole numbers, so that areas are exact; a few without area."""
    vertices = np.zeros((2 * LOCAL, 3), _VERTEX)
    for name in _VERTEX.names or ():
        vertices[name] = rng.integers(-50, 50, vertices.shape)
    vertices[::10, 2] = vertices[::10, 1]
    room = np.zeros(4 + vertices.nbytes, np.uint8)
    return {"layout_in_triangles": vertices.view(np.float32).reshape(-1, 5), "layout_out_triangles": room}


def _cull(outcome: Outcome) -> Iterator[Claim]:
    corners = outcome.inputs["layout_in_triangles"].reshape(-1, 3, 5)
    edges = corners[:, 1:, :2] - corners[:, :1, :2]
    kept = corners[np.linalg.det(edges.astype(np.float64)) > 0.5].reshape(-1, 15)
    room = outcome.outputs["layout_out_triangles"]
    size = room[:4].view(np.uint32)
    yield Claim("out_triangles_size", size, np.array([3 * len(kept)]))
    found = room[4:].view(np.float32).reshape(-1, 15)
    yield Claim("out_triangles", _sorted(found[: len(kept)]), _sorted(kept))
    yield Claim("the room behind them", found[len(kept) :], np.zeros_like(found[len(kept) :]))


def _sorted(rows: Array) -> Array:
    return rows[np.lexsort(rows.T)]


def _pooling_inputs(width: int) -> Any:
    def inputs(rng: np.random.Generator) -> dict[str, Array]:
        image = rng.normal(size=(2, 8, 4 * width)).astype(np.float16)
        return {"inImage": image, "outImage": np.zeros((2, 2, width), np.float16)}

    return inputs


def _pooling(outcome: Outcome) -> Iterator[Claim]:
    """Below 16 lanes the cluster is larger than the subgroup, and nothing is defined."""
    image = outcome.inputs["inImage"]
    wanted = image.reshape(2, 2, 4, -1, 4).max(axis=(2, 4))
    yield exact(outcome, "outImage", wanted, where=outcome.subgroup_size >= 16)


def _pooling_at(program: Program, size: int) -> Program:
    width = 3 * max(size // 16, 1)
    return replace(program, specialization={0: size}, inputs=_pooling_inputs(width))


def _shuffle_inputs(*others: str, floats: bool = False) -> Any:
    def inputs(rng: np.random.Generator) -> Mapping[str, Array]:
        x = rng.integers(0, 64 if floats else 2**32, (COUNT, 4)).astype(np.float32 if floats else np.uint32)
        bindings = {"X": x, "Data": np.zeros_like(x), "Lanes": _lanes()}
        return bindings | {name: rng.integers(0, 2**32, COUNT).astype(np.uint32) for name in others}

    return inputs


def _blend(outcome: Outcome) -> Iterator[Claim]:
    """Half of the sum of small whole numbers is exact."""
    x, indices, wanted = outcome.inputs["X"], outcome.inputs["Indices"], np.zeros((COUNT, 4))
    for invocations, _ in subgroups_of(outcome.outputs["Lanes"], LOCAL):
        other = invocations[indices[invocations] % outcome.subgroup_size]
        wanted[invocations] = (x[invocations] + x[other]) / 2
    yield exact(outcome, "Data", wanted)


def _shuffle_xor(outcome: Outcome) -> Iterator[Claim]:
    x, wanted = outcome.inputs["X"].astype(np.uint64), np.zeros((COUNT, 4), np.uint64)
    for invocations, lanes in subgroups_of(outcome.outputs["Lanes"], LOCAL):
        values, mask = x[invocations], 1
        while mask < outcome.subgroup_size:
            values = (values * values[lanes ^ mask] + 7 * lanes.astype(np.uint64)[:, None]) % 2**32
            mask *= 2
        wanted[invocations] = values
    yield exact(outcome, "Data", wanted)


def _strided(outcome: Outcome) -> Iterator[Claim]:
    wanted = np.zeros((COUNT, 4), np.uint32)
    for invocations, lanes in subgroups_of(outcome.outputs["Lanes"], LOCAL):
        for lane in lanes:
            part = outcome.inputs["X"][invocations[lane % 2 : lane + 1 : 2]]
            wanted[invocations[lane]] = np.multiply.reduce(part, axis=0, dtype=np.uint32)
    yield exact(outcome, "Data", wanted)


def _reverse(outcome: Outcome) -> Iterator[Claim]:
    wanted = np.zeros((COUNT, 4), np.uint32)
    for invocations, lanes in subgroups_of(outcome.outputs["Lanes"], LOCAL):
        for lane in lanes:
            part = outcome.inputs["X"][invocations[lane:]]
            wanted[invocations[lane]] = np.multiply.reduce(part, axis=0, dtype=np.uint32)
    yield exact(outcome, "Data", wanted)


def _quads(rng: np.random.Generator) -> dict[str, Array]:
    colors = rng.integers(0, 256, (COUNT, 4)).astype(np.float32)
    frame = np.zeros((COUNT // LOCAL, LOCAL // 4, 4), np.float32)
    return {"Colors": colors, "lowResFrame": frame, "Lanes": _lanes()}


def _downsample(outcome: Outcome) -> Iterator[Claim]:
    """Below four lanes there are no whole quads, and nothing is defined."""
    lanes = outcome.outputs["Lanes"]
    place = np.arange(COUNT) // LOCAL * LOCAL + lanes[:, 0] * outcome.subgroup_size + lanes[:, 1]
    colors = np.zeros((COUNT, 4))
    colors[place] = outcome.inputs["Colors"]
    wanted = colors.reshape(COUNT // LOCAL, LOCAL // 4, 4, 4).sum(axis=2)
    yield exact(outcome, "lowResFrame", wanted, where=outcome.subgroup_size >= 4)


PROGRAMS = (
    Program(
        "small_workgroup",
        100,
        lambda rng: {
            "Values": rng.integers(0, 2**32, 100).astype(np.uint32),
            "Squares": np.zeros(100, np.uint32),
        },
        lambda outcome: [exact(outcome, "Squares", outcome.inputs["Values"] ** 2)],
        shader="tutorial/small_workgroup",
    ),
    Program(
        "dynamic_branch",
        4,
        lambda rng: {
            "Values": rng.integers(-999, 999, COUNT).astype(np.float32),
            "Results": np.zeros(COUNT, np.float32),
        },
        lambda outcome: [
            exact(
                outcome,
                "Results",
                np.where(
                    outcome.inputs["Values"] < 0, 42 - outcome.inputs["Values"], outcome.inputs["Values"] - 13
                ),
            )
        ],
        shader="tutorial/dynamic_branch",
    ),
    Program("two_ways", 4, _foo_and_bar, _two_ways, shader="tutorial/two_ways"),
    Program(
        "vote",
        4,
        lambda rng: _foo_and_bar(rng) | {"layout_ways": np.full(COUNT, 9, np.uint32)},
        _vote,
        shader="tutorial/vote",
        per_subgroup=True,
    ),
    Program(
        "ballot_quarter",
        4,
        lambda rng: _foo_and_bar(rng) | {"layout_subgroups": _lanes()},
        _ballot_quarter,
        shader="tutorial/ballot_quarter",
        per_subgroup=True,
    ),
    Program(
        "broadcast_first",
        4,
        lambda rng: {
            "layout_foo": rng.normal(size=(97, 4)).astype(np.float32),
            "layout_results": np.zeros((COUNT, 4), np.float32),
            "layout_lanes": _lanes(),
        },
        _broadcast_first,
        shader="tutorial/broadcast_first",
        per_subgroup=True,
    ),
    *(
        Program(
            name,
            4,
            lambda rng: {
                "layout_foo": rng.integers(-99, 99, COUNT + LOCAL).astype(np.float32),
                "layout_results": np.zeros(COUNT, np.float32),
                "layout_lanes": _lanes(),
            },
            _loop_scan(inclusive),
            defines={"INCLUSIVE_SCAN": 1} if inclusive else {},
            per_subgroup=True,
            shader="tutorial/loop_scan",
        )
        for name, inclusive in (("loop_scan_inclusive", 1), ("loop_scan_exclusive", 0))
    ),
    Program(
        "max_atomic",
        4,
        lambda rng: {
            "layout_foo": rng.integers(0, 2**31, COUNT).astype(np.uint32),
            "layout_bar": np.zeros(1, np.uint32),
        },
        lambda outcome: [exact(outcome, "layout_bar", [outcome.inputs["layout_foo"].max()])],
        shader="tutorial/max_atomic",
    ),
    Program("cull_triangles", 2, _triangles, _cull, shader="tutorial/cull_triangles"),
    Program(
        "max_pooling",
        (3, 2, 2),
        _pooling_inputs(3),
        _pooling,
        needs=("VK_SUBGROUP_FEATURE_CLUSTERED_BIT",),
        full_subgroups=True,
        shader="tutorial/max_pooling",
        at_size=_pooling_at,
        per_subgroup=True,
    ),
    Program(
        "blend_shuffle",
        4,
        _shuffle_inputs("Indices", floats=True),
        _blend,
        full_subgroups=True,
        per_subgroup=True,
    ),
    Program(
        "shuffle_xor",
        4,
        _shuffle_inputs(),
        _shuffle_xor,
        push={"additive": 7},
        full_subgroups=True,
        per_subgroup=True,
    ),
    Program(
        "strided_scan",
        4,
        _shuffle_inputs(),
        _strided,
        full_subgroups=True,
        per_subgroup=True,
    ),
    Program(
        "reverse_scan",
        4,
        _shuffle_inputs(),
        _reverse,
        full_subgroups=True,
        per_subgroup=True,
    ),
    Program(
        "quad_downsample",
        4,
        _quads,
        _downsample,
        needs=("VK_SUBGROUP_FEATURE_QUAD_BIT",),
        full_subgroups=True,
        per_subgroup=True,
    ),
)
