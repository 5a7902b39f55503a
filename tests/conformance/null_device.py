"""Null device: it accepts every dispatch, draw and trace, and executes no shader.

Afterwards it fills everything that a shader could have written, as its `Fill` says: it leaves it unchanged,
or writes zeros, ones, random words or a copy of the inputs. No case may pass on it, except those that check
declarations only (`allowed_passes`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.conformance.cooperative_matrix.case import COMBINATIONS, COMPONENTS, Combination
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.device.capabilities import CooperativeMatrix, SmBuiltins
from vkgroup.dispatch.acceleration import AccelerationStructure
from vkgroup.dispatch.attachments import DrawData, DrawImages
from vkgroup.dispatch.bindings import ArrayBuffer
from vkgroup.dispatch.commands import Command
from vkgroup.dispatch.device import Device
from vkgroup.dispatch.graphics_stages import GraphicsStages
from vkgroup.dispatch.pipeline import Pipeline, Work
from vkgroup.dispatch.reference.buffer import CopiedArray, Host, ReferenceBuffer, ReferenceImage
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.dispatch.reference.device import ReferenceSequence
from vkgroup.spec.stages import STAGES

Bytes = npt.NDArray[np.uint8]
Fill = Callable[[Bytes, Bytes], Bytes | None]
"""Function of the bytes of an output before the command and of the command's inputs: the bytes after it, or
None to leave the output unchanged."""


def _words(value: int) -> Fill:
    return lambda before, inputs: np.full(before.size // 4 + 1, value, np.uint32).view(np.uint8)[
        : before.size
    ]


def repeated(source: Bytes, size: int) -> Bytes:
    return np.tile(source, -(-size // source.size))[:size]


def _random() -> Fill:
    random = np.random.default_rng(18)
    return lambda before, inputs: random.integers(0, 256, before.size, np.uint8)


FILLS: dict[str, Fill] = {
    "unchanged": lambda before, inputs: None,
    "zeros": _words(0),
    "ones": _words(1),
    "all_bits": _words(0xFFFFFFFF),
    "float_ones": _words(0x3F800000),
    "random": _random(),
    "inputs": lambda before, inputs: repeated(inputs, before.size) if inputs.size else None,
}
"""What a null device writes, by its name."""


class _Structure(AccelerationStructure):
    """An acceleration structure without memory."""

    _freed = False

    def _create(self, geometries: Any, instances: Any) -> None:
        return

    def close(self) -> None:
        self._freed = True


def memories(work: Work, *, writable: bool) -> Iterator[Bytes]:
    """Yield the memory of every resource that the shaders of bound work can write, or cannot write."""
    for slot, resources in work.resources.items():
        for resource in resources:
            if slot.writable == writable and not isinstance(resource, AccelerationStructure):
                assert isinstance(resource, ReferenceBuffer | ReferenceImage | CopiedArray)
                assert resource.memory is not None
                yield resource.memory.data


def targets(work: Work) -> Iterator[Bytes]:
    """Yield the memory of everything that bound work can write, attachments included."""
    yield from memories(work, writable=True)
    if work.drawn is not None:
        for image in (*work.drawn.images.values(), *work.drawn.resolved.values()):
            assert isinstance(image, ReferenceImage)
            assert image.memory is not None
            yield image.memory.data


class NullWork(Work):
    """Bound resources, which a command fills."""

    _images = ReferenceImage
    _structures = _Structure
    _closed = False

    @property
    def closed(self) -> bool:
        return self._closed

    def _array_buffer(self, array: npt.NDArray[Any]) -> ArrayBuffer:
        return CopiedArray(array)

    def _prepare(self) -> None:
        return

    def _prepare_draw(self, data: DrawData, stages: GraphicsStages, drawn: DrawImages) -> None:
        return

    def _run(self, command: Command, push: bytes, timeout: float | None, wait: bool) -> int:
        fill: Fill = self.device.fill  # type: ignore[attr-defined]
        inputs = np.concatenate([np.zeros(0, np.uint8), *memories(self, writable=False)])
        for target in targets(self):
            after = fill(target, inputs)
            if after is not None:
                target[:] = after
        return 0

    def _timed(self, command: Command, push: bytes, timeout: float | None, repeat: int) -> None:
        self._run(command, push, timeout, wait=True)

    def close(self) -> None:
        self._closed = True
        super().close()


class NullPipeline(Pipeline):
    """A pipeline of checked shaders that are never executed."""

    _kind_of_work = NullWork
    _closed = False

    def _create(self) -> None:
        return

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True


# Features that the reference device lacks.
_FEATURES = """
    meshShader taskShader rayTracingPipeline accelerationStructure tessellationShader
    shaderTessellationAndGeometryPointSize shaderSMBuiltins shaderInputAttachmentArrayDynamicIndexing
    shaderInputAttachmentArrayNonUniformIndexing
