"""The family of reported constructs: what users found wrong on some driver, and no other case has.

Sources, by test: intel-graphics-compiler 396 (`group_branch`); llvm-project 160208 and 167729
(`component_writes`); ncnn 6778 (`spec_length`); dxil-spirv 0399f511 (`quad_index`);
Vulkan-ValidationLayers 12790 (`barrier_atomics`); Vulkan-Docs 2548 (`store_shuffle_load`); Nabla 650
(`masks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vkgroup.conformance.arrays import Flags, Words, poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, one_by_one, table
from vkgroup.conformance.lane_record import (
    GROUPS,
    LOCAL,
    TOTAL,
    Expect,
    LaneRecord,
    all_defined,
    compared,
    lane_shader,
    mirrored,
    random_inputs,
    run_recorded,
)
from vkgroup.conformance.support import lacking_operations, lacking_size
from vkgroup.device import Capabilities


class ReportedAxes(NamedTuple):
    """Axes of a case."""

    stage: str
    test: str  # key of `TESTS`
    variant: str  # key of the test's variants
    size: str  # ``"size64"``: the subgroup size that the pipeline requires; "" for the default

    @property
    def required_size(self) -> int | None:
        """The subgroup size that the pipeline requires; None for the default."""
        return int(self.size.removeprefix("size")) if self.size else None


ReportedCase = TableCase[ReportedAxes]


@dataclass(frozen=True)
class Variant:
    """One shader of a test."""

    body: str  # GLSL that sets `result` from `x`, `local` and `index`
    expect: Expect
    declarations: str = ""
    specialization: Mapping[int | str, int] | None = None
    cells: int = 0  # words of a third buffer


@dataclass(frozen=True)
class ReportedTest:
    """A reported construct."""

    sentence: str
    variants: Mapping[str, Variant]
    operations: tuple[str, ...] = ()  # categories of operations that it needs, besides the basic ones
    sizes: tuple[str, ...] = ("",)


def _in_branches(even: Expect, odd: Expect) -> Expect:
    """Return what workgroups with even and with odd numbers expect."""

    def expect(recorded: LaneRecord) -> tuple[Words, Flags]:
        is_even = (np.arange(GROUPS) % 2 == 0)[:, None]
        (first, known), (second, other) = even(recorded), odd(recorded)
        return np.where(is_even, first, second), np.where(is_even, known, other)

    return expect


def _branch(even: str, odd: str, *expect: Expect) -> Variant:
    body = f"if ((gl_WorkGroupID.x & 1u) == 0u) result = {even}; else result = {odd};"
    return Variant(body, _in_branches(*expect))


def _exchanged(mask: int) -> Expect:
    return lambda recorded: recorded.of_lane(recorded.lane ^ np.uint32(mask))


def _sums(recorded: LaneRecord) -> tuple[Words, Flags]:
    return all_defined(recorded.reduced(lambda lanes, x: x.sum(dtype=np.uint32)))


def _largest(recorded: LaneRecord) -> tuple[Words, Flags]:
    return all_defined(recorded.reduced(lambda lanes, x: x.max()))


def _components(kind: str, count: int, memory: str, *, constant: bool = False) -> Variant:
    """Return a variant in which each invocation writes one component of a vector."""
    place = "local" if memory == "shared" else "index"
    other = "(127u - local)" if memory == "shared" else "(index - local + 127u - local)"
    write = f"v[{place} / {count}u][{place} % {count}u] = x;"
    if constant:
        cases = " ".join(f"case {n}u: v[{place} / {count}u].{'xyzw'[n]} = x; break;" for n in range(count))
        write = f"switch ({place} % {count}u) {{ {cases} }}"
    fence = "" if memory == "shared" else "memoryBarrierBuffer(); "
    body = f"{write} {fence}barrier(); result = v[{other} / {count}u][{other} % {count}u];"
    if memory == "shared":
        return Variant(body, mirrored, f"shared {kind} v[{LOCAL // count}];")
    declared = f"layout(std430, binding = 2) coherent buffer Cells {{ {kind} v[]; }};"
    return Variant(body, mirrored, declared, cells=TOTAL)


_LENGTH = "layout(constant_id = 0) const uint COUNT = 3u;\n"
_SELECTED = "const uint LENGTH = COUNT > 64u ? COUNT : 64u;\n"
_COMPUTED = "const uint LENGTH = (COUNT + 7u) / 8u * 8u;\n"
_REVERSE = "s[local] = x; barrier(); result = s[LENGTH - 1u - local];"
_OWN = (
    "uint p[LENGTH]; for (uint k = 0u; k < LENGTH; k++) p[k] = x + k; uint sum = 0u;"
    " for (uint k = 0u; k < LENGTH; k++) sum += p[k]; result = sum;"
)


def _sum_of_own(recorded: LaneRecord) -> tuple[Words, Flags]:
    return all_defined(
        (recorded.x * np.uint32(LOCAL) + np.uint32(LOCAL * (LOCAL - 1) // 2)).astype(np.uint32)
    )


def _quad_index(recorded: LaneRecord) -> tuple[Words, Flags]:
    index = np.take_along_axis(recorded.x, np.arange(LOCAL)[None, :] ^ 1, axis=1) & np.uint32(3)
    return recorded.of_lane((recorded.lane & ~np.uint32(3)) | index)


_BINS = """uint first = subgroupBallotExclusiveBitCount(subgroupBallot(true));
    uint count = subgroupBallotBitCount(subgroupBallot(true));
    for (uint k = first; k < 4u; k += count) bins[4u * gl_SubgroupID + k] = 0u;
    subgroupBarrier();
    atomicAdd(bins[4u * gl_SubgroupID + (x & 3u)], 1u);
    subgroupBarrier();
    result = bins[4u * gl_SubgroupID + (x >> 2u & 3u)];"""


def _bins(recorded: LaneRecord) -> tuple[Words, Flags]:
    def counted(lanes: Words, x: Words) -> Words:
        return np.asarray(np.bincount(x & 3, minlength=4)[x >> 2 & 3], np.uint32)

    return all_defined(recorded.reduced(counted))


_EXCHANGE = """if (subgroupElect()) s[gl_SubgroupID] = x;
    subgroupMemoryBarrierShared(); subgroupBarrier();
    uint y = {operation}(x);
    result = s[gl_SubgroupID] ^ y;"""


def _stored(other: Expect) -> Expect:
    def expect(recorded: LaneRecord) -> tuple[Words, Flags]:
        values, known = other(recorded)
        return recorded.first() ^ values, known

    return expect


def _mask(name: str, is_in: Callable[[Words, Words], Flags]) -> Variant:
    def counted(lanes: Words, x: Words) -> Words:
        return np.asarray(is_in(lanes[None, :], lanes[:, None]).sum(axis=1), np.uint32)

    count = " + ".join(f"bitCount(m.{word})" for word in "xyzw")
    body = f"uvec4 m = gl_Subgroup{name}Mask & subgroupBallot(true); result = uint({count});"
    return Variant(body, lambda recorded: all_defined(recorded.reduced(counted)))


TESTS: dict[str, ReportedTest] = {
    "group_branch": ReportedTest(
        "Operations in a branch that is uniform in each workgroup, and differs between workgroups",
        {
            "shuffle_xor": _branch(
                "subgroupShuffleXor(x, 1u)", "subgroupShuffleXor(x, 2u)", _exchanged(1), _exchanged(2)
            ),
            "reduction": _branch("subgroupAdd(x)", "subgroupMax(x)", _sums, _largest),
        },
        ("shuffle", "arithmetic"),
    ),
    "component_writes": ReportedTest(
        "Invocations write different components of one vector, and others read them after a barrier",
        {
            f"{memory}.{kind}{'.constant' * constant}": _components(kind, count, memory, constant=constant)
            for memory in ("shared", "buffer")
            for kind, count in (("uvec2", 2), ("uvec4", 4))
            for constant in (False, True)
        },
    ),
    "spec_length": ReportedTest(
        "An array whose length comes from a specialization constant through operations",
        {
            "select.shared": Variant(
                _REVERSE, mirrored, f"{_LENGTH}{_SELECTED}shared uint s[LENGTH];", {0: LOCAL}
            ),
            "computed.shared": Variant(
                _REVERSE, mirrored, f"{_LENGTH}{_COMPUTED}shared uint s[LENGTH];", {0: LOCAL}
            ),
            "select.own": Variant(_OWN, _sum_of_own, f"{_LENGTH}{_SELECTED}", {0: LOCAL}),
            "computed.own": Variant(_OWN, _sum_of_own, f"{_LENGTH}{_COMPUTED}", {0: LOCAL}),
        },
    ),
    "quad_index": ReportedTest(
        "Each invocation reads a lane of its quad that it chose itself",
        {
            "": Variant(
                "uint other = inputs[index ^ 1u] & 3u;"
                " result = subgroupShuffle(x, (gl_SubgroupInvocationID & ~3u) | other);",
                _quad_index,
            )
        },
        ("shuffle",),
    ),
    "barrier_atomics": ReportedTest(
        "Atomics on shared memory that the subgroup has cleared before a subgroup barrier",
        {"": Variant(_BINS, _bins, f"shared uint bins[{4 * LOCAL}];")},
        ("ballot",),
    ),
    "store_shuffle_load": ReportedTest(
        "A store by the elected lane, a subgroup barrier, an exchange, and a load by all lanes",
        {
            "broadcast_first": Variant(
                _EXCHANGE.format(operation="subgroupBroadcastFirst"),
                _stored(lambda recorded: all_defined(recorded.first())),
                f"shared uint s[{LOCAL}];",
            ),
            "reduction": Variant(
                _EXCHANGE.format(operation="subgroupAdd"), _stored(_sums), f"shared uint s[{LOCAL}];"
            ),
        },
        ("ballot", "arithmetic"),
    ),
    "masks": ReportedTest(
        "Bits of a mask of lanes that are active, also beyond the first word",
        {
            "eq": _mask("Eq", lambda other, own: other == own),
            "ge": _mask("Ge", lambda other, own: other >= own),
            "gt": _mask("Gt", lambda other, own: other > own),
            "le": _mask("Le", lambda other, own: other <= own),
            "lt": _mask("Lt", lambda other, own: other < own),
        },
        ("ballot",),
        ("", "size64", "size128"),
    ),
}
"""All tests by name."""


def _sentence(axes: ReportedAxes) -> str:
    variant = f" ({axes.variant.replace('.', ', ')})" if axes.variant else ""
    size = f", at a required subgroup size of {axes.required_size}" if axes.size else ""
    return f"{TESTS[axes.test].sentence}{variant}{size}."


_CASES = table(
    "reported",
    ReportedAxes,
    _sentence,
    stage=("compute",),
    test=TESTS,
    variant=lambda stage, test: TESTS[test].variants,
    size=lambda stage, test, variant: TESTS[test].sizes,
)


def _missing(case: ReportedCase, capabilities: Capabilities) -> list[str]:
    size = case.axes.required_size
    needs = lacking_operations(TESTS[case.axes.test].operations, capabilities)
    return [*needs, *(() if size is None else lacking_size(size, "compute", LOCAL, capabilities))]


def source_of(case: ReportedCase) -> str:
    """Return the GLSL of a case."""
    test = TESTS[case.axes.test]
    variant = test.variants[case.axes.variant]
    extensions = (f"GL_KHR_shader_subgroup_{name}" for name in test.operations)
    return lane_shader(case, variant.body, extensions=extensions, declarations=variant.declarations)


def _verdict(executor: Executor, case: ReportedCase) -> Verdict:
    variant = TESTS[case.axes.test].variants[case.axes.variant]
    bindings = {"Cells": poisoned(variant.cells)} if variant.cells else {}
    module = executor.compile(source_of(case), stage="compute")
    options = {"specialization": variant.specialization, "subgroup_size": case.axes.required_size}
    recorded, result, _ = run_recorded(executor, case, module, random_inputs(executor), bindings, **options)
    return compared(recorded, result, *variant.expect(recorded))


REPORTED = Family("reported", _CASES, _missing, one_by_one(_verdict))
"""Constructs of reports."""
