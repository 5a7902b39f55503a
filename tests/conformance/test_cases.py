"""The list of cases: complete, named without doubt, filtered by globs."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from vkgroup.conformance import all_cases, all_families, cases_by_name, family_of, select
from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.patterns import SHAPES
from vkgroup.conformance.stages.pixels import FRAMEBUFFER, FRAMEBUFFER_STAGES
from vkgroup.conformance.subgroup.cases import STAGES, subgroup_cases
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import BUILTIN_VARIABLES, SUBGROUP_OPERATIONS
from vkgroup.spec.stages import STAGES as VULKAN_STAGES
from vkgroup.spec.types import LONG_TYPES

NARROW = ("all", "partial", "odd")


def test_names_are_unique() -> None:
    counts = Counter(case.name for case in all_cases())
    assert [name for name, count in counts.items() if count > 1] == []


def test_at_least_twenty_thousand_compute_cases() -> None:
    assert sum(case.stage == "compute" for case in subgroup_cases()) >= 20_000


JUDGED = [op for op in SUBGROUP_OPERATIONS.values() if op.name not in BARRIERS]


SHUFFLE_BY = ("by1", "by2", "half", "furthest", "beyond", "dynamic", "data")
OPERANDS = {
    "subgroupBroadcast": ("first", "middle", "last", "beyond", "dynamic"),
    "subgroupBallotBitExtract": ("first", "last", "lane", "data", "straddling"),
    "subgroupShuffle": ("last", "reverse", "rotate", "dynamic", "data", "straddling"),
    "subgroupShuffleXor": ("by1", "by2", "half", "beyond", "dynamic", "data"),
    "subgroupShuffleUp": SHUFFLE_BY,
    "subgroupShuffleDown": SHUFFLE_BY,
    "subgroupQuadBroadcast": ("q0", "q1", "q2", "q3", "beyond", "dynamic"),
    "subgroupRotate": ("by2", "dynamic"),
    "subgroupClusteredRotate": ("by2_c4", "dynamic_c4"),
}
"""The second operands that meet every type and pattern."""
ALSO_IN_NARROW = {
    "subgroupRotate": ("by1", "by5", "half", "furthest", "beyond", "largest", "specialized", "leader"),
    "subgroupClusteredRotate": (
        *(f"by1_c{size}" for size in (1, 2, 4, 8, 16, 32, 64, 128)),
        *(f"dynamic_c{size}" for size in (1, 2, 8, 16, 32, 64, 128)),
        *(f"{distance}_c4" for distance in ("by5", "half", "furthest", "beyond", "largest")),
        "specialized_c4",
        "leader_c4",
    ),
    "subgroupBallotBitExtract": (),
}
"""The second operands that meet every type in the patterns `NARROW` alone."""
PARTITIONS = ("voted", "strided", "blocks", "alone", "active", "ones")
"""The partitions, beside ``equal``, that meet scalars alone, and those in the patterns `NARROW` alone."""


def operands_met(operation, type_, pattern) -> set[str]:
    """Return the second operands that a type meets in a pattern; an empty name where there is none."""
    narrow = pattern in NARROW
    if operation.name.startswith("subgroupPartitioned"):
        return {"equal", *(PARTITIONS if narrow and type_.components == 1 else ())}
    if operation.category is Category.CLUSTERED:
        return {f"c{size}" for size in (1, 2, 4, 8, 16, 32, 64, 128)}
    if operation.name not in OPERANDS:
        return {""}
    also = ALSO_IN_NARROW.get(operation.name, ("specialized", "leader"))
    return {*OPERANDS[operation.name], *(also if narrow else ())}


@cache
def by_operation():
    """Cases of the core's types at the device's own size, by stage and operation."""
    found = {}
    for case in subgroup_cases():
        if case.type not in LONG_TYPES and not case.subgroup_size:
            found.setdefault((case.stage, case.operation), []).append(case)
    return found


EVERYWHERE = {"all", "partial", "odd", "data_mask", "nested", "loop", "early_return"}
COMPUTE_ALONE = {"lower_half", "one_lane", "switch", "uniform_branch"}


def compute_patterns(operation) -> set[str]:
    """Return the patterns of compute shaders; operations on partitions, which are many, meet fewer."""
    if operation.category is Category.PARTITIONED:
        return EVERYWHERE - {"early_return"}
    return EVERYWHERE | COMPUTE_ALONE


def fragment_patterns(operation) -> set[str]:
    """Return the patterns of fragment shaders; operations on partitions, which are many, meet fewer."""
    if operation.category is Category.PARTITIONED:
        return {"all", "partial", "data_mask", "demote"}
    return EVERYWHERE | {"discard", "demote", "terminate"}


@pytest.mark.parametrize("operation", JUDGED, ids=lambda op: op.name)
def test_every_type_meets_every_pattern_and_operand(operation) -> None:
    cases = by_operation()["compute", operation.name]
    met = {(case.type, case.pattern, case.operand) for case in cases if case.data == "exact"}
    assert met == {
        (type_.name, pattern, operand)
        for type_ in operation.types
        for pattern in compute_patterns(operation)
        for operand in operands_met(operation, type_, pattern)
    }


@pytest.mark.parametrize("operation", JUDGED, ids=lambda op: op.name)
def test_every_type_meets_every_pattern_of_fragment_shaders(operation) -> None:
    met: dict[tuple[str, str], set[str]] = {}
    for case in by_operation()["fragment", operation.name]:
        met.setdefault((case.type, case.pattern), set()).add(case.operand)
    patterns = fragment_patterns(operation)
    assert met.keys() == {(type_.name, pattern) for type_ in operation.types for pattern in patterns}
    for type_ in operation.types:
        assert met[type_.name, "partial"] == operands_met(operation, type_, "partial")


def test_what_workgroups_alone_have_is_not_asked_of_fragments() -> None:
    operations = {case.operation for case in subgroup_cases() if case.stage == "fragment"}
    missing = (SUBGROUP_OPERATIONS.keys() | BUILTIN_VARIABLES.keys()) - operations
    assert missing == {"gl_NumSubgroups", "gl_SubgroupID", "subgroupMemoryBarrierShared"}
    assert not select(("basic.fragment.*.shared*",))


def test_partitions_meet_every_data_set_and_size() -> None:
    adds = select(("partitioned.compute.subgroupPartitionedInclusiveAddNV.f16vec2.*",))
    assert {(case.data, case.pattern) for case in adds if case.data != "exact"} == {
        (data, pattern) for data in ("rounding", "special") for pattern in NARROW
    }
    assert {case.subgroup_size for case in adds} == {0, 1, 2, 4, 8, 16, 32, 64, 128}


def test_floats_meet_rounding_and_special_data() -> None:
    for operator in ("Add", "Mul"):
        for prefix in ("subgroup", "subgroupInclusive", "subgroupExclusive"):
            sets = {c.data for c in select((f"arithmetic.compute.{prefix}{operator}.vec3.*",))}
            assert sets == {"exact", "rounding", "special"}
    assert {c.data for c in select(("arithmetic.compute.subgroupMin.f16vec2.*",))} == {"exact", "special"}
    assert {c.data for c in select(("shuffle.compute.subgroupShuffle.double.*",))} == {"exact", "special"}


def test_every_cluster_size_and_shape_and_required_size() -> None:
    adds = select(("clustered.compute.subgroupClusteredAdd.int.*",))
    assert {case.operand for case in adds} == {f"c{size}" for size in (1, 2, 4, 8, 16, 32, 64, 128)}
    assert {case.shape for case in adds} == SHAPES.keys()
    assert {case.subgroup_size for case in adds} == {0, 1, 2, 4, 8, 16, 32, 64, 128}


def test_every_variable_and_barrier_has_cases() -> None:
    operations = {case.operation for case in subgroup_cases()}
    assert operations == SUBGROUP_OPERATIONS.keys() | BUILTIN_VARIABLES.keys()


def test_every_case_says_what_it_tests() -> None:
    sentences = {case.sentence for case in all_cases()}
    assert len(sentences) == len(all_cases())
    assert all(sentence.endswith(".") for sentence in sentences)


def test_the_stages_are_vulkans() -> None:
    assert {case.stage for case in subgroup_cases()} == set(STAGES) <= {stage.name for stage in VULKAN_STAGES}


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage not in ("compute", "fragment")])
def test_every_type_meets_the_patterns_of_the_other_stages(stage) -> None:
    for operation in JUDGED:
        if operation.stages is not None and stage not in operation.stages:
            continue
        cases = by_operation()[stage, operation.name]
        met = {(case.type, case.pattern) for case in cases if case.data == "exact"}
        assert met >= {(type_.name, pattern) for type_ in operation.types for pattern in ("all", "data_mask")}
        wanted = {"all", "data_mask"}
        if operation.category is not Category.PARTITIONED:
            wanted |= {"partial", "nested"}
        assert {pattern for _, pattern in met} == wanted


def test_stages_that_may_have_no_stores_have_cases_through_the_framebuffer() -> None:
    operations = SUBGROUP_OPERATIONS.keys() - BARRIERS.keys()
    for stage in FRAMEBUFFER_STAGES:
        cases = [case for case in subgroup_cases() if case.stage == stage and case.shape == FRAMEBUFFER]
        assert operations <= {case.operation for case in cases}
        assert {case.pattern for case in cases} == {"all", "data_mask"}


def test_every_case_begins_with_its_category_and_has_a_family() -> None:
    assert all(case.name.startswith(f"{case.category}.") for case in all_cases())
    for family in all_families():
        assert {family_of(case) for case in family.cases()} == {family}


def test_globs_select_by_whole_name() -> None:
    name = "vote.compute.subgroupAll.bool.all.exact"
    assert select((name,)) == (cases_by_name()[name],)
    assert select(("subgroupAll",)) == ()
    both = select(("vote.*.all.exact", "quad.*.all.exact.q[01]"))
    assert {case.category for case in both} == {"vote", "quad"}
    assert select() == all_cases()
