"""Vector instructions on integers and bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.text import MachineInstruction
from vkgroup.amd.vector_rows import add_row, in_turn


def _u64(a: Array) -> Array:
    return a.astype(np.uint64)


def _i64(a: Array) -> Array:
    return a.astype(np.int64)


def _low(wide: Array) -> Array:
    return wide.astype(np.uint32)


def _high(wide: Array) -> Array:
    return (wide >> 32).astype(np.uint32)


def _low24(a: Array) -> Array:
    return a & np.uint32(0xFFFFFF)


def _signed24(a: Array) -> Array:
    return ((_i64(a) & 0xFFFFFF) ^ 0x800000) - 0x800000


def _bits_set(a: Array) -> Array:
    a = a - ((a >> 1) & 0x55555555)
    a = (a & 0x33333333) + ((a >> 2) & 0x33333333)
    return (((a + (a >> 4)) & 0x0F0F0F0F) * np.uint32(0x01010101)) >> np.uint32(24)


def _reversed_bits(a: Array) -> Array:
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF)):
        a = ((a >> np.uint32(shift)) & np.uint32(mask)) | ((a & np.uint32(mask)) << np.uint32(shift))
    return a >> np.uint32(16) | a << np.uint32(16)


def _highest(a: Array) -> Array:
    """Return the number of the highest bit that is set, -1 if none is."""
    return np.frexp(a.astype(np.float64))[1].astype(np.int32) - 1


def _leading_zeros(a: Array) -> Array:
    return np.where(a == 0, -1, 31 - _highest(a)).astype(np.int32).view(np.uint32)


def _leading_signs(a: Array) -> Array:
    plain = np.where(a < 0, ~a, a).view(np.uint32)
    return np.where(plain == 0, -1, 31 - _highest(plain)).astype(np.int32).view(np.uint32)


def _lowest(a: Array) -> Array:
    return np.where(a == 0, -1, _highest(a & (np.uint32(0) - a))).astype(np.int32).view(np.uint32)


def _shift(a: Array) -> Array:
    return a & a.dtype.type(a.dtype.itemsize * 8 - 1)


def _left(amount: Array, a: Array) -> Array:
    return a << _shift(amount).astype(a.dtype)


def _right(amount: Array, a: Array) -> Array:
    return a >> _shift(amount).astype(a.dtype)


def _extract(a: Array, offset: Array, width: Array) -> Array:
    """Return bits of a number, with sign if it is signed."""
    offset, width = offset.astype(np.int64) & 31, width.astype(np.int64) & 31
    wide = a.astype(np.int64) >> offset
    part = wide & ((np.int64(1) << width) - 1)
    if a.dtype.kind == "i":
        sign = np.int64(1) << np.maximum(width - 1, 0)
        part = np.where(width > 0, (part ^ sign) - sign, 0)
    return part.astype(np.int64).astype(a.dtype)


def _aligned(a: Array, b: Array, c: Array, unit: int) -> Array:
    amount = (c & np.uint32(31 if unit == 1 else 3)) * np.uint32(unit)
    return _low((_u64(a) << np.uint64(32) | _u64(b)) >> _u64(amount))


def _permuted(a: Array, b: Array, c: Array) -> Array:
    a, b, c = np.broadcast_arrays(a, b, c)
    wide = _u64(a) << np.uint64(32) | _u64(b)
    result = np.zeros(a.shape, np.uint32)
    for byte in range(4):
        selector = c >> np.uint32(8 * byte) & np.uint32(0xFF)
        plain = (wide >> _u64((selector & 7) * 8)) & np.uint64(0xFF)
        sign = (wide >> _u64(((selector & 3) * 2 + 1) * 8 + 7)) & np.uint64(1)
        value = np.where(
            selector < 8, plain, np.where(selector < 12, sign * 255, np.where(selector == 12, 0, 255))
        )
        result |= _low(value) << np.uint32(8 * byte)
    return result


def _median(a: Array, b: Array, c: Array) -> Array:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def with_carry(a: Array, b: Array, c: Any = 0) -> tuple[Array, Array]:
    """Return the low 32 bits of a sum, and where it has more."""
    wide = _u64(a) + _u64(b) + np.asarray(c, np.uint64)
    return _low(wide), wide >> np.uint64(32) != 0


def _borrow(a: Array, b: Array, c: Any = 0) -> tuple[Array, Array]:
    wide = _i64(a) - _i64(b) - np.asarray(c, np.int64)
    return wide.astype(np.uint32), wide < 0


def _sad(a: Array, b: Array, c: Array, size: int, masked: bool = False) -> Array:
    total = _u64(c)
    for part in range(32 // size):
        x = _i64(a >> np.uint32(part * size)) & ((1 << size) - 1)
        y = _i64(b >> np.uint32(part * size)) & ((1 << size) - 1)
        difference = np.abs(x - y)
        total = total + _u64(np.where(y == 0, 0, difference) if masked else difference)
    return total.astype(c.dtype)


def _dot(a: Array, b: Array, c: Array, size: int, signed: tuple[bool, bool]) -> Array:
    """Return c plus the sum of products of the parts of a and b, each signed or not, as wide as c."""
    total = c
    for part in range(32 // size):
        x, y = ((word >> np.uint32(part * size)).astype(np.int64) & ((1 << size) - 1) for word in (a, b))
        sign = 1 << (size - 1)
        x, y = ((part ^ sign) - sign if has else part for part, has in zip((x, y), signed, strict=True))
        total = total + (x * y).astype(c.dtype)
    return total


def dot_factors(instruction: MachineInstruction, generation: float) -> list[Callable[[Array], Array]]:
    """Return what takes the halves of a dot product's factors, as op_sel says; nothing where it is absent.

    LLVM permits it before RDNA 3, for parts of 16 bits; ACO emits it for all, with constants.
    """
    if not {"op_sel", "op_sel_hi"} & set(instruction.modifiers):
        return []
    if not instruction.name.startswith("v_dot2_") or generation >= 11:
        raise MissingPart(f"{instruction.name} with op_sel")
    low, high = instruction.numbers("op_sel") or [0, 0], instruction.numbers("op_sel_hi") or [1, 1]

    def take(low: int, high: int, a: Array) -> Array:
        return a >> np.uint32(16 * low) & np.uint32(0xFFFF) | a >> np.uint32(16 * high) << np.uint32(16)

    return [partial(take, *halves) for halves in zip(low[:2], high[:2], strict=True)]


def _wide_mad(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    wide = c.dtype
    product = a.astype(wide) * b.astype(wide)
    total = product + c
    if wide.kind == "u":
        return total, total < product
    return total, ((product ^ total) & (c ^ total)) < 0


def _exchanged(a: Array, b: Array) -> tuple[Array, Array]:
    return b.copy(), a.copy()


def _saturated_bytes(a: Array) -> Array:
    low = (a & np.uint32(0xFFFF)).astype(np.uint16).view(np.int16)
    high = (a >> np.uint32(16)).astype(np.uint16).view(np.int16)
    return (
        np.clip(low, 0, 255).astype(np.uint16) | np.clip(high, 0, 255).astype(np.uint16) << np.uint16(8)
    ).astype(np.uint16)


def _pack_signed(a: Array, b: Array) -> Array:
    low, high = (np.clip(value, -0x8000, 0x7FFF).astype(np.uint32) & np.uint32(0xFFFF) for value in (a, b))
    return low | high << np.uint32(16)


def add_integers() -> None:
    """Add the instructions on integers."""
    for size in (16, 32):
        u, i = f"u{size}", f"i{size}"
        for name in (f"v_add_nc_u{size}", f"v_add_u{size}", f"v_add_nc_i{size}", f"v_add_i{size}"):
            kind = name[-3] + str(size)
            add_row(name, f"{kind}={kind} {kind}", np.add)
            add_row(name.replace("add", "sub"), f"{kind}={kind} {kind}", np.subtract)
            add_row(name.replace("add", "subrev"), f"{kind}={kind} {kind}", lambda a, b: b - a)
        for kind in (u, i):
            three = f"{kind}={kind} {kind} {kind}"
            add_row(f"v_min_{kind}", f"{kind}={kind} {kind}", np.minimum)
            add_row(f"v_max_{kind}", f"{kind}={kind} {kind}", np.maximum)
            add_row(f"v_min3_{kind}", three, in_turn(np.minimum))
            add_row(f"v_max3_{kind}", three, in_turn(np.maximum))
            add_row(f"v_med3_{kind}", three, _median)
            add_row(f"v_mad_{kind}", three, lambda a, b, c: a * b + c)
            add_row(f"v_maxmin_{kind}", three, lambda a, b, c: np.minimum(np.maximum(a, b), c))
            add_row(f"v_minmax_{kind}", three, lambda a, b, c: np.maximum(np.minimum(a, b), c))
        b = f"b{size}"
        add_row(f"v_lshlrev_{b}", f"{b}={b} {b}", _left)
        add_row(f"v_lshrrev_{b}", f"{b}={b} {b}", _right)
        add_row(f"v_ashrrev_{i}", f"{i}={b} {i}", _right)
        add_row(f"v_and_{b}", f"{b}={b} {b}", np.bitwise_and)
        add_row(f"v_or_{b}", f"{b}={b} {b}", np.bitwise_or)
        add_row(f"v_xor_{b}", f"{b}={b} {b}", np.bitwise_xor)
        add_row(f"v_xnor_{b}", f"{b}={b} {b}", lambda a, b: ~(a ^ b))
        add_row(f"v_not_{b}", f"{b}={b}", np.invert)
        add_row(f"v_mov_{b}", f"{b}={b}", lambda a: a)
        add_row(f"v_cndmask_{b}", f"{b}={b} {b} m", lambda a, b, m: np.where(m, b, a))
    add_row("v_lshlrev_b64", "b64=b32 b64", lambda n, a: a << (_u64(n) & np.uint64(63)))
    add_row("v_lshrrev_b64", "b64=b32 b64", lambda n, a: a >> (_u64(n) & np.uint64(63)))
    add_row("v_ashrrev_i64", "i64=b32 i64", lambda n, a: a >> (_i64(n) & np.int64(63)))
    add_row("v_lshl_b32", "b32=b32 b32", lambda a, n: _left(n, a))
    add_row("v_mul_lo_u16", "u16=u16 u16", np.multiply)
    add_row("v_mul_lo_u32", "u32=u32 u32", np.multiply)
    add_row("v_mul_hi_u32", "u32=u32 u32", lambda a, b: _high(_u64(a) * _u64(b)))
    add_row("v_mul_hi_i32", "u32=i32 i32", lambda a, b: _high(_i64(a) * _i64(b)))
    add_row("v_mul_u32_u24", "u32=u32 u32", lambda a, b: _low24(a) * _low24(b))
    add_row("v_mul_i32_i24", "i32=u32 u32", lambda a, b: (_signed24(a) * _signed24(b)).astype(a.dtype))
    add_row("v_mul_hi_u32_u24", "u32=u32 u32", lambda a, b: _high(_u64(_low24(a)) * _u64(_low24(b))))
    add_row("v_mul_hi_i32_i24", "u32=u32 u32", lambda a, b: _high(_signed24(a) * _signed24(b)))
    add_row("v_mad_u32_u24", "u32=u32 u32 u32", lambda a, b, c: _low24(a) * _low24(b) + c)
    add_row(
        "v_mad_i32_i24", "i32=u32 u32 i32", lambda a, b, c: (_signed24(a) * _signed24(b) + c).astype(c.dtype)
    )
    add_row("v_mad_u32_u16", "u32=u16 u16 u32", lambda a, b, c: a.astype(np.uint32) * b.astype(np.uint32) + c)
    add_row("v_mad_i32_i16", "i32=i16 i16 i32", lambda a, b, c: a.astype(np.int32) * b.astype(np.int32) + c)
    add_row("v_mad_u64_u32", "u64 m=u32 u32 u64", _wide_mad)
    add_row("v_mad_i64_i32", "i64 m=i32 i32 i64", _wide_mad)
    add_row("v_mad_co_u64_u32", "u64 m=u32 u32 u64", _wide_mad)
    add_row("v_mad_co_i64_i32", "i64 m=i32 i32 i64", _wide_mad)
    add_row("v_add3_u32", "u32=u32 u32 u32", lambda a, b, c: a + b + c)
    add_row("v_lshl_add_u32", "u32=u32 u32 u32", lambda a, n, c: _left(n, a) + c)
    add_row("v_add_lshl_u32", "u32=u32 u32 u32", lambda a, b, n: _left(n, a + b))
    add_row("v_lshl_or_b32", "u32=u32 u32 u32", lambda a, n, c: _left(n, a) | c)
    add_row("v_and_or_b32", "u32=u32 u32 u32", lambda a, b, c: a & b | c)
    add_row("v_or3_b32", "u32=u32 u32 u32", lambda a, b, c: a | b | c)
    add_row("v_xor3_b32", "u32=u32 u32 u32", lambda a, b, c: a ^ b ^ c)
    add_row("v_xad_u32", "u32=u32 u32 u32", lambda a, b, c: (a ^ b) + c)
    add_row("v_bfe_u32", "u32=u32 u32 u32", _extract)
    add_row("v_bfe_i32", "i32=i32 u32 u32", _extract)
    add_row("v_bfi_b32", "u32=u32 u32 u32", lambda a, b, c: a & b | ~a & c)
    add_row(
        "v_bfm_b32",
        "u32=u32 u32",
        lambda n, o: ((np.uint32(1) << (n & np.uint32(31))) - np.uint32(1)) << (o & np.uint32(31)),
    )
    add_row("v_bfrev_b32", "u32=u32", _reversed_bits)
    add_row("v_bcnt_u32_b32", "u32=u32 u32", lambda a, b: _bits_set(a) + b)
    add_row("v_ffbh_u32", "u32=u32", _leading_zeros)
    add_row("v_ffbh_i32", "u32=i32", _leading_signs)
    add_row("v_ffbl_b32", "u32=u32", _lowest)
    add_row("v_alignbit_b32", "u32=u32 u32 u32", lambda a, b, c: _aligned(a, b, c, 1))
    add_row("v_alignbyte_b32", "u32=u32 u32 u32", lambda a, b, c: _aligned(a, b, c, 8))
    add_row("v_perm_b32", "u32=u32 u32 u32", _permuted)
    add_row("v_sad_u8", "u32=u32 u32 u32", lambda a, b, c: _sad(a, b, c, 8))
    add_row("v_sad_u16", "u32=u32 u32 u32", lambda a, b, c: _sad(a, b, c, 16))
    add_row("v_sad_u32", "u32=u32 u32 u32", lambda a, b, c: _sad(a, b, c, 32))
    add_row("v_msad_u8", "u32=u32 u32 u32", lambda a, b, c: _sad(a, b, c, 8, masked=True))
    add_row("v_sat_pk_u8_i16", "u16=u32", _saturated_bytes)
    add_row(
        "v_pack_b32_f16",
        "u32=b16 b16",
        lambda a, b: a.astype(np.uint32) | b.astype(np.uint32) << np.uint32(16),
    )
    add_row(
        "v_cvt_pk_u16_u32",
        "u32=u32 u32",
        lambda a, b: np.minimum(a, 0xFFFF) | np.minimum(b, 0xFFFF) << np.uint32(16),
    )
    add_row("v_cvt_pk_i16_i32", "u32=i32 i32", _pack_signed)
    add_row("v_cvt_i32_i16", "i32=i16", lambda a: a.astype(np.int32))
    add_row("v_cvt_u32_u16", "u32=u16", lambda a: a.astype(np.uint32))
    for size in (16, 32):
        add_row(f"v_swap_b{size}", f"b{size} b{size}=b{size} b{size}", _exchanged)
    for name in ("v_add_co_u32", "v_add_co_ci_u32", "v_addc_co_u32", "v_addc_u32"):
        carried = " m" if "c_" in name.replace("co_u", "").replace("v_add_co_u32", "") or "ci" in name else ""
        add_row(name, f"u32 m=u32 u32{carried}", with_carry)
        other = "v_sub" + name[5:] if "addc" not in name else name.replace("addc", "subb")
        add_row(other, f"u32 m=u32 u32{carried}", _borrow)
        reverse = other.replace("v_subb", "v_subbrev").replace("v_sub_", "v_subrev_")
        add_row(reverse, f"u32 m=u32 u32{carried}", lambda a, b, c=0: _borrow(b, a, c))
    for size in (4, 8, 16):
        for letter in "ui":
            add_row(
                f"v_dot{32 // size}_{letter}32_{letter}{size}",
                f"{letter}32=u32 u32 {letter}32",
                partial(_dot, size=size, signed=(letter == "i", letter == "i")),
            )
    add_row("v_dot4c_i32_i8", "i32=u32 u32 i32", partial(_dot, size=8, signed=(True, True)), accumulates=True)
    for first in (False, True):  # `neg_lo` says which factor is signed
        for second in (False, True):
            for name, size in (("v_dot4_i32_iu8", 8), ("v_dot8_i32_iu4", 4)):
                function = partial(_dot, size=size, signed=(first, second))
                add_row(f"{name}_{first:d}{second:d}", "i32=u32 u32 i32", function)
