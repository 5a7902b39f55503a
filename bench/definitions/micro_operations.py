"""Microbenchmarks of every subgroup function by type: latency and throughput."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.bench import BenchmarkCase, Definition
from vkgroup.bench.micro_cases import MicroCase as Function
from vkgroup.bench.micro_cases import all_cases
from vkgroup.bench.micro_chain import make_case
from vkgroup.dispatch import Device

_STEPS, _FEW_STEPS = 256, 8


def _definition(function: Function, many: bool) -> Definition:
    def make(device: Device, size: int, tuning: Mapping[str, Any]) -> BenchmarkCase:
        return make_case(device, function, many, size, tuning)

    tuning: dict[str, tuple[Any, ...]] = {"unroll": (4, 8, 16)}
    if many:
        tuning = {"chains": (1, 2, 4, 8), "throughput_unroll": (2, 4, 8), "subgroups": (4, 8, 16, 32)}
    if len(function.operation.types) > 1:
        tuning["components"] = (1, 2, 3, 4)
    what, how = ("throughput", "a subgroup's") if many else ("latency", "each waiting for the last,")
    return Definition(
        name=f"micro.{what}.{function.name}",
        title=f"{function.name}: {what}, by a chain of so many, {how} in cycles (ns without a shader clock)",
        make=make,
        sizes=(_STEPS,),
        smoke=(_FEW_STEPS,),
        tuning=tuning,
    )


DEFINITIONS = [_definition(function, many) for many in (False, True) for function in all_cases()]
