"""Running the shaders of the family: GL-dialect source → module → pipeline → dispatches → arrays.

The sources are OpenGL's (``#version 430``), as the document is OpenGL's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags
from vkgroup.conformance.comparison import Description, Verdict, verdict_of
from vkgroup.conformance.execute import Executor
from vkgroup.device import Capabilities
from vkgroup.device.gl_limits import gl_values
from vkgroup.dispatch import Pipeline
from vkgroup.results.record import Status
from vkgroup.spirv import Module

Array = NDArray[Any]
Words = NDArray[np.uint32]


def compiled(executor: Executor, source: str, stage: str = "compute") -> Module:
    """Compile a shader as OpenGL takes it, for the device and its limits, and let the executor rewrite it."""
    return executor.compile(source, stage=stage, dialect="gl", limits=gl_values(executor.capabilities))


@contextmanager
def pipeline_of(executor: Executor, source: str) -> Iterator[Pipeline]:
    """Make the pipeline of a shader, and close it at the end."""
    with executor.device.pipeline(compiled(executor, source)) as pipeline:
        yield pipeline


def dispatch(
    executor: Executor, pipeline: Pipeline, groups: int | Sequence[int], bindings: Mapping[Any, Any]
) -> dict[Any, Array]:
    """Run a pipeline once, and return what it wrote into arrays, by name."""
    with pipeline.bind(bindings) as bound:
        bound.dispatch(groups, timeout=executor.timeout)
        return bound.results()


def run(
    executor: Executor, source: str, groups: int | Sequence[int], bindings: Mapping[Any, Any]
) -> dict[Any, Array]:
    """Compile a shader, run it once, and return what it wrote into arrays, by name."""
    with pipeline_of(executor, source) as pipeline:
        return dispatch(executor, pipeline, groups, bindings)


def compare(recorded: Array, expected: Array, what: str, names: Sequence[str] = ()) -> Verdict:
    """Compare every bit of every element.

    Parameters
    ----------
    found, expected : arrays of one shape.
    what : a phrase for the values, for a failure.
    names : of the axes, for a failure.
    """
    wrong = np.ascontiguousarray(recorded).view(np.uint32) != np.ascontiguousarray(expected).view(np.uint32)

    def line(index: tuple[int, ...]) -> str:
        axes = [*names, *(f"axis {axis}" for axis in range(len(names), len(index)))]
        where = ", ".join(f"{name} {number}" for name, number in zip(axes, index, strict=False))
        return f"{where}: expected {expected[index]} got {recorded[index]}"

    def shown(wrong: Flags) -> dict[str, Any]:
        return evidence.of_values(what, {"expected": expected, "got": recorded}, wrong, names)

    return verdict_of(wrong, Description("values", line, shown, about=what), defined=recorded.size)


def merged(verdicts: Sequence[Verdict]) -> Verdict:
    """Return one verdict for several comparisons of a case: the first failure, or all values passed."""
    defined = sum(verdict.defined for verdict in verdicts)
    for verdict in verdicts:
        if verdict.status != Status.PASS:
            return replace(verdict, defined=defined, undefined=0)
    return Verdict(Status.PASS, defined, 0)


def lacking_invocations(count: int, capabilities: Capabilities) -> list[str]:
    """Return what a device lacks for workgroups of so many invocations; empty if nothing."""
    most = capabilities.limits["maxComputeWorkGroupInvocations"]
    return [f"maxComputeWorkGroupInvocations of at least {count}"] if most < count else []


def invocations_limit(limits: Mapping[str, Any]) -> int:
    """Return how many invocations a 1-D workgroup may have on a device."""
    return min(int(limits["maxComputeWorkGroupInvocations"]), int(limits["maxComputeWorkGroupSize"][0]))
