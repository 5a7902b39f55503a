"""Pipelines of the reference device and their work: interpreted programs with bound memories."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import OutOfMemory
from vkgroup.device.core import checked_timeout
from vkgroup.dispatch.attachments import Attachment, DrawData, DrawImages, key_of
from vkgroup.dispatch.bindings import ArrayBuffer, Resource
from vkgroup.dispatch.checks import texel_format
from vkgroup.dispatch.commands import Command, DispatchCommand
from vkgroup.dispatch.graphics_stages import GraphicsStages
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.pipeline import Pipeline, Work
from vkgroup.dispatch.reference.buffer import CopiedArray, Host, ReferenceBuffer, ReferenceImage, write
from vkgroup.dispatch.slots import Slot
from vkgroup.dispatch.vertices import Vertices
from vkgroup.reference.drawing import ColorTarget, DepthTarget, Draw, VertexData, draw, resolved
from vkgroup.reference.drawing.coverage import COUNTS
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter import ExecutableShader, execute
from vkgroup.reference.interpreter.operations.images import ImageMemory
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.spec.limits import QUAD_SIZE


def _image_memory(image: Image) -> ImageMemory:
    """Return the memory of an image that is open."""
    assert isinstance(image, ReferenceImage)
    assert image.memory is not None
    return image.memory


def _memory_of(slot: Slot, resource: Resource) -> Memory:
    """Return a resource's memory, renamed to its name in the shader."""
    assert isinstance(resource, ReferenceBuffer | ReferenceImage | CopiedArray)
    assert resource.memory is not None
    if not isinstance(resource, ReferenceImage):
        if slot.texels is not None:
            resource.memory = _as_texels(slot, resource, resource.memory)
        resource.memory.kind = "buffer" if slot.texels is None else "image"
    name = slot.names[0] if slot.names else f"set {slot.set}, binding {slot.binding}"
    resource.memory.name = resource.memory.label = name
    return resource.memory


