"""Benchmarks of submission overhead: one or many dispatches per submission, until completion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vkgroup.bench import BenchmarkCandidate, BenchmarkCase, Data, Definition
from vkgroup.bench.overhead import CallWork, SubmissionCandidate
from vkgroup.dispatch import Device

_CALLS, _FEW_CALLS = 50, 3
_SEQUENCE, _DISPATCH = "Sequence.run", "Bound.dispatch"


def _case(device: Device, dispatches: int, calls: int, pair: tuple[str, str]) -> BenchmarkCase:
    recorded, single = CallWork(dispatches, calls, True), CallWork(dispatches, calls, False)

    def candidate(work: CallWork) -> Callable[[], BenchmarkCandidate]:
        return lambda: SubmissionCandidate(device, work)

    def data(generator: np.random.Generator) -> Data:
        return Data({}, recorded.expected)

    return BenchmarkCase(
        {_SEQUENCE: candidate(recorded), _DISPATCH: candidate(single)},
        data,
        bytes=0,
        items=dispatches,
        needs={},
        peers={"hephaistos": recorded, "hephaistos command": single, "wgpu": single},
        pair=pair,
    )


def _overhead(pair: tuple[str, str]) -> Callable[[Device, int, Mapping[str, Any]], BenchmarkCase]:
    return lambda device, calls, tuning: _case(device, 1, calls, pair)


def _many(device: Device, dispatches: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
    return _case(device, dispatches, tuning.get("calls", 10), (_SEQUENCE, _DISPATCH))


DEFINITIONS = [
    Definition(
        "dispatch.overhead",
        "one dispatch of 64 invocations, submitted and waited for; mean over `size` calls",
        _overhead((_DISPATCH, _SEQUENCE)),
        sizes=(_CALLS,),
        smoke=(_FEW_CALLS,),
    ),
    Definition(
        "dispatch.recorded",
        "the same, compared with a dispatch recorded in advance; mean over `size` calls",
        _overhead((_SEQUENCE, _DISPATCH)),
        sizes=(_CALLS,),
        smoke=(_FEW_CALLS,),
    ),
    Definition(
        "dispatch.sequence",
        "`size` dependent dispatches of 64 invocations, recorded and submitted at once",
        _many,
        sizes=(1, 4, 16, 64, 256),
        smoke=(3,),
        tuning={"calls": (1, 10, 100)},
    ),
]
