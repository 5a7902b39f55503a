"""Plans: the passes of a kernel for one device, shape and dtype, and their recordings on buffers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.lifetime import Closeable
from vkgroup.dispatch import Buffer, Copy, Device, Dispatch, Fill, Pipeline, Sequence, Submission, Work
from vkgroup.dispatch.launcher import Clear, Launcher, LauncherStep, Move, Output, Pass
from vkgroup.dispatch.sequence import Step
from vkgroup.kernels.pipelines import pipelines_of
from vkgroup.kernels.types import sizes_of

_LARGEST_FILL, _FILL_WORKGROUP = 1 << 20, 256
"""Bytes of the largest buffer that a shader fills, and the invocations of its workgroups."""


@dataclass(frozen=True)
class Array:
    """Type and shape of an array that a plan reads or writes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @cached_property
    def nbytes(self) -> int:
        """Number of bytes."""
        return math.prod(self.shape) * self.dtype.itemsize


@dataclass(frozen=True)
class Plan:
    """The steps of a kernel for one shape and dtype on one device, created by a `Planner`.

    Attributes
    ----------
    device : the device that the plan runs on.
    name : name of the algorithm.
    implementation : ``"subgroup"``, ``"shared"``, or another version of the algorithm.
    inputs, outputs : the arrays that are read and written, by name. An array in both is changed in place.
    scratch : sizes in bytes of additional buffers, by name.
    steps : the steps in order.
    """

    device: Device
    name: str
    implementation: str
    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]
    scratch: Mapping[str, int]
    steps: tuple[LauncherStep, ...]

    @property
    def launcher(self) -> Launcher:
        """Runs the plan on other buffers at each call."""
        launcher: Launcher | None = self.__dict__.get("_launcher")
        if launcher is None:
            new = self.device.launcher(self.steps, self.scratch, f"the kernel {self.title}")
            launcher = self.__dict__.setdefault("_launcher", new)
            if launcher is not new:  # another thread was faster
                new.close()
        return launcher

    @cached_property
    def new_outputs(self) -> dict[str, Output]:
        """The outputs that are no inputs."""
        return {
            name: (array.shape, array.dtype, array.nbytes)
            for name, array in self.outputs.items()
            if name not in self.inputs
        }

    @property
    def title(self) -> str:
        """The algorithm and its version."""
        return f"{self.name} ({self.implementation})"

    def close(self) -> None:
        """Free what was kept for the next call."""
        launcher = self.__dict__.pop("_launcher", None)
        if launcher is not None:
            launcher.close()

    def record(self, **buffers: Buffer) -> Recording:
        """Record the plan on buffers.

        Parameters
        ----------
        **buffers : buffers of the plan's device, by the names of inputs, outputs and scratch memory, and
            large enough. The recording creates and owns all other buffers.

        Raises
        ------
        InvalidDispatch
            A name is unknown, a buffer is too small or belongs to another device, or a buffer that the plan
            writes overlaps another one.
        OutOfMemory, Unsupported
            There is no memory for the new buffers, or a buffer is larger than the device can bind.
        """
        return Recording(self, buffers)


