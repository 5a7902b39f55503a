"""Helpers for lane-wise instructions: calls without a module, and plain Python arithmetic for comparison."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from vkgroup.reference.interpreter.operations.lanewise import LANEWISE
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import HARD, Value, single
from vkgroup.spirv import MatrixType, ScalarType, StructMember, StructType, VectorType

BOOL = ScalarType("bool", 1)
F16, F32, F64 = (ScalarType("float", bits) for bits in (16, 32, 64))
I8, I16, I32, I64 = (ScalarType("int", bits) for bits in (8, 16, 32, 64))
U8, U16, U32, U64 = (ScalarType("uint", bits) for bits in (8, 16, 32, 64))
FLOATS, SIGNED, UNSIGNED = (F16, F32, F64), (I8, I16, I32, I64), (U8, U16, U32, U64)


def vector(component, count):
    return VectorType(component, count)


def matrix(component, columns, rows):
    return MatrixType(VectorType(component, rows), columns)


def struct(*types):
    return StructType("S", tuple(StructMember("", kind) for kind in types))


def value(kind, data, cause=None):
    """Make the value of a scalar, vector or matrix from nested lists or an array."""
    array = (
        data.astype(kind_of(kind).dtype)
        if isinstance(data, np.ndarray)
        else np.array(data, kind_of(kind).dtype)
    )
    return single(array, None if cause is None else np.asarray(cause, np.uint16))


def kind_of(kind):
    if isinstance(kind, VectorType):
        return kind.component
    return kind.column.component if isinstance(kind, MatrixType) else kind


def make(name, result, operand_types, literals=(), constants=None):
    """Return the function of an instruction, and its site."""
    types = tuple(operand_types)
    site = Site(name, result, types, constants or (None,) * len(types), tuple(literals), (), 7)
    return LANEWISE[name](site), site


def call(name, result, *operands, literals=(), constants=None):
    """Execute an instruction on (type, Value or data) pairs."""
    values = [v if isinstance(v, Value) else value(kind, v) for kind, v in operands]
    function, _ = make(name, result, [kind for kind, _ in operands], literals, constants)
    copies = [[leaf.copy() for leaf in v.leaves] for v in values]
    with np.errstate(all="ignore"):
        found = function(*values)
    for v, copy in zip(values, copies, strict=True):
        for leaf, before in zip(v.leaves, copy, strict=True):
            assert leaf.tobytes() == before.tobytes(), f"{name} wrote into an operand"
    return found


def undefined(found, leaf=0):
    """Return which components have a hard cause, in the leaf's shape."""
    data, cause = found.leaves[leaf], found.causes[leaf]
    if cause is None:
        return np.zeros(data.shape, bool)
    return np.broadcast_to(cause, data.shape) >= HARD


def wrap(number, scalar):
    """Return the low bits of a Python integer as a number of an integer type."""
    number &= 2**scalar.bits - 1
    return number - 2**scalar.bits if scalar.kind == "int" and number >> (scalar.bits - 1) else number


def seen(number, scalar, kind):
    """Return an integer of a type as an instruction sees it: ``"int"`` or ``"uint"``."""
    return wrap(int(number), ScalarType(kind, scalar.bits))


def integers(scalar):
    """Return both ends of an integer type's range."""
    info = np.iinfo(scalar.dtype)
    return int(info.min), int(info.max)


def rounded(exact, scalar):
    """Round a rational number to nearest even in a floating-point type, by integer arithmetic alone."""
    limits = np.finfo(scalar.dtype)
    if exact == 0:
        return scalar.dtype.type(0)
    exponent = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    exponent -= abs(exact) < Fraction(2) ** exponent
    step = Fraction(2) ** (max(exponent, int(limits.minexp)) - int(limits.nmant))
    nearest = round(exact / step) * step  # Python rounds halves to even
    if abs(nearest) > Fraction(float(limits.max)):
        return scalar.dtype.type(np.inf if exact > 0 else -np.inf)
    result = scalar.dtype.type(float(nearest))
    return -result if exact < 0 and nearest == 0 else result


def same(a, b):
    """Return whether two numbers are the same, NaN and the sign of zero included."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind != "f":
        return bool((a == b).all())
    both_nan = np.isnan(a) & np.isnan(b)
    return bool((both_nan | ((a == b) & (np.signbit(a) == np.signbit(b)))).all())
