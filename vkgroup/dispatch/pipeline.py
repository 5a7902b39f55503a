"""Pipelines, and work: a pipeline with everything bound, which runs dispatches, draws or launches of rays."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vkgroup.base.errors import DriverError, InvalidDispatch
from vkgroup.base.lifetime import Closeable
from vkgroup.device.base import DeviceBase
from vkgroup.device.requirements import require
from vkgroup.dispatch.acceleration import AccelerationStructure
from vkgroup.dispatch.attachments import Attachment, DrawData, DrawImages, ImageSource, key_of
from vkgroup.dispatch.bindings import Bindings
from vkgroup.dispatch.blocks import pack_push
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.commands import (
    Command,
    Condition,
    DispatchCommand,
    DrawCommand,
    Groups,
    Indirect,
    Submission,
    TraceCommand,
    checked_counts,
    checked_repeat,
)
from vkgroup.dispatch.graphics_stages import GraphicsStages, check_bound, check_framebuffer
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.ray_stages import RayStages, launch_size
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.stages import Stages
from vkgroup.dispatch.statistics import Executable
from vkgroup.dispatch.vertices import MeshGroups, Vertices

_COMMANDS = {"compute": "dispatch", "graphics": "draw", "ray-tracing": "trace"}
"""The method of `Work` for each kind of pipeline."""

MOST_PIPELINES = 32


class Pipeline(Closeable):
    """Shaders made ready to run on a device.

    `Device.pipeline`, `Device.graphics_pipeline` and `Device.ray_pipeline` make pipelines.

    Attributes
    ----------
    device : the device that the pipeline was made from.
    stages : the shaders and their checks: `ComputeStages`, `GraphicsStages` or `RayStages`.
    slots : the slots that `bind` fills.
    push_constants : the block of push constants, None where no shader has one.
    push_conflict : names of push constants of different stages that overlap and are not the same; empty where
        none do. Such push constants are given as bytes.
    """

    _kind_of_work: type[Work]

    def __init__(self, device: DeviceBase, stages: Stages) -> None:
        self.device, self.stages = device, stages
        require(device.capabilities, [*stages.lacking(device), *self._lacking()])
        stages.check_links()
        self.slots = stages.slots()
        self.push_constants, self.push_conflict = stages.push_constants()
        for shader in stages.shaders:
            shader.validate(device)
        with device.making(self):
            self._create()

    def _lacking(self) -> list[str]:
        """List the requirements that this kind of device lacks without declaring so."""
        return []

    @abstractmethod
    def _create(self) -> None:
        """Make the device's objects, after all checks."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the pipeline was closed."""

    @property
    def subgroup_size(self) -> int | None:
        """The required subgroup size; None where none was required."""
        return self.stages.subgroup_size

    def statistics(self) -> dict[str, float | int | bool]:
        """Return the statistics of the driver's compiler: registers, spilled memory and others.

        Names and values are the driver's (VK_KHR_pipeline_executable_properties); empty where the device
        does not report any, and for pipelines of ray tracing.
        """
        return {
            name: value for executable in self.executables() for name, value in executable.statistics.items()
        }

    def executables(self, *, representations: bool = False) -> tuple[Executable, ...]:
        """Return what the driver's compiler made of the shaders: statistics, and with `representations` code.

        Names and values are the driver's (VK_KHR_pipeline_executable_properties); empty where the device
        does not report any, and for pipelines of ray tracing.
        """
        self.device.require_open()
        if self.closed:
            raise DriverError("The pipeline is closed; make a new one.")
        executables = self._executables(representations)
        self.device.raise_validation_errors()
        return executables

    def _executables(self, representations: bool) -> tuple[Executable, ...]:
        return ()

    def bind(
        self,
        bindings: Mapping[Any, Any],
        *,
        size: tuple[int, int] | None = None,
        vertices: Vertices | MeshGroups | None = None,
        attachments: tuple[Attachment, ...] = (),
    ) -> Work:
        """Bind arrays, buffers and images, ready to run any number of times.

        Parameters
        ----------
        bindings : of all stages, by name, by number in set 0, or by (set, number): NumPy arrays, which are
            copied to the device; `Buffer`s, `Image`s and `Sampler`s, which are used as they are; a list of
            them where the shader has an array of descriptors. For an acceleration structure a top level, or
            an array of triangles (n, 3, 3) or boxes (n, 2, 3), which becomes a scene of one instance.
        size, vertices, attachments : only of graphics pipelines: width and height in pixels, and the vertices
            (`MeshGroups` for mesh shaders) and attachments, of the formats that the pipeline was made for.

        Raises
        ------
        InvalidDispatch
            A binding is missing, surplus, or of a wrong type, shape or size; vertices or attachments have
            other formats than the pipeline; an instance names a hit group that does not exist, or one for
            other geometry.
        Unsupported
            An array is larger than the device can bind.
        """
        data = None
        if isinstance(self.stages, GraphicsStages):
            meshes = self.stages.workgroups_stage
            data = check_bound(self.stages.formats, size, vertices, attachments, self.device, meshes)
        elif size is not None or vertices is not None or attachments:
            raise InvalidDispatch("Only graphics pipelines take a size, vertices and attachments.")
        return self._kind_of_work(self, bindings, data)


