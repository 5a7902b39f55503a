"""Plans: a kernel's passes made ready for one device, shape and dtype, and recorded on buffers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.closing import Closing
from vkgroup.dispatch import Buffer, Copy, Device, Dispatch, Fill, Pipeline, Sequence, Work
from vkgroup.dispatch.sequence import Step
from vkgroup.errors import InvalidDispatch
from vkgroup.kernels.pipelines import Pipelines
from vkgroup.kernels.types import sizes_of


@dataclass(frozen=True)
class Array:
    """An array that a plan reads or writes.

    Attributes
    ----------
    dtype, shape : of its elements; at least one.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Number of bytes."""
        return self.size * self.dtype.itemsize


@dataclass(frozen=True)
class Pass:
    """One dispatch of a plan: which buffers, by their names in the plan, go to which bindings."""

    pipeline: Pipeline
    groups: tuple[int, int, int]
    bindings: Mapping[Any, str]
    push: Any = None


@dataclass(frozen=True)
class Clear:
    """A fill of one of the plan's buffers with a uint32."""

    name: str
    value: int
    offset: int = 0
    nbytes: int | None = None


@dataclass(frozen=True)
class Move:
    """A copy between two of the plan's buffers."""

    source: str
    target: str
    nbytes: int | None = None


PlanStep = Pass | Clear | Move


@dataclass(frozen=True)
class Plan:
    """What a kernel does for one shape and dtype on one device; a `Planner` makes it.

    Attributes
    ----------
    device : where it runs.
    name : of the algorithm.
    implementation : ``"subgroup"``, ``"shared"``, or another of the algorithm's.
    inputs, outputs : the arrays it reads and writes, by name. An array in both is changed in place.
    scratch : sizes in bytes of what it needs besides, by name.
    steps : what it does; those of a tuple run side by side.
    """

    device: Device
    name: str
    implementation: str
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    scratch: Mapping[str, int]
    steps: tuple[PlanStep | tuple[PlanStep, ...], ...]

    def record(self, **buffers: Buffer) -> Recording:
        """Record the plan on buffers.

        Parameters
        ----------
        **buffers : by the names of inputs, outputs and scratch memory, of the plan's device and large
            enough. What is left out is made, and belongs to the recording.

        Raises
        ------
        InvalidDispatch
            A name is none of the plan's, or a buffer is too small or another device's; what the plan writes
            overlaps another of its buffers.
        OutOfMemory, Unsupported
            There is no memory for what is made; a buffer is larger than the device can bind.
        """
        return Recording(self, buffers)


class Recording(Closing):
    """A plan on buffers, recorded once to be run many times; a context manager.

    Attributes
    ----------
    plan : what was recorded.
    buffers : every buffer by its name in the plan, the given and the made.
    sequence : what runs.
    """

    def __init__(self, plan: Plan, given: Mapping[str, Buffer]) -> None:
        self.plan = plan
        sizes = {name: array.nbytes for name, array in (*plan.inputs.items(), *plan.outputs.items())}
        sizes |= plan.scratch
        _check(plan, sizes, given)
        self.buffers: dict[str, Buffer] = dict(given)
        self._made: list[Buffer] = []
        self._bounds: list[Work] = []
        self._holding = True
        try:
            for name in sizes.keys() - given.keys():
                self._make(name)
            self.sequence: Sequence = plan.device.sequence(
                tuple(self._step(one) for one in step) if isinstance(step, tuple) else self._step(step)
                for step in plan.steps
            )
        except BaseException:
            self.close()
            raise

    def _make(self, name: str) -> None:
        array = self.plan.inputs.get(name) or self.plan.outputs.get(name)
        device = self.plan.device
        if array is None:
            found = device.buffer(self.plan.scratch[name])
        else:
            found = device.empty(array.shape, array.dtype)
        self.buffers[name] = found
        self._made.append(found)

    def _step(self, step: PlanStep) -> Step:
        if isinstance(step, Clear):
            return Fill(self.buffers[step.name], step.value, step.offset, step.nbytes)
        if isinstance(step, Move):
            return Copy(self.buffers[step.source], self.buffers[step.target], nbytes=step.nbytes)
        bound = step.pipeline.bind({key: self.buffers[name] for key, name in step.bindings.items()})
        self._bounds.append(bound)
        return Dispatch(bound, step.groups, step.push)

    def run(self, timeout: float | None = 10.0) -> None:
        """Run the plan once and wait for it; as `Sequence.run`."""
        self.sequence.run(timeout)

    def timed(self, *, repeat: int = 1, timeout: float | None = 10.0) -> float | None:
        """Run the plan and measure it on the GPU; as `Sequence.timed`."""
        return self.sequence.timed(repeat=repeat, timeout=timeout)

    def close(self) -> None:
        """Free what was recorded and the buffers that were made; the caller's stay."""
        sequence = getattr(self, "sequence", None)
        for held in (sequence, *self._bounds, *self._made):
            if held is not None:
                held.close()
        self._holding = False


