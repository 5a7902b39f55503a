"""Dispatches of the checked shader on real devices, each in a separate process, because drivers may crash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import (
    DispatchTimeout,
    NoDevice,
    NotEmulated,
    OutOfMemory,
    Unsupported,
    VkgroupError,
    describe,
    is_device_error,
)
from vkgroup.base.sampler import Sampler
from vkgroup.check.inputs import DispatchInputs, image_type
from vkgroup.check.runs import Place
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.device.limits import subgroup_size_problems
from vkgroup.device.requirements import missing
from vkgroup.dispatch import Device
from vkgroup.spirv import Module
from vkgroup.workers.messages import Failure
from vkgroup.workers.opening import open_device
from vkgroup.workers.worker_process import WorkerDied, WorkerProcess

_START_SECONDS = 60.0
"""Time limit in seconds for the start of the process, and for copies before and after the dispatch."""

COMPILE_SECONDS = 60.0
"""Limit in seconds to open the device and to compile the shader; `DispatchJob.timeout` if that is more."""


@dataclass(frozen=True)
class SampledImage:
    """A sampled image with all its levels."""

    levels: tuple[tuple[npt.NDArray[Any], ...], ...]  # arrays of the levels, for each descriptor
    format: str
    dimension: str
    arrayed: bool
    sampler: Sampler | None  # of a combined image and sampler; else None

    def make(self, device: Device) -> Any:
        """Return the image, or the images of an array, as `Device.run` takes them."""
        images: list[Any] = [
            device.image(
                first,
                format=self.format,
                dimension=self.dimension,
                layers=self.arrayed,
                levels=others,
                sampled=True,
            )
            for first, *others in self.levels
        ]
        if self.sampler is not None:
            images = [(image, self.sampler) for image in images]
        return images[0] if len(images) == 1 else images


@dataclass(frozen=True)
class DispatchJob:
    """One dispatch on one device."""

    device: DeviceInfo  # the device to run on
    # `module`, `entry_point`, `specialization`: the shader
    module: Module
    entry_point: str
    specialization: Mapping[int | str, Any] | None
    groups: tuple[int, int, int]  # workgroup counts in x, y and z
    bindings: Mapping[tuple[int, int], Any]  # arrays by (set, binding); a list for an array of descriptors
    push: bytes  # bytes of the push constants
    writable: frozenset[tuple[int, int]]  # the bindings to return
    timeout: float  # time limit of the dispatch in seconds
    local_size: tuple[int, int, int]  # workgroup size in x, y and z
    subgroup_size: int | None = None  # the size to require; None leaves the choice to the device
    full_subgroups: bool = False  # whether to require full subgroups
    images: Mapping[tuple[int, int], SampledImage] = field(default_factory=dict)  # by set and binding

    @property
    def options(self) -> dict[str, Any]:
        """The arguments that `Device.prepare` and `Device.run` share."""
        return {
            "entry_point": self.entry_point,
            "specialization": self.specialization,
            "subgroup_size": self.subgroup_size,
            "full_subgroups": self.full_subgroups,
        }

    def resources(self, device: Device) -> dict[tuple[int, int], Any]:
        """Return what to bind on an open device."""
        return {**self.bindings, **{place: image.make(device) for place, image in self.images.items()}}

    def prepare(self, device: Device) -> None:
        """Compile the shader on an open device."""
        device.prepare(self.module, self.bindings, **self.options)

    def start(self, device: Device) -> dict[tuple[int, int], Any]:
        """Run on an open device; return the arrays of the writable bindings."""
        options = {"push": self.push or None, "timeout": self.timeout, **self.options}
        results = device.run(self.module, self.groups, self.resources(device), **options)
        return {binding: results[binding] for binding in self.bindings if binding in self.writable}

    def sizes(self, capabilities: Capabilities) -> tuple[int, ...]:
        """Return the subgroup sizes that may be required of the device for this shader."""
        control = capabilities.size_control
        powers = [1 << k for k in range(control.max_size.bit_length()) if 1 << k >= control.min_size]
        return tuple(size for size in powers if not self.size_problems(size, capabilities))

    def size_problems(self, size: int | None, capabilities: Capabilities) -> list[str]:
        """Return why the shader cannot run on a device at a subgroup size; None is the device's choice."""
        return subgroup_size_problems(size, self.full_subgroups, self.local_size, capabilities)


