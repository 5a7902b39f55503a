"""Arithmetic of floats and integers: SPIR-V 3.52.13, OpSNegate to OpSMulExtended, OpSDot to OpSUDotAccSat.

Integer results are the low bits of the exact results. Signedness depends on the name of the instruction, not
on the types of its operands.

Each operation on floats is rounded to nearest even in the operands' own width. NumPy computes float16 in
float32 and rounds again, which for one +, -, *, / or square root gives the same (Figueroa, "When is double
rounding innocuous?", 1995: 24 bits are at least 2 * 11 + 2).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.base.errors import Unsupported
from vkgroup.base.exact import fma
from vkgroup.reference import dtypes
from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    DType,
    Factory,
    Function,
    arrays,
    casts,
    constant_data,
    dims_of,
    dtype_of,
    elementwise,
    mark,
    partial,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    Data,
    Value,
    combine,
    overall_cause,
    reduce_cause,
    single,
)
from vkgroup.spirv import ScalarType, StructType, Type, VectorType

_SUPPORTED = (ScalarType("float", 16), ScalarType("float", 32), ScalarType(dtypes.BFLOAT16, 16))


def _component(kind: Type | None, site: Site) -> ScalarType:
    """Return the number format of a scalar or vector."""
    scalar = kind.component if isinstance(kind, VectorType) else kind
    if not isinstance(scalar, ScalarType) or scalar not in _SUPPORTED:
        raise Unsupported(f"{site.name} on other numbers than float16, float32 and bfloat16.", [site.name])
    return scalar


def _numbers(data: Data, scalar: ScalarType) -> Data:
    """Return float64 of the held numbers."""
    return (dtypes.widened(data) if scalar.kind == dtypes.BFLOAT16 else data).astype(np.float64)


def _dot_and_add(site: Site) -> Function:
    """Return the function of Vector 1, Vector 2 and Accumulator, which has the result's type."""
    factors = _component(site.operand_types[0], site)
    sums = _component(site.type, site)

    def run(x: Value, y: Value, accumulator: Value) -> Value:
        products = _numbers(x.data, factors) * _numbers(y.data, factors)
        total = products.sum(axis=0) + _numbers(accumulator.data, sums)
        cause = combine(overall_cause(x), overall_cause(y), accumulator.cause)
        if sums.kind == dtypes.BFLOAT16:
            return single(dtypes.rounded(total), cause)
        return single(total.astype(sums.dtype), cause)

    return run


MIXED_DOTS: dict[str, Factory] = dict.fromkeys(
    ("OpFDot2MixAcc32VALVE", "OpFDot2MixAcc16VALVE", "OpFDot4MixAcc32VALVE"), _dot_and_add
)


def divide_unsigned(a: Data, b: Data) -> Data:
    """Return the quotient, rounded towards zero; 0 where `b` is 0."""
    return np.asarray(np.floor_divide(a, b))


def modulo_unsigned(a: Data, b: Data) -> Data:
    """Return the remainder; an arbitrary number where `b` is 0."""
    if b.shape[-1] == 1:
        # NumPy divides by one number in vector instructions, and takes remainders one by one.
        return np.asarray(a - np.floor_divide(a, b) * b)
    return np.asarray(np.remainder(a, b))


def divide_signed(a: Data, b: Data) -> Data:
    """Return the signed quotient, rounded towards zero."""
    unsigned = np.dtype(f"<u{a.dtype.itemsize}")
    # The absolute value of the most negative number is right when its bits are read as unsigned.
    quotient = np.floor_divide(np.abs(a).view(unsigned), np.abs(b).view(unsigned)).view(a.dtype)
    negative = (a ^ b) >> (8 * a.dtype.itemsize - 1)
    return np.asarray((quotient ^ negative) - negative)


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
    """Return the function of an instruction whose result is a structure of two members."""

    def factory(site: Site) -> Function:
        if not isinstance(site.type, StructType):
            raise TypeError(f"{site.name} returns a structure of two members, not {site.type}")
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


def _zero_divisor(_: Data, divisor: Data) -> Data:
    return np.equal(divisor, 0)


def _remainder(kernel: np.ufunc, name: str) -> Factory:
    """Return the function of a remainder, rounded once; a zero divisor is undefined in SPIR-V."""
    return partial(kernel, _zero_divisor, "division", f"{name} divides by zero")


