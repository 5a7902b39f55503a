"""Each vector instruction of the table, compared with its definition in plain Python, lane by lane."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from amd.emulated_waves import execute, waves_of

from vkgroup.amd.errors import MissingPart
from vkgroup.amd.operands import bits_of, dtype_of
from vkgroup.amd.vector_table import VECTOR

Definition = Callable[..., Any]

INTEGERS = [
    0,
    1,
    2,
    7,
    31,
    32,
    0x7F,
    0x80,
    0xFF,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x10000,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -2.5,
    1.5,
    3.0,
    1e-3,
    -7.25,
    100.0,
    255.0,
    65504.0,
    math.inf,
    -math.inf,
    math.nan,
]


def signed(value: int, bits: int = 32) -> int:
    """Return the low bits of an integer with their sign."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value


def rounded(value: Fraction, dtype: Any) -> float:
    """Return the nearest float of a type, ties to even; without denormals a small one becomes zero."""
    if value == 0:
        return 0.0
    info = np.finfo(dtype)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    while Fraction(2) ** exponent > abs(value):
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= abs(value):
        exponent += 1
    unit = Fraction(2) ** (max(exponent, int(info.minexp)) - info.nmant)
    whole, rest = divmod(abs(value), unit)
    whole += rest * 2 > unit or (rest * 2 == unit and whole % 2)
    result = whole * unit
    sign = -1 if value < 0 else 1
    return sign * (math.inf if result > Fraction(float(info.max)) else float(result))


def exact(function: Callable[..., Fraction]) -> Definition:
    """Return a definition on finite floats by exact arithmetic, and on others by Python's floats."""

    def compute(dtype: Any, *sources: float) -> float:
        if all(math.isfinite(source) for source in sources):
            result = function(*map(Fraction, sources))
            if result == 0:  # the sign of a zero is that of the same computation in floats
                return float(function(*sources))  # type: ignore[arg-type]
            return rounded(result, dtype)
        return float(function(*sources))  # type: ignore[arg-type]

    return compute


def least(*sources: float) -> float:
    """Return the smallest number; -0 is smaller than 0."""
    numbers = [source for source in sources if not math.isnan(source)]
    return min(numbers, key=lambda x: (x, math.copysign(1, x))) if numbers else math.nan


def most(*sources: float) -> float:
    """Return the largest number; 0 is larger than -0."""
    numbers = [source for source in sources if not math.isnan(source)]
    return max(numbers, key=lambda x: (x, math.copysign(1, x))) if numbers else math.nan


def middle(*sources: float) -> float:
    """Return the number in the middle; the least if one is NaN."""
    if any(map(math.isnan, sources)):
        return least(*sources)
    return sorted(sources, key=lambda x: (x, math.copysign(1, x)))[1]


def saturated(value: float, low: int, high: int) -> int:
    """Return a float as an integer within limits, NaN as 0."""
    if math.isnan(value):
        return 0
    return high if value >= high else low if value <= low else int(value)


def field(value: int, offset: int, width: int) -> int:
    """Return bits of a number."""
    return value >> (offset & 31) & (1 << (width & 31)) - 1


def bytes_of(value: int, bits: int = 8) -> list[int]:
    """Return the parts of a word, the lowest one first."""
    return [value >> at & (1 << bits) - 1 for at in range(0, 32, bits)]


def permuted(a: int, b: int, c: int) -> int:
    """Return the definition of v_perm_b32."""
    data = [*bytes_of(b), *bytes_of(a)]
    result = 0
    for place, selector in enumerate(bytes_of(c)):
        if selector < 8:
            byte = data[selector]
        elif selector < 12:
            byte = 255 * (data[2 * (selector - 8) + 1] >> 7)
        else:
            byte = 0 if selector == 12 else 255
        result |= byte << 8 * place
    return result


