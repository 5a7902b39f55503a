"""Image and sampler of an instruction; where invocations use several, the instruction runs once for each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.reference.interpreter.operations.images.memory import ImageMemory
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, overall_cause, select, tainted
from vkgroup.sampler import Sampler

#: A function on one image (and sampler) for some invocations; its operands begin with the image's id.
OnImage = Callable[["Frame", ImageMemory, Sampler | None, tuple[Value, ...]], Value | None]


def image_and_sampler(frame: Frame, numbers: tuple[int, ...]) -> tuple[ImageMemory, Sampler | None]:
    """Return the image and the sampler of one number, or of a number for each.

    A combined image sampler is bound as the pair of both.
    """
    image = frame.resource(numbers[0])
    if isinstance(image, tuple):
        image = image[0]
    sampler = frame.resource(numbers[1]) if len(numbers) > 1 else None
    if isinstance(sampler, tuple):
        sampler = sampler[1]
    return image, sampler if isinstance(sampler, Sampler) else None


def on_each(frame: Frame, operands: tuple[Value, ...], run: OnImage) -> Value | None:
    """Run a function for the invocations of each image, and return the combined results.

    Parameters
    ----------
    operands : of the instruction; the first is an image, or an image with its sampler. Its causes are added
        to the result.
    run : takes a frame of those invocations alone, and their operands.
    """
    result = _each(frame, operands, run)
    undefined = overall_cause(operands[0])
    return result if result is None or undefined is None else tainted(result, undefined)


def _each(frame: Frame, operands: tuple[Value, ...], run: OnImage) -> Value | None:
    numbers = np.atleast_2d(operands[0].data)
    distinct = np.unique(numbers, axis=1)
    if distinct.shape[1] == 1:
        return run(frame, *image_and_sampler(frame, tuple(distinct[:, 0].tolist())), operands)
    parts: list[tuple[Data, Value]] = []
    for column in distinct.T:
        where = (numbers == column[:, None]).all(axis=0)
        index = np.flatnonzero(where)
        result = run(
            frame.subset(where),
            *image_and_sampler(frame, tuple(column.tolist())),
            tuple(select(operand, index) for operand in operands),
        )
        if result is not None:
            parts.append((index, result))
    return _together(parts, frame.count) if parts else None


def _together(parts: list[tuple[Data, Value]], count: int) -> Value:
    leaves, causes = [], []
    for number, first in enumerate(parts[0][1].leaves):
        leaf = np.zeros((*first.shape[:-1], count), first.dtype)
        cause: Causes | None = None
        for index, value in parts:
            leaf[..., index] = value.leaves[number]
            own = value.causes[number]
            if own is not None:
                cause = np.zeros(leaf.shape, np.uint16) if cause is None else cause
                cause[..., index] = own
        leaves.append(leaf)
        causes.append(cause)
    return Value(tuple(leaves), tuple(causes))
