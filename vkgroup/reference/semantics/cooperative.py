"""Products of cooperative matrices: SPV_KHR_cooperative_matrix, OpCooperativeMatrixMulAddKHR."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Product(NamedTuple):
    """A product, and the elements that the specification defines."""

    value: Array  # (..., m, n)
    defined: NDArray[np.bool_]  # the same shape; False where the result is undefined


def multiply_add(a: Array, b: Array, c: Array, result: np.dtype[Any], *, saturating: bool = False) -> Product:
    """Return A · B + C.

    Integers: "performed at the precision of the Result Type and the resulting value will equal the low-order
    N bits of the correct result". With saturating accumulation the sum with C is the nearest number of the
    result's type, and where A · B itself leaves that type, "the result of the instruction is undefined".

    Floats: order and internal precision are the implementation's (Vulkan 1.4, "Precision of Core SPIR-V
    Instructions"). Here everything is computed in float64 and rounded once.

    `a`: (..., m, k); b : (..., k, n); c : (..., m, n). Integers have the signedness of the instruction.
    `result`: type of the result.
    """
    if result.kind == "f":
        total = a.astype(np.float64) @ b.astype(np.float64) + c.astype(np.float64)
        return Product(total.astype(result), np.ones(total.shape, np.bool_))
    if not saturating:
        # Sums and products of 64 bits keep the low bits of the exact ones.
        total = _low(a) @ _low(b) + _low(c)
        return Product(total.astype(result), np.ones(total.shape, np.bool_))
    limits = np.iinfo(result)
    product = _exact(a) @ _exact(b)
    defined = (product >= limits.min) & (product <= limits.max)
    total = np.clip(product + _exact(c), limits.min, limits.max)
    return Product(total.astype(result), np.asarray(defined, np.bool_))


def _low(numbers: Array) -> Array:
    return (
        numbers.astype(np.int64).view(np.uint64) if numbers.dtype.kind == "i" else numbers.astype(np.uint64)
    )


def _exact(numbers: Array) -> Array:
    """Return integers that cannot overflow: int64 if the whole product fits, else Python's integers."""
    return numbers.astype(np.int64 if numbers.dtype.itemsize <= 2 else np.object_)
