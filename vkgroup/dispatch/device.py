"""Device: compute pipelines, sequences, and running shaders on arrays."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as AnySequence
from typing import Any, NamedTuple

from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.commands import PendingRun
from vkgroup.dispatch.draw_device import Drawing
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.launcher import Launcher, LauncherStep, RecentlyUsed, SequenceLauncher
from vkgroup.dispatch.pipeline import Pipeline, PipelineCache
from vkgroup.dispatch.ray_device import Tracing
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.sequence import Sequence, Step
from vkgroup.dispatch.stages import ComputeStages, PipelineOptions
from vkgroup.spirv import Module


class Choice(NamedTuple):
    """What determines the pipeline of a run; `key` is hashable, and the same for the same pipeline."""

    module: Module
    options: PipelineOptions
    key: tuple[Any, ...]


class Device(Drawing, Tracing):
    """An open device; `vkgroup.open` gives one.

    Threads may share a device. What one thread submits runs in the order of its calls.

    A kind of device is a subclass that names its kinds of buffers, images and pipelines.

    Parameters
    ----------
    owner : the layer below.
    subgroup_size : required of pipelines that require no other; None leaves it to the device.
    """

    _kind_of_sequences: type[Sequence]

    def __init__(self, owner: DeviceBase, subgroup_size: int | None = None) -> None:
        super().__init__(owner, subgroup_size)
        self.plans = RecentlyUsed()
        self._pipelines = PipelineCache()
        self._graphics_pipelines = PipelineCache()
        self._ray_pipelines = PipelineCache()

    @staticmethod
    def of(resource: Buffer | Image) -> Device | None:
        """Return the device that a buffer or image was made from; None where it was garbage collected."""
        device = None if resource.device.user is None else resource.device.user()
        return device if isinstance(device, Device) else None

    def pipeline(
        self,
        module: Module,
        *,
        entry_point: str | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
    ) -> Pipeline:
        """Make a compute pipeline.

        Parameters
        ----------
        module : a compute shader.
        entry_point : its name; None takes the module's only one.
        specialization : values of specialization constants, by id or by name. An id that the module does not
            have has no effect. If several constants with one id have different defaults, all get that of the
            constant with a name.
        subgroup_size : a required subgroup size; None takes that which the device was opened with, if any.
        full_subgroups : whether every subgroup must be full.
        varying_subgroup_size : whether the subgroup size may be any of those that the device has.

        Raises
        ------
        Unsupported
            The device lacks what the module needs, by Vulkan's names in `missing`.
        NoDevice
            The device executes nothing.
        InvalidModule, InvalidDispatch
            A module breaks SPIR-V's rules, or is of another stage; a value or another stage does not fit.
        """
        self._base.require_open()
        options = PipelineOptions(
            entry_point, specialization, subgroup_size, full_subgroups, varying_subgroup_size
        )
        return self._new_pipeline(ComputeStages(module, self._with_size(options)))

    def sequence(self, steps: Iterable[Step | tuple[Step, ...]], name: str = "a sequence") -> Sequence:
        """Record dispatches, fills and copies once, to run them many times.

        Parameters
        ----------
        steps : `vkgroup.dispatch.Dispatch`, `Fill` and `Copy`, in order: each sees what the ones before it
            wrote. The steps of a tuple run side by side, and must not touch what another of them writes.
        name : what errors call it.

        Raises
        ------
        InvalidDispatch
            A step is invalid on this device; nothing has run.

        Examples
        --------
        >>> work = device.sequence([Fill(total), Dispatch(bound, 64)])
        >>> work.run()
        >>> work.timed(repeat=10)
        """
        return self._kind_of_sequences(self._base, steps, name)

    def launcher(
        self, steps: Iterable[LauncherStep], scratch: Mapping[str, int], name: str = "a launcher"
    ) -> Launcher:
        """Prepare steps that run on other buffers at each call, as kernels do.

        Parameters
        ----------
        steps : `vkgroup.dispatch.launcher.Pass`, `Clear` and `Move`: each sees what the ones before it wrote.
        scratch : sizes in bytes of buffers that only the steps use, by name.
        name : what errors call it.
        """
        return SequenceLauncher(
            self._base, tuple(steps), scratch, name, self._kind_of_sequences, self._buffers
        )

    def run(
        self,
        module: Module | str | os.PathLike[str],
        groups: int | AnySequence[int],
        bindings: Mapping[Any, Any],
        *,
        push: Any = None,
        entry_point: str | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
        repeat: int = 1,
        timed: bool = False,
        timeout: float | None = 10.0,
    ) -> RunResult:
        """Run a compute shader on arrays, and return what it wrote.

        Parameters
        ----------
        module : a module, or what `compile` takes.
        groups : number of workgroups in x, or in up to three dimensions; zero runs nothing.
        bindings : arrays, `Buffer`s, `Image`s and `Sampler`s by name, number in set 0, or (set, number);
            an image with a sampler as (image or array, sampler). Arrays are never modified. An array has the
            block's layout: its fields are the members, with their names, types and offsets; without fields,
            its rows have the length of the block's strides, padding included (`vec3 v[]` takes (n, 4)).
        push : push constants: bytes, an array, or values by name.
        entry_point, specialization, subgroup_size, full_subgroups, varying_subgroup_size : as for
            `pipeline`.
        repeat : how many times to run, one after the other on the same memory.
        timed : whether to measure the GPU time, which itself takes time; several runs are always measured.
        timeout : seconds for all of it, but not for the driver's compiler; None waits without limit.

        Returns
        -------
        Arrays of every writable binding that was given an array, the GPU time if it was measured, and on the
        reference device what of it is defined.

        Raises
        ------
        Unsupported, InvalidModule, InvalidDispatch
            The device lacks a feature, or an argument is invalid; nothing has run.
        DispatchTimeout, DeviceLost
            It did not finish; the device must be opened again.

        Examples
        --------
        >>> device = vkgroup.open()
        >>> result = device.run("sum.comp", 1, {"data": np.ones(64, np.float32)})
        >>> result["data"]
        """
        options = PipelineOptions(
            entry_point, specialization, subgroup_size, full_subgroups, varying_subgroup_size
        )
        choice = self._choice(module, options)
        timed = timed or repeat != 1
        result = None if timed else self._run_again(choice, groups, bindings, push, timeout)
        if result is None:
            with self._kept_pipeline(choice).bind(bindings) as work:
                seconds = work.timed(groups, push, timeout, repeat=repeat) if timed else None
                if not timed:
                    work.dispatch(groups, push, timeout)
                result = work.run_result(seconds)
        return result.of(module, choice.module, groups, bindings, push, *options[:4])

    def prepare(
        self,
        module: Module | str | os.PathLike[str],
        bindings: Mapping[Any, Any],
        *,
        entry_point: str | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
    ) -> None:
        """Make the driver compile a shader for bindings now, so that `run` with them starts at once.

        Parameters and errors are those of `run`; nothing runs. The driver may take any time.

        Examples
        --------
        >>> device.prepare("sum.comp", {"data": np.ones(64, np.float32)})
        """
        options = PipelineOptions(
            entry_point, specialization, subgroup_size, full_subgroups, varying_subgroup_size
        )
        choice = self._choice(module, options)
        with self._kept_pipeline(choice).bind(bindings) as work:
            work.compile()

    def submit(
        self,
        module: Module | str | os.PathLike[str],
        groups: int | AnySequence[int],
        bindings: Mapping[Any, Any],
        *,
        push: Any = None,
        entry_point: str | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
    ) -> PendingRun:
        """Run a compute shader on arrays without waiting for it.

        Parameters, results and errors are those of `run`; errors of the work are raised by
        `PendingRun.result`. The arrays may be changed as soon as this returns. Large arrays are copied back
        when the result is asked for.

        Examples
        --------
        >>> pending = [device.submit("sum.comp", 1, {"data": part}) for part in parts]
        >>> results = [run.result()["data"] for run in pending]
        """
        options = PipelineOptions(
            entry_point, specialization, subgroup_size, full_subgroups, varying_subgroup_size
        )
        choice = self._choice(module, options)
        if (pending := self._submit_again(choice, groups, bindings, push)) is not None:
            return pending
        work = self._kept_pipeline(choice).bind(bindings)
        try:
            submission = work.dispatch(groups, push, None, wait=False)
        except BaseException:
            work.close()
            raise

        def finish() -> RunResult:
            with work:
                return work.run_result(None)

        return PendingRun(self._base, submission, finish)

    def _choice(self, source: Module | str | os.PathLike[str], options: PipelineOptions) -> Choice:
        """Return what determines a pipeline; the module is compiled first if it is source."""
        key = options.key()
        module = self._compiled(source)
        return Choice(module, options, (module, *key))

    def _kept_pipeline(self, choice: Choice) -> Pipeline:
        """Return the pipeline of an earlier run with the same choice, or make it."""
        return self._pipelines.get_or_make(
            choice.key, lambda: self.pipeline(choice.module, **choice.options._asdict())
        )

    def _run_again(
        self, choice: Choice, groups: Any, bindings: Mapping[Any, Any], push: Any, timeout: float | None
    ) -> RunResult | None:
        """Run with what was kept of an earlier run on arrays of the same sizes; None if there is nothing."""
        return None

    def _submit_again(
        self, choice: Choice, groups: Any, bindings: Mapping[Any, Any], push: Any
    ) -> PendingRun | None:
        """Submit what is kept for arrays of these sizes; None if nothing can be kept."""
        return None

    def close(self) -> None:
        """Free the device and everything made from it; further calls do nothing."""
        self.plans.close()
        self._pipelines.clear()
        self._graphics_pipelines.clear()
        self._ray_pipelines.clear()
        self._base.close()

    def __repr__(self) -> str:
        state = "closed" if self._base.closed else "lost" if self._base.lost else "open"
        return f"<vkgroup Device {self.name!r}, {state}>"
