"""A graphics pipeline with everything bound: drawing once or many times."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from vkgroup.dispatch.attachments import Attachment, check_attachments, trimmed
from vkgroup.dispatch.bindings import Bindings
from vkgroup.dispatch.bound import checked_repeat
from vkgroup.dispatch.graphics_pipeline import GraphicsPipeline
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.input_attachments import KIND, check_bound_input, indices
from vkgroup.dispatch.stages import pack_stages_push
from vkgroup.dispatch.vertices import MeshGroups, Vertices
from vkgroup.errors import DriverError, InvalidDispatch
from vkgroup.formats import Format


class Draws(Bindings):
    """A graphics pipeline with everything bound; `GraphicsPipeline.bind` makes it.

    Attributes
    ----------
    size : width and height in pixels.
    vertices, attachments : what it draws, and to what.
    images : what each attachment is drawn to; of several samples where the pipeline has them.
    resolved : the image of one sample for each color attachment; the same as in `images` without several.
    """

    pipeline: GraphicsPipeline

    def __init__(
        self,
        pipeline: GraphicsPipeline,
        bindings: Mapping[Any, Any],
        *,
        size: tuple[int, int],
        vertices: Vertices | MeshGroups,
        attachments: tuple[Attachment, ...],
        resolve: bool,
    ) -> None:
        self.size, self.vertices, self.attachments = size, vertices, attachments
        self.resolve = resolve and pipeline.state.samples > 1
        self.images: dict[Attachment, Image] = {}
        self.resolved: dict[Attachment, Image] = {}
        self._targets: list[Image] = []
        super().__init__(pipeline, bindings)

    def _make_attachments(self) -> None:
        """Make the images of attachments that are none of the caller's."""
        samples = self.pipeline.state.samples
        bound = [item for items in self.resources.values() for item in items if isinstance(item, Image)]
        check_attachments(self.attachments, bound, samples=samples, resolve=self.resolve)
        self._check_names()
        for attachment in self.attachments:
            given = attachment.image
            several = samples > 1 and not (given is not None and given.samples == samples)
            if several:
                self.images[attachment] = self._image(attachment, samples)
                if self.resolve and attachment.location is not None:
                    self.resolved[attachment] = given or self._image(attachment, 1)
                continue
            self.images[attachment] = given or self._image(attachment, 1)
            if given is None and attachment.before is not None:
                self.images[attachment].write(attachment.before)

    def inputs(self) -> list[tuple[int, Image]]:
        """Return the images that are bound as input attachments, each with its index, in the order of these.

        Raises
        ------
        InvalidDispatch
            One is of another size than the draw, or of another format than the pipeline was made for.
        """
        found = []
        for slot, images in self.resources.items():
            for number, image in enumerate(images if slot.kind == KIND else ()):
                assert isinstance(image, Image)
                check_bound_input(slot, number, image, self.pipeline.state.inputs, self.size)
                found.append((indices(slot)[number], image))
        return sorted(found, key=lambda item: item[0])

    def _check_names(self) -> None:
        """Refuse results of one name, of which one would be lost."""
        taken = {slot.key for slot, _ in self._writable()}
        for key in (key_of(attachment) for attachment in self.attachments if attachment.image is None):
            if key in taken:
                raise InvalidDispatch(
                    f"Two results of the draw are called {key!r}. Give an Image or a Buffer for one of them,"
                    " which is read by itself, or change the name in the shader."
                )
            taken.add(key)

    def _image(self, attachment: Attachment, samples: int) -> Image:
        width, height = self.size
        format_ = attachment.format
        shape = (
            (height, width) + (samples,) * (samples > 1) + (format_.components,) * (format_.components > 1)
        )
        image = self._take_image(shape, format_, samples)
        self._targets.append(image)
        return image

    def _take_image(self, shape: tuple[int, ...], format_: Format, samples: int) -> Image:
        """Return an image to draw to, its contents undefined."""
        return self._images(self.device, shape, format_, samples=samples, attachment=True)

    def _give_image(self, image: Image) -> None:
        """Take an image back from the draws."""
        image.close()

    def _read_images(self, images: Sequence[Image]) -> list[npt.NDArray[Any]]:
        """Read images whole."""
        return [image.read() for image in images]

    @abstractmethod
    def _draw(self, push: bytes, timeout: float | None) -> None:
        """Draw once."""

    @abstractmethod
    def _timed(self, push: bytes, timeout: float | None, repeat: int) -> float | None:
        """Draw `repeat` times; gives seconds of one, None where they cannot be measured."""

    def draw(self, push: Any = None, timeout: float | None = 10.0) -> None:
        """Draw once and wait until it has finished.

        Attachments that were given no contents are cleared before: colors to zero, depths to the farthest.

        Parameters
        ----------
        push : values of the push constants: bytes, an array, or a mapping by name.
        timeout : seconds that it may take; None waits for ever.

        Raises
        ------
        InvalidDispatch
            The push constants make no sense.
        DispatchTimeout, DeviceLost
            The work did not finish, or the driver gave up; the device is of no more use.
        """
        data = self._pushed(push)
        if self._closings != self.device.closings:
            self.require_open()
        self._draw(data, timeout)

    def timed(self, push: Any = None, timeout: float | None = 10.0, *, repeat: int = 1) -> float | None:
        """Draw and measure it on the GPU.

        Parameters
        ----------
        push, timeout : as for `draw`.
        repeat : how many times, one after the other in one submission.

        Returns
        -------
        Seconds of one draw, on average; None where the device has no timestamps.
        """
        repeat = checked_repeat(repeat)
        data = self._pushed(push)
        self.require_open()
        return self._timed(data, timeout, repeat)

    def _pushed(self, push: Any) -> bytes:
        """Make the bytes of push constants."""
        return pack_stages_push(self._push, self.pipeline.push_conflict, push)

    def require_open(self) -> None:
        """Raise where the device, the pipeline or anything bound is closed."""
        super().require_open()
        if any(image.closed for image in (*self.images.values(), *self.resolved.values())):
            raise DriverError("An attachment is closed; bind anew.")

    def results(self) -> dict[Any, npt.NDArray[Any]]:
        """Read back the attachments and every array that a shader may have written, by name.

        An attachment without name goes by ``("location", n)``. Images of the caller's are the caller's to
        read.
        """
        found = super().results()
        own = [attachment for attachment in self.attachments if attachment.image is None]
        arrays = self._read_images([self.resolved.get(item) or self.images[item] for item in own])
        for attachment, array in zip(own, arrays, strict=True):
            found[key_of(attachment)] = trimmed(self._pixels(attachment, array), attachment)
        self.device.raise_validation_errors()
        return found

    def _pixels(self, attachment: Attachment, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.resolve and attachment.location is None:
            return array[:, :, 0]
        return array

    def close(self) -> None:
        """Free what was made for arrays and attachments; the caller's buffers and images stay."""
        targets, self._targets = self._targets, []
        for image in targets:
            self._give_image(image)
        super().close()


def key_of(attachment: Attachment) -> Any:
    """Return how a draw's results call an attachment."""
    return attachment.name or ("location", attachment.location)
