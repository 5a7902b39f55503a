"""Causes of failures: grouping, hypotheses against planted errors, and known findings."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
from mutants import causes as mutant_causes
from mutants.changes import ALL, ANY, ELECT, always, another_opcode
from mutants.handwritten_causes import hypotheses_of
from mutants.subgroup_mutations import FRAGMENT_MUTATIONS, MUTATIONS

import vkgroup.conformance as conformance
from vkgroup.base.errors import InvalidInput
from vkgroup.conformance.diagnosis import nan_order
from vkgroup.conformance.diagnosis.hypotheses import HYPOTHESES
from vkgroup.conformance.diagnosis.masks import SENTENCES
from vkgroup.conformance.diagnosis.observation import active_groups
from vkgroup.conformance.families import cases_by_name
from vkgroup.conformance.intrinsics import EXAMPLE
from vkgroup.record.causes import find_causes
from vkgroup.record.causes.description import ExecutedCases, axes_of, complexity, describe, pattern_of
from vkgroup.record.causes.findings import (
    DriverVersion,
    KnownError,
    all_findings,
    compiler_errors,
    read_finding,
)
from vkgroup.record.record import Result, Status
from vkgroup.spec.operations import SUBGROUP_OPERATIONS
from vkgroup.workers.opening import select as select_device

ROOT = Path(__file__).parents[2]


def failure(case: str, *rows: tuple[str, str, int, int], wrong: int = 8, compatible=()) -> Result:
    """Return a failed case with hypotheses: name, variant, lanes matched, lanes contradicted."""
    hypotheses = [
        {
            "name": name,
            "variant": variant,
            "sentence": name,
            "matched": matched,
            "open": 0,
            "contradicted": not_,
        }
        for name, variant, matched, not_ in rows
    ]
    diagnosis = {"kind": "lanes", "wrong": wrong, "right": 0, "hypotheses": hypotheses, "common": []}
    return Result(
        case,
        Status.FAIL,
        detail=f"a sentence\n{wrong} of 9 are wrong",
        evidence={"diagnosis": diagnosis | {"compatible": compatible}},
    )


def passed(*cases: str) -> list[Result]:
    return [Result(case, Status.PASS) for case in cases]


ALL_EQUAL = "vote.compute.subgroupAllEqual.{}.all.exact"


def test_the_hypothesis_that_explains_most_cases_takes_them() -> None:
    results = [
        failure(ALL_EQUAL.format("vec2"), ("ones", "true", 8, 0), ("first_component", "", 8, 0)),
        failure(ALL_EQUAL.format("vec3"), ("first_component", "", 8, 0)),
        failure(ALL_EQUAL.format("vec4"), ("zero", "", 8, 0)),
        *passed(ALL_EQUAL.format("float")),
    ]
    first, second = find_causes(results, "a driver", "")
    assert (first.explanation.name, len(first.cases)) == ("first_component", 2)
    assert (first.explanation.lanes, first.explanation.of_lanes) == (16, 16)
    assert second.explanation.name == "zero"


def test_a_hypothesis_that_contradicts_a_right_lane_explains_nothing() -> None:
    (cause,) = find_causes([failure(ALL_EQUAL.format("vec2"), ("zero", "", 8, 1))], "a driver", "")
    assert cause.explanation is None
    assert cause.explained == "no hypothesis matches"


def test_a_case_without_evidence_joins_the_cause_of_its_operation_only() -> None:
    shuffle = "shuffle_relative.compute.subgroupShuffleUp.uint.all.exact.{}"
    elsewhere = "shuffle.compute.subgroupShuffleXor.uint.all.exact.by2"
    results = [
        failure(shuffle.format("by1"), ("another_operation", "subgroupShuffleDown", 8, 0)),
        failure(shuffle.format("by2"), compatible=[["another_operation", "subgroupShuffleDown"]]),
        failure(elsewhere, compatible=[["another_operation", "subgroupShuffleDown"]]),
    ]
    causes = find_causes(results, "a driver", "")
    assert sorted(len(cause.cases) for cause in causes) == [1, 2]
    explained = next(cause for cause in causes if cause.explanation)
    assert (explained.explanation.cases, explained.explanation.open_lanes) == (1, 8)


def test_crashes_and_texts_without_lanes_are_grouped_by_their_kind() -> None:
    results = [
        Result("vote.compute.subgroupAny.bool.all.exact", Status.CRASH, detail="killed by signal 11"),
        Result("vote.compute.subgroupAny.bool.odd.exact", Status.CRASH, detail="killed by signal 11"),
        Result("size_control.compute.a", Status.FAIL, detail="a\nlane 7 is not below 4"),
        Result("size_control.compute.b", Status.FAIL, detail="b\nlane 9 is not below 4"),
        Result("size_control.compute.c", Status.FAIL, detail="c\nanother text"),
    ]
    assert sorted(len(cause.cases) for cause in find_causes(results, "", "")) == [1, 2, 2]


def test_known_causes_need_the_known_behaviour_and_come_last() -> None:
    finding = KnownError(
        title="known", driver="A driver", seen=("1.0",), description="", id="known", fixed="2.0",
        filter=("vote.*AllEqual*",), hypothesis=("first_component",),
    )  # fmt: skip
    results = [
        failure(ALL_EQUAL.format("vec2"), ("first_component", "", 8, 0)),
        failure(ALL_EQUAL.format("vec3"), ("zero", "", 8, 0)),
    ]
    new, known = find_causes(results, "a driver of ours", "1.5", findings=[finding])
    assert (new.known, new.cases) == (False, (ALL_EQUAL.format("vec3"),))
    assert (known.id, known.cases) == ("known", (ALL_EQUAL.format("vec2"),))
    assert not any(cause.known for cause in find_causes(results, "A driver", "2.0", findings=[finding]))
    assert not any(cause.known for cause in find_causes(results, "another", "1.5", findings=[finding]))


@pytest.mark.parametrize(
    ("info", "device", "is_known"),
    [
        ("Mesa 26.1.6", "AMD Radeon RX 580 Series (RADV POLARIS10)", True),
        ("Mesa 25.0.7", "AMD Radeon RX 580 Series (RADV POLARIS10)", False),  # which is right
        ("Mesa 26.1.6", "AMD Radeon Graphics (RADV NAVI31)", False),
        ("Mesa 26.1.6", "", False),
    ],
)
def test_an_error_of_some_devices_explains_no_failure_of_others(
    info: str, device: str, is_known: bool
) -> None:
    told = "lane 0 of workgroup 0 subgroup 0 {} the operation, contrary to the conditions around it"
    name = "arithmetic.compute.subgroupExclusiveAdd.u16vec2.switch.exact"
    (cause,) = find_causes(
        [Result(name, Status.FAIL, detail=told.format("did not execute"))], "radv", info, device
    )
    assert (cause.id == "radv-mask-in-vcc") == is_known
    (cause,) = find_causes([Result(name, Status.FAIL, detail=told.format("executed"))], "radv", info, device)
    assert not cause.known


def test_a_case_that_was_not_emulated_does_not_narrow_a_cause() -> None:
    failed = [failure(ALL_EQUAL.format(name), ("zero", "", 8, 0)) for name in ("vec2", "vec3")]
    other = ALL_EQUAL.format("vec2").replace("compute", "fragment")
    sentences = {
        status: find_causes([*failed, Result(other, status)], "a driver", "")[0].sentence
        for status in (Status.NOT_SUPPORTED, Status.NOT_EMULATED, Status.PASS)
    }
    assert sentences[Status.NOT_EMULATED] == sentences[Status.NOT_SUPPORTED] != sentences[Status.PASS]


def test_the_identity_of_a_new_cause_depends_on_its_behaviour_alone() -> None:
    once = find_causes([failure(ALL_EQUAL.format("vec2"), ("zero", "", 8, 0))], "a", "1")
    again = find_causes([failure(ALL_EQUAL.format("ivec4"), ("zero", "", 3, 0), wrong=3)], "b", "2")
    other = find_causes([failure(ALL_EQUAL.format("vec2"), ("ones", "true", 8, 0))], "a", "1")
    assert once[0].id == again[0].id != other[0].id


def test_a_sentence_names_the_axes_that_matter() -> None:
    every = [
        f"vote.{stage}.subgroupAllEqual.{type_}.{pattern}.exact"
        for stage in ("compute", "fragment")
        for type_ in ("float", "vec2", "vec3", "int", "ivec2")
        for pattern in ("all", "odd", "loop")
    ]
    executed = ExecutedCases([*every, "vote.compute.subgroupAll.bool.all.exact"])
    vectors = [name for name in every if "vec" in name]
    text = "`subgroupAllEqual` of vectors, all stages, all patterns: 18 cases"
    assert describe(vectors, executed) == text
    odd = [name for name in every if ".odd." in name and ".compute." in name]
    assert describe(odd, executed) == "`subgroupAllEqual`, stage compute, pattern odd: 5 cases"


def test_an_axis_is_compared_with_the_cases_that_share_the_others() -> None:
    """Operand, shape and size of a case depend on its operation, stage and data."""
    every = [
        f"arithmetic.{stage}.{name}.{end}"
        for stage in ("compute", "vertex")
        for name in ("subgroupAdd", "subgroupMul", "subgroupMin", "subgroupMax")
        for end in ("float.all.exact", "float.partial.exact", "int.partial.exact", "float.all.special")
    ]
    every += [f"{name}.2d" for name in every if name.endswith(".exact") and ".compute." in name]
    special = [name for name in every if name.endswith(".special")]
    assert (
        describe(special, ExecutedCases(every))
        == "all 4 operations of floating-point types, data special, all stages: 8 cases"
    )
    vertex = [name for name in every if ".vertex." in name and ".partial." in name]
    assert (
        describe(vertex, ExecutedCases(every)) == "all 4 operations, stage vertex, pattern partial: 8 cases"
    )


def test_names_without_an_operation_are_described_by_a_glob() -> None:
    names = ["reconvergence.maximal.compute.nesting4.2.16", "reconvergence.maximal.compute.nesting5.3.19"]
    assert pattern_of(names) == "reconvergence.maximal.compute.{nesting4,nesting5}.{2,3}.{16,19}"
    assert "operation" not in axes_of(names[0])


def test_every_case_of_a_subgroup_operation_has_its_axes_in_its_name() -> None:
    for case in conformance.select(
        ("vote.*", "hlsl.compute.*", "quad_control.*subgroupQuadA*", "legacy_*.*")
    ):
        axes = axes_of(case.name)
        if case.operation != EXAMPLE:
            named = {name: axes.get(name, "") for name in ("category", "stage", "operation", "pattern")}
            assert named == {name: getattr(case, name) for name in named}, case.name
            assert axes.get("type", case.type) == case.type


def test_the_simplest_case_comes_first() -> None:
    cases = [case.name for case in conformance.select(("vote.*.subgroupAllEqual.*",))]
    assert min(cases, key=complexity).startswith("vote.compute.subgroupAllEqual.")
    assert min(cases, key=complexity).endswith(".all.exact")


def test_versions_of_drivers_are_compared_by_number() -> None:
    assert DriverVersion.of("llvmpipe", "Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)").version == (25, 0, 7)
    assert DriverVersion.of("SwiftShader driver", "").version == ()


def test_every_finding_names_what_exists() -> None:
    known = {row.name for row in HYPOTHESES} | set(SENTENCES)
    known |= {"one_descriptor", "split", "merged", "another_path"}
    names = list(cases_by_name())
    of_compilers = [error.as_known(name) for name, error in compiler_errors().items()]
    findings = (*all_findings(), *of_compilers)
    assert len(findings) >= 27
    for finding in findings:
        assert set(finding.hypothesis) <= known, finding.id
        assert not finding.shader or (ROOT / "shaders" / "findings" / finding.shader).is_file(), finding.id
        for pattern in finding.filter:
            assert any(fnmatchcase(name, pattern) for name in names), (finding.id, pattern)


FINDING = 'title = "t"\ndriver = "d"\nseen = ["1.0"]\ndescription = "d"\n'
RULE = '[rule]\ndocument = "d"\nquote = "q"\n'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("title = ", "Invalid value (at end of document)"),
        ('title = "t"', "missing required field `driver`"),
        (FINDING + "bogus = 1", "unknown field `bogus`"),
        (FINDING.replace('"1.0"', ""), "seen: needs at least one version"),
        (FINDING + 'text = "("', "missing ), unterminated subpattern"),
        (FINDING + RULE + 'strength = "weak"', "rule.strength: 'weak' is none of vulkan,"),
        (FINDING + RULE + 'place = "p"', "unknown field `place`"),
        ("\udcff", "can't decode"),
    ],
)  # fmt: skip
def test_a_wrong_finding_is_reported_with_its_file(content: str, said: str) -> None:
    assert read_finding("a", FINDING.encode()).id == "a"
    with pytest.raises(InvalidInput) as raised:
        read_finding("broken", content.encode("utf-8", "surrogateescape"))
    assert str(raised.value).startswith("vkgroup/findings/broken.toml is wrong: ")
    assert said in str(raised.value)


def test_hypotheses_have_distinct_names() -> None:
    assert len({row.name for row in HYPOTHESES}) == len(HYPOTHESES)


H200 = np.load(Path(__file__).with_name("h200_min_max_nan.npz"))
"""Lanes of minima and maxima recorded on an H200 (driver 580.159.04): ``CASE/value`` and so on."""


@pytest.mark.parametrize("case", sorted({key.partition("/")[0] for key in H200.files}))
def test_an_h200_keeps_values_by_comparison_in_a_tree(case) -> None:
    value, active, got, defined, other = (
        H200[f"{case}/{key}"] for key in ("value", "active", "got", "defined", "other")
    )
    operation = SUBGROUP_OPERATIONS[case.split(".")[2]]
    assert operation.operator is not None
    select, tree = next(iter(nan_order.selections(operation.operator).values()))
    groups = active_groups(operation, [other], active)
    predicted = nan_order.in_steps(operation, value, groups, select, tree=tree)
    assert np.isnan(value[active]).any()
    np.testing.assert_array_equal(predicted[defined], got[defined])


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["swiftshader", "lavapipe"])
def test_the_planted_error_is_ranked_first(driver) -> None:
    report = mutant_causes.report(mutant_causes.sample(select_device(driver), limit=1000))
    assert report["mutants"] > 700
    assert report["first_percent"] >= 90.0, report["not_first"]
    assert report["equal_predictions"] >= report["first"]


def test_a_sample_of_planted_errors_is_ranked_first() -> None:
    report = mutant_causes.report(mutant_causes.sample(select_device("swiftshader"), limit=120, seed=5))
    assert report["mutants"] > 80
    assert report["first_percent"] >= 90.0, report["not_first"]


HANDWRITTEN = [*MUTATIONS, *FRAGMENT_MUTATIONS]

NOT_FIRST = {
    "the lane is the subgroup",  # the record of lanes itself is wrong, so that no result is compared
    "NumSubgroups is SubgroupSize",  # the same
    "BroadcastFirst is the own value (fragment)",  # fragments find their subgroup by this operation
    "the mask of ShuffleXor is off by one (fragment)",  # mask 1 is the other lane of the pair
    "QuadBroadcast takes another invocation (fragment)",  # invocation 0 is the first active lane
}
"""Mutations whose error is not ranked first, with the reason."""


@pytest.mark.slow
@pytest.mark.parametrize("mutation", HANDWRITTEN, ids=lambda mutation: mutation.name)
def test_a_mutation_s_cause_is_ranked_first(mutation) -> None:
    run = conformance.run(
        select_device(mutation.driver), filters=(mutation.cases,), transform=mutation.mutate, isolate=False
    )
    first = find_causes(run.results, "", "")[0]
    named = first.explanation is not None and first.explanation.name in hypotheses_of(mutation.name)
    assert named == (mutation.name not in NOT_FIRST), first


def _two_errors(data: bytes) -> bytes:
    """Let subgroupAll compute subgroupAny, and elect every invocation."""
    return always(ELECT, True, another_opcode(ALL, ANY, data))


def test_two_errors_in_one_run_are_two_causes() -> None:
    run = conformance.run(
        select_device("swiftshader"),
        filters=("vote.compute.subgroupAll.bool.*.exact", "basic.compute.subgroupElect.bool.*.exact"),
        transform=_two_errors,
        isolate=False,
    )
    causes = find_causes(run.results, "", "")
    named = {cause.explanation.name: {axes_of(case)["operation"] for case in cause.cases} for cause in causes}
    assert named == {"another_operation": {"subgroupAll"}, "ones": {"subgroupElect"}}


def test_the_reference_device_has_no_causes() -> None:
    run = conformance.run(
        select_device("reference:8"), filters=("vote.compute.*.all.*", "basic.compute.*.all.*"), isolate=False
    )
    assert run.results
    assert run.causes == []
