"""Images that draws write to, kept from one draw for the next.

Making an image takes a few calls of the driver's part in the kernel, and so does freeing it. Alone they are
quick; where sixteen processes draw on an H200 they were half of a small draw's time.
"""

from __future__ import annotations

from vkgroup.device.logical import LogicalDevice
from vkgroup.dispatch.vulkan.image import VulkanImage
from vkgroup.formats import Format

MOST_IDLE = 32
"""Images that a device keeps."""

LARGEST_IDLE = 4 << 20
"""Bytes of the texels of the largest image that is kept."""


def take_target(device: LogicalDevice, shape: tuple[int, ...], format_: Format, samples: int) -> VulkanImage:
    """Return an image to draw to, a kept one where there is one like that; its contents are undefined.

    Parameters
    ----------
    shape, format_, samples : as for `VulkanImage`.
    """
    device.require_open()
    for image in reversed(device.idle_images):
        if (image.shape, image.format, image.samples) == (shape, format_, samples):
            device.idle_images.remove(image)
            found: VulkanImage = image
            return found
    return VulkanImage(device, shape, format_, samples=samples, attachment=True)


def give_target(image: VulkanImage) -> None:
    """Keep an image for the next `take_target`; the one that was kept longest makes room."""
    device = image.device
    if image.closed or not device.usable or device.lost or image.nbytes > LARGEST_IDLE:
        image.close()
        return
    device.idle_images.append(image)
    if len(device.idle_images) > MOST_IDLE:
        device.idle_images.pop(0).close()
