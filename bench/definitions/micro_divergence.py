"""Microbenchmarks of divergence in a subgroup: branches, and loops of different lengths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.base.errors import Unsupported
from vkgroup.bench import BenchmarkCase, Data, Definition
from vkgroup.bench.definition import Arrays
from vkgroup.bench.micro_clock import ShaderCandidate, TimedShader, unit
from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import subgroup_size

_STEPS = 32
"""Steps of one branch, as in the shader."""

_STEPPED_ROUNDS = 2
_FORMS = {"if": 0, "switch": 1, "loop": 2}

Words = NDArray[np.uint32]


def _go(x: Words, way: Words) -> Words:
    """Return the result of one branch: the shader's GO."""
    for _ in range(_STEPS):
        x = (x * (2 * way + np.uint32(3)) ^ (x >> (way % np.uint32(7) + np.uint32(1)))) + way
    return x


def _pass(x: Words, way: Words, form: str) -> Words:
    """Return the result of one pass: the shader's pass()."""
    if form != "loop":
        return _go(x, way)
    for number in range(int(way.max())):
        x = np.where(number < way, _go(x, np.ones_like(way)), x)
    return x


def _verifier(form: str) -> Any:
    """Return the function that computes each lane's expected result, for `Data.verify`."""

    def verify(found: Arrays) -> str | None:
        way = np.asarray(found["inputs"])
        base = np.arange(len(way), dtype=np.uint32) * np.uint32(0x9E3779B9) + np.uint32(1)
        right = {"results": _pass(base, way, form), "stepped": base}
        for _ in range(_STEPPED_ROUNDS):
            right["stepped"] = _pass(base ^ right["stepped"], way, form)
        for name, expected in right.items():
            wrong = np.flatnonzero(np.asarray(found[name]) != expected)
            if len(wrong):
                lane = int(wrong[0])
                return f"{name}[{lane}] is {found[name][lane]} instead of {expected[lane]}"
        return None

    return verify


def _ways(form: str, ways: int, lanes: int) -> dict[str, Words]:
    """Return each lane's branch for uniform and divergent lanes; loops have the same average length."""
    of_lane = np.arange(lanes, dtype=np.uint32) % np.uint32(ways)
    if form == "loop":
        return {"uniform": np.full(lanes, ways, np.uint32), "divergent": 2 * of_lane + np.uint32(1)}
    return {"uniform": np.full(lanes, ways - 1, np.uint32), "divergent": of_lane}


def _definition(form: str) -> Definition:
    def make(device: Device, ways: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
        lanes = subgroup_size(device)
        if ways > lanes:
            raise Unsupported(
                f"A subgroup of {device.name} has {lanes} lanes, which are too few for {ways} branches.",
                [f"a subgroup size of at least {ways} (it is {lanes})"],
            )
        of_variant = _ways(form, ways, lanes)
        defines = {"FORM": str(_FORMS[form])}
        shader = TimedShader(
            "divergence.comp", lanes, 1, rounds=4, defines=defines, stepped_rounds=_STEPPED_ROUNDS
        )

        def candidate(name: str) -> Any:
            return lambda: ShaderCandidate(device, shader, of_variant[name])

        return BenchmarkCase(
            {name: candidate(name) for name in of_variant},
            lambda generator: Data({}, verify=_verifier(form)),
            bytes=0,
            items=1,
            needs={},
            pair=("uniform", "divergent"),
            unit=unit(device),
        )

    what = "passes of a loop" if form == "loop" else f"branches of {form}"
    return Definition(
        f"micro.divergence.{form}",
        f"a subgroup with `size` different {what}, compared with a uniform one",
        make,
        sizes=(1, 2, 4, 8, 16, 32),
        smoke=(3,),
    )


DEFINITIONS = [_definition(form) for form in _FORMS]
