"""Constants of a module as small expressions, which specialization can change.

Sizes of workgroups and lengths of arrays may be specialization constants or integer arithmetic
on them (`OpSpecConstantOp`). They are stored as expressions and evaluated on request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vkgroup.base.errors import InvalidModule
from vkgroup.spirv.types import ScalarType

Value = bool | int | float

#: Maximum depth of expressions; SPIR-V sets no limit, compilers stay far below.
_MAXIMUM_DEPTH = 100


@dataclass(frozen=True, slots=True)
class SpecializationConstant:
    """A constant whose value may be set when a pipeline is created."""

    id: int  # the specialization id (``layout(constant_id = …)``), not SPIR-V's result id
    name: str  # as in the source; empty if the module has no debug names
    type: ScalarType  # scalar type
    default: Value  # its value unless specialized; the same for all constants with this id
    # the default in the module, if `default` is that of another constant with the same id; else None
    overridden_default: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A scalar or composite constant: one of literal, specialization constant, or operation."""

    type: ScalarType | None  # of a scalar; None for a composite
    value: Value = 0  # a literal's value, or a specialization constant's default
    specialization: SpecializationConstant | None = None  # the specialization constant; else None
    operation: str | None = None  # name of the operation; else empty
    operands: tuple[Constant, ...] = ()  # of the operation, or the parts of a composite
    depth: int = 0  # of the expression
    is_specializable: bool = False  # whether specialization can change the value

    def evaluate(self, specialization: Mapping[int, Value] | None = None) -> Value:
        """Return the value of a scalar under values by specialization id.

        Raises InvalidModule: the constant is a composite, or an operation that has no integer value.
        """
        return _evaluate(self, specialization or {}, {})


def _evaluate(constant: Constant, specialization: Mapping[int, Value], done: dict[int, Value]) -> Value:
    """Evaluate a constant; `done` has the results so far, since expressions share operands."""
    if constant.specialization is not None:
        return wrap(
            specialization.get(constant.specialization.id, constant.value), constant.specialization.type
        )
    if constant.type is None:
        raise InvalidModule("a composite constant is used as a scalar")
    if constant.operation is None:
        return constant.value
    if id(constant) in done:
        return done[id(constant)]
    compute = _OPERATIONS.get(constant.operation)
    if compute is None:
        raise InvalidModule(f"{constant.operation} in OpSpecConstantOp cannot be evaluated for a size")
    values = [_evaluate(operand, specialization, done) for operand in constant.operands]
    try:
        result = wrap(compute(values, constant.operands), constant.type)
    except (IndexError, ZeroDivisionError, TypeError, ValueError, OverflowError) as error:
        raise InvalidModule(f"{constant.operation} of {values} in OpSpecConstantOp: {error}") from None
    done[id(constant)] = result
    return result


def combine(type_: ScalarType | None, operation: str | None, operands: tuple[Constant, ...]) -> Constant:
    """Return an operation on constants, or (without `operation`) a composite of them.

    Raises InvalidModule for deep expressions, since their evaluation recurses.
    """
    depth = 1 + max((operand.depth for operand in operands), default=0)
    if depth > _MAXIMUM_DEPTH:
        raise InvalidModule(f"constant expressions nested deeper than {_MAXIMUM_DEPTH}")
    return Constant(
        type_,
        operation=operation,
        operands=operands,
        depth=depth,
        is_specializable=any(operand.is_specializable for operand in operands),
    )


def shared_defaults(
    constants: Sequence[SpecializationConstant], local_size: Sequence[Constant]
) -> dict[int, Value]:
    """Return one default by id for the ids whose constants have different defaults.

    `constants`: all specialization constants in the order of the module. `local_size`: the constants of the
    workgroup's size. glslang makes an unnamed constant with the default 1 for `local_size_x_id`, even if the
    source declares a constant with the same id. So constants with a name take precedence, then those that are
    no part of the local size, then the first one. Constants whose types have different bytes for one number,
    such as `float` and `uint`, keep their defaults.
    """
    sizes = [constant.specialization for constant in local_size]
    by_id: dict[int, list[SpecializationConstant]] = {}
    for constant in constants:
        by_id.setdefault(constant.id, []).append(constant)
    return {
        number: min(sharing, key=lambda entry: (not entry.name, any(entry is part for part in sizes))).default
        for number, sharing in by_id.items()
        if len({entry.default for entry in sharing}) > 1 and len({_encoding(entry) for entry in sharing}) == 1
    }


def _encoding(constant: SpecializationConstant) -> tuple[str, int]:
    """Return what determines the bytes of a value: `float` or `integer`, and the number of bits."""
    kind = constant.type
    return "float" if kind.kind == "float" else "integer", 32 if kind.kind == "bool" else kind.bits