"""

_LIMITS: dict[str, Any] = {
    "maxTessellationPatchSize": 32,
    "maxRayDispatchInvocationCount": 1 << 30,
    "maxRayRecursionDepth": 31,
    "maxSamplerLodBias": 16.0,
    "maxGeometryCount": 1 << 24,
    "maxInstanceCount": 1 << 24,
    "maxPrimitiveCount": 1 << 24,
    **{f"max{stage}WorkGroupTotalCount": 1 << 22 for stage in ("Task", "Mesh")},
    **{f"max{stage}WorkGroupCount": (65535, 65535, 65535) for stage in ("Task", "Mesh")},
    **{f"max{stage}WorkGroupInvocations": 1024 for stage in ("Task", "Mesh")},
    **{f"max{stage}WorkGroupSize": (1024, 1024, 1024) for stage in ("Task", "Mesh")},
    "maxPerStageDescriptorInputAttachments": 64,
    "maxDescriptorSetInputAttachments": 64,
}


SIZES = 32, 128
"""Subgroup sizes of null devices: a case runs with the first that supports it."""


def _matrices() -> tuple[CooperativeMatrix, ...]:
    """Return products of one shape in every combination that has cases, and of each type alone."""
    alone = (Combination(name, name, name, name) for name in COMPONENTS)
    return tuple(
        CooperativeMatrix(
            16, 16, 16, *(COMPONENTS[name].vulkan for name in row.types), row.saturating, "SUBGROUP"
        )
        for row in (*COMBINATIONS.values(), *alone)
    )


@cache
def null_capabilities(size: int) -> Capabilities:
    """Return capabilities with which as many cases as possible run: every stage, every feature of a case."""
    reference = capabilities_of(size)
    stages = tuple(stage.name for stage in STAGES)
    return replace(
        reference,
        name="null device",
        driver_name="null",
        driver_info="",
        api_version=(1, 3, 0),
        subgroup=replace(reference.subgroup, supported_stages=stages),
        size_control=replace(reference.size_control, required_size_stages=stages),
        features=reference.features | frozenset(_FEATURES.split()),
        limits={**reference.limits, **_LIMITS},
        cooperative_matrices=(*reference.cooperative_matrices, *_matrices()),
        extensions={**reference.extensions, "VK_NV_shader_sm_builtins": 1},
        sm_builtins=SmBuiltins(64, 32),
    )


class NullDevice(Device):
    """A device that executes nothing; `fill` writes its outputs."""

    _buffers, _images, _kind_of_pipelines = ReferenceBuffer, ReferenceImage, NullPipeline
    _kind_of_sequences, _structures = ReferenceSequence, _Structure

    def __init__(self, fill: Fill, capabilities: Capabilities | None = None) -> None:
        capabilities = capabilities or null_capabilities(SIZES[0])
        host = Host(DeviceInfo.of("", "null", 0, capabilities), capabilities)
        host.fill = fill  # type: ignore[attr-defined]
        self.fill = fill
        super().__init__(host)
