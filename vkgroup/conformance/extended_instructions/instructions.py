"""Instructions of GLSL.std.450 that the kernels use: operands, and the results that a sentence requires.

The required result is that of the instruction's own sentence, within the error that Vulkan's table "Precision
of GLSL.std.450 Instructions" allows. No sentence requires

- results for NaN, infinities and the sign of a zero: "Such values can only be reliably observed when
  SPV_KHR_float_controls2 is used because the SignedZeroInfNaNPreserve execution mode does not apply to these
  instructions and by default these special values may be ignored." (GLSL.std.450, revision 16, section 1);
- results for numbers that may be flushed to zero, and for operands outside of an instruction's domain.

`tests/kernels` compares the table with the modules of all kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import Array, Flags
from vkgroup.conformance.comparison import Expected
from vkgroup.reference.interpreter.operations.lanewise.glsl450 import find_msb
from vkgroup.reference.interpreter.operations.precision import legal_range
from vkgroup.spirv import ScalarType

COMPONENTS = 1024
"""Number of components of each operand and, if the instruction keeps their number, of the result."""

Operands = tuple[Array, ...]
"""The components of each operand: (COMPONENTS,) each, or (COMPONENTS / 2, 2) for a pair that is packed."""


@dataclass(frozen=True)
class ExtendedInstruction:
    """An instruction of GLSL.std.450."""

    name: str  # as in the grammar of the set
    code: str  # GLSL of the instruction on the operands x, y, z
    types: tuple[str, ...]  # types of its result in the kernels
    data: Callable[[np.random.Generator, np.dtype[Any]], Operands]
    required: Callable[..., Expected]  # operands → the values that a sentence requires
    open: str  # operands for which no sentence requires the result
    operand: str = ""  # the type of its operands, if it is not that of the result
    #: Whether the operands have special values, whose results are shown in the verdict.
    special: bool = False


# --- operands ------------------------------------------------------------------------------------------

SPECIAL = np.array([np.nan, np.inf, -np.inf], np.float32)


def _floats(
    low: float, high: float, *exact: float
) -> Callable[[np.random.Generator, np.dtype[Any]], Operands]:
    """Return a function that makes special values, some exact ones, and random ones between two limits."""

    def data(random: np.random.Generator, dtype: np.dtype[Any]) -> Operands:
        values = random.uniform(low, high, COMPONENTS)
        values[: len(SPECIAL)] = SPECIAL
        values[len(SPECIAL) : len(SPECIAL) + len(exact)] = exact
        return (values.astype(dtype),)

    return data


def _positive_floats(random: np.random.Generator, dtype: np.dtype[Any]) -> Operands:
    """Return special values, powers of two, and random numbers of many exponents."""
    values = np.exp2(random.uniform(-100, 100, COMPONENTS))
    values[: len(SPECIAL)] = SPECIAL
    values[3:203] = np.exp2(np.arange(-100, 100))
    values[203:206] = [0, -1, 1]
    return (values.astype(dtype),)


def _float_pairs(random: np.random.Generator, dtype: np.dtype[Any]) -> Operands:
    """Return all pairs of the special values and some numbers, then pairs of random numbers."""
    edges = np.array([*SPECIAL, 0, 1, -1, np.finfo(np.float32).max, -np.finfo(np.float32).max])
    return _pairs(edges, random.uniform(-1000, 1000, (2, COMPONENTS)), dtype)


def _pairs(edges: Array, values: Array, dtype: np.dtype[Any]) -> Operands:
    """Return `values` with all pairs of `edges` in the first elements, and equal numbers in the next ones."""
    x, y = (grid.ravel() for grid in np.meshgrid(edges, edges))
    values[0, : x.size], values[1, : x.size] = x, y
    values[1, x.size : 2 * x.size] = values[0, x.size : 2 * x.size]
    return values[0].astype(dtype), values[1].astype(dtype)


def _edges(dtype: np.dtype[Any]) -> Array:
    limits = np.iinfo(dtype)
    middle = 1 << (limits.bits // 2)
    return np.array(
        [limits.min, limits.min + 1, 0, 1, 2, middle - 1, middle, limits.max - 1, limits.max], dtype
    )


def _integers(random: np.random.Generator, dtype: np.dtype[Any], count: int) -> Array:
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, (count, COMPONENTS), dtype, endpoint=True)


def _integer(random: np.random.Generator, dtype: np.dtype[Any]) -> Operands:
    """Return the edges of the type, powers of two and their neighbours, and random numbers of each width."""
    bits = np.iinfo(dtype).bits
    values = _integers(random, dtype, 1)[0] >> random.integers(0, bits, COMPONENTS).astype(dtype)
    powers = (np.uint64(1) << np.arange(bits, dtype=np.uint64)).astype(dtype)
    first = np.concatenate([_edges(dtype), powers, powers - dtype.type(1), ~powers])
    values[: first.size] = first
    return (values,)


def _integer_pairs(random: np.random.Generator, dtype: np.dtype[Any]) -> Operands:
    return _pairs(_edges(dtype), _integers(random, dtype, 2), dtype)


def _clamped(random: np.random.Generator, dtype: np.dtype[Any]) -> Operands:
    """Return numbers with limits in both orders; every third number is one of its limits."""
    x, low, high = _integers(random, dtype, 3)
    ordered = np.arange(COMPONENTS) % 8 > 0
    low, high = np.where(ordered, np.minimum(low, high), low), np.where(ordered, np.maximum(low, high), high)
    x[::3] = np.where(np.arange(COMPONENTS) % 2, low, high)[::3]
    return x, low, high


def _double_words(random: np.random.Generator, dtype: np.dtype[Any]) -> Operands:
    """Return the words of doubles: special values, and random bits."""
    words = random.integers(0, 1 << 32, (COMPONENTS // 2, 2), np.uint32)
    words[:3] = SPECIAL.astype(np.float64).view(np.uint32).reshape(-1, 2)
    return (words,)


def _doubles(random: np.random.Generator, dtype: np.dtype[Any]) -> Operands:
    return (_double_words(random, dtype)[0].view(np.float64).ravel(),)


def _half_pairs(random: np.random.Generator, dtype: np.dtype[Any]) -> Operands:
    """Return numbers within the range of float16: special values, exact ones, and ones that are rounded."""
    values = np.exp2(random.uniform(-14, 15.9, COMPONENTS)) * random.choice([-1, 1], COMPONENTS)
    values[::2] = values[::2].astype(np.float16)
    values[: len(SPECIAL)] = SPECIAL
    values[3:8] = [0, 1, -1, 65504, -65504]
    return (values.astype(np.float32).reshape(-1, 2),)


def _half_words(random: np.random.Generator, dtype: np.dtype[Any]) -> Operands:
    halves = random.integers(0, 1 << 16, COMPONENTS).astype(np.uint16)
    halves[:8] = np.array([*SPECIAL, 0, 1, -1, 65504, -65504], np.float16).view(np.uint16)
    return (halves.view(np.uint32),)


# --- required values -----------------------------------------------------------------------------------


def _within(name: str, function: Callable[..., Array]) -> Callable[..., Expected]:
    """Return the range of a float32 instruction that Vulkan's precision allows, where nothing is special."""

    def required(*operands: Array) -> Expected:
        wide = [operand.astype(np.float64) for operand in operands]
        with np.errstate(all="ignore"):
            legal = legal_range(f"GLSL.std.450 {name}", ScalarType("float", 32), wide, function(*wide))
        defined = np.isfinite(legal.low) & np.isfinite(legal.high)
        for operand in operands:
            defined &= np.isfinite(operand)
        low = np.where(defined, legal.low, 0)
        high = low if (legal.low == legal.high)[defined].all() else np.where(defined, legal.high, 0)
        return Expected(low, high, defined, bits=False)

    return required


