"""Simulations, fractals, puzzles, random numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from program import Array, Claim, Outcome, Program, exact, growth

_CORNER, _SPACING, _LIMIT = (-8192, -5120), 330, 60


def _bodies(rng: np.random.Generator) -> dict[str, Array]:
    bodies = rng.normal(scale=3, size=(96, 4)).astype(np.float32)
    bodies[:, 3] = rng.uniform(0.5, 2, 96)
    return {"Bodies": bodies, "Accelerations": np.zeros((96, 4), np.float32)}


def _pulls(outcome: Outcome) -> Iterator[Claim]:
    """Each term is within 20 u, and takes part in 96 additions.

    The distance is rounded once a component; its square and 1/4 more are then within 6 u (2 for the distance,
    1 for the products, 3 for the sums); the root halves that and inversesqrt() adds 2 ULP; the third power
    trebles 5 u and adds 2; two products and the distance add 3.
    """
    bodies = outcome.inputs["Bodies"].astype(np.float64)
    distance = bodies[None, :, :3] - bodies[:, None, :3]
    squares = (distance**2).sum(axis=2) + 0.25
    terms = (bodies[None, :, 3] * squares**-1.5)[:, :, None] * distance
    found = outcome.outputs["Accelerations"][:, :3]
    yield Claim("accelerations", found, terms.sum(axis=1), growth(20 + 96) * np.abs(terms).sum(axis=1))


def _life(outcome: Outcome) -> Iterator[Claim]:
    cells = outcome.inputs["Cells"].astype(np.int64)
    for _ in range(5):
        shifts = itertools.product((-1, 0, 1), repeat=2)
        around = sum(np.roll(cells, shift, axis=(0, 1)) for shift in shifts) - cells
        cells = ((around == 3) | ((around == 2) & (cells == 1))).astype(np.int64)
    yield exact(outcome, "Cells", cells)


def _rule_inputs(rng: np.random.Generator) -> dict[str, Array]:
    words = np.zeros((13, 64), np.uint32)
    words[0] = rng.integers(0, 2**32, 64)
    return {"Words": words}


def _rule(outcome: Outcome) -> Iterator[Claim]:
    cells = np.unpackbits(outcome.inputs["Words"][0].view(np.uint8), bitorder="little")
    rows = [cells]
    table = np.array([110 >> pattern & 1 for pattern in range(8)], np.uint8)
    for _ in range(12):
        cells = table[4 * np.roll(cells, 1) + 2 * cells + np.roll(cells, -1)]
        rows.append(cells)
    yield exact(outcome, "Words", np.packbits(rows, axis=1, bitorder="little").view(np.uint32))


def _mandelbrot(outcome: Outcome) -> Iterator[Claim]:
    def steps(cx: int, cy: int) -> int:
        x = y = 0
        for step in range(_LIMIT):
            xx, yy = x * x >> 12, y * y >> 12
            if xx + yy > 4 << 12:
                return step
            x, y = xx - yy + cx, (2 * x * y >> 12) + cy
        return _LIMIT

    wanted = [
        [steps(_CORNER[0] + _SPACING * column, _CORNER[1] + _SPACING * row) for column in range(40)]
        for row in range(32)
    ]
    yield exact(outcome, "Steps", wanted)


def _collatz(outcome: Outcome) -> Iterator[Claim]:
    results = []
    for first in range(1, 513):
        sequence = [first]
        while sequence[-1] != 1:
            sequence.append(3 * sequence[-1] + 1 if sequence[-1] % 2 else sequence[-1] // 2)
        results.append((len(sequence) - 1, max(sequence)))
    yield exact(outcome, "Results", results)
    yield exact(outcome, "Most", [max(steps for steps, _ in results)])


def _queens(outcome: Outcome) -> Iterator[Claim]:
    ways = np.zeros((7, 7), np.uint32)
    for places in itertools.permutations(range(7)):
        if len({row + place for row, place in enumerate(places)}) < 7:
            continue
        if len({row - place for row, place in enumerate(places)}) == 7:
            ways[places[1], places[0]] += 1
    yield exact(outcome, "Ways", ways.ravel())
    yield exact(outcome, "Total", [40])


def _points(outcome: Outcome) -> Iterator[Claim]:
    state, hits = outcome.inputs["States"].copy(), 0
    for _ in range(32):
        point = []
        for _ in range(2):
            state ^= state << np.uint32(13)
            state ^= state >> np.uint32(17)
            state ^= state << np.uint32(5)
            point.append((state >> np.uint32(17)).astype(np.int64))
        hits += np.sum(point[0] ** 2 + point[1] ** 2 < 2**30)
    yield exact(outcome, "States", state)
    yield exact(outcome, "Hits", [hits])


def _means_inputs(rng: np.random.Generator) -> dict[str, Array]:
    """Whole numbers, so that distances are exact, and equal ones occur."""
    points = np.zeros((256, 4), np.float32)
    points[:, :3] = rng.integers(-20, 20, (256, 3))
    centres = np.zeros((8, 4), np.float32)
    centres[:, :3] = rng.integers(-20, 20, (8, 3))
    return {
        "Points": points,
        "Centres": centres,
        "Nearest": np.zeros(256, np.uint32),
        "Clusters": np.zeros((8, 4), np.int32),
    }


def _means(outcome: Outcome) -> Iterator[Claim]:
    points, centres = outcome.inputs["Points"][:, :3], outcome.inputs["Centres"][:, :3]
    nearest = np.linalg.norm(points[:, None] - centres[None], axis=2).round(4).argmin(axis=1)
    yield exact(outcome, "Nearest", nearest)
    clusters = [
        [*points[nearest == cluster].sum(axis=0), np.sum(nearest == cluster)]
        for cluster in range(len(centres))
    ]
    yield exact(outcome, "Clusters", clusters)


def _plate(rng: np.random.Generator) -> dict[str, Array]:
    plate = rng.integers(0, 40, (18, 18)).astype(np.int32)
    plate[0] = 900
    return {"Plate": plate, "Taken": np.zeros(1, np.uint32)}


def _heat(outcome: Outcome) -> Iterator[Claim]:
    plate, taken = outcome.inputs["Plate"].astype(np.int64), 0
    while taken < 40:
        before = plate[1:-1, 1:-1].copy()
        plate[1:-1, 1:-1] = (plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]) // 4
        taken += 1
        if np.abs(plate[1:-1, 1:-1] - before).max() <= 1:
            break
    yield exact(outcome, "Plate", plate)
    yield exact(outcome, "Taken", [taken])


PROGRAMS = (
    Program("n_body", 3, _bodies, _pulls),
    Program(
        "game_of_life",
        1,
        lambda rng: {"Cells": rng.integers(0, 2, (32, 32)).astype(np.uint32)},
        _life,
        push={"generations": 5},
    ),
    Program("cellular_rule", 1, _rule_inputs, _rule, push={"rule": 110, "generations": 12}),
    Program(
        "mandelbrot",
        (5, 4),
        lambda rng: {"Steps": np.zeros((32, 40), np.uint32)},
        _mandelbrot,
        push={"corner": _CORNER, "spacing": _SPACING, "limit": _LIMIT},
    ),
    Program(
        "collatz",
        8,
        lambda rng: {"Results": np.zeros((512, 2), np.uint32), "Most": np.zeros(1, np.uint32)},
        _collatz,
        push={"first": 1},
    ),
    Program(
        "n_queens",
        1,
        lambda rng: {"Ways": np.zeros(49, np.uint32), "Total": np.zeros(1, np.uint32)},
        _queens,
    ),
    Program(
        "monte_carlo",
        4,
        lambda rng: {
            "Hits": np.zeros(1, np.uint32),
            "States": rng.integers(1, 2**32, 256).astype(np.uint32),
        },
        _points,
        push={"points": 32},
    ),
    Program("k_means", 4, _means_inputs, _means),
    Program("heat", 1, _plate, _heat, push={"steps": 40}),
)