@dataclass(frozen=True)
class JobAnswer:
    """The result of a job."""

    outputs: Mapping[tuple[int, int], Any] = field(default_factory=dict)  # arrays of the writable bindings
    unsupported: str = ""  # missing features of the device; empty if none is missing
    not_emulated: str = ""  # what the emulation of an absent GPU lacks; empty if nothing
    failure: str = ""  # the error that the driver reported, or its crash; empty if there was none
    no_end: str = ""  # the time limit that the dispatch exceeded; empty if it ended
    slow: str = ""  # the time limit that the driver's compiler exceeded; empty if it ended
    idle: str = ""  # how it was seen that the device executes nothing; empty if it executes
    internal_error: str = ""  # the error of vkgroup or the host; empty if there was none
    # the subgroup sizes that a pipeline may require of the device for this shader
    sizes: tuple[int, ...] = ()

    @property
    def is_ready(self) -> bool:
        """Whether nothing prevents the job from running."""
        others = ("outputs", "sizes")
        return not any(text for name, text in vars(self).items() if name not in others)


def bindings_of(inputs: DispatchInputs) -> dict[tuple[int, int], Any]:
    """Return the arrays of all bindings, in the form that `vkgroup.dispatch.Device.run` accepts."""
    bindings: dict[tuple[int, int], Any] = {}
    for entry in inputs.bindings:
        # Raw bytes ("V1") are accepted for any block.
        values: list[Any] = [array.view("V1") if entry.format is None else array for array in entry.arrays]
        if entry.binding.kind == "sampler":
            values = [entry.sampler] * (entry.binding.count or 1)
        elif entry.binding.kind == "combined_image_sampler":
            values = [(array, entry.sampler) for array in entry.arrays]
        bindings[entry.place] = values[0] if entry.binding.count == 1 else values
    return bindings


def images_of(inputs: DispatchInputs) -> dict[tuple[int, int], SampledImage]:
    """Return the sampled images that have levels."""
    images = {}
    for entry in inputs.bindings:
        if entry.has_levels:
            kind = image_type(entry.binding)
            assert entry.format is not None
            images[entry.place] = SampledImage(
                tuple(tuple(entry.levels(texels)) for texels in entry.arrays),
                entry.format.name,
                kind.dimension,
                kind.arrayed,
                entry.sampler if entry.binding.kind == "combined_image_sampler" else None,
            )
    return images


def run_job(job: DispatchJob) -> JobAnswer:
    """Run a job in a separate process, whose crash is described in `JobAnswer.failure`.

    The driver compiles first, with a time limit that is not that of the dispatch.

    Raises NoDevice: the process died before it opened the device.
    """
    try:
        worker = WorkerProcess(JobSession(job.device, job.timeout), start_seconds=_START_SECONDS)
    except WorkerDied as error:
        raise NoDevice(f"The process for {job.device.name} does not start: {error}") from None
    seconds = max(COMPILE_SECONDS, job.timeout)
    try:
        answer: JobAnswer | Failure = worker.ask(JobCompilation(job), seconds)
        if isinstance(answer, Failure) and answer.kind == "timeout":
            return JobAnswer(slow=f"the driver needs more than {seconds:g} s to compile the shader")
        if isinstance(answer, JobAnswer) and answer.is_ready:
            answer = worker.ask(job, job.timeout + _START_SECONDS)
    except WorkerDied as error:
        return JobAnswer(internal_error=str(error)) if error.is_internal else JobAnswer(failure=str(error))
    except KeyboardInterrupt:
        worker.kill()  # it may be inside the driver
        raise
    finally:
        worker.close()
    if isinstance(answer, JobAnswer):
        return answer
    if answer.is_internal:
        return JobAnswer(internal_error=answer.message)
    is_late = answer.kind == "timeout"
    return JobAnswer(no_end=answer.message) if is_late else JobAnswer(failure=answer.message)