def _exactly(
    function: Callable[..., Array], open_: Callable[..., Flags] | None = None
) -> Callable[..., Expected]:
    """Return one value for each element, where `open_` of the operands is false."""

    def required(*operands: Array) -> Expected:
        with np.errstate(all="ignore"):
            values = function(*operands)
        undefined = np.zeros(values.shape, np.bool_) if open_ is None else open_(*operands)
        return Expected(values, values, ~undefined)

    return required


def _is_open_double(number: Array) -> Flags:
    """Return where a double is special, or may be flushed to zero; the sign of a zero may be lost too."""
    size = np.abs(number)
    normal = np.isfinite(number) & (size >= np.finfo(number.dtype).smallest_normal)
    return np.asarray(~normal & ((number != 0) | np.signbit(number)))


def _joined(words: Array) -> Array:
    return words.view(np.float64).ravel()


def _packed_halves(pairs: Array) -> Expected:
    """Return the range of each half: the number, or its neighbours if it is rounded."""
    size, wide = np.abs(pairs), pairs.astype(np.float64)
    legal = legal_range("OpFConvert", ScalarType("float", 16), [wide], wide)
    limits = np.finfo(np.float16)
    defined = np.isfinite(pairs) & (size <= limits.max) & ((size >= limits.smallest_normal) | (size == 0))
    # An operand with an infinity or a NaN leaves the whole result open.
    defined &= np.isfinite(pairs).all(axis=1, keepdims=True)
    return Expected(np.where(defined, legal.low, 0), np.where(defined, legal.high, 0), defined, bits=False)


