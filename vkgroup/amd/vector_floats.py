"""Vector instructions on floats, and conversions between numbers."""

from __future__ import annotations

from functools import partial

import numpy as np

from vkgroup.amd import floats
from vkgroup.amd.arrays import Array
from vkgroup.amd.vector_rows import TABLE, Function, add_row, in_turn


def _ignoring_mode(function: Function) -> Function:
    return lambda mode, *sources: function(*sources)


def _zero_wins(mode: int, a: Array, b: Array) -> Array:
    return np.where((a == 0) | (b == 0), np.float32(0), floats.multiply(mode, a, b))


def _zero_wins_fma(mode: int, a: Array, b: Array, c: Array) -> Array:
    return np.where((a == 0) | (b == 0), c, floats.multiply_add(mode, a, b, c))


def _packed_halves(a: Array, b: Array) -> Array:
    half = np.dtype(np.float16)
    low, high = (floats.bits(floats.directed(x.astype(np.float64), half, floats.ZERO)) for x in (a, b))
    return low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)


def _packed_norm(a: Array, b: Array, least: float = 0.0, scale: float = 65535.0) -> Array:
    parts = []
    for value in (a, b):
        limited = np.clip(np.nan_to_num(value.astype(np.float64)), least, 1.0)
        parts.append(np.rint(limited * scale).astype(np.int64).astype(np.uint32) & np.uint32(0xFFFF))
    return parts[0] | parts[1] << np.uint32(16)


def _packed_signed_norm(a: Array, b: Array) -> Array:
    return _packed_norm(a, b, -1.0, 32767.0)


def _byte_inserted(a: Array, place: Array, target: Array) -> Array:
    byte = np.clip(np.rint(np.nan_to_num(a)), 0, 255).astype(np.uint32)
    shift = (place & np.uint32(3)) * np.uint32(8)
    return target & ~(np.uint32(0xFF) << shift) | byte << shift


def _cube(x: Array, y: Array, z: Array) -> tuple[Array, Array, Array, Array]:
    """Return face, s, t and twice the major axis of a direction."""
    x, y, z = np.broadcast_arrays(x, y, z)
    is_z = (np.abs(z) >= np.abs(x)) & (np.abs(z) >= np.abs(y))
    is_y = ~is_z & (np.abs(y) >= np.abs(x))
    number = np.where(
        is_z, np.where(z < 0, 5, 4), np.where(is_y, np.where(y < 0, 3, 2), np.where(x < 0, 1, 0))
    )
    s = np.where(is_z, np.where(z < 0, -x, x), np.where(is_y, x, np.where(x < 0, z, -z)))
    t = np.where(is_z, -y, np.where(is_y, np.where(y < 0, -z, z), -y))
    major = np.where(is_z, 2 * z, np.where(is_y, 2 * y, 2 * x))
    return number.astype(np.float32), s, t, major


def _division_fixed(mode: int, quotient: Array, denominator: Array, numerator: Array) -> Array:
    """Return a quotient with the special cases of a division."""
    sign = np.signbit(denominator) ^ np.signbit(numerator)
    kind = quotient.dtype.type
    with_sign = np.copysign(np.abs(quotient), np.where(sign, kind(-1), kind(1)))
    zero, infinite = np.where(sign, kind(-0.0), kind(0)), np.where(sign, kind(-np.inf), kind(np.inf))
    undefined = (denominator == 0) & (numerator == 0) | np.isinf(denominator) & np.isinf(numerator)
    return np.select(
        [
            np.isnan(numerator) | np.isnan(denominator) | undefined,
            (denominator == 0) | np.isinf(numerator),
            np.isinf(denominator) | (numerator == 0),
        ],
        [kind(np.nan), infinite, zero],
        with_sign,
    ).astype(quotient.dtype)


