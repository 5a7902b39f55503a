"""Pipelines of the reference device, and their work: programs of the interpreter with memories."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy.typing as npt

from vkgroup.device.commands import checked_timeout
from vkgroup.dispatch.attachments import DrawData, DrawImages, key_of
from vkgroup.dispatch.bindings import ArrayBuffer
from vkgroup.dispatch.commands import Command, DispatchCommand
from vkgroup.dispatch.graphics_stages import GraphicsStages
from vkgroup.dispatch.pipeline import Pipeline, Work
from vkgroup.dispatch.results import Event
from vkgroup.reference.device.buffer import CopiedArray, ReferenceBuffer
from vkgroup.reference.device.draws import run_draw
from vkgroup.reference.device.host import Host
from vkgroup.reference.device.image import ReferenceImage
from vkgroup.reference.device.resources import defined_texels, image_memory, memory_of
from vkgroup.reference.drawing.samples import COUNTS
from vkgroup.reference.interpreter import Program, execute

_LEAST_SIZE = 4
"""Lanes of a quad, which is in one subgroup (Vulkan 1.4, "Quad")."""


class ReferenceWork(Work):
    """The memories of everything that is bound, and the events of the last run."""

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
            memories = [memory_of(slot, resource) for resource in resources]
            samplers = self.samplers[slot]
            if memories and samplers:
                self._memories[slot.set, slot.binding] = list(zip(memories, samplers, strict=True))
            else:
                self._memories[slot.set, slot.binding] = memories or samplers

    def _prepare_draw(self, data: DrawData, stages: GraphicsStages, drawn: DrawImages) -> None:
        for attachment, image in drawn.images.items():
            # Events call it by the name that the shader has for it.
            image_memory(image).name = attachment.name or f"location {attachment.location}"

    def _run(self, command: Command, push: bytes, timeout: float | None) -> None:
        self._repeated(lambda left: self._execute(command, push, left), timeout)

    def _timed(self, command: Command, push: bytes, timeout: float | None, repeat: int) -> float | None:
        self._repeated(lambda left: self._execute(command, push, left), timeout, repeat)
        return None

    def _repeated(
        self, run: Callable[[float | None], tuple[Event, ...]], timeout: float | None, repeat: int = 1
    ) -> None:
        """Run several times and keep the events; `run` is given the seconds that are left."""
        end = None if timeout is None else time.monotonic() + checked_timeout(timeout)
        events: list[Event] = []
        bound = [resource for resources in self.resources.values() for resource in resources]
        buffers = [resource for resource in bound if isinstance(resource, ReferenceBuffer)]
        for buffer in buffers:
            buffer.begin()
        for _ in range(repeat):
            events += run(None if end is None else max(end - time.monotonic(), 1e-3))
        for buffer in buffers:
            buffer.end()
        self._events = tuple(events)

    def _execute(self, command: Command, push: bytes, timeout: float | None) -> tuple[Event, ...]:
        """Run a command once; returns the events."""
        pipeline = self.pipeline
        assert pipeline.programs is not None
        assert self._memories is not None
        addressable = self.device.addressable()
        if isinstance(command, DispatchCommand):
            outcome = execute(
                pipeline.programs[0],
                command.counts,
                self._memories,
                push=push,
                subgroup_size=pipeline.size_of("compute"),
                deadline=timeout,
                addressable=addressable,
            )
            return outcome.events
        stages = pipeline.stages
        assert isinstance(stages, GraphicsStages)
        assert self.data is not None
        assert self.drawn is not None
        return run_draw(
            stages,
            pipeline.programs,
            self.data,
            self.drawn,
            self._memories,
            push=push,
            subgroup_size=pipeline.size_of("fragment"),
            vertex_size=pipeline.size_of("vertex"),
            deadline=timeout,
            addressable=addressable,
        )

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of the last run: accesses out of bounds, races and others."""
        return self._events

    def defined(self, *, ordered: bool = False) -> dict[Any, Any]:
        """Return which elements of the results the specifications define, attachments included.

        Parameters
        ----------
        ordered : whether elements that depend on the order of atomics count as not defined.
        """
        self.require_open()
        defined: dict[Any, Any] = {}
        for slot, own in self._writable():
            arrays = [defined_texels(resource, ordered) for resource in own]
            defined[slot.key] = arrays[0] if slot.count == 1 else arrays
        if self.drawn is not None:
            for attachment, image in self.drawn.result_images().items():
                flags = defined_texels(image, ordered)
                defined[key_of(attachment)] = self.drawn.in_results(attachment, flags)
        return defined

    def close(self) -> None:
        """Free what was made for arrays; the caller's buffers stay."""
        self._memories = None
        super().close()


class ReferencePipeline(Pipeline):
    """Shaders that are ready to be executed.

    Attributes
    ----------
    programs : the shaders as the interpreter prepared them, in the order of the stages; None when closed.
    """

    _kind_of_work = ReferenceWork

    device: Host
    programs: tuple[Program, ...] | None = None

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
        if (size := self.size_of("fragment")) < _LEAST_SIZE:
            lacking.append(f"quads of fragments in subgroups of {size} (from {_LEAST_SIZE} lanes on)")
        return lacking

    def _create(self) -> None:
        self.programs = tuple(
            Program(shader.module, shader.entry_point.name, specialization=shader.specialization)
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
