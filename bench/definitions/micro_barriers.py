"""Microbenchmarks of synchronization: barriers, exchanges that need them, and clock reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vkgroup.base.errors import Unsupported
from vkgroup.bench import BenchmarkCase, Data, Definition
from vkgroup.bench.definition import Arrays
from vkgroup.bench.micro_clock import ShaderCandidate, TimedShader, has_clock, unit
from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import subgroup_size

_UNROLL = 8
"""Steps of one round, as in the shader."""

_STEPPED_ROUNDS = 2
_WORKGROUPS = (32, 64, 128, 256, 512, 1024)

_BARRIERS = {
    "barrier": 0,
    "subgroupBarrier": 1,
    "subgroupMemoryBarrier": 2,
    "subgroupMemoryBarrierBuffer": 3,
    "subgroupMemoryBarrierShared": 4,
    "subgroupMemoryBarrierImage": 5,
    "nothing": 6,
}
_EXCHANGES = {"shuffle": 12, "subgroupBarrier": 11, "barrier": 10}
_CLOCK = {"clock": 20}


def _base(workgroup: int) -> Any:
    return np.arange(workgroup, dtype=np.uint32) * np.uint32(0x9E3779B9) + np.uint32(1)


def _difference(name: str, found: Any, right: Any) -> str | None:
    wrong = np.flatnonzero(np.asarray(found) != right)
    if not len(wrong):
        return None
    at = int(wrong[0])
    return f"{name}[{at}] is {found[at]} instead of {right[at]} ({len(wrong)} of {len(right)} are wrong)"


def _counted(workgroup: int) -> Any:
    """Return the expected result of a chain of ``x = base ^ (x + 1)``."""

    def verify(found: Arrays) -> str | None:
        base = _base(workgroup)
        x = base
        for _ in range(_STEPPED_ROUNDS * _UNROLL):
            x = base ^ (x + np.uint32(1))
        return _difference("results", found["results"], base) or _difference("stepped", found["stepped"], x)

    return verify


def _exchanged(workgroup: int, size: int) -> Any:
    """Return the expected result of a chain of ``x = base ^ partner's x``, after its last exchange."""

    def verify(found: Arrays) -> str | None:
        base, place = _base(workgroup), np.arange(workgroup)
        partner = place - place % size + (place % size * 5 + 3) % size
        x = base
        for _ in range(_STEPPED_ROUNDS * _UNROLL - 1):
            x = base ^ x[partner]
        stepped = x[partner]
        right = {"results": base[partner], "stepped": stepped}
        problems = (_difference(name, found[name], expected) for name, expected in right.items())
        return next((problem for problem in problems if problem is not None), None)

    return verify


def _read(found: Arrays) -> str | None:
    """Verify only that a chain ended with its base, since clock values cannot be predicted."""
    return _difference("results", found["results"], _base(len(found["results"])))


def _definition(name: str, title: str, variants: Mapping[str, int], pair: tuple[str, str]) -> Definition:
    def make(device: Device, workgroup: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
        size, limits = subgroup_size(device), device.capabilities.limits
        most = min(int(limits["maxComputeWorkGroupInvocations"]), int(limits["maxComputeWorkGroupSize"][0]))
        workgroup = -(-workgroup // size) * size
        if workgroup > most:
            needs = f"maxComputeWorkGroupInvocations of {workgroup} (it is {most})"
            raise Unsupported(f"{device.name} lacks: {needs}.", [needs])
        if name == "clock" and not has_clock(device.capabilities):
            raise Unsupported(f"{device.name} lacks: shaderSubgroupClock.", ["shaderSubgroupClock"])
        verify = {
            "alone": _counted(workgroup),
            "exchange": _exchanged(workgroup, size),
            "clock": _read,
        }[name]
        shuffles = "shuffle" in device.capabilities.subgroup.supported_operations
        defines = {"SHUFFLE": "1"} if shuffles and name == "exchange" else {}

        def candidate(which: int) -> Any:
            stepped = 0 if name == "clock" else _STEPPED_ROUNDS
            shader = TimedShader(
                "barrier.comp", workgroup, _UNROLL, which, defines=defines, stepped_rounds=stepped
            )
            return lambda: ShaderCandidate(device, shader)

        return BenchmarkCase(
            {
                variant: candidate(which)
                for variant, which in variants.items()
                if variant != "shuffle" or shuffles
            },
            lambda generator: Data({}, verify=verify),
            bytes=0,
            items=1,
            needs={},
            pair=pair,
            unit=unit(device),
        )

    return Definition(f"micro.barrier.{name}", title, make, sizes=_WORKGROUPS, smoke=(32,))


DEFINITIONS = [
    _definition(
        "alone",
        "consecutive barriers of each kind; size in invocations of the workgroup",
        _BARRIERS,
        ("subgroupBarrier", "barrier"),
    ),
    _definition(
        "exchange",
        "exchange within subgroups by shuffle, or by memory and a barrier; size in invocations",
        _EXCHANGES,
        ("shuffle", "barrier"),
    ),
    _definition(
        "clock",
        "clock reads and their sum, which no other time includes; size in invocations",
        _CLOCK,
        ("clock", "clock"),
    ),
]
