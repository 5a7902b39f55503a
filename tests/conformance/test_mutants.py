"""Generated mutants: all operations have some, they are wrong where they should be, and they are caught."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from mutants import Campaign, Group, Mutant, generate, run
from mutants.choices import mutants_of
from mutants.judging import UNEXPLAINED, judge_group, plant
from mutants.meaning import LOCKSTEP, SAME
from mutants.operators import OPERATORS
from test_support import EVERYTHING

import vkgroup
from vkgroup.compiler import TargetEnvironment, compile_source, validate
from vkgroup.conformance import Result, Status, cases_by_name, support
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.subgroup.cases import STAGES
from vkgroup.conformance.subgroup.shader import build
from vkgroup.device import Subgroup
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import BUILTIN_VARIABLES, SUBGROUP_OPERATIONS
from vkgroup.spec.stages import WORKGROUP_STAGES
from vkgroup.spirv.editor import Editor
from vkgroup.workers.opening import select as select_device

RESULTS = Path(__file__).parents[2] / "bench" / "results"

EVERYWHERE = replace(
    EVERYTHING,
    subgroup=Subgroup(32, STAGES, tuple({category.declared for category in Category}), True),
    features=EVERYTHING.features
    | {"shaderSubgroupRotate", "shaderSubgroupRotateClustered", "shaderSubgroupPartitioned"}
    | {feature for features in support.STAGE_FEATURES.values() for feature in features},
)
"""A device with subgroups of 32 that has every stage and every operation."""


@pytest.fixture(scope="module")
def groups():
    return generate(EVERYWHERE, cases=1)


class TestGeneration:
    """Set of mutants of a device."""

    def test_every_operation_has_some_in_every_stage(self, groups) -> None:
        found = {(group.cases[0].case.stage, group.cases[0].case.operation) for group in groups}
        wanted = {
            (stage, row.name)
            for row in (*SUBGROUP_OPERATIONS.values(), *BUILTIN_VARIABLES.values())
            for stage in (row.stages or STAGES)
        }
        assert found == wanted

    def test_there_are_thousands_with_unique_names(self, groups) -> None:
        names = [mutant.name for group in groups for mutant in group.cases]
        assert len(set(names)) == len(names) > 8000

    def test_every_operator_is_used(self, groups) -> None:
        assert {mutant.operator for group in groups for mutant in group.cases} == set(OPERATORS)

    def test_equal_seeds_give_equal_mutants(self, groups) -> None:
        assert generate(EVERYWHERE, cases=1, seed=0) == groups
        assert generate(EVERYWHERE, cases=1, seed=1) != groups

    def test_a_limit_takes_evenly_from_all_operations(self) -> None:
        limited = generate(EVERYWHERE, cases=1, stages=WORKGROUP_STAGES, limit=600)
        assert sum(map(len, limited)) == 600
        assert max(map(len, limited)) <= 3
        assert {group.cases[0].case.stage for group in limited} == set(WORKGROUP_STAGES)

    def test_operations_that_a_device_lacks_are_not_planted(self) -> None:
        case = cases_by_name()["shuffle.compute.subgroupShuffle.uint.all.exact.data"]
        plain = replace(EVERYWHERE, subgroup=replace(EVERYWHERE.subgroup, supported_operations=("shuffle",)))
        choices = {mutant.choice for mutant in mutants_of(case, plain) if mutant.operator == "opcode"}
        assert choices == {"OpGroupNonUniformShuffleXor"}


SPECIMENS = (
    "arithmetic.fragment.subgroupInclusiveAdd.f16vec3.data_mask.exact",
    "arithmetic.compute.subgroupMin.uint.all.exact",
    "ballot.compute.subgroupBallot.bool.all.exact",
    "ballot.vertex.subgroupBroadcast.dvec2.all.exact.dynamic",
    "ballot.mesh.gl_SubgroupLeMask.uvec4.all.exact",
    "basic.task.subgroupBarrier.uint.all.exact.shared",
    "basic.compute.subgroupMemoryBarrier.uint.all.exact.image",
    "basic.fragment.gl_SubgroupInvocationID.uint.data_mask.exact",
    "clustered.compute.subgroupClusteredXor.bvec4.data_mask.exact.c4",
    "partitioned.compute.subgroupPartitionedExclusiveMaxNV.int.all.exact.equal",
    "quad.compute.subgroupQuadSwapDiagonal.i64vec2.all.exact",
    "rotate_clustered.compute.subgroupClusteredRotate.vec4.all.exact.by2_c4",
    "shuffle.compute.subgroupShuffleXor.int8_t.data_mask.exact.by1",
    "vote.compute.subgroupAllEqual.bvec2.all.exact",
)


@pytest.mark.parametrize("name", SPECIMENS)
def test_a_mutant_is_valid_and_keeps_the_record(name) -> None:
    """A mutant keeps all instructions of the module except those of the operation under test."""
    case = cases_by_name()[name]
    program = build([case], size=32, seed=0)
    module = compile_source(
        program.source, stage=case.stage, name="honest", target=TargetEnvironment.VULKAN_1_2
    )
    honest = Editor(module).instructions
    seen = set()
    for mutant in mutants_of(case, EVERYWHERE):
        wrong = plant(module, mutant, [0, 3, 31], 32)
        validate(wrong, TargetEnvironment.VULKAN_1_2)
        seen.add(wrong.to_bytes())
        kept = [words for words in Editor(wrong).instructions if words in honest]
        assert len(kept) >= len(honest) - 4, mutant.name
    assert len(seen) == len(mutants_of(case, EVERYWHERE)) > 4
    assert module.to_bytes() not in seen


def test_a_sample_is_caught_on_a_driver(swiftshader) -> None:
    found = run(select_device("swiftshader"), cases=1, limit=150, isolate=False, seed=4)
    assert found.counts()[""]["caught"] >= 145
    assert found.unexplained == []
    assert found.named("crashed") == found.named("timed out") == []
    stages = found.counts(lambda mutant: mutant.case.stage)
    assert set(stages) == {"vertex", "fragment", "compute"}


def judged(device, *pairs):
    """Return the results of mutants, each a case's name with an operator and its choice."""
    with vkgroup.open(device) as opened:
        executor = Executor(opened, seed=0)
        made = [Mutant(cases_by_name()[name], *change) for name, *change in pairs]
        results = [judge_group(executor, Group([mutant]))[0] for mutant in made]
        executor.close()
    return results


