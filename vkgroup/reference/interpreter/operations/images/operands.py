"""Operands of image instructions: images, samplers, and the optional ones (SPIR-V 3.14, "Image Operands")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vkgroup.base.sampler import Sampler
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Data, Value, joined, overall_cause, select, tainted

#: Name, bit of the mask, and number of operands, in the order of the operands.
_WITH_OPERANDS = (
    ("bias", 0x1, 1),
    ("lod", 0x2, 1),
    ("gradient", 0x4, 2),
    ("offset", 0x8, 1),  # ConstOffset
    ("offset", 0x10, 1),  # Offset
    ("offsets", 0x20, 1),  # ConstOffsets
    ("sample", 0x40, 1),
    ("min_lod", 0x80, 1),
    ("offsets", 0x10000, 1),  # Offsets
)

_SIGN_EXTEND, _ZERO_EXTEND = 0x1000, 0x2000


@dataclass(frozen=True, slots=True)
class ImageOperands:
    """The optional operands of an instruction; None for those that it does not have.

    Operands that only concern memory order (MakeTexelAvailable, NonPrivateTexel, …) are in `Site.scopes`
    or have no effect on a device that executes in order.
    """

    bias: Value | None = None
    lod: Value | None = None
    gradient: tuple[Value, Value] | None = None
    offset: Value | None = None
    offsets: Value | None = None
    sample: Value | None = None
    min_lod: Value | None = None


def optional_operands(site: Site, fixed: int) -> dict[str, slice]:
    """Return the positions of optional operands by name; `fixed` operands stand before them."""
    mask = site.literals[0] if site.literals else 0
    positions = {}
    for name, bit, count in _WITH_OPERANDS:
        if mask & bit:
            positions[name] = slice(fixed, fixed + count)
            fixed += count
    return positions


def gather(positions: dict[str, slice], operands: tuple[Value, ...]) -> ImageOperands:
    """Return the values of optional operands."""
    values = {name: operands[position] for name, position in positions.items()}
    gradient = values.pop("gradient", None)
    return ImageOperands(
        gradient=(gradient[0], gradient[1]) if gradient else None,
        **{name: value[0] for name, value in values.items()},
    )


def extension(site: Site) -> str | None:
    """Return ``"int"`` for SignExtend, ``"uint"`` for ZeroExtend; None without either."""
    mask = site.literals[0] if site.literals else 0
    return "int" if mask & _SIGN_EXTEND else "uint" if mask & _ZERO_EXTEND else None


#: A function on one image (and sampler) for some invocations; its operands begin with the image's id.
OnImage = Callable[["Frame", ImageMemory, Sampler | None, tuple[Value, ...]], Value | None]


def image_and_sampler(frame: Frame, numbers: tuple[int, ...]) -> tuple[ImageMemory, Sampler | None]:
    """Return the image and the sampler that one number, or one number each, selects.

    A combined image sampler is bound as the pair of both.
    """
    image = frame.machine.resources[numbers[0]]
    if isinstance(image, tuple):
        image = image[0]
    sampler = frame.machine.resources[numbers[1]] if len(numbers) > 1 else None
    if isinstance(sampler, tuple):
        sampler = sampler[1]
    return image, sampler if isinstance(sampler, Sampler) else None


def on_each(frame: Frame, operands: tuple[Value, ...], run: OnImage) -> Value | None:
    """Call a function for each image with the invocations that use it, and combine the results.

    `operands`: of the instruction; the first is an image, or an image with its sampler. Its causes are added
    to the result.
    `run`: takes a frame of these invocations, and their operands.
    """
    numbers = np.atleast_2d(operands[0].data)
    distinct = np.unique(numbers, axis=1)
    if distinct.shape[1] == 1:
        result = run(frame, *image_and_sampler(frame, tuple(distinct[:, 0].tolist())), operands)
    else:
        parts: list[tuple[Data, Value]] = []
        for column in distinct.T:
            where = (numbers == column[:, None]).all(axis=0)
            index = np.flatnonzero(where)
            resources = image_and_sampler(frame, tuple(column.tolist()))
            part = run(frame.subset(where), *resources, tuple(select(operand, index) for operand in operands))
            if part is not None:
                parts.append((index, part))
        result = joined(parts, frame.count) if parts else None
    undefined = overall_cause(operands[0])
    return result if result is None or undefined is None else tainted(result, undefined)
