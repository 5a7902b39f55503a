"""Images that a draw writes to: the caller's, and those made for attachments without one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.attachments import Attachment, check_attachments, trimmed
from vkgroup.dispatch.draw_state import DrawState
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.vertices import MeshGroups, Vertices
from vkgroup.errors import InvalidDispatch
from vkgroup.formats import Format


@dataclass(frozen=True)
class DrawData:
    """Data that is bound to a graphics pipeline besides its descriptors.

    Attributes
    ----------
    size : width and height in pixels.
    vertices : the vertices; `MeshGroups` for mesh shaders.
    attachments : the attachments that are drawn to.
    """

    size: tuple[int, int]
    vertices: Vertices | MeshGroups
    attachments: tuple[Attachment, ...]


class ImageSource:
    """Makes images for draws, and takes them back afterwards."""

    def __init__(self, device: DeviceBase, images: type[Image]) -> None:
        self._device, self._images = device, images

    def take(self, shape: tuple[int, ...], format_: Format, samples: int) -> Image:
        """Return an image to draw to; its contents are undefined."""
        return self._images(self._device, shape, format_, samples=samples, attachment=True)

    def give_back(self, image: Image) -> None:
        """Take an image back."""
        image.close()

    def read(self, images: Sequence[Image]) -> list[npt.NDArray[Any]]:
        """Read whole images."""
        return [image.read() for image in images]


class DrawImages:
    """The images of a draw's attachments.

    Attributes
    ----------
    images : the image that each attachment is drawn to; with several samples where the state has them.
    resolved : the image of one sample that a color is resolved to; empty without several samples.
    resolves : whether colors are resolved.
    """

    def __init__(self, data: DrawData, state: DrawState, source: ImageSource) -> None:
        self._data, self._state, self._source = data, state, source
        self.images: dict[Attachment, Image] = {}
        self.resolved: dict[Attachment, Image] = {}
        self.resolves = bool(state.resolve) and state.samples > 1
        self._taken: list[Image] = []

    def make(self, bound: Iterable[Image], result_keys: Iterable[Any]) -> None:
        """Make the images of attachments that the caller gave none for.

        Parameters
        ----------
        bound : images that the shaders see.
        result_keys : keys of the other results of the draw.

        Raises
        ------
        InvalidDispatch
            An attachment cannot be drawn to, or two results have the same key.
        """
        samples, attachments = self._state.samples, self._data.attachments
        check_attachments(attachments, bound, samples=samples, resolve=self.resolves)
        self._check_keys(set(result_keys))
        for attachment in attachments:
            given = attachment.image
            if samples > 1 and not (given is not None and given.samples == samples):
                self.images[attachment] = self._take(attachment, samples)
                if self.resolves and attachment.location is not None:
                    self.resolved[attachment] = given or self._take(attachment, 1)
                continue
            self.images[attachment] = given or self._take(attachment, 1)
            if given is None and attachment.before is not None:
                self.images[attachment].write(attachment.before)

    def clears(self, attachment: Attachment) -> bool:
        """Whether an attachment is cleared before the draw: it has no contents that the caller gave."""
        if attachment.image is None:
            return attachment.before is None
        # Samples that are resolved into the caller's image are new: they have no contents yet.
        return self.images[attachment] is not attachment.image

    @property
    def closed(self) -> bool:
        """Whether one of the images was closed."""
        return any(image.closed for image in (*self.images.values(), *self.resolved.values()))

    def results(self) -> dict[Any, npt.NDArray[Any]]:
        """Read back the attachments that the caller gave no image for, by `key_of`."""
        attachments = self._own()
        arrays = self._source.read([self.resolved.get(item) or self.images[item] for item in attachments])
        return {
            key_of(attachment): self.in_results(attachment, array)
            for attachment, array in zip(attachments, arrays, strict=True)
        }

    def result_images(self) -> dict[Attachment, Image]:
        """Return the images that `results` reads, by attachment."""
        return {item: self.resolved.get(item) or self.images[item] for item in self._own()}

    def in_results(self, attachment: Attachment, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return an image's array as results have it: only written components; one sample of depths."""
        first_sample = self.resolves and attachment.location is None
        return trimmed(array[:, :, 0] if first_sample else array, attachment)

    def close(self) -> None:
        """Give back the images that were made; the caller's stay."""
        taken, self._taken = self._taken, []
        for image in taken:
            self._source.give_back(image)

    def _own(self) -> list[Attachment]:
        return [attachment for attachment in self._data.attachments if attachment.image is None]

    def _check_keys(self, taken: set[Any]) -> None:
        """Refuse two results of one key: one of them would be lost."""
        for attachment in self._own():
            key = key_of(attachment)
            if key in taken:
                raise InvalidDispatch(
                    f"Two results of the draw are called {key!r}. Give an Image or a Buffer for one of them,"
                    " which is read by itself, or change the name in the shader."
                )
            taken.add(key)

    def _take(self, attachment: Attachment, samples: int) -> Image:
        width, height = self._data.size
        format_ = attachment.format
        shape = (
            (height, width) + (samples,) * (samples > 1) + (format_.components,) * (format_.components > 1)
        )
        image = self._source.take(shape, format_, samples)
        self._taken.append(image)
        return image


def key_of(attachment: Attachment) -> Any:
    """Return the key of an attachment in a draw's results: its name, or its location."""
    return attachment.name or ("location", attachment.location)