def definitions() -> dict[str, Definition]:
    """Return definitions of integers: sources and results are integers as their types have them."""
    table: dict[str, Definition] = {}
    for size in (16, 32):
        last = size - 1
        for letter in "ui":
            kind = f"{letter}{size}"
            for infix in ("_nc_", "_"):
                table[f"v_add{infix}{kind}"] = lambda a, b: a + b
                table[f"v_sub{infix}{kind}"] = lambda a, b: a - b
                table[f"v_subrev{infix}{kind}"] = lambda a, b: b - a
            table |= {
                f"v_min_{kind}": min,
                f"v_max_{kind}": max,
                f"v_min3_{kind}": min,
                f"v_max3_{kind}": max,
                f"v_med3_{kind}": lambda a, b, c: sorted((a, b, c))[1],
                f"v_mad_{kind}": lambda a, b, c: a * b + c,
                f"v_maxmin_{kind}": lambda a, b, c: min(max(a, b), c),
                f"v_minmax_{kind}": lambda a, b, c: max(min(a, b), c),
            }
        table |= {
            f"v_lshlrev_b{size}": lambda n, a, last=last: a << (n & last),
            f"v_lshrrev_b{size}": lambda n, a, last=last: a >> (n & last),
            f"v_ashrrev_i{size}": lambda n, a, last=last: a >> (n & last),
            f"v_and_b{size}": lambda a, b: a & b,
            f"v_or_b{size}": lambda a, b: a | b,
            f"v_xor_b{size}": lambda a, b: a ^ b,
            f"v_xnor_b{size}": lambda a, b: ~(a ^ b),
            f"v_not_b{size}": lambda a: ~a,
            f"v_mov_b{size}": lambda a: a,
            f"v_cndmask_b{size}": lambda a, b, m: b if m else a,
            f"v_swap_b{size}": lambda a, b: (b, a),
        }
    for size in (16, 32, 64):
        order: dict[str, Definition] = {
            "lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "le": lambda a, b: a <= b,
            "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "ne": lambda a, b: a != b,
            "f": lambda a, b: False, "t": lambda a, b: True,
        }  # fmt: skip
        table |= {f"v_cmp_{name}_{letter}{size}": f for name, f in order.items() for letter in "ui"}
        floats: dict[str, Definition] = {
            **{name: order[name] for name in ("lt", "eq", "le", "gt", "ge", "f", "t")},
            "lg": lambda a, b: a < b or a > b, "o": lambda a, b: a == a and b == b,
            "u": lambda a, b: a != a or b != b, "nge": lambda a, b: not a >= b,
            "nlg": lambda a, b: not (a < b or a > b), "ngt": lambda a, b: not a > b,
            "nle": lambda a, b: not a <= b, "neq": lambda a, b: a != b, "nlt": lambda a, b: not a < b,
            "tru": lambda a, b: True,
        }  # fmt: skip
        table |= {f"v_cmp_{name}_f{size}": f for name, f in floats.items()}
    low24: Definition = lambda a: a & 0xFFFFFF  # noqa: E731
    table |= {
        "v_lshlrev_b64": lambda n, a: a << (n & 63),
        "v_lshrrev_b64": lambda n, a: a >> (n & 63),
        "v_ashrrev_i64": lambda n, a: a >> (n & 63),
        "v_lshl_b32": lambda a, n: a << (n & 31),
        "v_mul_lo_u16": lambda a, b: a * b,
        "v_mul_lo_u32": lambda a, b: a * b,
        "v_mul_hi_u32": lambda a, b: a * b >> 32,
        "v_mul_hi_i32": lambda a, b: a * b >> 32,
        "v_mul_u32_u24": lambda a, b: low24(a) * low24(b),
        "v_mul_i32_i24": lambda a, b: signed(a, 24) * signed(b, 24),
        "v_mul_hi_u32_u24": lambda a, b: low24(a) * low24(b) >> 32,
        "v_mul_hi_i32_i24": lambda a, b: signed(a, 24) * signed(b, 24) >> 32,
        "v_mad_u32_u24": lambda a, b, c: low24(a) * low24(b) + c,
        "v_mad_i32_i24": lambda a, b, c: signed(a, 24) * signed(b, 24) + c,
        "v_mad_u32_u16": lambda a, b, c: a * b + c,
        "v_mad_i32_i16": lambda a, b, c: a * b + c,
        "v_add3_u32": lambda a, b, c: a + b + c,
        "v_lshl_add_u32": lambda a, n, c: (a << (n & 31)) + c,
        "v_add_lshl_u32": lambda a, b, n: (a + b) << (n & 31),
        "v_lshl_or_b32": lambda a, n, c: a << (n & 31) | c,
        "v_and_or_b32": lambda a, b, c: a & b | c,
        "v_or3_b32": lambda a, b, c: a | b | c,
        "v_xor3_b32": lambda a, b, c: a ^ b ^ c,
        "v_xad_u32": lambda a, b, c: (a ^ b) + c,
        "v_bfe_u32": field,
        "v_bfe_i32": lambda a, o, w: signed(field(a, o, w), w & 31) if w & 31 else 0,
        "v_bfi_b32": lambda a, b, c: a & b | ~a & c,
        "v_bfm_b32": lambda n, o: ((1 << (n & 31)) - 1) << (o & 31),
        "v_bfrev_b32": lambda a: int(f"{a:032b}"[::-1], 2),
        "v_bcnt_u32_b32": lambda a, b: a.bit_count() + b,
        "v_ffbh_u32": lambda a: 32 - a.bit_length() if a else -1,
        "v_ffbh_i32": lambda a: -1 if a in (0, -1) else 32 - (a if a > 0 else ~a).bit_length(),
        "v_ffbl_b32": lambda a: (a & -a).bit_length() - 1 if a else -1,
        "v_alignbit_b32": lambda a, b, c: (a << 32 | b) >> (c & 31),
        "v_alignbyte_b32": lambda a, b, c: (a << 32 | b) >> 8 * (c & 3),
        "v_perm_b32": permuted,
        "v_sad_u8": lambda a, b, c: (
            c + sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b), strict=True))
        ),
        "v_sad_u16": lambda a, b, c: (
            c + sum(abs(x - y) for x, y in zip(bytes_of(a, 16), bytes_of(b, 16), strict=True))
        ),
        "v_sad_u32": lambda a, b, c: abs(a - b) + c,
        "v_msad_u8": lambda a, b, c: (
            c + sum(abs(x - y) for x, y in zip(bytes_of(a), bytes_of(b), strict=True) if y)
        ),
        "v_sat_pk_u8_i16": lambda a: sum(
            min(max(signed(part, 16), 0), 255) << 8 * n for n, part in enumerate(bytes_of(a, 16))
        ),
        "v_pack_b32_f16": lambda a, b: a | b << 16,
        "v_cvt_pk_u16_u32": lambda a, b: min(a, 0xFFFF) | min(b, 0xFFFF) << 16,
        "v_cvt_pk_i16_i32": lambda a, b: sum(
            (min(max(x, -0x8000), 0x7FFF) & 0xFFFF) << 16 * n for n, x in enumerate((a, b))
        ),
        "v_cvt_i32_i16": lambda a: a,
        "v_cvt_u32_u16": lambda a: a,
        "v_mad_u64_u32": lambda a, b, c: (a * b + c, a * b + c >= 1 << 64),
        "v_mad_i64_i32": lambda a, b, c: (a * b + c, not -(1 << 63) <= a * b + c < 1 << 63),
    }
    table |= {name.replace("v_mad_", "v_mad_co_"): table[name] for name in ("v_mad_u64_u32", "v_mad_i64_i32")}
    for name in ("v_add_co_u32", "v_add_co_ci_u32", "v_addc_co_u32", "v_addc_u32"):
        other = name.replace("addc", "subb").replace("v_add_", "v_sub_")
        reverse = other.replace("subb", "subbrev").replace("v_sub_", "v_subrev_")
        table[name] = lambda a, b, c=0: (a + b + c, a + b + c >= 1 << 32)
        table[other] = lambda a, b, c=0: (a - b - c, a - b - c < 0)
        table[reverse] = lambda a, b, c=0: (b - a - c, b - a - c < 0)
    for letter, convert in (("u", lambda x, bits: x), ("i", signed)):
        for size in (4, 8, 16):
            table[f"v_dot{32 // size}_{letter}32_{letter}{size}"] = lambda a, b, c, s=size, f=convert: (
                c + sum(f(x, s) * f(y, s) for x, y in zip(bytes_of(a, s), bytes_of(b, s), strict=True))
            )
    for name, size in (("v_dot4_i32_iu8", 8), ("v_dot8_i32_iu4", 4)):
        for signs in ("00", "01", "10", "11"):
            table[f"{name}_{signs}"] = lambda a, b, c, s=size, n=signs: (
                c
                + sum(
                    (signed(x, s) if n[0] == "1" else x) * (signed(y, s) if n[1] == "1" else y)
                    for x, y in zip(bytes_of(a, s), bytes_of(b, s), strict=True)
                )
            )
    table["v_dot4c_i32_i8"] = table["v_dot4_i32_i8"]
    return table


