"""Compute pipelines: a module made ready to run on a device."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vkgroup.device import limits
from vkgroup.device.owner import Owner
from vkgroup.dispatch.base_pipeline import BasePipeline, Shader, check_size_choice, require
from vkgroup.dispatch.bindings import Bindings
from vkgroup.dispatch.blocks import pack_push
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.slots import slots_of
from vkgroup.dispatch.sources import Condition, Indirect
from vkgroup.errors import DriverError, InvalidDispatch, InvalidModule
from vkgroup.spirv import EntryPoint, Module


class Pipeline(BasePipeline):
    """A compute pipeline; `Device.pipeline` makes it.

    Attributes
    ----------
    shader : the stage with its specialization.
    module, entry_point : what it runs.
    local_size : invocations of a workgroup in x, y, z.
    full_subgroups : whether every subgroup must be full.
    varying_subgroup_size : whether the subgroup size may vary.
    """

    _kind_of_bound: type[Bound]

    def __init__(
        self,
        device: Owner,
        module: Module,
        *,
        entry_point: str | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
    ) -> None:
        self.device, self.module = device, module
        self.subgroup_size, self.full_subgroups = subgroup_size, full_subgroups
        self.varying_subgroup_size = varying_subgroup_size
        check_size_choice(subgroup_size, varying_subgroup_size)
        device.require_open()
        reflection = module.reflection
        self.entry_point = _compute_entry(module, entry_point)
        self.shader = Shader(module, self.entry_point, specialization)
        values, capabilities = self.shader.specialization, device.capabilities
        self.local_size = _local_size(self.entry_point, values)
        over = limits.exceeded(reflection, self.entry_point, values, capabilities)
        over += limits.subgroup_size_problems(
            subgroup_size, full_subgroups, self.local_size, capabilities, varying=varying_subgroup_size
        )
        require(device, self.shader.missing(device, subgroup_size) + over)
        self.slots = slots_of(reflection.bindings)
        self.push_constants = reflection.push_constants
        self.shader.validate(device)
        self._make()

    def statistics(self) -> dict[str, float | int | bool]:
        """Return what the driver's compiler tells of the pipeline: registers, spilled memory and the like.

        Names and values are the driver's own (VK_KHR_pipeline_executable_properties); empty where the
        device does not tell.
        """
        self.device.require_open()
        if self.closed:
            raise DriverError("The pipeline is closed; make a new one.")
        found = self._statistics()
        self.device.raise_validation_errors()
        return found

    def _statistics(self) -> dict[str, float | int | bool]:
        return {}

    def bind(self, bindings: Mapping[Any, Any]) -> Bound:
        """Bind arrays, buffers and images, ready for any number of dispatches.

        Parameters
        ----------
        bindings : by name, by number in set 0, or by (set, number): NumPy arrays, which are copied to
            the device, `Buffer`s, `Image`s and `Sampler`s, which are used as they are; a list of them where
            the shader has an array of descriptors.

        Raises
        ------
        InvalidDispatch
            A binding is missing, surplus, or of a wrong type, shape or size.
        Unsupported
            An array is larger than the device can bind.
        """
        return self._kind_of_bound(self, bindings)


def _compute_entry(module: Module, name: str | None) -> EntryPoint:
    entry = module.reflection.entry_point(name)
    if entry.stage != "compute":
        how = " Draw it: Device.draw, or `vkgroup run … --size W,H`." if entry.stage == "fragment" else ""
        raise InvalidDispatch(
            f"The entry point {entry.name!r} is a {entry.stage} shader; compute is needed.{how}"
        )
    return entry


def _local_size(entry: EntryPoint, values: Mapping[int, Any]) -> tuple[int, int, int]:
    if entry.local_size is None:
        raise InvalidModule(f"The entry point {entry.name!r} declares no local size.")
    return entry.local_size.resolve(values)


Groups = tuple[int, int, int]
_MOST_REPEATS = 1_000_000


def checked_repeat(repeat: Any) -> int:
    """Return how many times to do something; refuse what is no number that makes sense."""
    if not isinstance(repeat, int | np.integer) or not 1 <= repeat <= _MOST_REPEATS:
        raise InvalidDispatch(f"repeat must be a number from 1 to {_MOST_REPEATS}; {repeat!r} was given.")
    return int(repeat)


def padded_counts(groups: Any) -> tuple[Any, Any, Any]:
    """Return the numbers of workgroups in x, y and z of one to three given ones, themselves unchecked."""
    several = isinstance(groups, Sequence) or (isinstance(groups, np.ndarray) and groups.ndim > 0)
    given: tuple[Any, ...] = tuple(groups) if several else (groups,)
    if not 1 <= len(given) <= 3:
        raise InvalidDispatch(f"groups are one to three numbers; {groups!r} was given.")
    x, y, z = (*given, 1, 1)[:3]
    return x, y, z


class Bound(Bindings):
    """A compute pipeline with everything bound; `Pipeline.bind` makes it.

    A dispatch with the same groups and push constants as the last one costs the least.
    """

    pipeline: Pipeline

    def __init__(self, pipeline: Pipeline, bindings: Mapping[Any, Any]) -> None:
        capabilities = pipeline.device.capabilities
        self._limits: Groups = capabilities.limits["maxComputeWorkGroupCount"]
        self._reads_conditions = "conditionalRendering" in capabilities.features
        super().__init__(pipeline, bindings)

    @abstractmethod
    def _dispatch(
        self,
        counts: Groups,
        push: bytes,
        timeout: float | None,
        indirect: Indirect | None = None,
        condition: Condition | None = None,
    ) -> None:
        """Run the pipeline once on at least one workgroup.

        Parameters
        ----------
        indirect : where the counts were read from.
        condition : what the device itself is to look at.
        """

    @abstractmethod
    def _timed(self, counts: Groups, push: bytes, timeout: float | None, repeat: int) -> float | None:
        """Run it `repeat` times; gives seconds of one, None where they cannot be measured."""

    def dispatch(
        self,
        groups: int | Sequence[int],
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        condition: Condition | None = None,
    ) -> None:
        """Run the pipeline once and wait until it has finished.

        Parameters
        ----------
        groups : number of workgroups in x, or in up to three dimensions; zero runs nothing.
        push : values of the push constants: bytes, an array, or a mapping by name.
        timeout : seconds that it may take; None waits for ever.
        condition : a number in a buffer that discards the dispatch; None discards nothing.

        Raises
        ------
        InvalidDispatch
            The groups or push constants make no sense on this device.
        DispatchTimeout, DeviceLost
            The work did not finish, or the driver gave up; the device is of no more use.
        """
        counts = self.counts(groups)
        data = pack_push(self._push, push) if self._push is not None or push is not None else b""
        if condition is not None:
            self._start(counts, data, timeout, None, condition)
            return
        if 0 in counts:
            self.device.require_open()
            return
        if self._closings != self.device.closings:
            self.require_open()
        self._dispatch(counts, data, timeout)

    def dispatch_indirect(
        self,
        buffer: Buffer,
        offset: int = 0,
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        condition: Condition | None = None,
    ) -> None:
        """Run the pipeline once, on as many workgroups as a buffer says, and wait until it has finished.

        Parameters
        ----------
        buffer : holds three uint32: the number of workgroups in x, y and z. Zero runs nothing.
        offset : of the first of their bytes, a multiple of 4.
        push, timeout, condition : as for `dispatch`.

        Raises
        ------
        InvalidDispatch
            The offset is no multiple of 4, the buffer ends before the numbers do, or they are over the
            device's limit: they are read before the device reads them.
        DispatchTimeout, DeviceLost
            As for `dispatch`.
        """
        indirect = Indirect(buffer, offset)
        self.device.require_open()
        indirect.check(self.device)
        counts = self.counts(indirect.counts())
        self._start(counts, pack_push(self._push, push), timeout, indirect, condition)

    def _start(
        self,
        counts: Groups,
        push: bytes,
        timeout: float | None,
        indirect: Indirect | None,
        condition: Condition | None,
    ) -> None:
        """Dispatch what takes something from a buffer."""
        self.require_open()
        if condition is not None:
            condition.check(self.device)
            if not self._reads_conditions:
                if not condition.holds():
                    return
                condition = None
        if 0 not in counts:
            self._dispatch(counts, push, timeout, indirect, condition)

    def timed(
        self,
        groups: int | Sequence[int],
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        repeat: int = 1,
    ) -> float | None:
        """Run the pipeline and measure it on the GPU.

        Parameters
        ----------
        groups, push, timeout : as for `dispatch`.
        repeat : how many times to run it, one after the other in one submission.

        Returns
        -------
        Seconds of one run, on average; None where the device has no timestamps.
        """
        counts = self.counts(groups)
        repeat = checked_repeat(repeat)
        data = pack_push(self._push, push)
        if 0 in counts:
            self.device.require_open()
            return 0.0
        self.require_open()
        return self._timed(counts, data, timeout, repeat)

    def packed(self, push: Any) -> bytes:
        """Return the bytes of push constants given as for `dispatch`."""
        return pack_push(self._push, push)

    def execute(self, counts: Groups, push: bytes, timeout: float | None) -> None:
        """Run the pipeline once with what `counts` and `packed` have checked; at least one workgroup."""
        self.require_open()
        self._dispatch(counts, push, timeout)

    def counts(self, groups: int | Sequence[int]) -> Groups:
        """Return the numbers of workgroups in x, y and z; `InvalidDispatch` where they make no sense."""
        counts = groups if type(groups) is tuple and len(groups) == 3 else padded_counts(groups)
        for count, most in zip(counts, self._limits, strict=True):
            if not isinstance(count, int | np.integer) or count < 0:
                raise InvalidDispatch(f"groups are whole numbers from 0 on; {groups!r} was given.")
            if count > most:
                raise InvalidDispatch(
                    f"{counts} workgroups are over the device's maxComputeWorkGroupCount,"
                    f" {tuple(self._limits)}. Dispatch in parts, or give each invocation more work."
                )
        return counts
