"""Runs of the suite on null devices: verdicts of batches without compilation of their programs.

The programs of subgroup operations are not compiled: what they would write is filled directly. All other
families run on `FillingDevice` as on any device.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from fills import FILLS, Fill, FillingDevice

from vkgroup.conformance import plan
from vkgroup.conformance.arrays import Words
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import family_named, family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.null_device import null_capabilities
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.subgroup import family
from vkgroup.dispatch import Buffer
from vkgroup.record.record import Status

SEED = 0
SIZES = 32, 128
"""Subgroup sizes of the null devices: a case runs with the first that supports it."""


@dataclass(frozen=True)
class Outcome:
    """The result of one case on one null device."""

    device: str
    case: str
    status: Status
    error: str = ""  # of an error of the device instead of a verdict
    detail: str = ""


def batches_of(cases: Iterable[AnyCase]) -> tuple[list[tuple[int, Batch]], list[AnyCase]]:
    """Return batches with their device's subgroup size, and the cases that no null device supports."""
    left, planned = list(cases), []
    for size in SIZES:
        capabilities = null_capabilities(size)
        runs, rest = [], []
        for case in left:
            (rest if family_of(case).missing(case, capabilities) else runs).append(case)
        planned += [(size, batch) for batch in plan.batches(runs, capabilities)]
        left = rest
    return planned, left


def _filled(target: Buffer | np.ndarray[Any, Any], fill: Fill, inputs: Words) -> None:
    if not isinstance(target, Buffer):
        return
    before = target.read(np.uint8, target.nbytes)
    after = fill(before, inputs.view(np.uint8))
    if after is not None:
        target.write(after)


def _run_nothing(
    executor: Executor, stage: str, module: Any, around: Any, bindings: Mapping[Any, Any], **control: Any
) -> Mapping[Any, Any]:
    """Fill the outputs of a program of subgroup operations: its buffers, or the pixels of the framebuffer."""
    fill = executor.device.fill  # type: ignore[attr-defined]
    inputs = bindings[0].read(np.uint8, bindings[0].nbytes)
    for binding, target in bindings.items():
        if binding != 0:
            _filled(target, fill, inputs)
    if 1 in bindings:
        return {}
    width, height = around.arguments["size"]
    pixels = np.zeros((height, width, 4), np.uint32)
    after = fill(pixels.reshape(-1).view(np.uint8), inputs)
    if after is not None:
        pixels = after.view(np.uint32).reshape(pixels.shape)
    return _Same(pixels)


class _Same(dict[Any, Any]):
    """A mapping whose every value is the same array."""

    def __init__(self, array: Words) -> None:
        super().__init__()
        self.array = array

    def __getitem__(self, key: Any) -> Words:
        return self.array


_build = family.build
_programs: dict[Any, Any] = {}


def _built_once(cases: list[Any], **options: Any) -> Any:
    """Return the program of a batch; that of the last batch is kept for the next null device."""
    spelling = options["spelling"]
    key = tuple(cases), options["size"], options["stage"], spelling.declarations, str(spelling.options)
    if key not in _programs:
        _programs.clear()
        _programs[key] = _build(cases, **options)
    return _programs[key]


@contextmanager
def without_compilation() -> Iterator[None]:
    """In the block, programs of subgroup operations are neither compiled nor run: outputs are filled."""

    def nothing(*arguments: Any) -> None:
        return None

    with (
        patch.object(family, "run_around", _run_nothing),
        patch.object(family, "build", _built_once),
        patch.object(family, "compiled", nothing),
    ):
        yield


@cache
def executor_of(fill: str, size: int) -> Executor:
    """Return the executor on a null device; one for each process."""
    return Executor(FillingDevice(FILLS[fill], null_capabilities(size)), seed=SEED)


def judge(executor: Executor, batch: Batch) -> list[tuple[AnyCase, Verdict | str]]:
    """Return the verdict of every case of a batch; the text of an error in place of a verdict."""
    try:
        return list(
            zip(batch.cases, family_named(batch.family).verdicts_on(executor, batch.cases), strict=True)
        )
    except Exception as error:
        if len(batch) > 1:
            return [pair for part in batch.parts() for pair in judge(executor, part)]
        where = traceback.extract_tb(error.__traceback__)[-1]
        return [
            (batch.cases[0], f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")
        ]


def outcomes(size: int, batch: Batch, fills: Iterable[str] = tuple(FILLS)) -> Iterator[Outcome]:
    """Judge a batch on null devices."""
    for fill in fills:
        for case, verdict in judge(executor_of(fill, size), batch):
            if isinstance(verdict, str):
                yield Outcome(fill, case.name, Status.FAIL, error=verdict)
            else:
                yield Outcome(fill, case.name, verdict.status, detail=verdict.detail)