class Recording(Closeable):
    """A plan recorded on buffers, which can run many times; a context manager.

    `buffers` has both the caller's and the recording's buffers by their names in the plan.
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
            arrays = {**plan.inputs, **plan.outputs}
            for name in sizes.keys() - given.keys():
                if name in arrays:
                    self.buffers[name] = plan.device.empty(arrays[name].shape, arrays[name].dtype)
                else:
                    self.buffers[name] = plan.device.buffer(plan.scratch[name])
                self._made.append(self.buffers[name])
            self.sequence: Sequence = plan.device.sequence(
                (self._step(step) for step in plan.steps), f"the kernel {plan.title}"
            )
        except BaseException:
            self.close()
            raise

    def _step(self, step: LauncherStep) -> Step:
        if isinstance(step, Clear):
            return Fill(self.buffers[step.name], step.value)
        if isinstance(step, Move):
            return Copy(self.buffers[step.source], self.buffers[step.target], nbytes=step.nbytes)
        bound = step.pipeline.bind({key: self.buffers[name] for key, name in step.bindings.items()})
        self._bounds.append(bound)
        return Dispatch(bound, step.groups, step.push)

    def run(self, timeout: float | None = 10.0, *, wait: bool = True) -> Submission:
        """Run the plan once, as `Sequence.run`."""
        return self.sequence.run(timeout, wait=wait)

    def timed(self, *, repeat: int = 1, timeout: float | None = 10.0) -> float | None:
        """Run the plan and measure its time on the GPU, as `Sequence.timed`."""
        return self.sequence.timed(repeat=repeat, timeout=timeout)

    def close(self) -> None:
        """Free the recorded commands and the recording's own buffers; the caller's buffers remain."""
        sequence = getattr(self, "sequence", None)
        for resource in (sequence, *self._bounds, *self._made):
            if resource is not None:
                resource.close()
        self._holding = False


def _check(plan: Plan, sizes: Mapping[str, int], given: Mapping[str, Buffer]) -> None:
    for name, buffer in given.items():
        if name not in sizes:
            known = ", ".join(sizes)
            raise InvalidDispatch(f"The {plan.name} has no buffer {name!r}; it has {known}.")
        if not isinstance(buffer, Buffer) or not plan.device.owns(buffer):
            raise InvalidDispatch(
                f"{name!r} must be a Buffer of the plan's device, created by Device.buffer; {buffer!r}"
                " was given."
            )
        if buffer.nbytes < sizes[name]:
            raise InvalidDispatch(
                f"{name!r} needs {sizes[name]} bytes; the buffer given has {buffer.nbytes}."
            )
    for name, other in combinations(given, 2):
        only_read = all(key in plan.inputs and key not in plan.outputs for key in (name, other))
        if not only_read and given[name].overlaps(given[other]):
            raise InvalidDispatch(
                f"{name!r} and {other!r} use the same memory, and the {plan.name} writes to it; use"
                " buffers that do not overlap."
            )


@dataclass
class Planner:
    """Builds a plan step by step; `name` and `implementation` are the algorithm and its version."""

    device: Device
    name: str
    implementation: str
    _inputs: dict[str, Array] = field(default_factory=dict)
    _outputs: dict[str, Array] = field(default_factory=dict)
    _scratch: dict[str, int] = field(default_factory=dict)
    _steps: list[LauncherStep] = field(default_factory=list)

    def input(self, name: str, dtype: npt.DTypeLike, shape: int | tuple[int, ...]) -> str:
        """Declare an array that the plan reads, and return its name."""
        self._inputs[name] = Array(np.dtype(dtype), sizes_of(shape))
        return name

    def output(self, name: str, dtype: npt.DTypeLike, shape: int | tuple[int, ...]) -> str:
        """Declare an array that the plan writes, and return its name."""
        self._outputs[name] = Array(np.dtype(dtype), sizes_of(shape))
        return name

    def scratch(self, name: str, nbytes: int) -> str:
        """Declare scratch memory of at least `nbytes` bytes, initially undefined, and return its name."""
        self._scratch[name] = max(4, -(-int(nbytes) // 4) * 4)
        return name

    def kernel(
        self,
        path: str,
        *,
        macros: Mapping[str, Any] | None = None,
        workgroup: int | None = None,
        specialization: Mapping[str, Any] | None = None,
    ) -> Pipeline:
        """Return the pipeline of a kernel, from the cache if possible.

        Parameters
        ----------
        path : path in the folder ``kernels``, such as ``"reduce/subgroup.comp"``.
        macros : values of macros by name: numbers and strings.
        workgroup : invocations per workgroup, specialization constant 0; None uses the kernel's default.
        specialization : other constants, by name or id. If the kernel has `SUBGROUPS` (id 2), it is set to
            the maximum number of subgroups that the workgroup can have on this device.

        Raises
        ------
        Unsupported
            The device lacks a feature that the kernel requires; `missing` holds Vulkan's names.
        """
        return pipelines_of(self.device).get(path, macros or {}, workgroup, specialization or {})

    def dispatch(
        self,
        pipeline: Pipeline,
        groups: int | tuple[int, ...],
        bindings: Mapping[Any, str],
        push: Any = None,
    ) -> None:
        """Add a dispatch that sees the writes of all previous steps.

        `groups` has up to three dimensions; `bindings` are names of the plan's buffers, by binding of the
        kernel.
        """
        counts = (groups,) if isinstance(groups, int | np.integer) else groups
        x, y, z = (*(int(count) for count in counts), 1, 1)[:3]
        self._steps.append(Pass(pipeline, (x, y, z), dict(bindings), push))

    def fill(self, name: str, value: int = 0) -> None:
        """Add a fill of one of the plan's buffers with a uint32.

        On a GPU, a shader fills small buffers: the barriers around a transfer take 2 µs each (H200).
        """
        arrays = {**self._inputs, **self._outputs}
        nbytes = arrays[name].nbytes if name in arrays else self._scratch[name]
        if self.device.capabilities.type == "discrete_gpu" and nbytes <= _LARGEST_FILL:
            groups = min(64, -(-nbytes // (4 * _FILL_WORKGROUP)))
            pipeline = self.kernel("fill/fill.comp", workgroup=_FILL_WORKGROUP)
            self.dispatch(pipeline, groups, {0: name}, {"value": value})
        else:
            self._steps.append(Clear(name, value))

    def copy(self, source: str, target: str, nbytes: int | None = None) -> None:
        """Add a copy of the first `nbytes` bytes of one of the plan's buffers to another."""
        self._steps.append(Move(source, target, nbytes))

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