class Work(Bindings):
    """A pipeline with everything bound; `Pipeline.bind` makes it.

    Running the same command with the same push constants as last time costs the least.

    Attributes
    ----------
    pipeline : the pipeline that runs.
    data : size, vertices and attachments of a draw; None of other work.
    drawn : the images that a draw writes to; None of other work.
    """

    drawn: DrawImages | None = None

    def __init__(self, pipeline: Pipeline, bindings: Mapping[Any, Any], data: DrawData | None) -> None:
        device = pipeline.device
        device.require_open()
        if pipeline.closed:
            raise DriverError("The pipeline is closed; make a new one.")
        self.pipeline, self.data = pipeline, data
        self._kind = pipeline.stages.kind
        self._push = pipeline.push_constants
        self._most_groups: Groups = device.capabilities.limits["maxComputeWorkGroupCount"]
        self._reads_conditions = "conditionalRendering" in device.capabilities.features
        super().__init__(device, pipeline.slots, bindings)

    def _create(self) -> None:
        stages = self.pipeline.stages
        if isinstance(stages, RayStages):
            scenes = {
                (slot.set, slot.binding): [item for item in items if isinstance(item, AccelerationStructure)]
                for slot, items in self.resources.items()
            }
            stages.check_scenes(scenes)
        if self.data is not None:
            check_framebuffer(self.data.size, self.device)
        self._prepare()
        if self.data is not None and isinstance(stages, GraphicsStages):
            self.drawn = DrawImages(self.data, stages.state, self._image_source())
            bound = [item for items in self.resources.values() for item in items if isinstance(item, Image)]
            self.drawn.make(bound, [slot.key for slot, _ in self._writable()])
            self._prepare_draw(self.data, stages, self.drawn)

    @abstractmethod
    def _prepare(self) -> None:
        """Make the device's objects for the bindings."""

    @abstractmethod
    def _prepare_draw(self, data: DrawData, stages: GraphicsStages, drawn: DrawImages) -> None:
        """Make the device's objects for a draw, once its images are there."""

    def _image_source(self) -> ImageSource:
        """Return the source of images to draw to."""
        return ImageSource(self.device, self._images)

    @abstractmethod
    def _run(self, command: Command, push: bytes, timeout: float | None, wait: bool) -> int:
        """Submit a checked command and wait if requested; returns the number of the submission."""

    @abstractmethod
    def _timed(self, command: Command, push: bytes, timeout: float | None, repeat: int) -> float | None:
        """Run a command `repeat` times; returns the seconds of one, None where they cannot be measured."""

    def dispatch(
        self,
        groups: int | Sequence[int],
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        condition: Condition | None = None,
        wait: bool = True,
    ) -> Submission:
        """Run a compute pipeline once.

        Parameters
        ----------
        groups : number of workgroups in x, or in up to three dimensions; zero runs nothing.
        push : values of the push constants: bytes, an array, or a mapping by name.
        timeout : seconds that it may take; None waits without limit.
        condition : a number in a buffer that discards the dispatch; None discards nothing.
        wait : whether to return after the work has finished, and not as soon as it is submitted. Without
            waiting, `timeout` limits only the reference device. Work on memory that other libraries access is
            always waited for.

        Raises
        ------
        InvalidDispatch
            The groups or push constants do not fit the pipeline or the device.
        DispatchTimeout, DeviceLost
            The work did not finish, or the driver gave up; the device must be opened again.
        """
        counts, data = self.counts(groups), self.packed(push)
        command = DispatchCommand(counts, None, condition)
        if condition is not None:
            return self._run_conditional(command, data, timeout, wait)
        if 0 in counts:
            self.device.require_open()
            return Submission(self.device, 0)
        if self._closings != self.device.closings:
            self.require_open()
        return Submission(self.device, self._run(command, data, timeout, wait))

    def dispatch_indirect(
        self,
        buffer: Buffer,
        offset: int = 0,
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        condition: Condition | None = None,
        wait: bool = True,
    ) -> Submission:
        """Run a compute pipeline on as many workgroups as a buffer says.

        Parameters
        ----------
        buffer : holds three uint32: the number of workgroups in x, y and z. Zero runs nothing.
        offset : of the first of their bytes, a multiple of 4.
        push, timeout, condition, wait : as for `dispatch`.

        Raises
        ------
        InvalidDispatch
            The offset is no multiple of 4, the buffer ends before the numbers do, or they are over the
            device's limit: they are read before the device reads them. Others as for `dispatch`.
        """
        indirect = Indirect(buffer, offset)
        self.device.require_open()
        indirect.check(self.device)
        # A compile-only device does not execute the copy that puts the numbers into the buffer.
        counts = (1, 1, 1) if self.device.info.is_compile_only else self.counts(indirect.counts())
        command = DispatchCommand(counts, indirect, condition)
        return self._run_conditional(command, self.packed(push), timeout, wait)

    def _run_conditional(
        self, command: DispatchCommand, push: bytes, timeout: float | None, wait: bool
    ) -> Submission:
        """Run a dispatch that reads its groups or a condition from a buffer."""
        self.require_open()
        if command.condition is not None:
            command.condition.check(self.device)
            if not self._reads_conditions:
                if not command.condition.holds():
                    return Submission(self.device, 0)
                command = command._replace(condition=None)
        number = 0 if 0 in command.counts else self._run(command, push, timeout, wait)
        return Submission(self.device, number)

    def draw(self, push: Any = None, timeout: float | None = 10.0, *, wait: bool = True) -> Submission:
        """Draw once.

        Attachments that were given no contents are cleared before: colors to zero, depths to the farthest.

        Parameters
        ----------
        push, timeout, wait : as for `dispatch`, with the same errors.
        """
        self._require_kind("graphics")
        return self._run_once(DrawCommand(), push, timeout, wait)

    def trace(
        self,
        size: int | Sequence[int],
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        wait: bool = True,
    ) -> Submission:
        """Run the ray-generation shader for each point of a grid.

        Parameters
        ----------
        size : width, height and depth of the grid (``gl_LaunchSizeEXT``); one or two numbers leave the others
            1. Zero runs nothing.
        push, timeout, wait : as for `dispatch`, with the same errors; `Unsupported` if the size is too large.
        """
        self._require_kind("ray-tracing")
        return self._run_once(TraceCommand(launch_size(size, self.device)), push, timeout, wait)

    def _run_once(self, command: Command, push: Any, timeout: float | None, wait: bool) -> Submission:
        data = self.packed(push)
        if self._closings != self.device.closings:
            self.require_open()
        number = 0 if 0 in command.counts else self._run(command, data, timeout, wait)
        return Submission(self.device, number)

    def timed(
        self,
        size: int | Sequence[int] | None = None,
        push: Any = None,
        timeout: float | None = 10.0,
        *,
        repeat: int = 1,
    ) -> float | None:
        """Run the pipeline and measure it on the GPU.

        Parameters
        ----------
        size : groups of a dispatch, as for `dispatch`, or grid of rays, as for `trace`; None for draws.
        push, timeout : as for `dispatch`.
        repeat : how many times to run it, one after the other in one submission.

        Returns
        -------
        Seconds of one run, on average; None where the device has no timestamps.
        """
        command: Command = DrawCommand()
        if self._kind == "compute":
            command = DispatchCommand(self.counts(size))
        elif self._kind == "ray-tracing":
            command = TraceCommand(launch_size(size, self.device))
        elif size is not None:
            raise InvalidDispatch("A draw has its size from `bind`; leave out the size of `timed`.")
        repeat = checked_repeat(repeat)
        data = self.packed(push)
        if 0 in command.counts:
            self.device.require_open()
            return 0.0
        self.require_open()
        return self._timed(command, data, timeout, repeat)

    def counts(self, groups: Any) -> Groups:
        """Return the numbers of workgroups in x, y and z of a dispatch; `InvalidDispatch` for wrong ones."""
        if self._kind != "compute":
            self._require_kind("compute")
        return checked_counts(groups, self._most_groups)

    def _require_kind(self, kind: str) -> None:
        if self._kind != kind:
            raise InvalidDispatch(
                f"The work is of a {self._kind} pipeline, whose method is `{_COMMANDS[self._kind]}`;"
                f" `{_COMMANDS[kind]}` is of {kind} pipelines."
            )

    def packed(self, push: Any) -> bytes:
        """Return the bytes of push constants given as for `dispatch`."""
        if self._push is None and push is None:
            return b""
        if self.pipeline.push_conflict and isinstance(push, Mapping):
            raise InvalidDispatch(
                f"The push constants {self.pipeline.push_conflict} have a name or bytes in common,"
                " and are not the same: give all push constants as bytes."
            )
        return pack_push(self._push, push)

    def compile(self, timeout: float | None = None) -> None:
        """Make the driver compile a compute pipeline now, if it otherwise does at the first dispatch.

        Only lavapipe does so. `dispatch` and `timed` call this before their time limit begins.

        Parameters
        ----------
        timeout : seconds for work that was submitted before; compilation has no limit.
        """

    def execute(self, command: Command, push: bytes, timeout: float | None) -> None:
        """Run a checked command that is not empty, with packed push constants."""
        self.require_open()
        self._run(command, push, timeout, wait=True)

    def require_open(self) -> None:
        """Raise where the device, the pipeline or anything bound is closed."""
        self.device.require_open()
        if self.pipeline.closed:
            raise DriverError("The pipeline or its bindings are closed; bind anew.")
        if self.drawn is not None and self.drawn.closed:
            raise DriverError("An attachment is closed; bind anew.")
        super().require_open()

    def results(self) -> dict[Any, Any]:
        """Read back every array that a shader may have written and every attachment, by name.

        Only what was bound as an array is read, with its dtype and shape; buffers and images of the caller's
        are the caller's to read. For an array of another library on the GPU, the result is that array,
        written. An attachment without a name has the key ``("location", n)``.
        """
        results = super().results()
        if self.drawn is not None:
            results |= self.drawn.results()
            self.device.raise_validation_errors()
        return results

    def result_keys(self) -> dict[Any, Any]:
        """Return the key in the results of each binding and color, by names and numbers."""
        keys = super().result_keys()
        for attachment in () if self.data is None else self.data.attachments:
            if attachment.location is not None:
                keys.setdefault(attachment.location, key_of(attachment))
        return keys

    def run_result(self, seconds: float | None) -> RunResult:
        """Return the results of the last run with everything that is known of them."""
        return RunResult(
            self.results(),
            self.result_keys(),
            seconds,
            defined=self.defined(),
            ordered=self.defined(ordered=True),
            events=self.events,
        )

    def close(self) -> None:
        """Free what was made for arrays and attachments; the caller's buffers and images stay."""
        if self.drawn is not None:
            self.drawn.close()
        super().close()


class PipelineCache(OrderedDict[Any, Pipeline]):
    """The pipelines of one kind that were used last, by their keys, the last used one last."""

    def get_or_make(self, key: Any, make: Callable[[], Pipeline]) -> Pipeline:
        """Return the pipeline of a key, or make and keep it; closes the pipeline used longest ago."""
        pipeline = self.pop(key, None)
        if pipeline is None or pipeline.closed:
            pipeline = make()
        self[key] = pipeline
        if len(self) > MOST_PIPELINES:
            self.popitem(last=False)[1].close()
        return pipeline