def test_errors_of_partitions_are_caught() -> None:
    name = "partitioned.compute.subgroupPartitionedAddNV.int.all.exact.equal"
    changes = ("group", "Reduce"), ("partition", "ones"), ("partition", "alone"), ("mask", "odd")
    results = judged("reference:8", *((name, *change) for change in changes))
    assert [result.status for result in results] == [Status.FAIL] * len(changes)


class TestReasons:
    """Reasons why a mutant was missed."""

    def test_the_same_by_the_specification(self) -> None:
        name = "clustered.compute.subgroupClusteredMax.uint.all.exact.c8"
        (result,) = judged("reference:8", (name, "group", "Reduce"))
        assert (result.status, result.detail) == (Status.PASS, SAME)

    def test_a_missing_barrier_among_lanes_in_lockstep(self, swiftshader) -> None:
        name = "basic.compute.subgroupBarrier.uint.all.exact.buffer"
        (result,) = judged("swiftshader", (name, "dropped", "1"))
        assert (result.status, result.detail) == (Status.PASS, LOCKSTEP)

    def test_an_invalid_module_is_not_a_mutant(self) -> None:
        name = "arithmetic.compute.subgroupMin.int.all.exact"
        (result,) = judged("reference:8", (name, "opcode", "OpGroupNonUniformUMin"))
        assert result.status == Status.NOT_SUPPORTED
        assert "no mutant: not valid" in result.detail

    def test_mutants_of_a_failing_module_do_not_count(self, swiftshader) -> None:
        """See docs/results/index.md."""
        (result,) = judged(
            "swiftshader", ("vote.compute.subgroupAllEqual.vec2.all.exact", "constant", "true")
        )
        assert result.status == Status.NOT_SUPPORTED
        assert result.detail.startswith("the honest module does not pass: Fail")


def test_counts_of_outcomes() -> None:
    case = cases_by_name()["arithmetic.compute.subgroupMin.int.all.exact"]
    made = [Mutant(case, "lane", choice) for choice in "abcde"]
    statuses = Status.FAIL, Status.PASS, Status.CRASH, Status.TIMEOUT, Status.NOT_SUPPORTED
    campaign = Campaign(EVERYWHERE, seed=0, jobs=1)
    campaign.mutants = {mutant.name: mutant for mutant in made}
    campaign.results = {
        mutant.name: Result(mutant.name, status, detail=UNEXPLAINED)
        for mutant, status in zip(made, statuses, strict=True)
    }
    found = campaign.to_json()
    assert (found["mutants"], found["caught"], found["caught_percent"]) == (4, 1, 25.0)
    assert found["by_operator"] == {
        "lane": Counter({"caught": 1, "missed": 1, "crashed": 1, "timed out": 1, "no mutant": 1})
    }
    assert found["missed"] == {made[1].name: UNEXPLAINED}
    assert found["unexplained"] == 1


def test_recorded_runs_caught_99_percent_of_a_thousand() -> None:
    runs = [json.loads(path.read_text()) for path in RESULTS.glob("*/mutations*.json")]
    assert sum(run["mutants"] for run in runs) >= 1000
    for recorded in runs:
        assert recorded["caught"] >= 0.99 * recorded["mutants"]
        assert recorded["unexplained"] == 0
        assert recorded["mutants"] == recorded["caught"] + len(recorded["missed"])
