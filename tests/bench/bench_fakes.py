"""Benchmarks whose times and results are known by construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import cycle
from typing import Any

import numpy as np

from vkgroup.bench import BenchmarkCase, Data, Definition
from vkgroup.bench.definition import Arrays

Compute = Callable[[Mapping[str, Any]], Arrays]


def double(inputs: Mapping[str, Any]) -> Arrays:
    """Inputs and expected result of the fakes."""
    return {"y": 2 * inputs["x"]}


class FakePrepared:
    """Takes the times that its candidate was given, and computes when it is timed."""

    def __init__(self, owner: FakeCandidate, data: Data) -> None:
        self._owner, self._data = owner, data
        self._found: Arrays = {}
        self.closed = False

    def overwrite_outputs(self) -> None:
        self._found = {"y": np.full(len(self._data.inputs["x"]), 0xA5A5A5A5, np.uint32)}

    def time(self) -> float:
        self._owner.runs += 1
        found = self._owner.compute(self._data.inputs)
        self._found = {**self._found, **found}
        return next(self._owner.times)

    def outputs(self) -> Arrays:
        return self._found

    def close(self) -> None:
        self.closed = True


class FakeCandidate:
    """A variant, or a peer, whose times are given."""

    clock = "script"

    def __init__(self, times: Iterable[float], compute: Compute = double) -> None:
        self.times = cycle(times)
        self.compute = compute
        self.runs = 0
        self.prepared: list[FakePrepared] = []

    def prepare(self, data: Data) -> FakePrepared:
        self.prepared.append(FakePrepared(self, data))
        return self.prepared[-1]


class FakePeer:
    """A package that runs what the case gives it: a `FakeCandidate`."""

    clock = "script of the peer"

    def __init__(self, name: str = "other", reason: str | None = None) -> None:
        self.name, self.reason = name, reason

    def available(self, device: Any) -> str | None:
        return self.reason

    def version(self) -> str:
        return "1.2.3"

    def prepare(self, device: Any, function: FakeCandidate, data: Data) -> FakePrepared:
        return function.prepare(data)


def some_data(rng: np.random.Generator, size: int) -> Data:
    x = rng.integers(0, 1 << 31, size, np.uint32)
    return Data({"x": x}, expected={"y": 2 * x})


def definition(
    variants: Mapping[str, Any],
    *,
    name: str = "fake.double",
    tuning: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Definition:
    """Return a benchmark of candidates, or of functions that raise, which are never created again."""

    def make(device: Any, size: int, chosen: Mapping[str, Any]) -> BenchmarkCase:
        makers = {key: made if callable(made) else (lambda made=made: made) for key, made in variants.items()}
        known: dict[str, Any] = {"bytes": 8 * size, "items": size, "operations": size, "needs": {}}
        return BenchmarkCase(makers, lambda rng: some_data(rng, size), **(known | fields))

    return Definition(name, "a fake", make, sizes=(16, 32, 64), smoke=(3,), tuning=tuning or {})


def ceiling(times: Iterable[float], amount: int, **fields: Any) -> Definition:
    """Return a ceiling ``top`` that does `amount` in the given times."""
    return definition({"only": FakeCandidate(times)}, name="ceiling.top", **({"bytes": amount} | fields))