def _components(data: Data, packed: bool, see: str) -> Data:
    """Return the components as (count, n), read as ``"signed"`` or ``"unsigned"`` by `see`."""
    if packed:
        octets = np.ascontiguousarray(data).view(np.uint8).reshape(data.shape[-1], 4)
        data = octets.T
    return data.view(f"<{_letter(see)}{data.dtype.itemsize}")


def _extended(numbers: Data, result: DType) -> Data:
    """Return numbers extended to the result's width, by zeros or sign bits."""
    return numbers.astype(f"<{numbers.dtype.kind}{result.itemsize}").view(result)


def _letter(see: str) -> str:
    return "i" if see == "signed" else "u"


def dot(first: str, second: str, saturating: bool) -> Factory:
    """Return a dot product of ``"signed"`` or ``"unsigned"`` vectors, modulo 2^bits of the result.

    The saturating form adds the third operand last and clamps the sum to the range of its type.
    """
    signed = "signed" if "signed" in (first, second) else "unsigned"

    def factory(site: Site) -> Function:
        packed = dims_of(site.operand_types[0]) == ()
        work, result = dtype_of(site.type, signed), dtype_of(site.type)
        number = site.cause("math_domain", "an integer dot product overflows before the accumulation")

        def run(a: Value, b: Value, *rest: Value) -> Value:
            x, y = _components(a.data, packed, first), _components(b.data, packed, second)
            cause = combine(*(reduce_cause(v.cause, 0 if packed else 1) for v in (a, b)))
            cause = combine(cause, *(v.cause for v in rest))
            total = np.add.reduce(_extended(x, work) * _extended(y, work), axis=0, dtype=work)
            if saturating:
                cause = mark(cause, _overflows(x, y, total), number)
                total = _saturating_add(total, rest[0].data.view(work))
            return single(total.view(result), cause)

        return run

    return factory


def _overflows(x: Data, y: Data, total: Data) -> Data:
    """Return where a dot product exceeds the type of its result, computed in float64.

    That is exact enough for components of up to 32 bits. Components keep their own width here, since
    extending an unsigned number to a signed result of the same width changes its value.
    """
    limits = np.iinfo(total.dtype)
    value = np.add.reduce(x.astype(np.float64) * y.astype(np.float64), axis=0)
    return np.asarray((value < float(limits.min)) | (value > float(limits.max)))


def _saturating_add(a: Data, b: Data) -> Data:
    limits = np.iinfo(a.dtype)
    total = a + b
    if a.dtype.kind == "u":
        return np.where(total < a, a.dtype.type(limits.max), total)
    over = ((a ^ total) & (b ^ total)) < 0
    return np.where(over, np.where(a < 0, a.dtype.type(limits.min), a.dtype.type(limits.max)), total)


ARITHMETIC: dict[str, Factory] = {
    "OpFNegate": elementwise(np.negative),
    "OpFAdd": elementwise(np.add),
    "OpFSub": elementwise(np.subtract),
    "OpFMul": elementwise(np.multiply),
    "OpFDiv": elementwise(np.divide),
    "OpFRem": _remainder(np.fmod, "OpFRem"),
    "OpFMod": _remainder(np.mod, "mod()"),
    "OpVectorTimesScalar": elementwise(np.multiply),
    "OpMatrixTimesScalar": elementwise(np.multiply),
    "OpFmaKHR": elementwise(fma),
    "OpSNegate": elementwise(np.negative, "signed"),
    "OpIAdd": elementwise(np.add, "result"),
    "OpISub": elementwise(np.subtract, "result"),
    "OpIMul": elementwise(np.multiply, "result"),
    "OpUDiv": partial(
        divide_unsigned,
        _zero_divisor,
        "division",
        "an integer is divided by zero",
        "unsigned",
        _divisor_not_zero,
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
        modulo_unsigned,
        _zero_divisor,
        "division",
        "an integer's remainder by zero",
        "unsigned",
        _divisor_not_zero,
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
    "OpSDot": dot("signed", "signed", False),
    "OpUDot": dot("unsigned", "unsigned", False),
    "OpSUDot": dot("signed", "unsigned", False),
    "OpSDotAccSat": dot("signed", "signed", True),
    "OpUDotAccSat": dot("unsigned", "unsigned", True),
    "OpSUDotAccSat": dot("signed", "unsigned", True),
}
