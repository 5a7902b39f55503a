"""Hangs: known ones do not run, and the first hang of a run stops cases that may hang in the same way."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from mutants.driver_errors import killed_on_elect, time_out_on_elect

from vkgroup import conformance
from vkgroup.cli.main import main
from vkgroup.conformance import Result, Status, select
from vkgroup.conformance.expectations import ExpectationOutcome
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.conformance.plan import HangGuard, is_hang
from vkgroup.record.causes import findings
from vkgroup.record.causes.findings import KnownError
from vkgroup.workers.opening import select as select_device

ELECT = "basic.compute.subgroupElect.bool.*.exact"
VOTE = "vote.compute.subgroupAll.bool.all.exact"
HANGS = KnownError(
    title="an election in a loop hangs",
    driver="SwiftShader",
    seen=("156.0",),
    description="planted",
    id="planted",
    filter=("basic.compute.subgroupElect.*.loop.*",),
    hangs=True,
)


@pytest.fixture
def known(monkeypatch) -> list[KnownError]:
    """The known errors of drivers, which a test sets; at first one hang of SwiftShader."""
    table = [HANGS]
    monkeypatch.setattr(findings, "all_findings", lambda: tuple(table))
    return table


def run(folder, **options):
    return conformance.run(
        select_device("swiftshader"), filters=(ELECT, VOTE), jobs=1, out=folder / "run", **options
    )


def statuses(found) -> dict[str, Status]:
    return {result.case: result.status for result in found.results}


def elections() -> set[str]:
    return {case.name for case in select((ELECT,))}


def loops() -> list[str]:
    return [name for name in sorted(elections()) if ".loop." in name]


@pytest.mark.usefixtures("swiftshader")
class TestKnownHangs:
    def test_they_do_not_run(self, tmp_path, known) -> None:
        found = run(tmp_path)
        assert loops()
        assert not set(loops()) & set(statuses(found))
        assert statuses(found)[VOTE] is Status.PASS
        assert not found.missing
        (held,) = found.summarize()["not_run"]
        assert held["finding"] == "planted"
        assert "an election in a loop hangs" in held["reason"]
        assert held["cases"] == loops()
        assert held["count"] == len(loops())
        outcomes = RunOutcomes(found)
        assert outcomes.success
        assert {outcomes.by_case[name] for name in loops()} == {ExpectationOutcome.SKIP}

    def test_they_run_on_request_also_in_a_resumed_run(self, tmp_path, known) -> None:
        first = run(tmp_path)
        assert {held.finding for held in first.not_run} == {"planted"}
        second = run(tmp_path, resume=True, allow_hangs=True)
        assert second.executed == len(loops())
        assert {statuses(second)[name] for name in loops()} == {Status.PASS}
        assert not second.not_run

    @pytest.mark.parametrize(
        "change", [{"driver": "NVIDIA"}, {"hangs": False}, {"filter": ("basic.compute.subgroupBarrier.*",)}]
    )
    def test_cases_of_other_drivers_and_other_errors_run(self, tmp_path, known, change) -> None:
        known[:] = [
            KnownError(**{name: change.get(name, getattr(HANGS, name)) for name in HANGS.__struct_fields__})
        ]
        found = run(tmp_path)
        assert not found.not_run
        assert {statuses(found)[name] for name in loops()} == {Status.PASS}

    def test_the_command_to_repeat_one_allows_it(self, tmp_path, known) -> None:
        found = run(tmp_path, allow_hangs=True, transform=killed_on_elect)
        (crash,) = [result for result in found.results if result.case == loops()[0]]
        assert crash.status is Status.CRASH
        assert crash.detail.endswith(f"{loops()[0]} --allow-hangs")

    def test_the_command_line_names_them(self, tmp_path, known, capsys) -> None:
        command = ["conform", "--device", "swiftshader", "--filter", ELECT, "--out", str(tmp_path / "run")]
        assert main([*command, "--junit", str(tmp_path / "junit.xml")]) == 0
        printed = capsys.readouterr().out
        assert f"Not run: {len(loops())} case" in printed
        assert all(name in printed for name in loops())
        assert "finding planted" in printed
        assert "--allow-hangs" in printed
        summary = json.loads((tmp_path / "run" / "summary.json").read_text())
        assert [held["cases"] for held in summary["not_run"]] == [loops()]
        assert "not run: known to hang SwiftShader" in (tmp_path / "junit.xml").read_text()


@pytest.mark.usefixtures("swiftshader")
class TestFirstHang:
    def test_cases_that_may_hang_in_the_same_way_do_not_run(self, tmp_path) -> None:
        found = run(tmp_path, transform=time_out_on_elect)
        hung = [name for name, status in statuses(found).items() if status is Status.TIMEOUT]
        # The batch after the first that hangs was submitted already.
        assert len(hung) in (1, 2)
        (held,) = found.not_run
        assert set(held.cases) == elections() - set(hung)
        assert any(name in held.reason for name in hung)
        assert statuses(found)[VOTE] is Status.PASS
        assert not found.missing

    def test_a_resumed_run_repeats_neither_the_hang_nor_its_like(self, tmp_path) -> None:
        first = run(tmp_path, transform=time_out_on_elect)
        second = run(tmp_path, resume=True)
        assert second.executed == 0
        assert statuses(second) == statuses(first)
        held = [sorted(reason.cases) for reason in first.not_run]
        assert [sorted(reason.cases) for reason in second.not_run] == held

    def test_all_run_on_request(self, tmp_path) -> None:
        found = run(tmp_path, transform=time_out_on_elect, allow_hangs=True)
        assert {statuses(found)[name] for name in elections()} == {Status.TIMEOUT}
        assert not found.not_run

    def test_a_crashed_process_is_no_hang(self, tmp_path) -> None:
        found = run(tmp_path, transform=killed_on_elect)
        assert {statuses(found)[name] for name in elections()} == {Status.CRASH}
        assert not found.not_run

    def test_a_case_that_hung_a_gpu_is_not_judged_again(self, tmp_path) -> None:
        for kind, repeated in (("discrete_gpu", False), ("cpu", True)):
            found = run(tmp_path / kind, transform=time_out_on_elect)
            hung = {result.case for result in found.failures}
            found.capabilities = replace(found.capabilities, type=kind)
            again: list[str] = []
            RunOutcomes(found).rerun(lambda cases, take, to=again: to.extend(c.name for c in cases))
            assert hung.isdisjoint(again) != repeated


BARRIER = "basic.{}.{}.uint.{}.exact.buffer"


@pytest.mark.parametrize(
    ("stage", "operation", "pattern", "runs"),
    [
        ("task", "subgroupBarrier", "data_mask", False),
        ("mesh", "subgroupBarrier", "nested", False),
        ("mesh", "subgroupBarrier", "data_mask", True),
        ("task", "subgroupMemoryBarrier", "nested", True),
    ],
)
def test_a_hanging_barrier_stops_its_kind_in_its_stage_and_in_its_pattern(
    stage, operation, pattern, runs
) -> None:
    guard = HangGuard("a driver", "1.0")
    guard.add_results([Result(BARRIER.format("task", "subgroupBarrier", "nested"), Status.TIMEOUT)])
    case = BARRIER.format(stage, operation, pattern)
    assert select((case,))
    assert guard.may_run(case) == runs
    assert guard.may_run("basic.task.subgroupElect.bool.nested.exact")


def test_a_hang_by_a_known_error_stops_all_its_cases(known) -> None:
    known[:] = [
        KnownError("slow", "SwiftShader", ("1.0",), "", "slow", filter=("reconvergence.*",), text="no end")
    ]
    names = [case.name for case in select(("reconvergence.*",))][:2]
    for detail, runs in (("no end in 2 s", False), ("another reason", True)):
        guard = HangGuard("SwiftShader driver", "")
        guard.add_results([Result(names[0], Status.TIMEOUT, detail=detail)])
        assert guard.may_run(names[1]) == runs


@pytest.mark.parametrize(
    ("status", "detail", "hang"),
    [
        (Status.TIMEOUT, "no answer in 20 s", True),
        (Status.CRASH, "The device was lost: vkQueueSubmit failed (VK_ERROR_DEVICE_LOST).", True),
        (Status.CRASH, "The device NVIDIA H200 was lost earlier: a wait.", True),
        (Status.CRASH, "the process was killed by signal 11\nthe device was lost before, in x", False),
        (Status.FAIL, "The device was lost", False),
    ],
)
def test_a_hang_is_a_timeout_or_a_lost_device(status, detail, hang) -> None:
    assert is_hang(Result("a.b", status, detail=detail)) == hang
