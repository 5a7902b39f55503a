"""Pool of the images that draws write to.

Making an image takes a few calls of the driver's part in the kernel, and so does freeing it. Alone they are
quick; where sixteen processes draw on an H200 they were half of a small draw's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.draw_images import ImageSource
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.vulkan.image import VulkanImage, read_together
from vkgroup.formats import Format

MOST_IDLE = 32
"""Number of images that a device keeps."""

LARGEST_IDLE = 4 << 20
"""Bytes of the texels of the largest image that is kept."""


def take_target(device: LogicalDevice, shape: tuple[int, ...], format_: Format, samples: int) -> VulkanImage:
    """Return an image to draw to, from the pool if it has one like that; its contents are undefined.

    Parameters
    ----------
    shape, format_, samples : as for `VulkanImage`.
    """
    device.require_open()
    for image in reversed(device.idle_images):
        if (image.shape, image.format, image.samples) == (shape, format_, samples):
            device.idle_images.remove(image)
            taken: VulkanImage = image
            return taken
    return VulkanImage(device, shape, format_, samples=samples, attachment=True)


def give_target(image: VulkanImage) -> None:
    """Put an image into the pool for the next `take_target`; the oldest one of a full pool is closed."""
    device = image.device
    if image.closed or not device.usable or device.lost or image.nbytes > LARGEST_IDLE:
        image.close()
        return
    device.idle_images.append(image)
    if len(device.idle_images) > MOST_IDLE:
        device.idle_images.pop(0).close()


class PooledImages(ImageSource):
    """Images of the pool for draws."""

    def __init__(self, device: LogicalDevice) -> None:
        super().__init__(device, VulkanImage)
        self._logical = device

    def take(self, shape: tuple[int, ...], format_: Format, samples: int) -> Image:
        """Return an image to draw to; its contents are undefined."""
        return take_target(self._logical, shape, format_, samples)

    def give_back(self, image: Image) -> None:
        """Put an image into the pool."""
        assert isinstance(image, VulkanImage)
        give_target(image)

    def read(self, images: Sequence[Image]) -> list[npt.NDArray[Any]]:
        """Read whole images, in one submission where that is possible."""
        return read_together([image for image in images if isinstance(image, VulkanImage)])
