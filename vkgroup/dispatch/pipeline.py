"""Pipelines, the cache of pipelines, and work: a pipeline with everything bound."""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from vkgroup.base.errors import DriverError, InvalidDispatch, NotEmulated
from vkgroup.base.lifetime import Closeable
from vkgroup.device.base import DeviceBase
from vkgroup.device.requirements import require
from vkgroup.dispatch.acceleration import AccelerationStructure
from vkgroup.dispatch.attachments import Attachment, DrawData, DrawImages, ImageSource, key_of
from vkgroup.dispatch.bound_commands import BoundCommands
from vkgroup.dispatch.graphics_stages import GraphicsStages, check_bound, check_framebuffer
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.ray_stages import RayStages
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.stages import Stages
from vkgroup.dispatch.statistics import Executable
from vkgroup.dispatch.vertices import MeshGroups, Vertices

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
        if device.info.emulated and stages.kind != "compute":
            raise NotEmulated(f"{device.info.choice} is emulated for compute shaders only.", [stages.kind])
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


class Work(BoundCommands):
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
        push = pipeline.push_constants, pipeline.push_conflict
        super().__init__(device, pipeline.slots, bindings, pipeline.stages.kind, push)

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
