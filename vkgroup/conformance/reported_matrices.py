"""The family of products of cooperative matrices beside subgroup operations, in one shader.

A report says that a driver crashes on modules with both (kvark/blade 333: CooperativeMatrixKHR and
GroupNonUniformArithmetic). The cases of cooperative matrices use no subgroup operations, and no others use
matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from vkgroup.compiler import TargetEnvironment
from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags, Words
from vkgroup.conformance.comparison import Description, Verdict, verdict_of
from vkgroup.conformance.cooperative_matrix.case import COMBINATIONS, COMPONENTS, listed
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, one_by_one, table
from vkgroup.conformance.lane_record import GROUPS, LOCAL, TOTAL, lane_shader, random_inputs, run_recorded
from vkgroup.conformance.support import lacking_operations
from vkgroup.device import Capabilities, CooperativeMatrix

_LARGEST = 3
"""Largest number in A and B. All sums are then exact in every type."""


class ReportedMatrixAxes(NamedTuple):
    """Axes of a case."""

    stage: str
    test: str
    operation: str  # key of `OPERATIONS`
    types: str  # of `COMBINATIONS`


ReportedMatrixCase = TableCase[ReportedMatrixAxes]


@dataclass(frozen=True)
class UniformOperation:
    """A subgroup operation with the same result in all lanes of a subgroup."""

    category: str
    glsl: str  # of `x`
    of_lanes: Callable[[Words, Words], Any]  # the same of the lanes and the inputs of a subgroup


OPERATIONS = {
    "arithmetic": UniformOperation("arithmetic", "subgroupAdd(x)", lambda lanes, x: x.sum(dtype=np.uint32)),
    "ballot": UniformOperation(
        "ballot",
        "subgroupBallotBitCount(subgroupBallot((x & 1u) == 1u))",
        lambda lanes, x: (x & 1).sum(dtype=np.uint32),
    ),
    "shuffle": UniformOperation("shuffle", "subgroupShuffle(x, 0u)", lambda lanes, x: x[np.argmin(lanes)]),
    "vote": UniformOperation(
        "vote", "uint(subgroupAny(x < 0x01000000u))", lambda lanes, x: (x < 1 << 24).any()
    ),
}
_TYPES = ("f16_f16_f32_f32", "s8_s8_s32_s32")

_CASES = table(
    "reported",
    ReportedMatrixAxes,
    lambda axes: (
        f"A product of cooperative matrices ({axes.types.replace('_', ', ')}) and {axes.operation} operations"
        " in one shader are right, and each scales with the other's result."
    ),
    stage=("compute",),
    test=("matrix_operations",),
    operation=OPERATIONS,
    types=_TYPES,
)


def _row(case: ReportedMatrixCase, capabilities: Capabilities) -> CooperativeMatrix | None:
    """Return the first entry of the device's list with the types of a case."""
    wanted = COMBINATIONS[case.axes.types]
    return next((row for types, row in listed(capabilities) if types == wanted), None)


def _missing(case: ReportedMatrixCase, capabilities: Capabilities) -> list[str]:
    if "cooperativeMatrix" not in capabilities.features:
        return ["cooperativeMatrix"]
    features = {
        feature for name in COMBINATIONS[case.axes.types].types for feature in COMPONENTS[name].features
    }
    needs = sorted((features | {"vulkanMemoryModel"}) - capabilities.features)
    needs += lacking_operations((OPERATIONS[case.axes.operation].category,), capabilities)
    if "compute" not in capabilities.cooperative_matrix_stages:
        needs.append("cooperativeMatrixSupportedStages with the compute stage")
    if _row(case, capabilities) is None:
        needs.append(f"a cooperative matrix product of the types {case.axes.types.replace('_', ', ')}")
    return needs


def source_of(case: ReportedMatrixCase) -> str:
    """Return the GLSL of a case; the rows and columns are specialization constants."""
    combination, operation = COMBINATIONS[case.axes.types], OPERATIONS[case.axes.operation]
    factor, result = COMPONENTS[combination.a].glsl, COMPONENTS[combination.result].glsl
    extensions = (*_EXTENSIONS, f"GL_KHR_shader_subgroup_{operation.category}")
    body = _BODY.format(factor=factor, result=result, operation=operation.glsl)
    declarations = _DECLARATIONS.format(factor=factor, result=result)
    return lane_shader(case, body, extensions=extensions, declarations=declarations)