def _division_scaled(mode: int, a: Array, denominator: Array, numerator: Array) -> tuple[Array, Array]:
    """Return a source scaled for a division, and whether the quotient must be scaled afterwards."""
    a, denominator, numerator = np.broadcast_arrays(a, denominator, numerator)
    size = a.dtype.itemsize
    power, least, bias = (64, 23, 127) if size == 4 else (128, 53, 1023)
    exponents = [
        (floats.bits(x) >> floats.bits(x).dtype.type(size * 8 - (9 if size == 4 else 12))).astype(np.int64)
        & (2 * bias + 1)
        for x in (denominator, numerator)
    ]
    is_denominator = floats.bits(a) == floats.bits(denominator)
    is_numerator = floats.bits(a) == floats.bits(numerator)
    up, down = a * a.dtype.type(2.0**power), a * a.dtype.type(2.0**-power)
    far = exponents[1] - exponents[0] >= (96 if size == 4 else 768)
    denormal = (exponents[0] == 0) & (denominator != 0)
    with np.errstate(all="ignore"):
        reciprocal_small = (np.abs(1 / denominator.astype(np.longdouble)) < np.finfo(a.dtype).tiny) & (
            denominator != 0
        )
        quotient_small = (np.abs(numerator.astype(np.longdouble) / denominator) < np.finfo(a.dtype).tiny) & (
            numerator != 0
        )
    of_denominator, of_numerator = np.where(is_denominator, up, a), np.where(is_numerator, up, a)
    cases = (
        ((denominator == 0) | (numerator == 0), np.full_like(a, np.nan), False),
        (far, of_denominator, True),
        (denormal, up, False),
        (reciprocal_small & quotient_small, of_denominator, True),
        (reciprocal_small, down, False),
        (quotient_small, of_numerator, True),
        (exponents[1] <= least, up, False),
    )
    conditions, values, flags = zip(*cases, strict=True)
    return np.select(conditions, values, a), np.select(conditions, flags, False)


def _division_fma(mode: int, a: Array, b: Array, c: Array, scaled: Array) -> Array:
    result = floats.multiply_add(mode, a, b, c)
    power = 32 if result.dtype.itemsize == 4 else 64
    exponent = np.frexp(c)[1]
    bias = 126 if result.dtype.itemsize == 4 else 1022
    scale = np.where(exponent + bias > 127 if power == 32 else exponent + bias > 1023, 2 * power, -2 * power)
    return np.where(scaled, floats.load_exponent(result, scale), result)