def literal_value(words: list[int], type_: ScalarType) -> Value:
    """Return the number of an `OpConstant`: low word first, narrow types in the low bits."""
    if type_.kind == "uint" and type_.bits == 32:  # most constants
        return words[0]
    bits = sum(word << (32 * index) for index, word in enumerate(words))
    if type_.kind == "float" and type_.bits in (16, 32, 64):
        raw = (bits & ((1 << type_.bits) - 1)).to_bytes(type_.bits // 8, "little")
        return float(np.frombuffer(raw, f"<f{type_.bits // 8}")[0])
    return wrap(bits, type_)


def wrap(value: Value, type_: ScalarType) -> Value:
    """Return a number in the range of its type, modulo two to the power of its width."""
    if type_.kind == "bool":
        return bool(value)
    if type_.kind not in ("int", "uint"):
        return value
    low = int(value) & ((1 << type_.bits) - 1)
    return low - (1 << type_.bits) if type_.kind == "int" and low >> (type_.bits - 1) else low


def _bits(constant: Constant) -> int:
    return constant.type.bits if constant.type else 32


def _signed(value: Value, bits: int) -> int:
    return int(wrap(value, ScalarType("int", bits)))


def _unsigned(value: Value, bits: int) -> int:
    return int(wrap(value, ScalarType("uint", bits)))


def _integers(
    compute: Callable[[int, int], int | bool], as_type: Callable[[Value, int], int] = _unsigned
) -> Callable[[list[Value], tuple[Constant, ...]], Value]:
    """Return an operation on two integers, both read as signed or as unsigned."""

    def apply(values: list[Value], operands: tuple[Constant, ...]) -> Value:
        return compute(as_type(values[0], _bits(operands[0])), as_type(values[1], _bits(operands[1])))

    return apply


def _truncated_quotient(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _shift(values: list[Value], operands: tuple[Constant, ...], signed: bool) -> int:
    base = (_signed if signed else _unsigned)(values[0], _bits(operands[0]))
    return base >> min(_unsigned(values[1], 32), 64)


#: Integer and boolean operations that `OpSpecConstantOp` may name in a shader (SPIR-V §3.49.7).
_OPERATIONS: dict[str, Callable[[list[Value], tuple[Constant, ...]], Value]] = {
    "OpIAdd": _integers(lambda a, b: a + b),
    "OpISub": _integers(lambda a, b: a - b),
    "OpIMul": _integers(lambda a, b: a * b),
    "OpUDiv": _integers(lambda a, b: a // b),
    "OpSDiv": _integers(_truncated_quotient, _signed),
    "OpUMod": _integers(lambda a, b: a % b),
    "OpSMod": _integers(lambda a, b: a % b, _signed),
    "OpSRem": _integers(lambda a, b: a - b * _truncated_quotient(a, b), _signed),
    "OpShiftLeftLogical": _integers(lambda a, b: a << min(b, 64)),
    "OpShiftRightLogical": lambda values, operands: _shift(values, operands, signed=False),
    "OpShiftRightArithmetic": lambda values, operands: _shift(values, operands, signed=True),
    "OpBitwiseAnd": _integers(lambda a, b: a & b),
    "OpBitwiseOr": _integers(lambda a, b: a | b),
    "OpBitwiseXor": _integers(lambda a, b: a ^ b),
    "OpNot": lambda values, _: ~int(values[0]),
    "OpSNegate": lambda values, _: -int(values[0]),
    "OpUConvert": lambda values, operands: _unsigned(values[0], _bits(operands[0])),
    "OpSConvert": lambda values, operands: _signed(values[0], _bits(operands[0])),
    "OpSelect": lambda values, _: values[1] if values[0] else values[2],
    "OpLogicalAnd": lambda values, _: bool(values[0]) and bool(values[1]),
    "OpLogicalOr": lambda values, _: bool(values[0]) or bool(values[1]),
    "OpLogicalNot": lambda values, _: not values[0],
    "OpLogicalEqual": lambda values, _: bool(values[0]) == bool(values[1]),
    "OpLogicalNotEqual": lambda values, _: bool(values[0]) != bool(values[1]),
    "OpIEqual": _integers(lambda a, b: a == b),
    "OpINotEqual": _integers(lambda a, b: a != b),
    "OpULessThan": _integers(lambda a, b: a < b),
    "OpULessThanEqual": _integers(lambda a, b: a <= b),
    "OpUGreaterThan": _integers(lambda a, b: a > b),
    "OpUGreaterThanEqual": _integers(lambda a, b: a >= b),
    "OpSLessThan": _integers(lambda a, b: a < b, _signed),
    "OpSLessThanEqual": _integers(lambda a, b: a <= b, _signed),
    "OpSGreaterThan": _integers(lambda a, b: a > b, _signed),
    "OpSGreaterThanEqual": _integers(lambda a, b: a >= b, _signed),
}