_EXTENSIONS = (
    "GL_KHR_cooperative_matrix",
    "GL_KHR_memory_scope_semantics",
    "GL_EXT_shader_explicit_arithmetic_types",
    "GL_EXT_shader_16bit_storage",
    "GL_EXT_shader_8bit_storage",
)
_DECLARATIONS = """// bindings 2, 3: A and B; 4: products of all subgroups.
#pragma use_vulkan_memory_model
layout(constant_id = 0) const uint M = 1u;
layout(constant_id = 1) const uint N = 1u;
layout(constant_id = 2) const uint K = 1u;
layout(std430, binding = 2) readonly buffer A {{ {factor} as[]; }};
layout(std430, binding = 3) readonly buffer B {{ {factor} bs[]; }};
layout(std430, binding = 4) buffer C {{ {result} cs[]; }};
#define MATRIX(T, ROWS, COLUMNS, USE) coopmat<T, gl_ScopeSubgroup, ROWS, COLUMNS, gl_MatrixUse##USE>"""
_BODY = """MATRIX({factor}, M, K, A) a;
    coopMatLoad(a, as, 0u, K, gl_CooperativeMatrixLayoutRowMajor);
    MATRIX({factor}, K, N, B) b;
    coopMatLoad(b, bs, 0u, N, gl_CooperativeMatrixLayoutRowMajor);
    result = {operation};
    MATRIX({result}, M, N, Accumulator) c = MATRIX({result}, M, N, Accumulator)({result}(1));
    c = coopMatMulAdd(a, b, c);
    c = c * {result}(result & 3u);
    x ^= result;
    result += {operation};
    uint first = (gl_WorkGroupID.x * LOCAL + gl_SubgroupID) * M * N;
    coopMatStore(c, cs, first, N, gl_CooperativeMatrixLayoutRowMajor);"""


def _verdict(executor: Executor, case: ReportedMatrixCase) -> Verdict:
    row = _row(case, executor.capabilities)
    assert row is not None
    components = [COMPONENTS[name] for name in COMBINATIONS[case.axes.types].types]
    random = np.random.default_rng(executor.seed)
    a, b = (random.integers(-_LARGEST, _LARGEST + 1, size) for size in ((row.m, row.k), (row.k, row.n)))
    bindings = {
        "A": components[0].stored(a).ravel(),
        "B": components[1].stored(b).ravel(),
        "C": np.full(TOTAL * row.m * row.n, -1, components[3].dtype),
    }
    # The extension needs SPIR-V 1.3 and the memory model of Vulkan 1.2.
    module = executor.compile(source_of(case), stage="compute", target=TargetEnvironment.VULKAN_1_2)
    specialization: dict[int | str, int] = {0: row.m, 1: row.n, 2: row.k}
    recorded, result, arrays = run_recorded(
        executor, case, module, random_inputs(executor), bindings, specialization=specialization
    )
    products = arrays["C"].reshape(GROUPS, LOCAL, row.m, row.n)
    of_lanes = OPERATIONS[case.axes.operation].of_lanes
    first = recorded.reduced(of_lanes)
    second = replace(recorded, x=recorded.x ^ first).reduced(of_lanes)
    numbers = first + second
    scaled = (a @ b + 1) * (first & 3)[..., None, None]
    group, subgroup = np.arange(GROUPS)[:, None], np.minimum(recorded.subgroup, LOCAL - 1)
    wrong_products = (products[group, subgroup] != scaled).any(axis=(2, 3))
    wrong = (result != numbers) | wrong_products

    def line(index: tuple[int, ...]) -> str:
        where = "workgroup {} invocation {}".format(*index)
        if not wrong_products[index]:
            return f"{where}: expected {numbers[index]} got {result[index]}"
        got, wanted = products[group, subgroup][index], scaled[index]
        at = tuple(int(number) for number in np.argwhere(got != wanted)[0])
        return f"{where}: row {at[0]} column {at[1]} of the product: expected {wanted[at]} got {got[at]}"

    def shown(wrong: Flags) -> dict[str, Any]:
        values = {"expected": numbers, "got": result, "product is wrong": wrong_products.astype(np.uint32)}
        return evidence.of_values("the result", values, wrong, ("workgroup", "invocation"))

    return verdict_of(wrong, Description("values", line, shown), defined=TOTAL, undefined=0)


REPORTED_MATRICES = Family("reported_matrices", _CASES, _missing, one_by_one(_verdict))
"""Products of matrices beside subgroup operations."""
