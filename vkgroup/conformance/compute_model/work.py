"""Topics of the compute model: cases, shapes of dispatches, and execution of shaders.

The sources are OpenGL's (``#version 430``), as ARB_compute_shader is an extension of OpenGL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags
from vkgroup.conformance.comparison import Description, Expected, JudgedValues, Verdict, verdict_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase
from vkgroup.device import Capabilities
from vkgroup.device.gl_limits import gl_values
from vkgroup.dispatch import Pipeline
from vkgroup.record.record import Status
from vkgroup.spirv import Module

Array = NDArray[Any]
Words = NDArray[np.uint32]


class ModelAxes(NamedTuple):
    """Axes of a case."""

    topic: str  # the topic, which executes the case: ``"builtins"``, ``"litmus"``, …
    test: str  # key of the topic's table of tests
    variant: tuple[str, ...]  # further parts of the name, each a key of a table of the topic


ModelCase = TableCase[ModelAxes]
Topic = Family[ModelCase]


def model_case(topic: str, test: str, variant: tuple[str, ...], sentence: str) -> ModelCase:
    """Return a case."""
    return TableCase("compute_model", ModelAxes(topic, test, variant), sentence)


def topic(
    name: str,
    cases: Callable[[], Iterable[ModelCase]],
    tests: Mapping[str, Callable[..., Verdict]],
    missing: Callable[[ModelCase, Capabilities], list[str]] = lambda case, capabilities: [],
) -> Topic:
    """Return a topic whose cases are executed one by one, each by the function in `tests` for its test."""

    def verdicts_on(executor: Executor, batch: list[ModelCase]) -> list[Verdict]:
        return [tests[case.axes.test](executor, *case.axes.variant) for case in batch]

    return Family(f"compute_model.{name}", cases, missing, verdicts_on)


def compiled(executor: Executor, source: str, stage: str = "compute") -> Module:
    """Return the module of a shader in OpenGL's dialect, with the limits of the device."""
    return executor.compile(source, stage=stage, dialect="gl", limits=gl_values(executor.capabilities))


@contextmanager
def pipeline_of(executor: Executor, source: str) -> Iterator[Pipeline]:
    """Create the pipeline of a shader, and close it at the end of the block."""
    with executor.device.pipeline(compiled(executor, source)) as pipeline:
        yield pipeline


def dispatch(
    executor: Executor, pipeline: Pipeline, groups: int | Sequence[int], bindings: Mapping[Any, Any]
) -> dict[Any, Array]:
    """Run a pipeline once, and return the written arrays by name."""
    with pipeline.bind(bindings) as bound:
        bound.dispatch(groups, timeout=executor.timeout)
        return bound.results()


def run(
    executor: Executor, source: str, groups: int | Sequence[int], bindings: Mapping[Any, Any]
) -> dict[Any, Array]:
    """Compile a shader, run it once, and return the written arrays by name."""
    with pipeline_of(executor, source) as pipeline:
        return dispatch(executor, pipeline, groups, bindings)


HASH = "(index * 747796405u + number * 2891336453u + group * 277803737u + 1u)"
"""GLSL of the value of the cell `index` in round `number` of workgroup `group`; `hashed` is the same."""


def hashed(index: Words, number: Words, group: Words) -> Words:
    """Return the value of a cell in a round of a workgroup; the NumPy equivalent of `HASH`."""
    with np.errstate(over="ignore"):
        return np.asarray(
            index * np.uint32(747796405)
            + number * np.uint32(2891336453)
            + group * np.uint32(277803737)
            + np.uint32(1)
        )


def compare(recorded: Array, expected: Array, what: str, names: Sequence[str] = ()) -> Verdict:
    """Return the verdict of comparing every bit; `what` and the axes' `names` describe a failure."""
    wrong = np.ascontiguousarray(recorded).view(np.uint32) != np.ascontiguousarray(expected).view(np.uint32)

    def line(index: tuple[int, ...]) -> str:
        axes = [*names, *(f"axis {axis}" for axis in range(len(names), len(index)))]
        where = ", ".join(f"{name} {number}" for name, number in zip(axes, index, strict=False))
        return f"{where}: expected {expected[index]} got {recorded[index]}"

    def shown(wrong: Flags) -> dict[str, Any]:
        return evidence.of_values(what, {"expected": expected, "got": recorded}, wrong, names)

    verdict = verdict_of(wrong, Description("values", line, shown, about=what), defined=recorded.size)
    every = Expected(expected, expected, np.ones(wrong.shape, np.bool_))
    return replace(verdict, values=JudgedValues(recorded, every, wrong)) if wrong.any() else verdict


