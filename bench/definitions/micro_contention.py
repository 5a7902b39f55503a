"""Microbenchmarks of contended atomics: one per invocation, and one per subgroup."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.base.files import bench
from vkgroup.bench import BenchmarkCase, Data, Definition
from vkgroup.bench.definition import Arrays
from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import choose, subgroup_size
from vkgroup.kernels.plan import Plan, Planner

_ROUNDS = 16
_COUNTERS = 1024
_SHARED_COUNTERS = 256

Words = NDArray[np.uint32]


def _places(spread: str, count: int, counters: int, size: int) -> Words:
    """Return each invocation's counter: one for all, one per subgroup, or adjacent ones for neighbors."""
    invocation = np.arange(count, dtype=np.uint32)
    if spread == "same":
        return np.zeros(count, np.uint32)
    return (invocation // size if spread == "subgroup" else invocation) % np.uint32(counters)


def _sum_below(taken: NDArray[np.int64]) -> int:
    """Return the sum of the numbers that the counters returned, modulo 2^32."""
    return int(sum(int(n) * (int(n) - 1) // 2 for n in taken) & 0xFFFFFFFF)


def _verifier(places: Words, counters: int, workgroup: int | None) -> Any:
    """Return the function that verifies that each number was returned exactly once, for `Data.verify`.

    Parameters
    ----------
    workgroup : size of a workgroup if each workgroup has its own counters; None if all workgroups share them.
    """
    taken = np.bincount(places, minlength=counters).astype(np.int64) * _ROUNDS
    if workgroup is None:
        total = _sum_below(taken)
    else:
        group = np.arange(len(places)) // workgroup * counters + places
        total = _sum_below(np.bincount(group).astype(np.int64) * _ROUNDS) & 0xFFFFFFFF

    def verify(found: Arrays) -> str | None:
        wrong = np.flatnonzero(np.asarray(found["counters"]) != taken.astype(np.uint32))
        if len(wrong):
            at = int(wrong[0])
            return f"counters[{at}] is {found['counters'][at]} instead of {taken[at]}"
        got = int(np.asarray(found["sums"]).sum(dtype=np.uint32))
        return None if got == total else f"the numbers taken add up to {got} instead of {total}"

    return verify


def _definition(memory: str, spread: str) -> Definition:
    def make(device: Device, count: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
        limits = device.capabilities.limits
        workgroup = tuning.get("workgroup", min(256, int(limits["maxComputeWorkGroupInvocations"])))
        counters = _SHARED_COUNTERS if memory == "shared" else _COUNTERS
        own_memory = {"SHARED": 1} if memory == "shared" else {}
        size = subgroup_size(device)
        # A dispatch cannot have this many workgroups, and with fewer of them not every invocation would take
        # part.
        count = min(count, workgroup * int(limits["maxComputeWorkGroupCount"][0]))

        def plan(aggregated: bool) -> Any:
            def made() -> Plan:
                if aggregated:
                    choose(device, "subgroup", "basic", "ballot")
                planner = Planner(device, "contention", "aggregated" if aggregated else "plain")
                places = planner.input("places", np.uint32, count)
                counts = planner.output("counters", np.uint32, counters)
                sums = planner.output("sums", np.uint32, count)
                kernel = planner.kernel(
                    str(bench("shaders") / "contention.comp"),
                    macros=own_memory | ({"AGGREGATED": 1} if aggregated else {}),
                    workgroup=workgroup,
                    specialization={"COUNTERS": counters},
                )
                planner.fill(counts)
                names = {"Places": places, "Counters": counts, "Sums": sums}
                push = {"count": count, "rounds": _ROUNDS}
                planner.dispatch(kernel, -(-count // workgroup), names, push=push)
                return planner.plan()

            return made

        def data(generator: np.random.Generator) -> Data:
            places = _places(spread, count, counters, size)
            own = workgroup if memory == "shared" else None
            return Data({"places": places}, verify=_verifier(places, counters, own))

        variants = {"plain": plan(False)}
        if spread != "spread":
            variants = {"aggregated": plan(True), **variants}
        return BenchmarkCase(
            variants,
            data,
            bytes=0,
            items=count * _ROUNDS,
            operations=count * _ROUNDS,
            rate="operations",
            needs={},
            pair=("aggregated" if spread != "spread" else "plain", "plain"),
        )

    where = {
        "same": "one counter",
        "subgroup": "a counter for each subgroup",
        "spread": "neighboring counters for neighbors",
    }[spread]
    return Definition(
        f"micro.contention.{memory}.{spread}",
        f"invocations that take {_ROUNDS} numbers each from {where} in {memory} memory",
        make,
        sizes=(1 << 10, 1 << 16, 1 << 20),
        smoke=(1, 1021),
        tuning={"workgroup": (64, 128, 256, 512, 1024)},
    )


DEFINITIONS = [
    _definition(memory, spread)
    for memory in ("global", "shared")
    for spread in ("same", "subgroup", "spread")
]
