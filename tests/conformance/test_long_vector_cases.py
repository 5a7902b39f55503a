"""The cases of vectors of eight components: what there is, and that planted errors are caught."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from mutants.changes import (
    BROADCAST,
    FADD,
    FMUL,
    QUAD_SWAP,
    REDUCE,
    SHUFFLE,
    SHUFFLE_UP,
    SHUFFLE_XOR,
    SMAX,
    SMIN,
    another_group_operation,
    another_opcode,
    own_value,
)
from mutants.rewriting import rewritten
from suite_runs import matching, results_of, results_with_error

from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.compiler.tools import validate
from vkgroup.conformance import Status, intrinsics, select
from vkgroup.conformance.subgroup.cases import STAGES
from vkgroup.conformance.subgroup.family import missing
from vkgroup.conformance.subgroup.shader import build
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.programs.glsl_types import from_planes, to_planes
from vkgroup.reference.dtypes import dtype_of
from vkgroup.spec.operations import SUBGROUP_OPERATIONS, OperandKind
from vkgroup.spec.types import LONG_TYPES, SCALARS, GlslType, type_named
from vkgroup.spirv import VectorType
from vkgroup.spirv.declarations import Declarations

CASES = select(("*.vec8_*",))
EXTRACT, CONSTRUCT, EXCLUSIVE, ROTATE, PARTITIONED, EXCLUSIVE_PARTITIONED = 81, 80, 2, 4431, 6, 8
COMPONENTS = 8


def test_every_operation_on_values_has_cases_of_all_its_scalars_in_every_stage() -> None:
    assert set(LONG_TYPES) == {f"vec8_{name}" for name in SCALARS}
    seen = {(case.stage, case.operation, case.glsl_type.scalar) for case in CASES}
    for operation in SUBGROUP_OPERATIONS.values():
        if not operation.operands or operation.operands[0].kind is not OperandKind.VALUE:
            continue
        for stage in STAGES:
            if operation.stages is None or stage in operation.stages:
                assert {scalar for at, name, scalar in seen if (at, name) == (stage, operation.name)} == {
                    type_.scalar for type_ in operation.types
                }


def test_they_are_few() -> None:
    patterns = Counter(case.pattern for case in CASES)
    assert set(patterns) == {"all", "data_mask", "partial"}
    # Votes with helper invocations alone meet the last one.
    assert patterns["partial"] == len(LONG_TYPES)
    assert {case.data for case in CASES} == {"exact"}
    assert len(CASES) < 40_000


def test_the_feature_is_named_where_it_is_missing() -> None:
    device = capabilities_of(32)
    case = next(case for case in CASES if case.stage == "compute" and not case.subgroup_size)
    assert missing(case, device) == []
    assert missing(case, replace(device, features=device.features - {"longVector"})) == ["longVector"]


@pytest.mark.parametrize("type_", LONG_TYPES.values(), ids=str)
def test_values_come_back_from_words(type_: GlslType) -> None:
    values = np.random.default_rng(0).integers(0, 2, (5, COMPONENTS)).astype(dtype_of(type_.scalar))
    found, sound = from_planes(to_planes(values, type_), type_)
    assert sound.all()
    assert np.array_equal(found, values)


@pytest.mark.parametrize("stage", STAGES)
def test_programs_compile_in_every_stage(stage: str) -> None:
    chosen = [case for case in CASES if case.stage == stage and case.pattern == "data_mask"]
    cases = [case for case in chosen if not case.subgroup_size and case.shape == "1d"][::61]
    program = build(cases, size=32, seed=1)
    module = compile_source(program.source, stage=program.stage.name, target=TargetEnvironment.VULKAN_1_2)
    assert "LongVectorEXT" in module.reflection.capabilities
    assert "SPV_EXT_long_vector" in module.reflection.extensions
    found = Declarations(module).types.values()
    assert {kind.count for kind in found if isinstance(kind, VectorType)} >= {COMPONENTS}


def test_the_same_declarations_are_valid_for_vectors_that_the_tools_know(monkeypatch) -> None:
    """Vectors of four components: the tools cannot check modules with longer ones."""
    monkeypatch.setattr(intrinsics, "_LONG_VECTOR", ("Shader", "SPV_KHR_storage_buffer_storage_class"))
    four = {name: GlslType(name, type_.scalar, 4) for name, type_ in LONG_TYPES.items()}
    monkeypatch.setattr("vkgroup.spec.types.LONG_TYPES", four)
    assert type_named("vec8_int").components == 4
    chosen = [case for case in CASES if case.stage == "compute" and case.pattern == "all"]
    for start in range(5):
        program = build([case for case in chosen if not case.subgroup_size][start::25], size=32, seed=1)
        module = compile_source(program.source, stage="compute", target=TargetEnvironment.VULKAN_1_2)
        validate(module, TargetEnvironment.VULKAN_1_2)
        assert "LongVectorEXT" not in module.reflection.capabilities


# --- planted errors: no driver has long vectors, the reference device does -----------------------------


def run(cases, transform=None):
    return results_of("reference:8", cases, seed=2, transform=transform)


def _extracted(data: bytes) -> bytes:
    """Let the last component be the one before it."""
    return rewritten(data, lambda i: [[*i[:4], 6]] if i[0] == EXTRACT and i[4:] == [7] else [i])


def _constructed(data: bytes) -> bytes:
    """Let the last component be made of the first one."""
    return rewritten(data, lambda i: [[*i[:10], i[3]]] if i[0] == CONSTRUCT and len(i) == 11 else [i])


MUTATIONS = {
    "products for sums": ("arithmetic.*Add.vec8_float*", partial(another_opcode, FADD, FMUL)),
    "least for greatest": ("arithmetic.*Max.vec8_int*", partial(another_opcode, SMAX, SMIN)),
    "exclusive reductions": (
        "arithmetic.*subgroupAdd.vec8_*int*",
        partial(another_group_operation, REDUCE, EXCLUSIVE),
    ),
    "own values for shuffles upwards": ("shuffle_relative.*Up.vec8_*", partial(own_value, SHUFFLE_UP)),
    "own values for broadcasts": ("ballot.*Broadcast.vec8_*", partial(own_value, BROADCAST)),
    "own values for shuffles": ("shuffle.*Shuffle.vec8_*", partial(own_value, SHUFFLE)),
    "shuffles by number": ("shuffle.*Xor.vec8_*", partial(another_opcode, SHUFFLE_XOR, SHUFFLE)),
    "own values for swaps": ("quad.*Swap*.vec8_*", partial(own_value, QUAD_SWAP)),
    "a component for another": ("quad.*.vec8_*", _extracted),
    "a component of another": ("clustered.*.vec8_*", _constructed),
    "own values for rotations": ("rotate.*.vec8_*", partial(own_value, ROTATE)),
    "exclusive partitions": (
        "partitioned.*dAddNV.vec8_*",
        partial(another_group_operation, PARTITIONED, EXCLUSIVE_PARTITIONED),
    ),
    "a component that is not compared": ("vote.*.vec8_*", _constructed),
}


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("name", MUTATIONS)
def test_a_planted_error_is_caught(name: str) -> None:
    glob, mutate = MUTATIONS[name]
    category, _, rest = glob.partition(".")
    chosen = [case for case in matching(f"{category}.compute.{rest}") if not case.subgroup_size]
    cases = chosen[:: max(1, len(chosen) // 6)]
    assert {result.status for result in run(cases)} == {Status.PASS}
    results_with_error(partial(run, cases), mutate)
