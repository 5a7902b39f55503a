"""Derivatives: differences between the fragments of a quad (Vulkan 1.4, "Derivative Operations").

Lanes 4q to 4q+3 are the fragments (x, y), (x+1, y), (x, y+1), (x+1, y+1). Fine derivatives use the lane's
row or column. Coarse ones may use the first row or column for the whole quad, and plain ones may be either;
here both use the first. If the two differ, the result gets a soft cause, like results that depend on the
order of atomics. The result is undefined unless all four invocations are active. (The specification also
requires uniform control flow in the primitive, but devices do not depend on other quads.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.operations.accessor import Subgroups
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Causes, Data, Value, combine, single
from vkgroup.spec.limits import QUAD_SIZE

Flags = npt.NDArray[np.bool_]

ROWS = ((0, 1), (2, 3))
COLUMNS = ((0, 2), (1, 3))
_DIRECTIONS = {"x": ROWS, "y": COLUMNS}


class Derivative:
    """One derivative instruction.

    Called with the `Subgroups` that execute it and its operand.
    """

    def __init__(self, site: Site) -> None:
        name = site.name.removeprefix("Op")
        self._fine = name.endswith("Fine")
        self._directions = (ROWS, COLUMNS) if name.startswith("Fwidth") else (_DIRECTIONS[name[3]],)
        self._partial, self._choice = partial_cause(site), choice_cause(site)

    def __call__(self, subgroups: Subgroups, operand: Value) -> Value:
        """Return the derivative in the active invocations."""
        changes = [
            difference(subgroups, operand, pairs, fine=self._fine, choice=self._choice)
            for pairs in self._directions
        ]
        data = changes[0].data
        if len(changes) > 1:
            data = np.abs(changes[0].data) + np.abs(changes[1].data)
        return single(
            data,
            combine(*(value.cause for value in changes), partial(subgroups, self._partial)),
        )


DERIVATIVES: dict[str, Callable[[Site], Callable[..., Value]]] = {
    f"Op{name}{how}": Derivative for name in ("DPdx", "DPdy", "Fwidth") for how in ("", "Fine", "Coarse")
}
"""By name: the factory of an instruction's function, which takes `Subgroups` before its operand."""


def partial_cause(site: Site) -> int:
    """Return the cause of derivatives in quads that are not all active."""
    return site.cause("quad", "a derivative is taken where not all four invocations of a quad are active")


def choice_cause(site: Site) -> int:
    """Return the soft cause of derivatives for which a device may use either of two differences."""
    return site.order_cause("a derivative that is not fine may be that of either row or column of the quad")


def partial(subgroups: Subgroups, cause: int) -> Causes | None:
    """Return a cause in the lanes of quads that are not all active, (n,); None where there are none."""
    whole = quads(subgroups.active).all(axis=2)
    if np.count_nonzero(whole) * QUAD_SIZE == subgroups.count:
        return None
    missing = np.repeat(~whole, QUAD_SIZE, axis=1)[:, :, None]
    return subgroups.collect(np.where(missing, cause, 0).astype(np.uint16), ())


def difference(
    subgroups: Subgroups,
    operand: Value,
    pairs: tuple[tuple[int, int], tuple[int, int]],
    *,
    fine: bool,
    choice: int,
) -> Value:
    """Return the differences between the lanes of two pairs of each quad, in the operand's shape.

    `pairs`: lanes of the quad: in x the two rows, in y the two columns.
    `fine`: whether each lane gets the difference of its own pair; else all get that of the first.
    `choice`: the cause of results for which a device may also take the other pair.
    """
    values = quads(subgroups.spread(operand.data))
    dims = operand.data.shape[:-1]
    causes = None if operand.cause is None else quads(_spread_cause(subgroups, operand))
    both = [values[:, :, late] - values[:, :, early] for early, late in pairs]
    result = np.empty_like(values)
    causes_of_result = np.zeros(values.shape, np.uint16)
    if fine:
        for lanes, change in zip(pairs, both, strict=True):
            for lane in lanes:
                result[:, :, lane] = change
                if causes is not None:
                    causes_of_result[:, :, lane] = causes[:, :, list(lanes)].max(axis=2)
    else:
        result[:] = both[0][:, :, None]
        same = (both[0] == both[1]) | (np.isnan(both[0]) & np.isnan(both[1]))
        causes_of_result[:] = np.where(same, 0, choice)[:, :, None]
        if causes is not None:
            causes_of_result = np.maximum(causes_of_result, causes.max(axis=2, keepdims=True))
    cause = None
    if causes_of_result.any():
        cause = subgroups.collect(_lanes(causes_of_result, subgroups), dims)
    return single(subgroups.collect(_lanes(result, subgroups), dims), cause)


def quads(rows: Data) -> Data:
    """Split (rows, size, ...) into (rows, quads, 4, ...)."""
    return rows.reshape(rows.shape[0], rows.shape[1] // QUAD_SIZE, QUAD_SIZE, *rows.shape[2:])


def _lanes(split: Data, subgroups: Subgroups) -> Data:
    return split.reshape(subgroups.rows, subgroups.size, *split.shape[3:])


def _spread_cause(subgroups: Subgroups, operand: Value) -> Causes:
    assert operand.cause is not None
    whole = (*operand.data.shape[:-1], operand.cause.shape[-1])
    return subgroups.spread(np.ascontiguousarray(np.broadcast_to(operand.cause, whole)))
