"""The scalar instructions that compute, one row an instruction; values have one element for each wave.

A row has the types of result and sources, what becomes of the scalar condition (SCC), and a function. Names
are those of RDNA 3; `ALIASES` has those of other generations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.amd import floats
from vkgroup.amd.arrays import Array
from vkgroup.amd.operands import bits_of
from vkgroup.amd.vector_table import VECTOR

Function = Callable[..., Any]


@dataclass(frozen=True)
class ScalarRow:
    """Types and function of a scalar instruction.

    `condition`: empty if SCC stays, ``nonzero`` if it tells whether the result is not 0, ``own`` if the
    function returns it with the result, ``only`` if the function returns nothing else.
    """

    result: str
    sources: tuple[str, ...]
    function: Function
    condition: str = ""
    with_mode: bool = False


TABLE: dict[str, ScalarRow] = {}


def _row(name: str, types: str, function: Function, condition: str = "", with_mode: bool = False) -> None:
    result, _, sources = types.partition("=")
    TABLE[f"s_{name}"] = ScalarRow(result, tuple(sources.split()), function, condition, with_mode)


def _add(a: Array, b: Array, carry: Any = 0) -> tuple[Array, Array]:
    wide = a.astype(np.uint64) + b.astype(np.uint64) + np.asarray(carry, np.uint64)
    return wide.astype(np.uint32), wide >> np.uint64(32) != 0


def _subtract(a: Array, b: Array, borrow: Any = 0) -> tuple[Array, Array]:
    wide = a.astype(np.int64) - b.astype(np.int64) - np.asarray(borrow, np.int64)
    return wide.astype(np.uint32), wide < 0


def _signed(function: Function) -> Function:
    def compute(a: Array, b: Array) -> tuple[Array, Array]:
        wide = function(a.astype(np.int64), b.astype(np.int64))
        result = wide.astype(np.int32)
        return result, result != wide

    return compute


def _left(a: Array, n: Array) -> Array:
    return a << (n.astype(a.dtype) & a.dtype.type(a.dtype.itemsize * 8 - 1))


def _right(a: Array, n: Array) -> Array:
    return a >> (n.astype(a.dtype) & a.dtype.type(a.dtype.itemsize * 8 - 1))


def _field(a: Array, control: Array) -> Array:
    """Return a bit field: offset in the low bits, width from bit 16."""
    size = a.dtype.itemsize * 8
    offset = (control & np.uint32(size - 1)).astype(a.dtype)
    width = (control >> np.uint32(16) & np.uint32(0x7F)).astype(np.int64)
    part = a >> offset
    drop = np.clip(size - width, 0, size - 1).astype(a.dtype)
    return np.where(width == 0, a.dtype.type(0), (part << drop) >> drop)


def _mask(kind: str) -> Function:
    unsigned = np.dtype(f"u{bits_of(kind) // 8}").type
    limit = np.uint32(bits_of(kind) - 1)

    def compute(width: Array, offset: Array) -> Array:
        ones = (unsigned(1) << (width & limit).astype(unsigned)) - unsigned(1)
        return ones << (offset & limit).astype(unsigned)

    return compute


def _count(a: Array) -> Array:
    value = np.asarray(a)
    octets = np.ascontiguousarray(value).reshape(-1, 1).view(np.uint8)
    return np.unpackbits(octets, axis=1).sum(axis=1).reshape(value.shape).astype(np.uint32)


def _lowest(a: Array) -> Array:
    size = a.dtype.itemsize * 8
    found = _count((a & (a.dtype.type(0) - a)) - a.dtype.type(1))
    return np.where(a == 0, -1, np.minimum(found, size)).astype(np.int32).view(np.uint32)


def _leading(a: Array) -> Array:
    """Return the number of zeros before the first one, -1 for zero."""
    size = a.dtype.itemsize * 8
    smeared = np.asarray(a)
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < size:
            smeared = smeared | smeared >> smeared.dtype.type(shift)
    return np.where(a == 0, -1, size - _count(smeared).astype(np.int64)).astype(np.int32).view(np.uint32)


def _leading_signs(a: Array) -> Array:
    return _leading(np.where(a < 0, ~a, a).view(f"u{a.dtype.itemsize}"))


def _reversed(a: Array) -> Array:
    value = np.ascontiguousarray(np.atleast_1d(a))
    octets = np.packbits(np.unpackbits(value.view(np.uint8).reshape(len(value), -1), axis=1)[:, ::-1], axis=1)
    # Reversing all bits of the bytes in memory order reverses the bits of a little-endian number.
    return octets.view(value.dtype).reshape(np.shape(a)) if np.shape(a) else octets.view(value.dtype)[0, 0]


def _replicated(a: Array) -> Array:
    wide = a.astype(np.uint64)
    result = np.zeros_like(wide)
    for bit in range(32):
        result = result | (wide >> np.uint64(bit) & np.uint64(1)) * np.uint64(3) << np.uint64(2 * bit)
    return result


def _whole_quads(a: Array) -> Array:
    one = a.dtype.type(int("1" * (a.dtype.itemsize * 2), 16))
    any_lane = (a | a >> a.dtype.type(1) | a >> a.dtype.type(2) | a >> a.dtype.type(3)) & one
    return any_lane * a.dtype.type(15)


def _quads(a: Array) -> Array:
    result = np.zeros_like(a)
    for quad in range(a.dtype.itemsize * 2):
        some = (a >> a.dtype.type(4 * quad) & a.dtype.type(15)) != 0
        result = result | some.astype(a.dtype) << a.dtype.type(quad)
    return result


def _wide_pack(low: int, high: int) -> Function:
    return lambda a, b: (
        (a >> np.uint32(16 * low) & np.uint32(0xFFFF)) | (b >> np.uint32(16 * high)) << np.uint32(16)
    )


def _bitset(value: bool) -> Function:
    def compute(n: Array, old: Array) -> Array:
        kind = old.dtype.type
        bit = kind(1) << (n.astype(old.dtype) & kind(old.dtype.itemsize * 8 - 1))
        return old | bit if value else old & ~bit

    return compute


BITWISE: dict[str, Function] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "nand": lambda a, b: ~(a & b),
    "nor": lambda a, b: ~(a | b),
    "xnor": lambda a, b: ~(a ^ b),
    "and_not1": lambda a, b: a & ~b,
    "or_not1": lambda a, b: a | ~b,
    "and_not0": lambda a, b: ~a & b,
    "or_not0": lambda a, b: ~a | b,
}
_ORDER: dict[str, Function] = {
    "eq": np.equal,
    "lg": np.not_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lt": np.less,
    "le": np.less_equal,
}


def _fill() -> None:
    _row("add_u32", "u32=u32 u32", _add, "own")
    _row("sub_u32", "u32=u32 u32", _subtract, "own")
    _row("add_i32", "i32=i32 i32", _signed(np.add), "own")
    _row("sub_i32", "i32=i32 i32", _signed(np.subtract), "own")
    _row("addc_u32", "u32=u32 u32 scc", _add, "own")
    _row("subb_u32", "u32=u32 u32 scc", _subtract, "own")
    _row("addk_i32", "i32=i32 i32", _signed(np.add), "own")
    _row("add_u64", "u64=u64 u64", np.add)
    _row("sub_u64", "u64=u64 u64", np.subtract)
    _row("mul_u64", "u64=u64 u64", np.multiply)
    _row("mul_i32", "i32=i32 i32", np.multiply)
    _row("mulk_i32", "i32=i32 i32", np.multiply)
    _row(
        "mul_hi_u32",
        "u32=u32 u32",
        lambda a, b: (a.astype(np.uint64) * b.astype(np.uint64) >> np.uint64(32)).astype(np.uint32),
    )
    _row(
        "mul_hi_i32",
        "u32=i32 i32",
        lambda a, b: (a.astype(np.int64) * b.astype(np.int64) >> 32).astype(np.uint32),
    )
    for kind in ("i32", "u32"):
        _row(f"min_{kind}", f"{kind}={kind} {kind}", lambda a, b: (np.minimum(a, b), a < b), "own")
        _row(f"max_{kind}", f"{kind}={kind} {kind}", lambda a, b: (np.maximum(a, b), a > b), "own")
    _row("absdiff_i32", "u32=i32 i32", lambda a, b: np.abs(a - b).view(np.uint32), "nonzero")
    _row("abs_i32", "i32=i32", np.abs, "nonzero")
    for n in (1, 2, 3, 4):
        _row(f"lshl{n}_add_u32", "u32=u32 u32", lambda a, b, n=n: _shift_add(a, b, n), "own")
    for size in (32, 64):
        b, i, u = f"b{size}", f"i{size}", f"u{size}"
        for name, function in BITWISE.items():
            _row(f"{name}_{b}", f"{b}={b} {b}", function, "nonzero")
        _row(f"not_{b}", f"{b}={b}", np.invert, "nonzero")
        _row(f"mov_{b}", f"{b}={b}", lambda a: a)
        _row(f"cmov_{b}", f"{b}={b} {b} scc", lambda a, old, c: np.where(c, a, old))
        _row(f"cselect_{b}", f"{b}={b} {b} scc", lambda a, b, c: np.where(c, a, b))
        _row(f"lshl_{b}", f"{b}={b} b32", _left, "nonzero")
        _row(f"lshr_{b}", f"{b}={b} b32", _right, "nonzero")
        _row(f"ashr_{i}", f"{i}={i} b32", _right, "nonzero")
        _row(f"bfe_{u}", f"{u}={u} b32", _field, "nonzero")
        _row(f"bfe_{i}", f"{i}={i} b32", _field, "nonzero")
        _row(f"bfm_{b}", f"{b}=b32 b32", _mask(b))
        _row(f"bcnt0_i32_{b}", f"u32={b}", lambda a: _count(~a), "nonzero")
        _row(f"bcnt1_i32_{b}", f"u32={b}", _count, "nonzero")
        _row(f"ctz_i32_{b}", f"u32={b}", _lowest)
        _row(f"ff0_i32_{b}", f"u32={b}", lambda a: _lowest(~a))
        _row(f"clz_i32_{u}", f"u32={u}", _leading)
        _row(f"cls_i32{'' if size == 32 else '_i64'}", f"u32={i}", _leading_signs)
        _row(f"brev_{b}", f"{b}={b}", _reversed)
        _row(f"wqm_{b}", f"{b}={b}", _whole_quads, "nonzero")
        _row(f"quadmask_{b}", f"{b}={b}", _quads, "nonzero")
        _row(f"bitset0_{b}", f"{b}=b32 {b}", _bitset(False))
        _row(f"bitset1_{b}", f"{b}=b32 {b}", _bitset(True))
        for bit in (0, 1):
            _row(
                f"bitcmp{bit}_{b}",
                f"={b} b32",
                lambda a, n, bit=bit: (_right(a, n) & a.dtype.type(1)) == bit,
                "only",
            )
        for name, function in BITWISE.items():
            _row(f"{name}_saveexec_{b}", f"{b}={b}", function, "exec")
        for name in ("and_not0", "and_not1"):
            _row(f"{name}_wrexec_{b}", f"{b}={b}", BITWISE[name], "wrexec")
    _row("bitreplicate_b64_b32", "b64=b32", _replicated)
    _row("sext_i32_i8", "i32=b32", lambda a: (a.astype(np.uint8)).view(np.int8).astype(np.int32))
    _row("sext_i32_i16", "i32=b32", lambda a: (a.astype(np.uint16)).view(np.int16).astype(np.int32))
    _row("movk_i32", "i32=i32", lambda a: a)
    _row("cmovk_i32", "i32=i32 i32 scc", lambda a, old, c: np.where(c, a, old))
    for name, low, high in (("ll", 0, 0), ("lh", 0, 1), ("hh", 1, 1), ("hl", 1, 0)):
        _row(f"pack_{name}_b32_b16", "b32=b32 b32", _wide_pack(low, high))
    for kind in ("i32", "u32"):
        for name, function in _ORDER.items():
            _row(f"cmp_{name}_{kind}", f"={kind} {kind}", function, "only")
            _row(f"cmpk_{name}_{kind}", f"={kind} {kind}", function, "only")
    for name in ("eq", "lg"):
        _row(f"cmp_{name}_u64", "=u64 u64", _ORDER[name], "only")
    _fill_floats()


def _shift_add(a: Array, b: Array, n: int) -> tuple[Array, Array]:
    wide = (a.astype(np.uint64) << np.uint64(n)) + b.astype(np.uint64)
    return wide.astype(np.uint32), wide >> np.uint64(32) != 0


def _fill_floats() -> None:
    """Add the scalar floats of RDNA 3.5, which are those of the vector instructions."""
    for size in (16, 32):
        f = f"f{size}"
        for name in (
            "add",
            "sub",
            "mul",
            "min",
            "max",
            "min_num",
            "max_num",
            "floor",
            "ceil",
            "trunc",
            "rndne",
        ):
            row = VECTOR[f"v_{name}_{f}"]
            _row(f"{name}_{f}", f"{f}={' '.join(row.sources)}", row.function, with_mode=True)
        _row(f"fmac_{f}", f"{f}={f} {f} {f}", floats.multiply_add, with_mode=True)
        for name in ["lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt"]:
            _row(f"cmp_{name}_{f}", f"={f} {f}", VECTOR[f"v_cmp_{name}_{f}"].function, "only")
    for name in ("fmamk", "fmaak"):
        _row(f"{name}_f32", "f32=f32 f32 f32", floats.multiply_add, with_mode=True)
    for name in ("cvt_f32_i32", "cvt_f32_u32", "cvt_f16_f32", "cvt_f32_f16"):
        row = VECTOR[f"v_{name}"]
        _row(name, f"{row.results[0]}={row.sources[0]}", row.function, with_mode=True)
    for name in ("cvt_i32_f32", "cvt_u32_f32"):
        row = VECTOR[f"v_{name}"]
        _row(name, f"{row.results[0]}={row.sources[0]}", row.function)
    for name in ("exp", "log", "rcp", "rsq", "sqrt"):  # of the vector unit, on scalar registers
        for f in ("f16", "f32"):
            TABLE[f"v_s_{name}_{f}"] = ScalarRow(f, (f,), VECTOR[f"v_{name}_{f}"].function, with_mode=True)
    _row("cvt_pk_rtz_f16_f32", "u32=f32 f32", VECTOR["v_cvt_pkrtz_f16_f32"].function)
    _row(
        "cvt_hi_f32_f16",
        "f32=b32",
        lambda mode, a: (a >> np.uint32(16)).astype(np.uint16).view(np.float16).astype(np.float32),
        with_mode=True,
    )


_fill()

ALIASES = {
    "s_add_co_u32": "s_add_u32", "s_sub_co_u32": "s_sub_u32", "s_add_co_i32": "s_add_i32",
    "s_sub_co_i32": "s_sub_i32", "s_add_co_ci_u32": "s_addc_u32", "s_sub_co_ci_u32": "s_subb_u32",
    "s_addk_co_i32": "s_addk_i32", "s_add_nc_u64": "s_add_u64", "s_sub_nc_u64": "s_sub_u64",
    "s_ff1_i32_b32": "s_ctz_i32_b32", "s_ff1_i32_b64": "s_ctz_i32_b64",
    "s_flbit_i32_b32": "s_clz_i32_u32", "s_flbit_i32_b64": "s_clz_i32_u64", "s_flbit_i32": "s_cls_i32",
    "s_flbit_i32_i64": "s_cls_i32_i64",
    **{
        f"s_{old}{middle}_b{size}": f"s_{new}{middle}_b{size}"
        for old, new in zip(
            ("andn2", "orn2", "andn1", "orn1"), ("and_not1", "or_not1", "and_not0", "or_not0"), strict=True
        )
        for middle in ("", "_saveexec", *(("_wrexec",) if "and" in old else ()))
        for size in (32, 64)
    },
}  # fmt: skip
"""Names of other generations for an instruction of the table."""
