"""Shuffle blending: each fragment blends its value with that of another one of its subgroup."""

from __future__ import annotations

import host
import numpy as np

import vkgroup

WIDTH, HEIGHT = 16, 8


def run(device: vkgroup.Device) -> str:
    """Draw one triangle for each index, and check what is blended with a lane that is there."""
    total = compared = 0
    for index in range(min(device.capabilities.subgroup.size, 8)):
        random = host.rng()
        found = device.draw(
            host.FOLDER / "blend_shuffle.frag",
            (WIDTH, HEIGHT),
            vertices={
                "index": np.full(3, index, np.uint32),
                "x": random.random((3, 4)).astype(np.float32),
                "blendFactor": np.array([0.25, 0.5, 0.75], np.float32),
            },
        )
        total += WIDTH * HEIGHT
        compared += _check(found, index)
    if not compared:
        raise host.Wrong("no fragment had its other one in its subgroup")
    return f"{compared} of {total} fragments blended with an active one"


def _check(found: vkgroup.RunResult, index: int) -> int:
    data, given = (found[name].reshape(-1, 4).astype(np.float64) for name in ("data", "given"))
    factor = found["factor"].reshape(-1, 1).astype(np.float64)
    wanted, defined = np.zeros_like(data), np.zeros(len(data), np.bool_)
    for members, lanes in host.subgroups(found["lane"].reshape(-1, 2)):
        if index in lanes:
            other = members[list(lanes).index(index)]
            wanted[members] = given[members] * (1 - factor[members]) + given[other] * factor[members]
            defined[members] = True
    # mix() is a difference, two products and a sum, all of positive numbers: four roundings at most.
    host.check("data", data, wanted, bound=wanted * ((1 + host.UNIT) ** 4 - 1), where=defined[:, None])
    return int(defined.sum())
