"""Integer arithmetic: SPIR-V 3.52.13, OpIAdd to OpSMulExtended.

Results are the low bits of the exact ones. What an instruction takes for signed follows from its name, not
from its operands' types.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    Factory,
    Function,
    arrays,
    casts,
    constant_data,
    dtype_of,
    elementwise,
    partial,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Data, Value, combine
from vkgroup.spirv import StructType


def divide_unsigned(a: Data, b: Data) -> Data:
    """Return the quotient, rounded towards zero; 0 where `b` is 0."""
    return np.asarray(np.floor_divide(a, b))


def modulo_unsigned(a: Data, b: Data) -> Data:
    """Return the remainder; some number where `b` is 0."""
    if b.shape[-1] == 1:
        # NumPy divides by one number in vector instructions, and takes remainders one by one.
        return np.asarray(a - np.floor_divide(a, b) * b)
    return np.asarray(np.remainder(a, b))


def divide_signed(a: Data, b: Data) -> Data:
    """Return the quotient, rounded towards zero."""
    unsigned = np.dtype(f"<u{a.dtype.itemsize}")
    # The absolute value of the most negative number has the right bits, seen as unsigned.
    quotient = np.floor_divide(np.abs(a).view(unsigned), np.abs(b).view(unsigned)).view(a.dtype)
    negative = (a ^ b) >> (8 * a.dtype.itemsize - 1)
    return np.asarray((quotient ^ negative) - negative)


def _zero(_: Data, divisor: Data) -> Data:
    return np.equal(divisor, 0)


def _signed_division_undefined(a: Data, b: Data) -> Data:
    return np.asarray((b == 0) | ((b == -1) & (a == np.iinfo(a.dtype).min)))


def _signed_remainder_undefined(a: Data, b: Data) -> Data:
    return np.asarray((a < 0) | (b <= 0))


def _divisor_not_zero(site: Site) -> bool:
    divisor = constant_data(site, 1)
    return divisor is not None and bool((divisor != 0).all())


def _divisor_harmless(site: Site) -> bool:
    divisor = constant_data(site, 1)
    return divisor is not None and bool(((divisor != 0) & (~divisor != 0)).all())


def pair(kernel: Callable[[Data, Data], tuple[Data, Data]], see: str) -> Factory:
    """Return the function of an instruction whose result is a structure of two."""

    def factory(site: Site) -> Function:
        if not isinstance(site.type, StructType):
            raise TypeError(f"{site.name} makes a structure of two, not {site.type}")
        views = casts(site, see)
        first, second = (dtype_of(member.type) for member in site.type.members)

        def run(*operands: Value) -> Value:
            low, high = kernel(*arrays(operands, views))
            cause = combine(*[operand.causes[0] for operand in operands])
            return Value((low.view(first), high.view(second)), (cause, cause))

        return run

    return factory


def _add_carry(a: Data, b: Data) -> tuple[Data, Data]:
    total = a + b
    return total, (total < a).astype(a.dtype)


def _subtract_borrow(a: Data, b: Data) -> tuple[Data, Data]:
    return a - b, (a < b).astype(a.dtype)


def _multiply_unsigned(a: Data, b: Data) -> tuple[Data, Data]:
    if a.dtype.itemsize == 8:
        return a * b, _high_of_64(a, b)
    product = a.astype(np.uint64) * b
    return product.astype(a.dtype), (product >> np.uint64(8 * a.dtype.itemsize)).astype(a.dtype)


def _multiply_signed(a: Data, b: Data) -> tuple[Data, Data]:
    if a.dtype.itemsize == 8:
        # A negative number's bits stand for 2^64 more, which adds the other operand to the high half.
        high = _high_of_64(a.view(np.uint64), b.view(np.uint64)).view(np.int64)
        return a * b, high - ((a >> 63) & b) - ((b >> 63) & a)
    product = a.astype(np.int64) * b
    return product.astype(a.dtype), (product >> (8 * a.dtype.itemsize)).astype(a.dtype)


def _high_of_64(a: Data, b: Data) -> Data:
    """Return the upper 64 bits of the product of two uint64, by halves."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a_high, a_low, b_high, b_low = a >> half, a & mask, b >> half, b & mask
    middle = a_high * b_low + (a_low * b_low >> half)
    other = a_low * b_high + (middle & mask)
    return np.asarray(a_high * b_high + (middle >> half) + (other >> half))


INTEGERS: dict[str, Factory] = {
    "OpSNegate": elementwise(np.negative, "signed"),
    "OpIAdd": elementwise(np.add, "result"),
    "OpISub": elementwise(np.subtract, "result"),
    "OpIMul": elementwise(np.multiply, "result"),
    "OpUDiv": partial(
        divide_unsigned, _zero, "division", "an integer is divided by zero", "unsigned", _divisor_not_zero
    ),
    "OpSDiv": partial(
        divide_signed,
        _signed_division_undefined,
        "division",
        "an integer is divided by zero, or the most negative one by -1",
        "signed",
        _divisor_harmless,
    ),
    "OpUMod": partial(
        modulo_unsigned, _zero, "division", "an integer's remainder by zero", "unsigned", _divisor_not_zero
    ),
    # Vulkan 1.4, "Precision of Individual Operations": undefined if either operand is negative.
    "OpSRem": partial(
        np.fmod,
        _signed_remainder_undefined,
        "division",
        "a signed remainder by zero, or of or by a negative integer",
        "signed",
    ),
    "OpSMod": partial(
        np.remainder,
        _signed_remainder_undefined,
        "division",
        "a signed modulo (%) by zero, or of or by a negative integer",
        "signed",
    ),
    "OpIAddCarry": pair(_add_carry, "unsigned"),
    "OpISubBorrow": pair(_subtract_borrow, "unsigned"),
    "OpUMulExtended": pair(_multiply_unsigned, "unsigned"),
    "OpSMulExtended": pair(_multiply_signed, "signed"),
}