def _unpacked_halves(words: Array) -> Expected:
    halves = words.view(np.float16)
    defined = np.isfinite(halves) & ((np.abs(halves) >= np.finfo(np.float16).smallest_normal) | (halves == 0))
    numbers = np.where(defined, halves, 0).astype(np.float64).reshape(-1, 2)
    return Expected(numbers, numbers, defined.reshape(-1, 2), bits=False)


# --- the table -----------------------------------------------------------------------------------------

_WIDE = ("int64_t", "i64vec4")
_SIGNED, _UNSIGNED = ("int", "ivec4", *_WIDE), ("uint", "uvec2", "uvec4", "uint64_t", "u64vec4")
_NOT_FINITE = "a NaN or an infinity"
_HALVES = "a NaN, an infinity or a number that is not normal in float16"
_DOUBLES = "a NaN, an infinity, a denormal number or -0"

_ROWS = (
    ExtendedInstruction(
        "Exp", "exp(x)", ("float", "vec4"), _floats(-80, 80, 0, 1, -1),
        _within("Exp", np.exp), _NOT_FINITE, special=True,
    ),
    ExtendedInstruction(
        "InverseSqrt", "inversesqrt(x)", ("float",), _positive_floats,
        _within("InverseSqrt", lambda x: np.asarray(1 / np.sqrt(x))),
        f"{_NOT_FINITE}, a zero or a negative number", special=True,
    ),
    ExtendedInstruction(
        "Floor", "floor(x)", ("float",), _floats(-1000, 1000, 0, 1, -1, 0.5, -0.5, 1e30, -1e30, 8388607.5),
        _within("Floor", np.floor), _NOT_FINITE, special=True,
    ),
    ExtendedInstruction(
        "FMax", "max(x, y)", ("float",), _float_pairs, _within("FMax", np.maximum), _NOT_FINITE, special=True
    ),
    ExtendedInstruction("SMin", "min(x, y)", (*_SIGNED, "ivec2"), _integer_pairs, _exactly(np.minimum), ""),
    ExtendedInstruction("SMax", "max(x, y)", _SIGNED, _integer_pairs, _exactly(np.maximum), ""),
    ExtendedInstruction("UMin", "min(x, y)", _UNSIGNED, _integer_pairs, _exactly(np.minimum), ""),
    ExtendedInstruction("UMax", "max(x, y)", _UNSIGNED, _integer_pairs, _exactly(np.maximum), ""),
    ExtendedInstruction(
        "SClamp", "clamp(x, y, z)", ("int",), _clamped,
        _exactly(lambda x, y, z: np.minimum(np.maximum(x, y), z), lambda x, y, z: y > z),
        "a lower limit above the upper one",
    ),
    ExtendedInstruction(
        "SAbs", "abs(x)", ("int",), _integer,
        _exactly(np.abs, lambda x: x == np.iinfo(x.dtype).min), "the least number; its negation overflows",
    ),
    ExtendedInstruction(
        "FindUMsb", "findMSB(x)", ("int",), _integer,
        _exactly(lambda x: find_msb(x).view(np.int32)), "", "uint",
    ),
    ExtendedInstruction(
        "PackDouble2x32", "packDouble2x32(x)", ("double",), _double_words,
        _exactly(_joined, lambda words: _is_open_double(_joined(words))), _DOUBLES, "uvec2",
    ),
    ExtendedInstruction(
        "UnpackDouble2x32", "unpackDouble2x32(x)", ("uvec2",), _doubles,
        _exactly(
            lambda x: x.view(np.uint32).reshape(-1, 2),
            lambda x: np.repeat(_is_open_double(x), 2).reshape(-1, 2),
        ),
        _DOUBLES, "double",
    ),
    ExtendedInstruction(
        "PackHalf2x16", "packHalf2x16(x)", ("uint",), _half_pairs, _packed_halves,
        f"{_HALVES}, before or after the conversion", "vec2",
    ),
    ExtendedInstruction(
        "UnpackHalf2x16", "unpackHalf2x16(x)", ("vec2",), _half_words, _unpacked_halves, _HALVES, "uint"
    ),
)  # fmt: skip

INSTRUCTIONS: dict[str, ExtendedInstruction] = {row.name: row for row in _ROWS}
"""All instructions by name."""
