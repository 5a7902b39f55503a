"""GLSL.std.450: integers: signs, minima, maxima, clamps, and the least and most significant bits."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import Factory, elementwise, partial
from vkgroup.reference.interpreter.values.value import Data

_EXPONENT_BITS, _EXPONENT_BIAS = np.uint64(52), 1023


def find_msb(data: Data) -> Data:
    """Return the position of the highest bit set of unsigned integers; all bits set for 0."""
    # Without the bit after the highest one, no rounding to float64 reaches the next power of two.
    exact = (data & ~(data >> data.dtype.type(1))).astype(np.float64)
    position = (exact.view(np.uint64) >> _EXPONENT_BITS).astype(np.int64) - _EXPONENT_BIAS
    return np.where(data == 0, -1, position).astype(data.dtype)


def find_lsb(data: Data) -> Data:
    """Return the position of the lowest bit set of unsigned integers; all bits set for 0."""
    return find_msb(data & (~data + data.dtype.type(1)))


def find_signed_msb(data: Data) -> Data:
    """Return the position of the highest bit unlike the sign of signed integers; -1 for 0 and -1."""
    flipped = data ^ (data >> data.dtype.type(8 * data.dtype.itemsize - 1))
    return find_msb(flipped.view(f"<u{data.dtype.itemsize}")).view(data.dtype)


def _clamp(see: str) -> Factory:
    return partial(
        lambda x, minimum, maximum: np.asarray(np.minimum(np.maximum(x, minimum), maximum)),
        lambda x, minimum, maximum: np.greater(minimum, maximum),
        "math_domain",
        "clamp() where the minimum is above the maximum",
        see,
    )


GLSL450_INTEGERS: dict[str, Factory] = {
    "SAbs": elementwise(np.absolute, "signed"),
    "SSign": elementwise(np.sign, "signed"),
    "UMin": elementwise(np.minimum, "unsigned"),
    "SMin": elementwise(np.minimum, "signed"),
    "UMax": elementwise(np.maximum, "unsigned"),
    "SMax": elementwise(np.maximum, "signed"),
    "UClamp": _clamp("unsigned"),
    "SClamp": _clamp("signed"),
    "FindILsb": elementwise(find_lsb, "unsigned"),
    "FindUMsb": elementwise(find_msb, "unsigned"),
    "FindSMsb": elementwise(find_signed_msb, "signed"),
}
