"""Running shaders: buffers, images, bindings by reflection, pipelines, and work (dispatches, draws, rays).

This package has the parts that all devices share; `vkgroup.dispatch.vulkan` implements them with Vulkan.
"""

from __future__ import annotations

from vkgroup.dispatch.acceleration import AccelerationStructure, Boxes, Instance, Triangles
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.commands import PendingRun, Submission
from vkgroup.dispatch.device import Device
from vkgroup.dispatch.draw_state import DrawFormats, DrawState
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.pipeline import Pipeline, Work
from vkgroup.dispatch.ray_stages import HitGroup
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.sequence import Copy, Dispatch, Fill, Sequence

__all__ = [
    "AccelerationStructure",
    "Boxes",
    "Buffer",
    "Copy",
    "Device",
    "Dispatch",
    "DrawFormats",
    "DrawState",
    "Fill",
    "HitGroup",
    "Image",
    "Instance",
    "PendingRun",
    "Pipeline",
    "RunResult",
    "Sequence",
    "Submission",
    "Triangles",
    "Work",
]
