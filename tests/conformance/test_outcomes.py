"""Outcomes of a run compared with expectations: failures, flakes and improvements."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mutants.rewriting import instructions, rewritten

import vkgroup.conformance as conformance
from vkgroup.base.errors import NoDevice
from vkgroup.conformance import Result, Run, Status, plan, select
from vkgroup.conformance.expectations import ExpectationOutcome, read_expectations
from vkgroup.conformance.outcomes import RunOutcomes, read_again, write_reruns
from vkgroup.device import Capabilities, Subgroup
from vkgroup.workers.opening import select as select_device

ALL, ANY, ELECT = 334, 335, 333
GUILTY = "vote.compute.subgroupAll.bool.data_mask.exact"
GLOBS = (
    "vote.compute.subgroupA[ln][ly].bool.data_mask.exact",
    "basic.compute.subgroupElect.bool.data_mask.exact",
)


class Planted:
    """A transform that plants wrong votes into the first `times` modules with votes."""

    def __init__(self, times: float) -> None:
        self.left = times

    def __call__(self, data: bytes) -> bytes:
        if not any(instruction[0] == ALL for instruction in instructions(data)):
            return data
        self.left -= 1
        if self.left < 0:
            return data
        return rewritten(data, lambda words: [[ANY, *words[1:]]] if words[0] == ALL else [words])


def expectations(tmp_path, baseline="", flakes=""):
    (tmp_path / "fails.txt").write_text(baseline)
    (tmp_path / "flakes.txt").write_text(flakes)
    return read_expectations([tmp_path / "fails.txt"], (), [tmp_path / "flakes.txt"])


@pytest.mark.usefixtures("swiftshader")
class TestOnADriver:
    """Runs in this process, so that a transform can count its calls."""

    @staticmethod
    def judged(tmp_path, times: float, **texts: str) -> RunOutcomes:
        planted = Planted(times)

        def judge(cases):
            return conformance.run(
                select_device("swiftshader"), cases=cases, isolate=False, transform=planted
            )

        judged = RunOutcomes(judge(select(GLOBS)), expectations(tmp_path, **texts))
        judged.rerun(lambda cases, take: take(judge(cases).results))
        return judged

    def test_a_case_that_fails_twice_is_a_failure(self, tmp_path) -> None:
        judged = self.judged(tmp_path, 99)
        assert judged.unexpected == {GUILTY: ExpectationOutcome.FAIL}
        assert not judged.success
        assert judged.reruns[GUILTY].status == Status.FAIL

    def test_cases_the_second_run_did_not_reach_are_not_judged_again(self, tmp_path) -> None:
        judged = self.judged(tmp_path, 0, baseline=f"{GUILTY},Crash\n")
        second = judged.reruns.pop(GUILTY)
        judged.reruns.clear()
        assert judged.rerun(lambda cases, take: take([second] if len(cases) > 1 else [])) == 1
        assert judged.reruns == {GUILTY: second}

    def test_a_case_that_passes_the_second_time_is_a_flake(self, tmp_path) -> None:
        judged = self.judged(tmp_path, 1)
        assert judged.by_case[GUILTY] == ExpectationOutcome.FLAKE
        assert judged.success
        (result,) = (result for result in judged.results if result.case == GUILTY)
        assert "judged again: Pass" in judged.description(result)

    def test_a_known_failure_is_expected_and_not_judged_again(self, tmp_path) -> None:
        judged = self.judged(tmp_path, 1, baseline=f"{GUILTY},Fail\n")
        assert judged.by_case[GUILTY] == ExpectationOutcome.EXPECTED_FAIL
        assert judged.success
        assert not judged.reruns

    def test_a_known_flake_is_not_judged_again(self, tmp_path) -> None:
        judged = self.judged(tmp_path, 1, flakes="subgroupAll\\.")
        assert judged.by_case[GUILTY] == ExpectationOutcome.KNOWN_FLAKE
        assert judged.success
        assert not judged.reruns

    def test_a_pass_of_an_expected_failure_is_an_improvement(self, tmp_path) -> None:
        judged = self.judged(tmp_path, 0, baseline=f"# one\n{GUILTY},Crash\n")
        assert judged.unexpected == {GUILTY: ExpectationOutcome.IMPROVED_PASS}
        (result,) = (result for result in judged.results if result.case == GUILTY)
        assert "fails.txt:2 expects Crash: remove the line" in judged.description(result)


WHOLE = Capabilities(
    name="a device",
    type="cpu",
    subgroup=Subgroup(size=4, supported_stages=("compute",), supported_operations=("basic",)),
)
CASES = select(("shuffle.compute.*.int.all.exact*", "shuffle.compute.*.uint.all.exact*"))


def run(statuses: dict[str, Status]) -> Run:
    """A run of `CASES` with these statuses; all other cases passed."""
    found = Run(WHOLE, seed=0, jobs=1, started="")
    found.results = [Result(case.name, statuses.get(case.name, Status.PASS), 0.5) for case in CASES]
    return found


def test_only_batches_with_unexpected_results_are_judged_again() -> None:
    judged = RunOutcomes(run({CASES[0].name: Status.FAIL}))
    batches = list(plan.batches(CASES, judged.run.capabilities))
    assert len(batches) > 1
    asked = []
    judged.rerun(lambda cases, take: asked.extend(cases))
    assert asked == next(batch.cases for batch in batches if CASES[0] in batch.cases)
    assert judged.by_case[CASES[0].name] == ExpectationOutcome.FAIL


def test_a_case_that_fails_only_the_second_time_is_a_flake() -> None:
    judged = RunOutcomes(run({CASES[0].name: Status.FAIL}))
    mates = []

    def repeat(cases, take):
        mates.extend(case.name for case in cases if case != CASES[0])
        take([Result(CASES[0].name, Status.FAIL), Result(mates[0], Status.FAIL, detail="wrong this time")])

    judged.rerun(repeat)
    assert judged.by_case[mates[0]] == ExpectationOutcome.FLAKE
    (result,) = (result for result in judged.results if result.case == mates[0])
    assert "wrong this time" in judged.description(result)


def test_a_failure_and_a_crash_are_no_flake() -> None:
    judged = RunOutcomes(run({CASES[0].name: Status.FAIL}))
    judged.rerun(lambda cases, take: take([Result(CASES[0].name, Status.CRASH)]))
    assert judged.unexpected == {CASES[0].name: ExpectationOutcome.FAIL}


def test_second_results_are_stored_and_not_repeated(tmp_path) -> None:
    judged = RunOutcomes(run({CASES[0].name: Status.FAIL}))
    judged.rerun(lambda cases, take: take([Result(case.name, Status.PASS) for case in cases]))
    write_reruns(tmp_path, judged.reruns)
    resumed = RunOutcomes(judged.run, reruns=read_again(tmp_path))
    assert resumed.by_case == judged.by_case
    assert resumed.rerun(lambda cases, take: pytest.fail("judged a third time")) == 0
    assert read_again(tmp_path / "elsewhere") == {}


def test_second_results_before_an_error_count() -> None:
    first, other = (batch.cases[0].name for batch in list(plan.batches(CASES, WHOLE))[:2])
    judged = RunOutcomes(run({first: Status.FAIL, other: Status.FAIL}))

    def repeat(cases, take):
        take([Result(first, Status.PASS)])
        raise NoDevice("the device is lost")

    with pytest.raises(NoDevice):
        judged.rerun(repeat)
    assert (judged.by_case[first], judged.by_case[other]) == (
        ExpectationOutcome.FLAKE,
        ExpectationOutcome.FAIL,
    )
    asked = []
    judged.rerun(lambda cases, take: asked.extend(case.name for case in cases))
    assert other in asked
    assert first not in asked  # it is of another batch


def test_an_expected_khronos_failure_is_idle_if_all_of_its_cases_pass(tmp_path) -> None:
    listed = "dEQP-VK.subgroups.shuffle.compute.subgroupshuffle_int"
    known = expectations(tmp_path, f"{listed},Fail\n")
    cases = select(known.khronos[listed])
    found = run({})
    found.results = [Result(case.name, Status.PASS) for case in cases]
    assert RunOutcomes(found, known).idle() == [listed]
    assert RunOutcomes(found, known).success
    found.results[0] = Result(cases[0].name, Status.NOT_SUPPORTED)
    assert RunOutcomes(found, known).idle() == [listed]
    found.results[0] = Result(cases[0].name, Status.FAIL)
    assert RunOutcomes(found, known).idle() == []
    assert RunOutcomes(found, known).by_case[cases[0].name] == ExpectationOutcome.EXPECTED_FAIL
    found.results[0] = Result(cases[0].name, Status.PASS)
    again = {cases[0].name: Result(cases[0].name, Status.CRASH)}
    assert RunOutcomes(found, known, reruns=again).idle() == []
    del found.results[0]
    assert RunOutcomes(found, known).idle() == []


def test_excluded_cases_are_skipped_and_cases_not_reached_are_missing() -> None:
    found = run({})
    found.missing = ["vote.z"]
    judged = RunOutcomes(found, left_out=["vote.a"])
    assert judged.by_case["vote.a"] == ExpectationOutcome.SKIP
    assert judged.unexpected == {"vote.z": ExpectationOutcome.MISSING}
    assert judged.rerun(lambda cases, take: pytest.fail("nothing has failed")) == 0


def test_a_failed_minimum_promise_can_be_expected(tmp_path) -> None:
    broken, kept = run({}), run({})
    broken.capabilities = replace(WHOLE, subgroup=replace(WHOLE.subgroup, size=3))
    name = "device.minimum_promises"
    known = expectations(tmp_path, f"{name},Fail\n")
    assert RunOutcomes(broken).unexpected == {name: ExpectationOutcome.FAIL}
    assert RunOutcomes(broken, known).success
    assert RunOutcomes(kept).success
    assert RunOutcomes(kept, known).unexpected == {name: ExpectationOutcome.IMPROVED_PASS}
