"""Each scalar instruction of the table, compared with its definition in plain Python, wave by wave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from amd.emulated_waves import execute, waves_of
from amd.test_amd_definitions import INTEGERS, signed

from vkgroup.amd.operands import bits_of
from vkgroup.amd.scalar_table import ALIASES, TABLE

Definition = Callable[..., Any]


def quads(a: int, size: int) -> int:
    """Return one bit for each group of four with a bit that is set."""
    return sum(bool(a >> 4 * n & 15) << n for n in range(size // 4))


def definitions() -> dict[str, Definition]:
    """Return definitions: from integers to the result and SCC; None leaves SCC unchanged."""
    plain = lambda function: lambda *sources: (function(*sources), None)  # noqa: E731
    checked = lambda function, bits: lambda *s: (function(*s), function(*s) & (1 << bits) - 1 != 0)  # noqa: E731
    only = lambda function: lambda *sources: (None, function(*sources))  # noqa: E731
    fits = lambda value: -(2**31) <= value < 2**31  # noqa: E731
    table: dict[str, Definition] = {
        "add_u32": lambda a, b: (a + b, a + b >= 1 << 32),
        "sub_u32": lambda a, b: (a - b, a < b),
        "addc_u32": lambda a, b, c: (a + b + c, a + b + c >= 1 << 32),
        "subb_u32": lambda a, b, c: (a - b - c, a - b - c < 0),
        **{name: lambda a, b: (a + b, not fits(a + b)) for name in ("add_i32", "addk_i32")},
        "sub_i32": lambda a, b: (a - b, not fits(a - b)),
        "add_u64": plain(lambda a, b: a + b),
        "sub_u64": plain(lambda a, b: a - b),
        "mul_u64": plain(lambda a, b: a * b),
        "mul_i32": plain(lambda a, b: a * b),
        "mulk_i32": plain(lambda a, b: a * b),
        "mul_hi_u32": plain(lambda a, b: a * b >> 32),
        "mul_hi_i32": plain(lambda a, b: a * b >> 32),
        "absdiff_i32": checked(lambda a, b: abs(signed(a - b)), 32),
        "abs_i32": checked(abs, 32),
        "movk_i32": plain(lambda a: a),
        "cmovk_i32": plain(lambda a, old, c: a if c else old),
        "bitreplicate_b64_b32": plain(lambda a: sum((a >> n & 1) * 3 << 2 * n for n in range(32))),
        "sext_i32_i8": plain(lambda a: signed(a, 8)),
        "sext_i32_i16": plain(lambda a: signed(a, 16)),
        "pack_ll_b32_b16": plain(lambda a, b: a & 0xFFFF | (b & 0xFFFF) << 16),
        "pack_lh_b32_b16": plain(lambda a, b: a & 0xFFFF | b >> 16 << 16),
        "pack_hh_b32_b16": plain(lambda a, b: a >> 16 | b >> 16 << 16),
        "pack_hl_b32_b16": plain(lambda a, b: a >> 16 | (b & 0xFFFF) << 16),
    }
    for kind in ("i32", "u32"):
        table[f"min_{kind}"] = lambda a, b: (min(a, b), a < b)
        table[f"max_{kind}"] = lambda a, b: (max(a, b), a > b)
        order: dict[str, Definition] = {
            "eq": lambda a, b: a == b, "lg": lambda a, b: a != b, "gt": lambda a, b: a > b,
            "ge": lambda a, b: a >= b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
        }  # fmt: skip
        table |= {f"cmp{k}_{name}_{kind}": only(f) for name, f in order.items() for k in ("", "k")}
    table |= {f"cmp_{name}_u64": table[f"cmp_{name}_u32"] for name in ("eq", "lg")}
    for n in (1, 2, 3, 4):
        table[f"lshl{n}_add_u32"] = lambda a, b, n=n: ((a << n) + b, (a << n) + b >= 1 << 32)
    for size in (32, 64):
        last, ones = size - 1, (1 << size) - 1
        bitwise: dict[str, Definition] = {
            "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b,
            "nand": lambda a, b: ~(a & b), "nor": lambda a, b: ~(a | b), "xnor": lambda a, b: ~(a ^ b),
            "and_not1": lambda a, b: a & ~b, "or_not1": lambda a, b: a | ~b,
            "and_not0": lambda a, b: ~a & b, "or_not0": lambda a, b: ~a | b,
        }  # fmt: skip
        table |= {f"{name}_b{size}": checked(f, size) for name, f in bitwise.items()}

        def extracted(a: int, control: int, last: int = last) -> int:
            return a >> (control & last) & (1 << min(control >> 16 & 0x7F, last + 1)) - 1

        def extended(a: int, control: int, last: int = last, get: Definition = extracted) -> int:
            width = min(control >> 16 & 0x7F, last + 1 - (control & last))
            return signed(get(a, control), width) if width else 0

        table |= {
            f"not_b{size}": checked(lambda a: ~a, size),
            f"mov_b{size}": plain(lambda a: a),
            f"cmov_b{size}": plain(lambda a, old, c: a if c else old),
            f"cselect_b{size}": plain(lambda a, b, c: a if c else b),
            f"lshl_b{size}": checked(lambda a, n, m=last: a << (n & m), size),
            f"lshr_b{size}": checked(lambda a, n, m=last: a >> (n & m), size),
            f"ashr_i{size}": checked(lambda a, n, m=last: a >> (n & m), size),
            f"bfe_u{size}": checked(extracted, size),
            f"bfe_i{size}": checked(extended, size),
            f"bfm_b{size}": plain(lambda n, o, m=last: ((1 << (n & m)) - 1) << (o & m)),
            f"bcnt0_i32_b{size}": checked(lambda a, s=size: s - a.bit_count(), 32),
            f"bcnt1_i32_b{size}": checked(lambda a: a.bit_count(), 32),
            f"ctz_i32_b{size}": plain(lambda a: (a & -a).bit_length() - 1 if a else -1),
            f"ff0_i32_b{size}": plain(
                lambda a, o=ones: (~a & o & -(~a & o)).bit_length() - 1 if ~a & o else -1
            ),
            f"clz_i32_u{size}": plain(lambda a, s=size: s - a.bit_length() if a else -1),
            f"cls_i32{'' if size == 32 else '_i64'}": plain(
                lambda a, s=size: -1 if a in (0, -1) else s - (a if a > 0 else ~a).bit_length()
            ),
            f"brev_b{size}": plain(lambda a, s=size: int(f"{a:0{s}b}"[::-1], 2)),
            f"wqm_b{size}": checked(
                lambda a, s=size: sum(bool(a >> 4 * n & 15) * 15 << 4 * n for n in range(s // 4)), size
            ),
            f"quadmask_b{size}": checked(lambda a, s=size: quads(a, s), size),
            f"bitset0_b{size}": plain(lambda n, old, m=last: old & ~(1 << (n & m))),
            f"bitset1_b{size}": plain(lambda n, old, m=last: old | 1 << (n & m)),
            f"bitcmp0_b{size}": only(lambda a, n, m=last: not a >> (n & m) & 1),
            f"bitcmp1_b{size}": only(lambda a, n, m=last: bool(a >> (n & m) & 1)),
        }
    return {f"s_{name}": function for name, function in table.items()}


DEFINITIONS = definitions()
KEEPS_OLD = ("s_cmov", "s_bitset")
OWN_TESTS = ("saveexec", "wrexec", "f16", "f32")
"""Parts of names of instructions with tests elsewhere: on EXEC, and on floats, with shared functions."""


def executed(name: str) -> tuple[list[list[int]], list[int], list[bool], list[bool]]:
    """Return the sources of 64 waves, the results, and SCC before and after."""
    row = TABLE[name]
    waves = waves_of(count=64, lanes=32)
    random = np.random.default_rng(8)
    texts, sources = [], []
    for place, kind in enumerate(kind for kind in row.sources if kind != "scc"):
        size = bits_of(kind)
        corners = random.choice(np.array(INTEGERS, np.uint64), 40)
        values = np.concatenate([corners, random.integers(0, 1 << 63, 24, dtype=np.uint64)])
        register = 10 + 2 * place
        waves.s[register], waves.s[register + 1] = (
            values.astype(np.uint32),
            (values >> np.uint64(32)).astype(np.uint32),
        )
        texts.append(f"s{register}" if size == 32 else f"s[{register}:{register + 1}]")
        integers = [int(value) & (1 << size) - 1 for value in values]
        sources.append([signed(value, size) for value in integers] if kind[0] == "i" else integers)
    waves.scc[:] = random.random(64) < 0.5
    before = waves.scc.tolist()
    results = []
    target = 4
    if row.condition != "only":
        results = [f"s{target}" if bits_of(row.result) == 32 else f"s[{target}:{target + 1}]"]
        if name.startswith(KEEPS_OLD):  # the register of the result holds the last source
            results, target = [texts.pop()], 12
        elif name in ("s_addk_i32", "s_mulk_i32"):
            results, target = [texts.pop(0)], 10
    execute(waves, f"{name} {', '.join([*results, *texts])}")
    found = waves.s[target].astype(np.uint64)
    if row.result and bits_of(row.result) == 64:
        found = found | waves.s[target + 1].astype(np.uint64) << np.uint64(32)
    if "scc" in row.sources:
        sources.append([int(bit) for bit in before])
    return sources, found.tolist(), before, waves.scc.tolist()


@pytest.mark.parametrize("name", [name for name in TABLE if name in DEFINITIONS])
def test_an_instruction_has_its_definition(name: str) -> None:
    row = TABLE[name]
    sources, found, before, after = executed(name)
    for wave in range(64):
        result, condition = DEFINITIONS[name](*(source[wave] for source in sources))
        if result is not None:
            mask = (1 << bits_of(row.result)) - 1
            assert found[wave] & mask == result & mask, wave
        assert after[wave] == (before[wave] if condition is None else bool(condition)), wave


def test_every_instruction_has_a_definition() -> None:
    missing = [
        name for name in TABLE if name not in DEFINITIONS and not any(word in name for word in OWN_TESTS)
    ]
    assert missing == []
    assert {*ALIASES.values()} <= {*TABLE}