@dataclass(frozen=True)
class JobCompilation:
    """The request to open the device of a job and to compile its shader."""

    job: DispatchJob


@dataclass
class JobSession:
    """The first message to a worker that runs a job, and its session; see `vkgroup.workers.messages`.

    The requests open the device themselves: an unsuitable device is an answer.
    """

    device: DeviceInfo
    timeout: float
    _opened: Device | None = None

    def open(self) -> JobSession:
        """Return the session."""
        return self

    def perform(self, request: JobCompilation | DispatchJob) -> JobAnswer:
        """Compile or run a job; a missing feature or an error of the device becomes a sentence."""
        try:
            if isinstance(request, JobCompilation):
                return self._compile(request.job)
            return self._run(request)
        except NoDevice as error:
            return JobAnswer(idle=str(error))
        except NotEmulated as error:
            return JobAnswer(not_emulated=str(error))
        except Unsupported as error:
            return JobAnswer(unsupported=", ".join(error.missing) or str(error))
        except OutOfMemory as error:
            return JobAnswer(unsupported=str(error))
        except DispatchTimeout as error:
            return JobAnswer(no_end=str(error))
        except VkgroupError as error:
            text = describe(error)
            return JobAnswer(failure=text) if is_device_error(error) else JobAnswer(internal_error=text)

    def _compile(self, job: DispatchJob) -> JobAnswer:
        """Open the device and compile the shader; the answer is ready if the job can run."""
        self._opened = device = open_device(job.device)
        if lacking := missing(job.module, device.capabilities, job.entry_point, job.subgroup_size):
            return JobAnswer(unsupported=", ".join(lacking))
        sizes = job.sizes(device.capabilities)
        if lacking := job.size_problems(job.subgroup_size, device.capabilities):
            return JobAnswer(unsupported=", ".join(lacking), sizes=sizes)
        job.prepare(device)
        return JobAnswer(sizes=sizes)

    def _run(self, job: DispatchJob) -> JobAnswer:
        """Run the shader, which was compiled before."""
        assert self._opened is not None
        outputs = job.start(self._opened)
        # A color attachment, which is no binding, is cleared to zero.
        if all(
            _same(job.bindings[place], found) if place in job.bindings else not np.any(found)
            for place, found in outputs.items()
        ):
            # The shader left everything as it was, or the device no longer executes work.
            self._opened.require_execution(again=True)
        return JobAnswer(outputs, sizes=job.sizes(self._opened.capabilities))

    def close(self) -> None:
        """Close the device."""
        if self._opened is not None:
            self._opened.close()


def _same(given: Any, found: Any) -> bool:
    """Return whether the arrays of a binding have the bytes that were given."""
    before, after = (value if isinstance(value, list) else [value] for value in (given, found))
    return all(
        isinstance(old, np.ndarray) and old.tobytes() == np.asarray(new).tobytes()
        for old, new in zip(before, after, strict=True)
    )


def outputs_of_answer(inputs: DispatchInputs, answer: JobAnswer) -> dict[Place, npt.NDArray[np.uint8]]:
    """Return the bytes of a device's outputs, by descriptor."""
    outputs: dict[Place, npt.NDArray[np.uint8]] = {}
    for entry in inputs.bindings:
        if entry.place in answer.outputs:
            arrays = answer.outputs[entry.place]
            for number, array in enumerate([arrays] if entry.binding.count == 1 else arrays):
                outputs[(*entry.place, number)] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return outputs
