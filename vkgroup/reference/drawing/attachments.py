"""Color and depth attachments: depth test, conversion to the format, resolving several samples.

Samples are processed in rasterization order: primitives that cover the same sample, in the order of drawing
(Vulkan 1.4, "Fragment Operations").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.images.memory import ImageMemory, decode, encode
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import HARD, Causes, CauseTable, Data, combine, marked

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
    """The depth attachment."""

    image: ImageMemory  # of format D32f or D16, with as many samples as the draw has
    compare: str = "less"  # comparison of new and stored depth, as in `vkgroup.base.choices.COMPARISONS`
    write: bool = True  # whether depths that pass are stored


class Samples(NamedTuple):
    """Samples of fragments, in the order of drawing."""

    texel: Integers  # index of each in an attachment: (y * width + x) * samples + sample, (n,)
    fragment: Integers  # the fragment of each, by its number in the batch, (n,)


def test_depth(target: DepthTarget, texel: Integers, depth: Data, undefined: Causes | None) -> Flags:
    """Test the depths of samples, in their order, and write those that pass (Vulkan 1.4, "Depth Test").

    `texel`: as in `Samples`, (n,).
    `depth`: (n,), clamped to 0 to 1.
    `undefined`: causes of the depths, (n,) or None. Undefined depths pass, and store their causes.

    Returns which samples pass, (n,).
    """
    image = target.image
    texels, _ = encode(image.format, np.clip(depth, 0, 1).astype(np.float32)[None])
    new, view = texels[0], image.view(image.format.dtype)
    compare = _COMPARE[target.compare]
    passed = np.zeros(len(texel), np.bool_)
    for now in _rounds(texel):
        stored = texel[now]
        passes = compare(new[now], view[stored])
        if undefined is not None:
            passes = passes | (undefined[now] >= HARD)
        passed[now] = passes
        if target.write:
            view[stored[passes]] = new[now[passes]]
    if target.write and (undefined is not None or image.causes is not None):
        cause = None if undefined is None else undefined[passed]
        image.mark(texel[passed] * image.format.nbytes, image.format.nbytes, cause)
    return passed


def _rounds(texel: Integers) -> list[Integers]:
    """Split samples into rounds in which each texel occurs once: its first sample, its second, and so on."""
    order = np.argsort(texel, kind="stable")
    ordered = texel[order]
    starts = np.ones(len(ordered), np.bool_)
    starts[1:] = ordered[1:] != ordered[:-1]
    if starts.all():
        return [np.arange(len(texel))]
    rank = np.empty(len(texel), np.int64)
    rank[order] = np.arange(len(texel)) - np.maximum.accumulate(np.where(starts, np.arange(len(texel)), 0))
    by_rank = np.argsort(rank, kind="stable")
    return np.split(by_rank, np.cumsum(np.bincount(rank))[:-1])


def write_color(
    target: ColorTarget,
    samples: Samples,
    channels: Data,
    undefined: Causes | None,
    causes: CauseTable,
) -> Causes | None:
    """Write fragments' colors to their samples; if several write to the same sample, the last color stays.

    `channels`: red, green, blue and alpha of every fragment of the batch, (4, fragments).
    `undefined`: their causes, which broadcast to their shape.
    `causes`: the table in which failed conversions are numbered.

    Returns the causes of the texels written, (elements, samples); None where all are defined.
    """
    image = target.image
    format_ = image.format
    chosen = channels[:, samples.fragment]
    elements, unrepresentable = encode(format_, chosen)
    cause = None
    if undefined is not None:
        whole = np.broadcast_to(undefined, channels.shape)
        cause = whole[: format_.channels, samples.fragment]
        cause = cause.max(axis=0, keepdims=True) if format_.packed else cause
    if unrepresentable is not None:
        site = Site("", None, (), (), (), (), -1, causes)
        number = site.cause("conversion", "the color cannot be represented in the attachment's format")
        cause = combine(cause, marked(unrepresentable, number))
    view = image.view(format_.dtype).reshape(-1, format_.components)
    view[samples.texel] = elements.T
    size = format_.dtype.itemsize
    offset = samples.texel * format_.nbytes + np.arange(format_.components)[:, None] * size
    image.mark(offset, size, None if cause is None else np.broadcast_to(cause, offset.shape))
    return cause


def resolved(image: ImageMemory, samples: int) -> tuple[npt.NDArray[Any], Causes | None]:
    """Return one texel for all samples of a pixel: the average of floats, the first of integers and depths.

    Vulkan 1.4, "Multisample Resolve": for integers any sample is allowed; drivers take the first.

    Returns elements (pixels, components), and causes of each or None.
    """
    format_ = image.format
    texels = image.view(format_.dtype).reshape(-1, samples, format_.components)
    causes = None
    if image.causes is not None:
        per_byte = np.repeat(image.causes, image.granule).reshape(*texels.shape, format_.dtype.itemsize)
        causes = per_byte.max(axis=-1)
    if format_.kind != "float" or format_.depth:
        return texels[:, 0].copy(), None if causes is None else causes[:, 0]
    values = np.stack([decode(format_, texels[:, number].T) for number in range(samples)])
    mean = values.astype(np.float64).mean(axis=0)
    elements, _ = encode(format_, mean.astype(np.float32))
    return np.ascontiguousarray(elements.T), None if causes is None else causes.max(axis=1)