def _as_texels(slot: Slot, resource: ReferenceBuffer | CopiedArray, memory: Memory) -> ImageMemory:
    """Return a view of a buffer's memory as a texel buffer."""
    format_ = texel_format(slot, resource)
    extent = (memory.nbytes // format_.nbytes, 1, 1)
    texels = ImageMemory(memory.data, memory.name, format_, dimension="Buffer", extent=extent)
    texels.refine(memory.granule)
    memory.refine(texels.granule)
    texels.causes, texels.address = memory.causes, memory.address
    return texels


def _defined(entry: ArrayBuffer | Image, ordered: bool) -> npt.NDArray[np.bool_]:
    """Return which elements of a bound array or image are defined; see `Memory.defined_elements`."""
    assert isinstance(entry, CopiedArray | ReferenceImage)
    assert entry.memory is not None
    return entry.memory.defined_elements(entry.shape, entry.dtype.itemsize, ordered=ordered)


def _clear(attachment: Attachment, image: Image, farthest: float) -> None:
    """Clear an attachment: colors to zero, depths to the farthest."""
    memory = _image_memory(image)
    texels = np.zeros(memory.data.size // image.dtype.itemsize, image.dtype)
    if attachment.location is None and farthest:
        texels[:] = 1 if image.dtype.kind == "f" else np.iinfo(image.dtype).max
    write(memory, texels.view(np.uint8))


def _resolve(source: ImageMemory, target: ImageMemory, samples: int) -> None:
    """Resolve a multisampled attachment to one sample, including which texels are undefined."""
    elements, causes = resolved(source, samples)
    write(target, np.ascontiguousarray(elements).reshape(-1).view(np.uint8))
    if causes is not None:
        size = elements.dtype.itemsize
        target.mark(np.arange(elements.size) * size, size, causes.reshape(-1))


class ReferenceWork(Work):
    """The memories of all bound resources, and the events of the last run."""

    _images = ReferenceImage

    device: Host
    pipeline: ReferencePipeline
    _memories: dict[tuple[int, int], Sequence[Any]] | None = None
    _events: tuple[Event, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether the bindings were freed."""
        return self._memories is None

    def _array_buffer(self, array: npt.NDArray[Any]) -> ArrayBuffer:
        return CopiedArray(array)

    def _prepare(self) -> None:
        self._memories = {}
        for slot, resources in self.resources.items():
            memories = [_memory_of(slot, resource) for resource in resources]
            samplers = self.samplers[slot]
            if memories and samplers:
                self._memories[slot.set, slot.binding] = list(zip(memories, samplers, strict=True))
            else:
                self._memories[slot.set, slot.binding] = memories or samplers

    def _prepare_draw(self, data: DrawData, stages: GraphicsStages, drawn: DrawImages) -> None:
        for attachment, image in drawn.images.items():
            # Events use the shader's name for it.
            _image_memory(image).name = attachment.name or f"location {attachment.location}"

    def _run(self, command: Command, push: bytes, timeout: float | None, wait: bool) -> int:
        self._timed(command, push, timeout, repeat=1)
        return 0

    def _timed(self, command: Command, push: bytes, timeout: float | None, repeat: int) -> None:
        with self.device.lock:
            self._repeat(command, push, timeout, repeat)

    def _repeat(self, command: Command, push: bytes, timeout: float | None, repeat: int) -> None:
        seconds = checked_timeout(timeout)
        end = None if seconds is None else time.monotonic() + seconds
        events: list[Event] = []
        bound = [resource for resources in self.resources.values() for resource in resources]
        buffers = [resource for resource in bound if isinstance(resource, ReferenceBuffer)]
        for buffer in buffers:
            buffer.begin()
        for _ in range(repeat):
            events += self._execute(command, push, None if end is None else max(end - time.monotonic(), 1e-3))
        for buffer in buffers:
            buffer.end()
        self._events = tuple(events)

    def _execute(self, command: Command, push: bytes, timeout: float | None) -> tuple[Event, ...]:
        """Run a command once; returns the events."""
        pipeline = self.pipeline
        assert pipeline.programs is not None
        assert self._memories is not None
        addressable, model = self.device.addressable(), self.device.model
        observer = self.device.observer
        observed: dict[str, Any] = {} if observer is None else {"races": True, "observer": observer}
        if isinstance(command, DispatchCommand):
            outcome = execute(
                pipeline.programs[0],
                command.counts,
                self._memories,
                push=push,
                subgroup_size=pipeline.size_of("compute"),
                deadline=timeout,
                addressable=addressable,
                **observed,
                model=replace(model, sparse="full") if pipeline.stages.full_subgroups else model,
            )
            return outcome.events
        return self._draw(push, timeout, addressable)

    def _draw(self, push: bytes, timeout: float | None, addressable: Sequence[Memory]) -> tuple[Event, ...]:
        """Clear, draw once and resolve; returns the events."""
        pipeline, data, drawn = self.pipeline, self.data, self.drawn
        stages = pipeline.stages
        assert isinstance(stages, GraphicsStages)
        assert data is not None
        assert drawn is not None
        assert pipeline.programs is not None
        assert self._memories is not None
        state, vertices = stages.state, data.vertices
        assert isinstance(vertices, Vertices), "the pipeline has refused mesh shaders"
        for attachment in data.attachments:
            if drawn.clears(attachment):
                _clear(attachment, drawn.images[attachment], state.farthest_depth)
        memories = {attachment: _image_memory(image) for attachment, image in drawn.images.items()}
        depths = [memory for attachment, memory in memories.items() if attachment.location is None]
        parameters = Draw(
            data.size,
            VertexData(vertices.arrays, vertices.count, vertices.indices, vertices.instances),
            stages.topology,
            [
                ColorTarget(attachment.location, memory)
                for attachment, memory in memories.items()
                if attachment.location is not None
            ],
            DepthTarget(depths[0], state.depth_compare, state.depth_write) if depths else None,
            state.samples,
            state.sample_shading,
            stages.front_face,
        )
        vertex, fragment = pipeline.programs
        try:
            outcome = draw(
                vertex,
                fragment,
                parameters,
                self._memories,
                push=push,
                subgroup_size=pipeline.size_of("fragment"),
                vertex_size=pipeline.size_of("vertex"),
                deadline=timeout,
                addressable=addressable,
                model=self.device.model,
            )
        except MemoryError as error:
            raise OutOfMemory(f"Not enough memory for a draw of this size: {error}.") from None
        for attachment, image in drawn.resolved.items():
            _resolve(memories[attachment], _image_memory(image), state.samples)
        return outcome.events

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of the last run: accesses out of bounds, races and others."""
        return self._events

    def defined(self, *, ordered: bool = False) -> dict[Any, Any]:
        """Return which elements of the results the specifications define, attachments included.

        `ordered`: whether elements that depend on the order of atomics count as not defined.
        """
        self.require_open()
        defined: dict[Any, Any] = {}
        for slot, own in self._writable():
            arrays = [_defined(resource, ordered) for resource in own]
            defined[slot.key] = arrays[0] if slot.count == 1 else arrays
        if self.drawn is not None:
            for attachment, image in self.drawn.result_images().items():
                flags = _defined(image, ordered)
                defined[key_of(attachment)] = self.drawn.in_results(attachment, flags)
        return defined

    def close(self) -> None:
        """Free the buffers made for arrays; the caller's buffers stay."""
        self._memories = None
        super().close()


class ReferencePipeline(Pipeline):
    """Shaders that are ready to be executed."""

    _kind_of_work = ReferenceWork

    device: Host
    #: The shaders as the interpreter prepared them, in the order of the stages; None when closed.
    programs: tuple[ExecutableShader, ...] | None = None

    def size_of(self, stage: str) -> int:
        """Return the lanes of the subgroups of a stage: the required size, else the device's."""
        shaders = [shader for shader in self.stages.shaders if shader.entry_point.stage == stage]
        required = self.stages.required_size(shaders[0]) if shaders else None
        return required or self.device.capabilities.subgroup.size

    def _lacking(self) -> list[str]:
        stages = self.stages
        if not isinstance(stages, GraphicsStages):
            return []
        lacking = []
        if stages.state.samples not in COUNTS:
            lacking.append(f"framebufferColorSampleCounts with {stages.state.samples}")
        others = [shader.entry_point.stage for shader in stages.shaders[1:-1]]
        if others:
            lacking.append(f"a stage that it does not execute: {', '.join(others)}")
        if (size := self.size_of("fragment")) < QUAD_SIZE:
            # A quad is in one subgroup (Vulkan 1.4, "Quad").
            lacking.append(f"quads of fragments in subgroups of {size} (from {QUAD_SIZE} lanes on)")
        return lacking

    def _create(self) -> None:
        self.programs = tuple(
            ExecutableShader(shader.module, shader.entry_point.name, specialization=shader.specialization)
            for shader in self.stages.shaders
        )

    @property
    def closed(self) -> bool:
        """Whether the pipeline was closed."""
        return self.programs is None

    def close(self) -> None:
        """Free the programs."""
        if self.programs is not None:
            self.programs = None
            self.device.forget(self)
