"""Color and depth attachments: depth test, conversion to the format, resolving several samples.

Samples are handled in rasterization order: where several primitives meet at one, in the order of drawing
(Vulkan 1.4, "Fragment Operations").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.images.conversions import decode, encode
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.causes import CauseTable
from vkgroup.reference.interpreter.values.value import HARD, Causes, Data, combine, marked

Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

_COMPARE: dict[str, Callable[[Data, Data], Flags]] = {
    "never": lambda new, old: np.zeros(new.shape, np.bool_),
    "less": np.less,
    "equal": np.equal,
    "less_or_equal": np.less_equal,
    "greater": np.greater,
    "not_equal": np.not_equal,
    "greater_or_equal": np.greater_equal,
    "always": lambda new, old: np.ones(new.shape, np.bool_),
}


@dataclass(frozen=True)
class ColorTarget:
    """A color attachment: its location, and its image with as many samples as the draw has."""

    location: int
    image: ImageMemory


@dataclass(frozen=True)
class DepthTarget:
    """The depth attachment.

    Attributes
    ----------
    image : of format D32f or D16, with as many samples as the draw has.
    compare : which depths pass against what is there, as in `vkgroup.dispatch.drawing.COMPARISONS`.
    write : whether those that pass replace it.
    """

    image: ImageMemory
    compare: str = "less"
    write: bool = True


class Samples(NamedTuple):
    """Samples of fragments, in the order of drawing.

    Attributes
    ----------
    place : of each in an attachment: (y * width + x) * samples + sample, (n,).
    fragment : which fragment of the batch it belongs to, (n,).
    """

    place: Integers
    fragment: Integers


def test_depth(target: DepthTarget, place: Integers, depth: Data, undefined: Causes | None) -> Flags:
    """Test the depths of samples, in their order, and write those that pass (Vulkan 1.4, "Depth Test").

    Parameters
    ----------
    place : as in `Samples`, (n,).
    depth : (n,), from 0 to 1; what lies outside is brought there.
    undefined : of depths, (n,) or None. What is undefined passes, and leaves that behind.

    Returns
    -------
    Which pass, (n,).
    """
    image = target.image
    texels, _ = encode(image.format, np.clip(depth, 0, 1).astype(np.float32)[None])
    new, view = texels[0], image.view(image.format.dtype)
    compare = _COMPARE[target.compare]
    passed = np.zeros(len(place), np.bool_)
    for now in _rounds(place):
        at = place[now]
        good = compare(new[now], view[at])
        if undefined is not None:
            good = good | (undefined[now] >= HARD)
        passed[now] = good
        if target.write:
            view[at[good]] = new[now[good]]
    if target.write and (undefined is not None or image.causes is not None):
        cause = None if undefined is None else undefined[passed]
        image.mark(place[passed] * image.format.nbytes, image.format.nbytes, cause)
    return passed


def _rounds(place: Integers) -> list[Integers]:
    """Split samples into rounds in which each place comes once: the first of each, the second, and so on."""
    order = np.argsort(place, kind="stable")
    there = place[order]
    starts = np.ones(len(there), np.bool_)
    starts[1:] = there[1:] != there[:-1]
    if starts.all():
        return [np.arange(len(place))]
    rank = np.empty(len(place), np.int64)
    rank[order] = np.arange(len(place)) - np.maximum.accumulate(np.where(starts, np.arange(len(place)), 0))
    by_rank = np.argsort(rank, kind="stable")
    return np.split(by_rank, np.cumsum(np.bincount(rank))[:-1])


def write_color(
    target: ColorTarget,
    samples: Samples,
    channels: Data,
    undefined: Causes | None,
    causes: CauseTable,
) -> Causes | None:
    """Write fragments' colors to their samples; of several the last one stays.

    Parameters
    ----------
    channels : red, green, blue and alpha of every fragment of the batch, (4, fragments).
    undefined : what is undefined about them; broadcasts to their shape.
    causes : where to number what cannot be converted.

    Returns
    -------
    What is undefined about the texels written, (elements, samples).
    """
    image = target.image
    format_ = image.format
    chosen = channels[:, samples.fragment]
    elements, wrong = encode(format_, chosen)
    cause = None
    if undefined is not None:
        whole = np.broadcast_to(undefined, channels.shape)
        cause = whole[: format_.channels, samples.fragment]
        cause = cause.max(axis=0, keepdims=True) if format_.packed else cause
    if wrong is not None:
        site = Site("", None, (), (), (), (), -1, causes)
        number = site.cause("conversion", "the color cannot be represented in the attachment's format")
        cause = combine(cause, marked(wrong, number))
    view = image.view(format_.dtype).reshape(-1, format_.components)
    view[samples.place] = elements.T
    size = format_.dtype.itemsize
    offset = samples.place * format_.nbytes + np.arange(format_.components)[:, None] * size
    image.mark(offset, size, None if cause is None else np.broadcast_to(cause, offset.shape))
    return cause


def resolved(image: ImageMemory, samples: int) -> tuple[npt.NDArray[Any], Causes | None]:
    """Make one of several samples: floats their average, of integers and depths the first.

    Vulkan 1.4, "Multisample Resolve": any sample may be taken of integers; drivers take the first.

    Returns
    -------
    Elements (pixels, components), and causes of each or None.
    """
    format_ = image.format
    texels = image.view(format_.dtype).reshape(-1, samples, format_.components)
    causes = None
    if image.causes is not None:
        each = np.repeat(image.causes, image.granule).reshape(*texels.shape, format_.dtype.itemsize)
        causes = each.max(axis=-1)
    if format_.kind != "float" or format_.depth:
        return texels[:, 0].copy(), None if causes is None else causes[:, 0]
    values = np.stack([decode(format_, texels[:, number].T) for number in range(samples)])
    mean = values.astype(np.float64).mean(axis=0)
    elements, _ = encode(format_, mean.astype(np.float32))
    return np.ascontiguousarray(elements.T), None if causes is None else causes.max(axis=1)
