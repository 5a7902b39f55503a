"""The vector instructions that compute each lane from its own sources, one row an instruction.

A row has the types of results and sources and a function. Types are a letter and a size in bits (``f32``);
``m`` is one bit a lane. Functions of rows with floats take the MODE register first; see `vkgroup.amd.floats`.
Names are LLVM's without the suffix of the form; where another generation has another name, `ALIASES` has it.
"""

from __future__ import annotations

import numpy as np

from vkgroup.amd import floats
from vkgroup.amd.vector_floats import add_floats
from vkgroup.amd.vector_integers import add_integers
from vkgroup.amd.vector_rows import TABLE, Function, VectorRow, add_row

_ORDERED: dict[str, Function] = {
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "lg": lambda a, b: (a < b) | (a > b),
    "ge": np.greater_equal,
    "o": lambda a, b: ~(np.isnan(a) | np.isnan(b)),
}
_INVERSE = {"u": "o", "nge": "ge", "nlg": "lg", "ngt": "gt", "nle": "le", "neq": "eq", "nlt": "lt"}


def _comparisons() -> None:
    for size in (16, 32, 64):
        for name, function in _ORDERED.items():
            add_row(f"v_cmp_{name}_f{size}", f"m=f{size} f{size}", function)
        for name, other in _INVERSE.items():
            add_row(f"v_cmp_{name}_f{size}", f"m=f{size} f{size}", lambda a, b, f=_ORDERED[other]: ~f(a, b))
        for letter in "ui":
            kind = f"{letter}{size}"
            for name in ("lt", "eq", "le", "gt", "ge"):
                add_row(f"v_cmp_{name}_{kind}", f"m={kind} {kind}", _ORDERED[name])
            add_row(f"v_cmp_ne_{kind}", f"m={kind} {kind}", np.not_equal)
            add_row(f"v_cmp_f_{kind}", f"m={kind} {kind}", lambda a, b: np.zeros_like(a == b))
            add_row(f"v_cmp_t_{kind}", f"m={kind} {kind}", lambda a, b: np.ones_like(a == b))
        add_row(f"v_cmp_f_f{size}", f"m=f{size} f{size}", lambda a, b: np.zeros_like(a == b))
        for name in ("t", "tru"):
            add_row(f"v_cmp_{name}_f{size}", f"m=f{size} f{size}", lambda a, b: np.ones_like(a == b))


def _packed() -> None:
    names = {
        "add_u16": "v_add_nc_u16", "add_i16": "v_add_nc_i16", "sub_u16": "v_sub_nc_u16",
        "sub_i16": "v_sub_nc_i16", "mul_lo_u16": "v_mul_lo_u16", "lshlrev_b16": "v_lshlrev_b16",
        "lshrrev_b16": "v_lshrrev_b16", "ashrrev_i16": "v_ashrrev_i16", "mad_u16": "v_mad_u16",
        "mad_i16": "v_mad_i16",
        **{f"{name}_{kind}16": f"v_{name}_{kind}16" for name in ("min", "max") for kind in "uif"},
        **{f"{name}_f16": f"v_{name}_f16" for name in ("add", "mul", "fma", "min_num", "max_num")},
    }  # fmt: skip
    for packed, single in names.items():
        row = TABLE[single]
        TABLE[f"v_pk_{packed}"] = VectorRow(
            row.results, row.sources, row.function, row.with_mode, packed=True
        )
    TABLE["v_pk_fmac_f16"] = VectorRow(
        ("f16",), ("f16",) * 3, floats.multiply_add, True, accumulates=True, packed=True
    )


add_integers()
add_floats()
_comparisons()
_packed()

VECTOR = TABLE
"""The rows by the name of their instruction."""

ALIASES = {
    "v_add_nc_u16": "v_add_u16", "v_cls_i32": "v_ffbh_i32", "v_clz_i32_u32": "v_ffbh_u32",
    "v_ctz_i32_b32": "v_ffbl_b32", "v_cvt_floor_i32_f32": "v_cvt_flr_i32_f32",
    "v_cvt_nearest_i32_f32": "v_cvt_rpi_i32_f32", "v_cvt_pk_rtz_f16_f32": "v_cvt_pkrtz_f16_f32",
    "v_mul_lo_i32": "v_mul_lo_u32", "v_mad_legacy_f16": "v_mad_f16", "v_max_num_f64": "v_max_f64",
    "v_min_num_f64": "v_min_f64",
}  # fmt: skip
"""Names of some generations for an instruction of the table."""
