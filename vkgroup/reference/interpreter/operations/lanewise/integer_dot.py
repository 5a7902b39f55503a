"""Integer dot products: SPIR-V 3.52.13, OpSDot to OpSUDotAccSat (SPV_KHR_integer_dot_product)."""

from __future__ import annotations

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise.elementwise import (
    DType,
    Factory,
    Function,
    dims_of,
    dtype_of,
    mark,
)
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Data, Value, combine, reduce_cause, single


def _components(data: Data, packed: bool, see: str) -> Data:
    """Return the components as (count, n), as numbers of their width with the sign that `see` says."""
    if packed:
        octets = np.ascontiguousarray(data).view(np.uint8).reshape(data.shape[-1], 4)
        data = octets.T
    return data.view(f"<{_letter(see)}{data.dtype.itemsize}")


def _extended(numbers: Data, result: DType) -> Data:
    """Return numbers extended to the result's width, each by its own sign."""
    return numbers.astype(f"<{numbers.dtype.kind}{result.itemsize}").view(result)


def _letter(see: str) -> str:
    return "i" if see == "signed" else "u"


def dot(first: str, second: str, saturating: bool) -> Factory:
    """Return a dot product of ``"signed"`` or ``"unsigned"`` vectors, modulo two to the result's bits.

    A saturating one adds the third operand at last, and ends at the least or greatest number of its type.
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
    """Return where the dot product of numbers does not fit, by its value in float64.

    That is exact enough for components of up to 32 bits. They are numbers of their own width here: an
    unsigned one that is extended to a signed result of the same width is another number.
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


INTEGER_DOT: dict[str, Factory] = {
    "OpSDot": dot("signed", "signed", False),
    "OpUDot": dot("unsigned", "unsigned", False),
    "OpSUDot": dot("signed", "unsigned", False),
    "OpSDotAccSat": dot("signed", "signed", True),
    "OpUDotAccSat": dot("unsigned", "unsigned", True),
    "OpSUDotAccSat": dot("signed", "unsigned", True),
}