def float_definitions() -> dict[str, Definition]:
    """Return definitions whose first argument is the dtype of the result."""
    table: dict[str, Definition] = {}
    plain = lambda function: lambda dtype, *sources: function(*sources)  # noqa: E731
    for size in (16, 32, 64):
        f = f"f{size}"
        table |= {
            f"v_add_{f}": exact(lambda a, b: a + b),
            f"v_sub_{f}": exact(lambda a, b: a - b),
            f"v_subrev_{f}": exact(lambda a, b: b - a),
            f"v_mul_{f}": exact(lambda a, b: a * b),
            f"v_fma_{f}": exact(lambda a, b, c: a * b + c),
            f"v_fmac_{f}": exact(lambda a, b, c: a * b + c),
            f"v_fmamk_{f}": exact(lambda a, b, c: a * b + c),
            f"v_fmaak_{f}": exact(lambda a, b, c: a * b + c),
            f"v_rcp_{f}": lambda t, a: math.copysign(math.inf, a) if a == 0 else exact(lambda x: 1 / x)(t, a),
            f"v_floor_{f}": plain(np.floor), f"v_ceil_{f}": plain(np.ceil), f"v_trunc_{f}": plain(np.trunc),
            f"v_rndne_{f}": plain(np.rint),
            f"v_min_{f}": plain(least), f"v_max_{f}": plain(most),
            f"v_min3_{f}": plain(least), f"v_max3_{f}": plain(most),
            f"v_med3_{f}": plain(middle),
            f"v_maxmin_{f}": plain(lambda a, b, c: least(most(a, b), c)),
            f"v_minmax_{f}": plain(lambda a, b, c: most(least(a, b), c)),
        }  # fmt: skip
        for name in ("min", "max", "min3", "max3", "med3", "maxmin", "minmax"):
            table[f"v_{name}_num_{f}"] = table[f"v_{name}_{f}"]
        for name in ("mad", "mac", "madmk", "madak"):
            table[f"v_{name}_{f}"] = lambda t, a, b, c: exact(lambda x, y: x + y)(
                t, exact(lambda x, y: x * y)(t, a, b), c
            )
    table["v_rcp_iflag_f32"] = table["v_rcp_f32"]
    for name in ("v_mul_legacy_f32", "v_mul_dx9_zero_f32"):
        table[name] = lambda t, a, b: 0.0 if a == 0 or b == 0 else exact(lambda x, y: x * y)(t, a, b)
    for name in ("v_fma_legacy_f32", "v_fma_dx9_zero_f32"):
        table[name] = lambda t, a, b, c: (
            c if a == 0 or b == 0 else exact(lambda x, y, z: x * y + z)(t, a, b, c)
        )
    for size, widths in ((16, (16,)), (32, (32,)), (64, (32,))):
        for width in widths:
            table[f"v_cvt_u{width}_f{size}"] = lambda t, a, w=width: saturated(a, 0, 2**w - 1)
            table[f"v_cvt_i{width}_f{size}"] = lambda t, a, w=width: saturated(
                a, -(2 ** (w - 1)), 2 ** (w - 1) - 1
            )
            for letter in "ui":
                table[f"v_cvt_f{size}_{letter}{width}"] = lambda t, a: rounded(Fraction(a), t)
    table["v_cvt_flr_i32_f32"] = lambda t, a: saturated(
        a if math.isinf(a) or a != a else math.floor(a), -(2**31), 2**31 - 1
    )
    table["v_cvt_rpi_i32_f32"] = lambda t, a: saturated(
        a if math.isinf(a) or a != a else math.floor(Fraction(a) + Fraction(1, 2)), -(2**31), 2**31 - 1
    )
    for byte in range(4):
        table[f"v_cvt_f32_ubyte{byte}"] = lambda t, a, n=byte: float(bytes_of(a)[n])
    for wide, narrow in ((32, 16), (64, 32)):
        table[f"v_cvt_f{narrow}_f{wide}"] = exact(lambda a: a)
        table[f"v_cvt_f{wide}_f{narrow}"] = exact(lambda a: a)
    for size in (16, 32, 64):
        finite = lambda function, other: lambda t, a: function(a) if math.isfinite(a) else other(a)  # noqa: E731
        table[f"v_frexp_mant_f{size}"] = finite(lambda a: math.frexp(a)[0], lambda a: a)
        table[f"v_frexp_exp_i{max(16, min(size, 32))}_f{size}"] = finite(
            lambda a: math.frexp(a)[1], lambda a: 0
        )
        table[f"v_ldexp_f{size}"] = lambda t, a, n: (
            rounded(Fraction(a) * Fraction(2) ** max(min(n, 3000), -3000), t) or math.copysign(0.0, a)
            if math.isfinite(a) else a
        )  # fmt: skip
    return table


