"""Feedback of a chain: the next operand computed from a result, in GLSL and in NumPy.

Each operand of a chain is ``base ^ (result & zero)`` in bits, where `zero` is loaded from memory and is 0.
The compiler does not know this value, so every step depends on the previous one. All steps have the same
operands, so one application of the function gives the expected result of the whole chain. In a second run of
the same shader, all bits of `zero` are set. Then every step depends on the values of all previous steps,
which proves that no step was skipped.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.spec.types import GlslType

Array = NDArray[Any]

_COMPONENTS = "xyzw"
_SIGNED = {8: "int8_t", 16: "int16_t", 32: "int", 64: "int64_t"}


def _component(type_: GlslType, base: str, result: str) -> str:
    """Return the GLSL of the next operand of one component."""
    scalar = type_.scalar
    if scalar.kind == "bool":
        return f"({base} != ({result} && zero != 0u))"
    if scalar.kind in ("int", "uint"):
        mask = f"{_SIGNED[scalar.bits]}(int(zero))"
        mask = mask if scalar.kind == "int" else f"{scalar.name}({mask})"
        return f"({base} ^ ({result} & {mask}))"
    to_bits, from_bits, mask = {
        16: ("float16BitsToUint16", "uint16BitsToFloat16", "uint16_t(zero)"),
        32: ("floatBitsToUint", "uintBitsToFloat", "zero"),
        64: ("unpackDouble2x32", "packDouble2x32", "zero"),
    }[scalar.bits]
    return f"{from_bits}({to_bits}({base}) ^ ({to_bits}({result}) & {mask}))"


def _each(type_: GlslType, part: Any) -> str:
    """Return the GLSL of a value of the type; `part` returns the GLSL of a component by its suffix."""
    if type_.components == 1:
        return str(part(""))
    return f"{type_.name}({', '.join(part('.' + name) for name in _COMPONENTS[: type_.components])})"


def feed(type_: GlslType) -> str:
    """Return the GLSL function ``T feed(T base, T result, uint zero)``."""
    value = _each(type_, lambda at: _component(type_, f"base{at}", f"result{at}"))
    name = type_.name
    return f"{name} feed({name} base, {name} result, uint zero) {{ return {value}; }}"


def feed_word(type_: GlslType) -> str:
    """Return ``T feed_word(T base, uint word, uint zero)`` for results of a type other than the operand's."""
    at = ".x" if type_.components > 1 else ""
    scalar = type_.scalar
    if scalar.kind == "bool":
        changed = f"(next{at} != ((word & zero) != 0u))"
    elif scalar.kind in ("int", "uint"):
        changed = f"(next{at} ^ {scalar.name}(word & zero))"
    elif scalar.bits == 32:
        changed = f"uintBitsToFloat(floatBitsToUint(next{at}) ^ (word & zero))"
    elif scalar.bits == 64:
        changed = f"packDouble2x32(unpackDouble2x32(next{at}) ^ uvec2(word & zero, 0u))"
    else:
        changed = f"uint16BitsToFloat16(float16BitsToUint16(next{at}) ^ uint16_t(word & zero))"
    name = type_.name
    return f"{name} feed_word({name} next, uint word, uint zero) {{ next{at} = {changed}; return next; }}"


def extensions(type_: GlslType) -> tuple[str, ...]:
    """Return the GLSL extensions that feedback of a type needs in addition to the type's own."""
    if type_.scalar.name == "float16_t":
        return ("GL_EXT_shader_explicit_arithmetic_types_int16",)
    return ()


def word(result: GlslType, value: str) -> str:
    """Return the GLSL of a uint from a result that cannot be an operand: a ballot, a count, a Boolean."""
    first = f"{value}.x" if result.components > 1 else value
    return first if result.scalar.name == "uint" else f"uint({first})"


def next_operand(operand: GlslType, result: GlslType, base: str, value: str, zero: str) -> str:
    """Return the GLSL of the next operand of a chain."""
    if operand == result:
        return f"feed({base}, {value}, {zero})"
    return f"feed_word({base}, {word(result, value)}, {zero})"


def stand_in(operand: GlslType, result: GlslType, value: str) -> str:
    """Return the GLSL that replaces a function in the chain that measures the cost of feedback."""
    if operand == result:
        return value
    first = f"{value}.x" if operand.components > 1 else value
    if result.scalar.kind == "bool":
        return f"({first} != {operand.scalar.name}(0))"
    return f"{result.name}(uint({first}))"


def can_step(operand: GlslType, result: GlslType) -> bool:
    """Return whether a chain with all bits of `zero` set has the same values on every device.

    Floats would become NaN and denormal numbers, which a device may change.
    """
    return operand.scalar.kind != "float" and (operand == result or result.scalar.name in ("uint", "bool"))


def step(base: Array, result: Array) -> Array:
    """Return the operand that follows `result` with all bits of `zero` set; see `can_step`.

    Parameters
    ----------
    base, result : (subgroups, size, components) in the types' dtypes.
    """
    if base.dtype == result.dtype and base.shape == result.shape:
        return np.asarray(base ^ result)
    following = base.copy()
    first = result[..., 0]
    following[..., 0] ^= (first != 0) if base.dtype == np.bool_ else first.astype(base.dtype)
    return following
