"""Running shaders: buffers, images, pipelines, bindings by reflection, dispatches, draws and rays.

What all devices share is here; `vkgroup.dispatch.vulkan` does it through Vulkan.
"""

from __future__ import annotations

from vkgroup.dispatch.acceleration import AccelerationStructure, Boxes, Instance, Triangles
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.device import Device
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.pipeline import Bound, Pipeline
from vkgroup.dispatch.ray_pipeline import HitGroup, RayPipeline
from vkgroup.dispatch.results import RunResult
from vkgroup.dispatch.sequence import Copy, Dispatch, Fill, Sequence

__all__ = [
    "AccelerationStructure",
    "Bound",
    "Boxes",
    "Buffer",
    "Copy",
    "Device",
    "Dispatch",
    "Fill",
    "HitGroup",
    "Image",
    "Instance",
    "Pipeline",
    "RayPipeline",
    "RunResult",
    "Sequence",
    "Triangles",
]