APPROXIMATE: dict[str, Callable[[float], float]] = {
    "rsq": lambda a: 1 / math.sqrt(a) if a > 0 else math.copysign(math.inf, a) if a == 0 else math.nan,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
    "exp": lambda a: math.inf if a > 1000 else 2.0**a,
    "log": lambda a: math.log2(a) if a > 0 else -math.inf if a == 0 else math.nan,
    "sin": lambda a: math.sin(2 * math.pi * (a - math.floor(a))) if math.isfinite(a) else math.nan,
    "cos": lambda a: math.cos(2 * math.pi * (a - math.floor(a))) if math.isfinite(a) else math.nan,
    "fract": lambda a: a - math.floor(a) if math.isfinite(a) else math.nan,
}
"""Functions that are compared to within one unit in the last place: both sides round a double once more."""

OWN_TESTS = {
    "v_div_scale", "v_div_fmas", "v_div_fixup", "v_cube", "v_cvt_pk_u8", "v_cvt_pknorm", "v_cvt_pk_norm",
    "v_cvt_pkrtz", "v_cmp_class", "v_pk_",
}  # fmt: skip
"""Instructions with a test of their own, by the start of their name."""

INTEGER_DEFINITIONS, FLOAT_DEFINITIONS = definitions(), float_definitions()