def _check(plan: Plan, sizes: Mapping[str, int], given: Mapping[str, Buffer]) -> None:
    for name, buffer in given.items():
        if name not in sizes:
            known = ", ".join(sizes)
            raise InvalidDispatch(f"The {plan.name} has no buffer {name!r}; it has {known}.")
        if not isinstance(buffer, Buffer) or not plan.device.owns(buffer):
            raise InvalidDispatch(
                f"{name!r} must be a Buffer of the plan's device, as Device.buffer makes;"
                f" {buffer!r} was given."
            )
        if buffer.nbytes < sizes[name]:
            raise InvalidDispatch(
                f"{name!r} needs {sizes[name]} bytes; the buffer given has {buffer.nbytes}."
            )
    for name, other in combinations(given, 2):
        only_read = all(one in plan.inputs and one not in plan.outputs for one in (name, other))
        if not only_read and given[name].overlaps(given[other]):
            raise InvalidDispatch(
                f"{name!r} and {other!r} are given the same memory, and the {plan.name} writes to it; give"
                " buffers that do not overlap."
            )


@dataclass
class Planner:
    """Puts a plan together.

    Attributes
    ----------
    device : where it will run.
    name : of the algorithm.
    implementation : which of its versions.
    """

    device: Device
    name: str
    implementation: str
    _inputs: dict[str, Array] = field(default_factory=dict)
    _outputs: dict[str, Array] = field(default_factory=dict)
    _scratch: dict[str, int] = field(default_factory=dict)
    _steps: list[PlanStep | tuple[PlanStep, ...]] = field(default_factory=list)

    def input(self, name: str, dtype: npt.DTypeLike, shape: int | tuple[int, ...]) -> str:
        """Declare an array that is read; returns its name."""
        self._inputs[name] = _array(dtype, shape)
        return name

    def output(self, name: str, dtype: npt.DTypeLike, shape: int | tuple[int, ...]) -> str:
        """Declare an array that is written; returns its name."""
        self._outputs[name] = _array(dtype, shape)
        return name

    def scratch(self, name: str, nbytes: int) -> str:
        """Declare memory of at least `nbytes` bytes, undefined at first; returns its name."""
        self._scratch[name] = max(4, -(-int(nbytes) // 4) * 4)
        return name

    def kernel(
        self,
        path: str,
        *,
        macros: Mapping[str, Any] | None = None,
        workgroup: int | None = None,
        specialization: Mapping[int | str, Any] | None = None,
    ) -> Pipeline:
        """Make one of the kernels ready, or find it made.

        Parameters
        ----------
        path : in the folder ``kernels``: ``"reduce/subgroup.comp"``.
        macros : by name; numbers and texts.
        workgroup : invocations of a workgroup, specialization constant 0; None leaves the kernel's own.
        specialization : other constants, by name or id. `SUBGROUPS` (id 2), where the kernel has it, is set
            to the most subgroups that the workgroup can have on this device.

        Raises
        ------
        Unsupported
            The device lacks what the kernel needs; `missing` has Vulkan's names.
        """
        return Pipelines.of(self.device).get(path, macros or {}, workgroup, specialization or {})

    def dispatch(
        self,
        pipeline: Pipeline,
        groups: int | tuple[int, ...],
        bindings: Mapping[Any, str],
        push: Any = None,
    ) -> None:
        """Add a dispatch that sees what all before it wrote.

        Parameters
        ----------
        groups : number of workgroups in x, or in up to three dimensions.
        bindings : names of the plan's buffers by the kernel's bindings.
        push : push constants.
        """
        counts = (groups,) if isinstance(groups, int | np.integer) else groups
        x, y, z = (*(int(count) for count in counts), 1, 1)[:3]
        self._steps.append(Pass(pipeline, (x, y, z), dict(bindings), push))

    def fill(self, name: str, value: int = 0, *, offset: int = 0, nbytes: int | None = None) -> None:
        """Add a fill of one of the plan's buffers with a uint32; offset and size are multiples of 4."""
        self._steps.append(Clear(name, value, offset, nbytes))

    def copy(self, source: str, target: str, nbytes: int | None = None) -> None:
        """Add a copy of the first `nbytes` bytes of one of the plan's buffers to another."""
        self._steps.append(Move(source, target, nbytes))

    def together(self, first: int) -> None:
        """Let all steps from number `first` on run side by side: none may touch what another writes."""
        tail = self._steps[first:]
        flat = [one for step in tail for one in (step if isinstance(step, tuple) else (step,))]
        self._steps[first:] = [tuple(flat)]

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return len(self._steps)

    def plan(self) -> Plan:
        """Return the plan."""
        return Plan(
            self.device,
            self.name,
            self.implementation,
            dict(self._inputs),
            dict(self._outputs),
            dict(self._scratch),
            tuple(self._steps),
        )


def _array(dtype: npt.DTypeLike, shape: int | tuple[int, ...]) -> Array:
    return Array(np.dtype(dtype), sizes_of(shape))
