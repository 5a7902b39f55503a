"""Null device: it accepts every dispatch, draw and trace, and executes no shader.

It shows what a case runs (`vkgroup.conformance.show`), and tests the suite: no case may pass on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

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


class _Structure(AccelerationStructure):
    """An acceleration structure without memory."""

    _freed = False

    def _create(self, geometries: Any, instances: Any) -> None:
        return

    def close(self) -> None:
        self._freed = True


Run = Callable[["NullWork", Command], None]
"""Function of the bound work and the command that a device runs."""


class _NullHost(Host):
    """The host of a null device."""

    run: Run


class NullWork(Work):
    """Bound resources; a command is passed to the device's function."""

    _images = ReferenceImage
    _structures = _Structure
    _closed = False

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    def _array_buffer(self, array: npt.NDArray[Any]) -> ArrayBuffer:
        return CopiedArray(array)

    def _prepare(self) -> None:
        return

    def _prepare_draw(self, data: DrawData, stages: GraphicsStages, drawn: DrawImages) -> None:
        return

    def _run(self, command: Command, push: bytes, timeout: float | None, wait: bool) -> int:
        assert isinstance(self.device, _NullHost)
        self.device.run(self, command)
        return 0

    def _timed(self, command: Command, push: bytes, timeout: float | None, repeat: int) -> None:
        self._run(command, push, timeout, wait=True)

    def close(self) -> None:
        """Close it."""
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
        """Whether it was closed."""
        return self._closed

    def close(self) -> None:
        """Close it."""
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


def _matrices() -> tuple[CooperativeMatrix, ...]:
    """Return products of one shape in every combination that has cases, and of each type alone."""
    alone = (Combination(name, name, name, name) for name in COMPONENTS)
    rows = []
    for row in (*COMBINATIONS.values(), *alone):
        a, b, c, result = (COMPONENTS[name].vulkan for name in row.types)
        rows.append(CooperativeMatrix(16, 16, 16, a, b, c, result, row.saturating, "SUBGROUP"))
    return tuple(rows)


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
    """A device that executes nothing; each command is passed to `run` instead."""

    _buffers, _images, _kind_of_pipelines = ReferenceBuffer, ReferenceImage, NullPipeline
    _kind_of_sequences, _structures = ReferenceSequence, _Structure

    def __init__(self, run: Run, capabilities: Capabilities) -> None:
        host = _NullHost(DeviceInfo.of("", "null", 0, capabilities), capabilities)
        host.run = run
        super().__init__(host)