def sources_of(kinds: tuple[str, ...], seed: int) -> list[Any]:
    """Return values for 64 lanes of each source: known corners first, then random ones."""
    random = np.random.default_rng(seed)
    values = []
    for kind in kinds:
        if kind == "m":
            values.append(random.random(64) < 0.5)
        elif kind[0] == "f":
            corners = np.array(random.choice(FLOATS, 40))
            scale = 4.0 if kind == "f16" else 1e3
            values.append(np.concatenate([corners, random.normal(0, scale, 24)]).astype(dtype_of(kind)))
        else:
            size = bits_of(kind)
            corners = random.choice(np.array(INTEGERS, np.uint64), 32)
            free = random.integers(0, 1 << 63, 32, dtype=np.uint64) >> np.uint64(3)
            values.append((np.concatenate([corners, free])).astype(f"u{size // 8}").view(dtype_of(kind)))
    return values


def executed(name: str, modifiers: str = "", seed: int = 1) -> tuple[list[Any], list[Any]]:
    """Return sources and results of an instruction, for 64 lanes."""
    row = VECTOR[name]
    waves = waves_of(count=1, lanes=64)
    sources = sources_of(row.sources, seed)
    texts, at, scalar = [], 20, 40
    for kind, value in zip(row.sources, sources, strict=True):
        if kind == "m":
            waves.set_mask(scalar, value[None])
            texts.append(f"s[{scalar}:{scalar + 1}]")
            scalar += 2
            continue
        count = max(1, bits_of(kind) // 32)
        raw = value.view(f"u{value.dtype.itemsize}")
        for part in range(count):
            waves.v[at + part][0] = (raw.astype(np.uint64) >> np.uint64(32 * part)).astype(np.uint32)
        texts.append(f"v{at}" if count == 1 else f"v[{at}:{at + 1}]")
        at += 2
    results, registers, target = [], [], 2
    for kind in row.results:
        if kind == "m":
            results.append("s[60:61]")
            registers.append(60)
        else:
            results.append(f"v{target}" if bits_of(kind) <= 32 else f"v[{target}:{target + 1}]")
            registers.append(target)
            target += 2
    if row.accumulates:  # the last source is the register of the result
        texts[-1] = results[0] = texts[-1]
        registers[0] = at - 2
        texts.pop()
    if name.startswith("v_swap"):
        results, registers = texts, [20, 22]
        texts = []
    waves.mode = 0xF0
    execute(waves, f"{name} {', '.join([*results, *texts])}{modifiers}", "gfx1100")
    found = []
    for kind, register in zip(row.results, registers, strict=True):
        if kind == "m":
            found.append(waves.mask(60)[0])
            continue
        raw = waves.v[register][0].astype(np.uint64)
        if bits_of(kind) == 64:
            raw = raw | waves.v[register + 1][0].astype(np.uint64) << np.uint64(32)
        found.append(raw.astype(f"u{bits_of(kind) // 8}").view(dtype_of(kind)))
    return sources, found


def as_python(value: Any) -> Any:
    """Return a number of NumPy as one of Python."""
    return value.item()


@pytest.mark.parametrize("name", [name for name in VECTOR if name in INTEGER_DEFINITIONS])
def test_an_instruction_on_integers_has_its_definition(name: str) -> None:
    row = VECTOR[name]
    sources, found = executed(name)
    for lane in range(64):
        expected = INTEGER_DEFINITIONS[name](*(as_python(source[lane]) for source in sources))
        results = expected if isinstance(expected, tuple) else (expected,)
        for kind, result, values in zip(row.results, results, found, strict=True):
            if kind == "m":
                assert bool(values[lane]) == bool(result)
                continue
            mask = (1 << bits_of(kind)) - 1
            assert int(values[lane]) & mask == int(result) & mask, (name, lane)


CLAMPED = [
    name
    for name in INTEGER_DEFINITIONS
    if re.match(r"v_(add|sub|subrev|addc|subb|subbrev|mul_[iu]32|mad|sad|msad|dot)", name)
    and "64" not in name and name not in ("v_mad_u32", "v_add_lshl_u32")  # which have no clamp
    and name in VECTOR and VECTOR[name].results[0] in ("u16", "i16", "u32", "i32")
]  # fmt: skip


@pytest.mark.parametrize("name", CLAMPED)
def test_a_clamped_integer_stays_within_its_type(name: str) -> None:
    kind = VECTOR[name].results[0]
    sources, found = executed(name, " clamp")
    limits = np.iinfo(dtype_of(kind))
    beyond = 0
    for lane in range(64):
        expected = INTEGER_DEFINITIONS[name](*(as_python(source[lane]) for source in sources))
        value = expected[0] if isinstance(expected, tuple) else expected
        beyond += not limits.min <= value <= limits.max
        assert found[0].view(dtype_of(kind))[lane] == min(max(value, limits.min), limits.max), (name, lane)
        if len(found) > 1:  # the carry does not depend on the clamp
            assert bool(found[1][lane]) == bool(expected[1])
    assert beyond or name.startswith("v_dot")


HALVES = [
    ("", 0, 1),
    ("op_sel_hi:[1,0,1]", 0, 0),
    ("op_sel:[0,1,0]", 1, 1),
    ("op_sel:[0,1,0] op_sel_hi:[1,0,1]", 1, 0),
]


@pytest.mark.parametrize(("selection", "low", "high"), HALVES)
@pytest.mark.parametrize("letter", ["i", "u"])
def test_a_dot_product_takes_the_halves_that_op_sel_says(
    letter: str, selection: str, low: int, high: int
) -> None:
    waves = waves_of(1)
    a, b, c = (np.random.default_rng(n).integers(0, 1 << 32, 32, np.uint32) for n in range(3))
    waves.v[1], waves.v[2], waves.v[3] = a, b, c
    name = f"v_dot2_{letter}32_{letter}16"
    execute(waves, f"{name} v0, v1, v2, v3 {selection}", "gfx1030")
    chosen = b >> np.uint32(16 * low) & np.uint32(0xFFFF) | b >> np.uint32(16 * high) << np.uint32(16)
    for lane in range(32):
        factors = (signed(int(x[lane])) if letter == "i" else int(x[lane]) for x in (a, chosen, c))
        assert int(waves.v[0][0, lane]) == INTEGER_DEFINITIONS[name](*factors) & 0xFFFFFFFF


@pytest.mark.parametrize(
    ("text", "gpu"),
    [
        ("v_dot4_i32_i8 v0, v1, 1, 0 op_sel:[0,1,0]", "gfx1030"),
        ("v_dot2_f32_f16 v0, v1, 1.0, v2 op_sel_hi:[1,0,1]", "gfx1030"),
        ("v_dot4_u32_u8 v0, v1, 1, 0 op_sel_hi:[1,0,1]", "gfx1100"),
    ],
)
def test_other_selections_of_dot_products_are_not_emulated(text: str, gpu: str) -> None:
    with pytest.raises(MissingPart):
        execute(waves_of(1), text, gpu)


def same(a: float, b: float) -> bool:
    """Return whether two floats are the same, with the sign of a zero; any NaN is any other."""
    return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))