def add_floats() -> None:
    """Add the instructions on floats, and the conversions."""
    exactly, plain, in_mode = floats.exactly, _ignoring_mode, partial(add_row, with_mode=True)
    for size in (16, 32, 64):
        f = f"f{size}"

        def row(name: str, count: int, function: Function, f: str = f, **more: bool) -> None:
            in_mode(f"v_{name}_{f}", f"{f}={' '.join([f] * count)}", function, **more)

        row("add", 2, floats.add)
        row("mul", 2, floats.multiply)
        row("fma", 3, floats.multiply_add)
        row("floor", 1, plain(np.floor))
        row("ceil", 1, plain(np.ceil))
        row("trunc", 1, plain(np.trunc))
        row("rndne", 1, plain(np.rint))
        row("fract", 1, plain(floats.fraction))
        row("rcp", 1, exactly(lambda a: 1 / a))
        row("rsq", 1, exactly(lambda a: 1 / np.sqrt(a)))
        row("sqrt", 1, exactly(np.sqrt))
        for name, function in (("min", floats.minimum), ("max", floats.maximum)):
            row(name, 2, plain(function))
            row(f"{name}_num", 2, plain(function))
            row(f"{name}3", 3, plain(in_turn(function)))
            row(f"{name}3_num", 3, plain(in_turn(function)))
        row("frexp_mant", 1, plain(floats.mantissa))
        add_row(f"v_cmp_class_{f}", f"m={f} {'b32' if size > 16 else 'b16'}", floats.is_class)
        if size == 64:
            continue
        row("sub", 2, lambda mode, a, b: floats.add(mode, a, -b))
        row("subrev", 2, lambda mode, a, b: floats.add(mode, b, -a))
        row("exp", 1, exactly(np.exp2))
        row("log", 1, exactly(np.log2))
        row("sin", 1, exactly(floats.sine_of_turns))
        row("cos", 1, exactly(floats.cosine_of_turns))
        row("med3", 3, plain(floats.median))
        row("med3_num", 3, plain(floats.median))
        row("mad", 3, lambda mode, a, b, c: floats.add(mode, floats.multiply(mode, a, b), c))
        for name, inner, outer in (("maxmin", "max", "min"), ("minmax", "min", "max")):
            both = {"min": floats.minimum, "max": floats.maximum}
            for suffix in ("", "_num"):
                row(f"{name}{suffix}", 3, plain(lambda a, b, c, x=both[inner], y=both[outer]: y(x(a, b), c)))
        row("fmac", 3, floats.multiply_add, accumulates=True)
        row(
            "mac", 3, lambda mode, a, b, c: floats.add(mode, floats.multiply(mode, a, b), c), accumulates=True
        )
        for name in ("fmamk", "madmk"):  # a * constant + b, in the order of the text
            row(name, 3, floats.multiply_add if name == "fmamk" else TABLE[f"v_mad_{f}"].function)
            row(name.replace("mk", "ak"), 3, TABLE[f"v_{name}_{f}"].function)
    in_mode("v_rcp_iflag_f32", "f32=f32", exactly(lambda a: 1 / a))
    for name in ("mul_legacy", "mul_dx9_zero"):
        in_mode(f"v_{name}_f32", "f32=f32 f32", _zero_wins)
    for name in ("fma_legacy", "fma_dx9_zero"):
        in_mode(f"v_{name}_f32", "f32=f32 f32 f32", _zero_wins_fma)
    in_mode("v_ldexp_f32", "f32=f32 i32", plain(floats.load_exponent))
    in_mode("v_ldexp_f16", "f16=f16 i16", plain(floats.load_exponent))
    in_mode("v_ldexp_f64", "f64=f64 i32", plain(floats.load_exponent))
    add_row("v_frexp_exp_i32_f32", "i32=f32", floats.exponent)
    add_row("v_frexp_exp_i32_f64", "i32=f64", floats.exponent)
    add_row("v_frexp_exp_i16_f16", "i16=f16", lambda a: floats.exponent(a).astype(np.int16))
    for integer in ("u", "i"):
        for size in (16, 32, 64):
            width = 16 if size == 16 else 32
            dtype, float_type = np.dtype(f"{integer}{width // 8}"), np.dtype(f"f{size // 8}")
            add_row(
                f"v_cvt_{integer}{width}_f{size}",
                f"{integer}{width}=f{size}",
                lambda a, t=dtype: floats.to_integer(a, t),
            )
            in_mode(
                f"v_cvt_f{size}_{integer}{width}",
                f"f{size}={integer}{width}",
                lambda mode, a, t=float_type: floats.from_integer(mode, a, t),
            )
    for byte in range(4):
        in_mode(
            f"v_cvt_f32_ubyte{byte}",
            "f32=u32",
            lambda mode, a, s=8 * byte: (a >> np.uint32(s) & np.uint32(0xFF)).astype(np.float32),
        )
    add_row(
        "v_cvt_rpi_i32_f32",
        "i32=f32",
        lambda a: floats.to_integer(np.floor(a + np.float32(0.5)), np.dtype("i4")),
    )
    add_row("v_cvt_flr_i32_f32", "i32=f32", lambda a: floats.to_integer(np.floor(a), np.dtype("i4")))
    for source, result in ((32, 16), (64, 32)):
        narrow_type, wide_type = np.dtype(f"f{result // 8}"), np.dtype(f"f{source // 8}")
        in_mode(
            f"v_cvt_f{result}_f{source}",
            f"f{result}=f{source}",
            lambda mode, a, t=narrow_type: floats.narrow(mode, a, t),
        )
        in_mode(
            f"v_cvt_f{source}_f{result}", f"f{source}=f{result}", lambda mode, a, t=wide_type: a.astype(t)
        )
    add_row("v_cvt_pkrtz_f16_f32", "u32=f32 f32", _packed_halves)
    for source_type in ("f16", "f32"):
        for name in ("pknorm", "pk_norm"):
            add_row(
                f"v_cvt_{name}_i16_{source_type}", f"u32={source_type} {source_type}", _packed_signed_norm
            )
            add_row(f"v_cvt_{name}_u16_{source_type}", f"u32={source_type} {source_type}", _packed_norm)
    add_row("v_cvt_pk_u8_f32", "u32=f32 u32 u32", _byte_inserted)
    for name, number in (("id", 0), ("sc", 1), ("tc", 2), ("ma", 3)):
        in_mode(f"v_cube{name}_f32", "f32=f32 f32 f32", lambda mode, x, y, z, n=number: _cube(x, y, z)[n])
    for size in (16, 32, 64):
        f = f"f{size}"
        in_mode(f"v_div_fixup_{f}", f"{f}={f} {f} {f}", _division_fixed)
    for size in (32, 64):
        f = f"f{size}"
        in_mode(f"v_div_scale_{f}", f"{f} m={f} {f} {f}", _division_scaled)
        in_mode(f"v_div_fmas_{f}", f"{f}={f} {f} {f} m", _division_fma)