def merged(*verdicts: Verdict) -> Verdict:
    """Return one verdict for several comparisons of a case: the first failure, or a pass of all values."""
    defined = sum(verdict.defined for verdict in verdicts)
    for verdict in verdicts:
        if verdict.status != Status.PASS:
            return replace(verdict, defined=defined, undefined=0)
    return Verdict(Status.PASS, defined, 0)


Size = tuple[int, int, int]

LOCAL_SIZES: dict[str, Size | str] = {
    **{
        f"{x}x{y}x{z}": (x, y, z)
        for x, y, z in (
            (1, 1, 1), (7, 1, 1), (64, 1, 1), (1, 13, 1), (8, 8, 1), (31, 3, 1), (4, 4, 4), (3, 5, 7),
            (1, 1, 17),
        )
    },
    **{f"max_{dimension}": dimension for dimension in ("x", "y", "z", "all")},
}  # fmt: skip
"""Local sizes by name: three numbers, or the dimension in which the size is the device's maximum."""

DISPATCHES: dict[str, tuple[Size, tuple[str, ...]]] = {
    "1_group": ((1, 1, 1), tuple(LOCAL_SIZES)),
    "13_groups": ((13, 1, 1), ("1x1x1", "7x1x1", "64x1x1", "max_x", "max_all")),
    "5x7_groups": ((5, 7, 1), ("7x1x1", "8x8x1", "31x3x1", "max_y")),
    "3x4x5_groups": ((3, 4, 5), ("1x1x1", "7x1x1", "4x4x4", "3x5x7", "1x1x17")),
    "1x1x11_groups": ((1, 1, 11), ("1x13x1", "4x4x4", "max_z")),
    "1x23x1_groups": ((1, 23, 1), ("1x13x1", "8x8x1")),
    "65535_groups": ((65535, 1, 1), ("1x1x1",)),
    "1x65535_groups": ((1, 65535, 1), ("1x1x1",)),
    "1x1x65535_groups": ((1, 1, 65535), ("1x1x1",)),
}
"""Numbers of workgroups by name, and the local sizes that each is combined with. Every device allows 65,535
in each dimension (ARB_compute_shader, table 6.50)."""


@dataclass(frozen=True)
class DispatchShape:
    """A local size and a number of workgroups."""

    local: Size
    groups: Size

    @property
    def in_group(self) -> int:
        """Invocations of a workgroup."""
        return prod(self.local)

    @property
    def total(self) -> int:
        """Invocations of the dispatch."""
        return self.in_group * prod(self.groups)


def invocations_limit(limits: Mapping[str, Any]) -> int:
    """Return the largest number of invocations of a 1-D workgroup on a device."""
    return min(int(limits["maxComputeWorkGroupInvocations"]), int(limits["maxComputeWorkGroupSize"][0]))


def local_size(name: str, limits: Mapping[str, Any]) -> Size:
    """Return a local size on a device with these limits."""
    size = LOCAL_SIZES[name]
    if not isinstance(size, str):
        return size
    most = int(limits["maxComputeWorkGroupInvocations"])
    widest = [min(int(limit), most) for limit in limits["maxComputeWorkGroupSize"]]
    if size != "all":
        x, y, z = (widest[n] if size == axis else 1 for n, axis in enumerate("xyz"))
        return x, y, z
    # As many invocations as a workgroup may have, in three dimensions.
    x = min(widest[0], 16)
    y = min(widest[1], 8, most // x)
    return x, y, min(widest[2], most // (x * y))


def exceeded(shape: DispatchShape, limits: Mapping[str, Any]) -> list[str]:
    """Return the limits that a shape exceeds, by Vulkan's names."""
    needs = []
    if any(a > b for a, b in zip(shape.local, limits["maxComputeWorkGroupSize"], strict=True)):
        needs.append(f"maxComputeWorkGroupSize of at least {shape.local}")
    if shape.in_group > limits["maxComputeWorkGroupInvocations"]:
        needs.append(f"maxComputeWorkGroupInvocations of at least {shape.in_group}")
    if any(a > b for a, b in zip(shape.groups, limits["maxComputeWorkGroupCount"], strict=True)):
        needs.append(f"maxComputeWorkGroupCount of at least {shape.groups}")
    return needs


def lacking_invocations(count: int, capabilities: Capabilities) -> list[str]:
    """Return the limit that workgroups with this number of invocations exceed; empty if none."""
    most = capabilities.limits["maxComputeWorkGroupInvocations"]
    return [f"maxComputeWorkGroupInvocations of at least {count}"] if most < count else []