@pytest.mark.parametrize("name", [name for name in VECTOR if name in FLOAT_DEFINITIONS])
def test_an_instruction_on_floats_has_its_definition(name: str) -> None:
    row = VECTOR[name]
    sources, found = executed(name)
    dtype = dtype_of(row.results[0])
    for lane in range(64):
        given = [as_python(source[lane]) for source in sources]
        with np.errstate(all="ignore"):
            expected = FLOAT_DEFINITIONS[name](dtype, *given)
        assert same(float(found[0][lane]), float(expected)), (name, lane, given)


@pytest.mark.parametrize("size", [16, 32, 64])
@pytest.mark.parametrize("name", APPROXIMATE)
def test_a_function_is_its_exact_result_rounded(name: str, size: int) -> None:
    full = f"v_{name}_f{size}"
    if full not in VECTOR:
        assert size == 64
        return
    sources, found = executed(full)
    dtype = dtype_of(f"f{size}")
    for given, value in zip(sources[0], found[0], strict=True):
        exact_value = APPROXIMATE[name](float(given))
        with np.errstate(over="ignore"):
            expected = dtype.type(exact_value)
        if not np.isfinite(expected):
            assert same(float(value), float(expected)) or (name == "exp" and size == 16)
            continue
        # Sines near a multiple of a half turn cancel: their error is that of one double near 2 pi.
        assert abs(float(value) - float(expected)) <= max(np.spacing(np.abs(expected)), 2.0**-50), given


def test_every_instruction_has_a_definition() -> None:
    known = {
        *INTEGER_DEFINITIONS,
        *FLOAT_DEFINITIONS,
        *(f"v_{name}_f{size}" for name in APPROXIMATE for size in (16, 32, 64)),
    }
    missing = [name for name in VECTOR if name not in known and not name.startswith(tuple(OWN_TESTS))]
    assert missing == []
