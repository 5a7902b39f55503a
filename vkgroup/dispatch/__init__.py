"""Running compute shaders: buffers, images, pipelines, bindings by reflection, dispatches."""

from __future__ import annotations

from vkgroup.dispatch.bound import Bound
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.device import Device, RunResult, open_device
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.pipeline import Pipeline

__all__ = ["Bound", "Buffer", "Device", "Image", "Pipeline", "RunResult", "open_device"]
