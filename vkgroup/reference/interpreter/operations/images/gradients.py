"""Derivatives of texture coordinates in quads, for implicit levels of detail."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.operations.derivatives import (
    choice_cause,
    difference,
    partial,
    partial_cause,
)
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, combine, reduce_cause, single

_ROWS = ((0, 1), (2, 3))
_COLUMNS = ((0, 2), (1, 3))


class ImplicitGradient:
    """The derivatives of an instruction's coordinates, which may be coarse or fine.

    Parameters
    ----------
    site : of the instruction.
    divide : whether the last coordinate divides the others first.
    """

    def __init__(self, site: Site, divide: bool) -> None:
        self._partial, self._choice = partial_cause(site), choice_cause(site)
        self._divide = divide

    def values(self, frame: Frame, coordinate: Value) -> tuple[Value, Value]:
        """Return the changes in x and in y of all coordinates, (components, n), with their causes."""
        data, cause = np.atleast_2d(coordinate.data), reduce_cause(coordinate.cause)
        if self._divide:
            with np.errstate(all="ignore"):
                data = data / data[-1]
        subgroups = frame.subgroups
        given = single(data, cause)
        missing = partial(subgroups, self._partial)
        changes = []
        for pairs in (_ROWS, _COLUMNS):
            change = difference(subgroups, given, pairs, fine=False, choice=self._choice)
            changes.append(single(change.data, combine(reduce_cause(change.cause), missing)))
        return changes[0], changes[1]

    @staticmethod
    def of(image: ImageMemory, changes: tuple[Value, ...]) -> tuple[tuple[Data, Data], Causes | None]:
        """Return the gradient on an image, and its causes."""
        axes = 3 if image.dimension == "Cube" else image.axes
        first, second = changes
        return (first.data[:axes], second.data[:axes]), combine(first.cause, second.cause)


def with_gradient(
    implicit: ImplicitGradient | None, frame: Frame, operands: tuple[Value, ...]
) -> tuple[Value, ...]:
    """Return an instruction's operands, followed by the derivatives of the coordinates if there are quads."""
    if implicit is None or not frame.machine.has_derivatives:
        return operands
    return (*operands, *implicit.values(frame, operands[1]))
