"""NumPy's types of the scalar types in `vkgroup.spec.types`."""

from __future__ import annotations

import numpy as np

from vkgroup.spec.types import Scalar

_KINDS = {"float": "f", "int": "i", "uint": "u"}


def dtype_of(scalar: Scalar) -> np.dtype[np.generic]:
    """Return NumPy's type for values of a scalar type: ``np.bool_`` for bool."""
    if scalar.kind == "bool":
        return np.dtype(np.bool_)
    return np.dtype(f"{_KINDS[scalar.kind]}{scalar.bits // 8}")
