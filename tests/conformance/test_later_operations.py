"""Rotations, partitions, and operands of other kinds: their shaders, data, and what they need of a device."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from mutants.rotate_and_partition_mutations import LATER_MUTATIONS
from operations_page import PAGE, page
from simulated_device import SimulatedDevice
from suite_runs import matching, results_of, results_with_error
from test_support import CATEGORIES, EVERYTHING

import vkgroup.conformance as conformance
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.conformance import Status, cases_by_name, family_of, select
from vkgroup.conformance.patterns import WORKGROUPS
from vkgroup.conformance.subgroup import data, family
from vkgroup.conformance.subgroup.expectation import verdict_on
from vkgroup.conformance.subgroup.operands import CHOICES
from vkgroup.conformance.subgroup.shader import build
from vkgroup.device import Subgroup
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.groups import subset_of
from vkgroup.spec.operations import OPERATIONS, SUBGROUP_OPERATIONS
from vkgroup.spec.types import LONG_TYPES, TYPES
from vkgroup.spirv import grammar
from vkgroup.workers.opening import open_device
from vkgroup.workers.opening import select as select_device

LATER = [SUBGROUP_OPERATIONS[name] for name in SUBGROUP_OPERATIONS if name not in OPERATIONS]
LATER_CATEGORIES = ("partitioned_nv", "rotate", "rotate_clustered")
DEVICE = replace(
    EVERYTHING,
    subgroup=Subgroup(32, ("compute",), (*CATEGORIES, *LATER_CATEGORIES), True),
    features=EVERYTHING.features | {"shaderSubgroupRotate", "shaderSubgroupRotateClustered"},
    extensions={"VK_NV_shader_subgroup_partitioned": 1},
)
SUBGROUP = 3  # SPIR-V, Scope
SIZES = (2, 4, 8, 32, 128)


def compiled(cases, size=32):
    program = build(list(cases), size=size, seed=1)
    return program, compile_source(
        program.source, stage="compute", target=TargetEnvironment.VULKAN_1_2, cache=False
    )


def constants_of(module):
    return {row.result_id: row.operands[0] for row in module.instructions if row.name == "OpConstant"}


@pytest.mark.parametrize("operation", LATER, ids=lambda operation: operation.name)
def test_a_case_of_every_type_compiles_to_the_instruction_of_the_table(operation) -> None:
    operand = {"rotate": "by2", "rotate_clustered": "by2_c4"}.get(operation.category.value, "equal")
    operand = operand if len(operation.operands) > 1 else ""
    chosen = [
        case
        for case in select((f"{operation.category.value}.compute.{operation.name}.*.all.exact*",))
        if case.type not in LONG_TYPES
        and (case.operand, case.shape, case.subgroup_size) == (operand, "1d", 0)
    ]
    _, module = compiled(chosen)
    found = [row for row in module.instructions if row.name in operation.opcodes.values()]
    if operation.name != "subgroupPartitionNV":
        assert [row.name for row in found] == [operation.opcode(case.glsl_type) for case in chosen]
    assert [case.type for case in chosen] == [type_.name for type_ in operation.types]
    assert operation.category.capability in module.reflection.capabilities
    constants, groups = constants_of(module), grammar().enumeration("GroupOperation")
    for row in found:
        if operation.operator:
            assert constants[row.operands[0]] == SUBGROUP
            assert groups[row.operands[1]] == operation.group_operation
            assert len(row.operands) == 4
        elif operation.category.value != "partitioned":
            assert constants[row.operands[0]] == SUBGROUP
            assert [constants[id_] for id_ in row.operands[2:]] == [2, 4][: len(row.operands) - 2]
            assert len(row.operands) == len(operation.operands) + 1


def test_a_specialization_constant_is_given_a_value_other_than_its_own() -> None:
    found = select(("*.compute.*.uint.all.exact.specialized*",))
    assert {case.operation for case in found} == {
        "subgroupBroadcast",
        "subgroupShuffle",
        "subgroupShuffleXor",
        "subgroupShuffleUp",
        "subgroupShuffleDown",
        "subgroupQuadBroadcast",
        "subgroupRotate",
        "subgroupClusteredRotate",
    }
    program, module = compiled(found)
    own = {constant.id: constant.default for constant in module.reflection.specialization_constants}
    assert own.keys() == program.specialization.keys()
    assert sorted(program.specialization.values()) == [1, 2, 31]
    assert all(program.specialization[id_] != value for id_, value in own.items())
    ids = {row.result_id for row in module.instructions if row.name == "OpSpecConstant"}
    uses = [row for row in module.instructions if row.name.startswith("OpGroupNonUniform")]
    assert len([row for row in uses if ids & set(row.operands[2:3])]) == len(found)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CHOICES["ballot"])
def test_a_partition_is_valid_whoever_is_active(name, size) -> None:
    case = cases_by_name()[f"partitioned.compute.subgroupPartitionedAddNV.uint.all.exact.{name}"]
    (entry,) = build([case], size=size, seed=4).entries
    rng = np.random.default_rng(size)
    place = np.arange(WORKGROUPS * 128).reshape(-1, size)
    for likelihood in (1.0, 0.5, 0.1):
        active = rng.random(place.shape) < likelihood
        ballots = entry.argument.of_lanes(place, active)
        lowest, valid = subset_of(ballots, active)
        assert valid.all()
        kinds = {len(set(row[on])) for row, on in zip(lowest, active, strict=True) if on.any()}
        if likelihood == 1.0 and size >= 8:
            assert (kinds == {1}) == (name in ("active", "ones"))
            assert (kinds == {size}) == (name == "alone")


@pytest.mark.parametrize("size", SIZES[1:])
def test_what_the_leader_chose_is_the_word_of_the_first_active_lane(size) -> None:
    case = cases_by_name()["shuffle.compute.subgroupShuffle.uint.odd.exact.leader"]
    (entry,) = build([case], size=size, seed=4).entries
    place = np.arange(WORKGROUPS * 128).reshape(-1, size)
    active = np.broadcast_to(np.arange(size) % 2 == 1, place.shape)
    found = entry.argument.of_lanes(place, active)
    assert (found == entry.argument.table[place[:, 1]][:, None]).all()
    assert len(np.unique(found)) > 2


@pytest.mark.mostly_slow(every=4)
@pytest.mark.parametrize("size", SIZES[1:])
@pytest.mark.parametrize("operator", ["Add", "Mul", "Min", "Max", "And", "Or", "Xor"])
def test_partitioned_operations_tell_each_other_apart(operator, size) -> None:
    mine = [row for row in LATER if row.operator]
    case = cases_by_name()["partitioned.compute.subgroupPartitionedAddNV.uint.all.exact.equal"]
    (entry,) = build([case], size=size, seed=4).entries
    place = np.arange(WORKGROUPS * 128).reshape(-1, size)
    active = np.ones(place.shape, np.bool_)
    ballots = entry.argument.of_lanes(place, active)
    for one in (row for row in mine if row.operator == operator):
        for type_ in (type_ for type_ in one.types if type_.components == 1):
            recipe = data.recipe_name(one)
            value = data.make(recipe, type_, 128, seed=1)[0][place]
            right = reference_of(one.name)(value, active, ballots).value
            plain = OPERATIONS[one.name.replace("Partitioned", "").removesuffix("NV")]
            assert np.any(right != reference_of(plain.name)(value, active).value), (one.name, type_)
            for other in (row for row in mine if row is not one and type_ in row.types):
                wrong = reference_of(other.name)(value, active, ballots).value
                assert np.any(right != wrong), (one.name, other.name, type_)


@pytest.mark.parametrize("type_", TYPES.values(), ids=str)
def test_values_to_partition_are_equal_different_and_nearly_equal(type_) -> None:
    value, decoys = data.make("classes", type_, 128, seed=1)
    kinds = [len(np.unique(group, axis=0)) for group in value.reshape(WORKGROUPS, 128, -1)]
    least = 2 if type_.scalar.kind == "bool" else 3
    assert kinds[0] == 1
    assert kinds[1] >= least
    assert kinds[3] <= 2
    last = value.reshape(WORKGROUPS, 128, -1)[3]
    assert len(np.unique(last[:, :-1], axis=0)) == 1
    assert {row.tobytes() for row in decoys} <= {row.tobytes() for row in value}


@pytest.mark.parametrize("operation", ["Add", "InclusiveMul"])
def test_partitions_admit_rounding_and_no_more(operation) -> None:
    name = f"partitioned.compute.subgroupPartitioned{operation}NV.float.all.rounding.equal"
    simulated = SimulatedDevice([cases_by_name()[name]], size=32)
    (entry,) = simulated.program.entries
    verdict = verdict_on(entry, simulated.program, simulated.instances(), simulated.outputs)
    assert (verdict.status, verdict.undefined) == (Status.PASS, 0)
    result = simulated.result(entry)
    result[0] = (result[0].view(np.float32) * np.float32(1.001)).view(np.uint32)
    verdict = verdict_on(entry, simulated.program, simulated.instances(), simulated.outputs)
    assert verdict.status == Status.FAIL
    assert "operand 0x" in verdict.detail


@pytest.mark.parametrize(
    ("name", "lacking", "needs"),
    [
        ("rotate.compute.subgroupRotate.int.all.exact.by2", "rotate", ["VK_SUBGROUP_FEATURE_ROTATE_BIT"]),
        (
            "rotate_clustered.compute.subgroupClusteredRotate.int.all.exact.by2_c4",
            "rotate_clustered",
            ["VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT"],
        ),
        (
            "partitioned.compute.subgroupPartitionNV.int.all.exact",
            "partitioned_nv",
            ["VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV"],
        ),
        (
            "partitioned.compute.subgroupPartitionedAddNV.int.all.exact.equal",
            "ballot",
            ["VK_SUBGROUP_FEATURE_BALLOT_BIT (to make the operand)"],
        ),
    ],
)
def test_a_bit_that_is_not_declared(name, lacking, needs) -> None:
    case = cases_by_name()[name]
    assert family.missing(case, DEVICE) == []
    left = tuple(one for one in DEVICE.subgroup.supported_operations if one != lacking)
    assert family.missing(case, replace(DEVICE, subgroup=Subgroup(32, ("compute",), left))) == needs


@pytest.mark.parametrize("feature", ["shaderSubgroupRotate", "shaderSubgroupRotateClustered"])
def test_a_feature_that_is_not_declared(feature) -> None:
    case = cases_by_name()["rotate_clustered.compute.subgroupClusteredRotate.int.all.exact.by2_c4"]
    assert family.missing(case, replace(DEVICE, features=DEVICE.features - {feature})) == [feature]


def test_partitions_need_either_extension() -> None:
    case = cases_by_name()["partitioned.compute.subgroupPartitionNV.int.all.exact"]
    neither = replace(DEVICE, extensions={})
    (need,) = family.missing(case, neither)
    assert need == "VK_NV_shader_subgroup_partitioned or shaderSubgroupPartitioned"
    promoted = replace(neither, features=DEVICE.features | {"shaderSubgroupPartitioned"})
    assert family.missing(case, promoted) == []


def test_a_cluster_larger_than_the_subgroup_is_never_rotated() -> None:
    case = cases_by_name()["rotate_clustered.compute.subgroupClusteredRotate.int.all.exact.by1_c64"]
    (need,) = family.missing(case, DEVICE)
    assert need.startswith("a subgroup size of at least 64 ")


def test_the_page_has_the_tables_as_they_are() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text


GLOBS = ("partitioned.*", "rotate*", "*.specialized", "*.leader")


@pytest.mark.mostly_slow(every=3, start=1)
@pytest.mark.parametrize(("driver", "count"), [("lavapipe", 24), ("reference:4", 60), ("reference:32", 120)])
@pytest.mark.usefixtures("lavapipe")
def test_a_sample_is_right(driver, count) -> None:
    device = select_device(driver)
    with open_device(device) as opened:
        capabilities = opened.capabilities
    supported = [case for case in select(GLOBS) if not family_of(case).missing(case, capabilities)]
    found = conformance.run(device, cases=supported[:: len(supported) // count], isolate=False, seed=5)
    assert found.failures == []
    assert found.counts[Status.PASS] > 0.8 * count


def cases_of(mutation):
    """Return a few of the cases that a mutation names: of one pattern on lavapipe, whose compiler is slow."""
    patterns = ("all",) if mutation.driver == "lavapipe" else ("all", "odd", "nested")
    cases = [
        case
        for case in matching(mutation.cases)
        if case.pattern in patterns and not case.subgroup_size and case.shape == "1d"
    ]
    return cases[:: max(1, len(cases) // 8)]


def test_there_are_at_least_forty_mutations() -> None:
    assert len({mutation.name for mutation in LATER_MUTATIONS}) == len(LATER_MUTATIONS) >= 40


@pytest.mark.mostly_slow(every=4)
@pytest.mark.usefixtures("swiftshader", "lavapipe")
@pytest.mark.parametrize("mutation", LATER_MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_planted_error_is_caught(mutation) -> None:
    results_with_error(
        partial(results_of, mutation.driver, cases_of(mutation), seed=11),
        mutation.mutate,
    )
