"""Judging a batch on one device in this process; a batch that fails as a whole is split."""

from __future__ import annotations

import time

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import family_named
from vkgroup.conformance.plan import Batch
from vkgroup.errors import DeviceLost, DispatchTimeout, VkgroupError
from vkgroup.results.record import Result, Status


def judge_batch(executor: Executor, batch: Batch) -> list[Result]:
    """Judge the cases of a batch, in their order.

    Raises
    ------
    DeviceLost, DispatchTimeout
        The device is unusable; none of the cases has a result.
    """
    start = time.perf_counter()
    try:
        verdicts = family_named(batch.family).judge(executor, batch.cases)
    except (DeviceLost, DispatchTimeout):
        raise
    except VkgroupError as error:
        if len(batch) > 1:
            return [result for part in batch.parts() for result in judge_batch(executor, part)]
        seconds = time.perf_counter() - start
        detail = f"{type(error).__name__}: {error}"
        return [Result(batch.cases[0].name, Status.FAIL, seconds, detail=detail)]
    share = (time.perf_counter() - start) / len(batch)
    return [
        Result(
            case.name,
            verdict.status,
            share,
            verdict.defined,
            verdict.undefined,
            verdict.detail,
            verdict.evidence,
        )
        for case, verdict in zip(batch.cases, verdicts, strict=True)
    ]
