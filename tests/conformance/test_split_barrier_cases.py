"""Cases of split barriers: they pass on the reference device, need the feature, and find planted errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import vkgroup.conformance as conformance
from vkgroup.check import check
from vkgroup.conformance import Status, select, split_barriers
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.split_barriers import MEMORIES, SCOPES, SPLIT_BARRIERS, SPLIT_TESTS
from vkgroup.dispatch.reference.device import ReferenceDevice
from vkgroup.reference.interpreter.execution.models import ExecutionModel
from vkgroup.workers.opening import select as select_device

# For the current glslang beside it, whose validator knows split barriers.
pytestmark = pytest.mark.usefixtures("tint")

CASES = select(("split_barrier.*",))

_ARRIVE, _WAIT = r"arrive\(\d, \d, \d+\);", r"wait\(\d, \d, \d+\);"
_STORE, _LOAD = r"cells\[base [^;]*\] = value\([^;]*;", r"result = result \* 31u \+ (cells\[[^;]*\]);"


def _early_loads(text: str) -> str:
    """Load before the round's store, as is possible without a wait."""
    planted = r"{ uint early = \3; \1\2 result = result * 31u + early; }"
    return re.sub(f"({_STORE})(.*?){_LOAD}", planted, text)


def _late_stores(text: str) -> str:
    """Store after the round's load, as is possible if the store is after the arrival."""
    return re.sub(f"({_STORE})(.*?)({_LOAD})", r"\2 \3 \1", text)


def _no_barriers(text: str) -> str:
    """Leave out arrivals and waits."""
    body = text.index("void main")
    return text[:body] + re.sub(f"{_ARRIVE}|{_WAIT}", "", text[body:])


def _of_subgroups(text: str) -> str:
    """Let the barriers of workgroups be those of subgroups, where the others are not used."""
    return re.sub(r"(arrive|wait)\(2, 2,", r"\1(3, 3,", text)


def _wait_before_arrival(text: str) -> str:
    """Wait before the arrival, and so for no arrival of this round: what follows is not ordered."""
    return re.sub(f"({_STORE}) (.*?)({_ARRIVE})(.*?)({_WAIT})(.*?)({_LOAD})", r"\5\6\7 \1 \2\3\4", text)


def _status(
    case: AnyCase, planted: Callable[[str], str], device: ReferenceDevice, monkeypatch: pytest.MonkeyPatch
) -> Status:
    """Return the status of a case whose shader is wrongly translated."""
    honest = split_barriers.source_of

    def wrong(case: split_barriers.SplitCase) -> str:
        text = planted(honest(case))
        assert text != honest(case), case.name
        return text

    with monkeypatch.context() as patch:
        patch.setattr(split_barriers, "source_of", wrong)
        (verdict,) = SPLIT_BARRIERS.verdicts_on(Executor(device, seed=0), [case])
    return verdict.status


@pytest.mark.parametrize("size", [4, 32, 64])
def test_all_pass_on_the_reference_device(size: int) -> None:
    run = conformance.run(select_device(f"reference:{size}"), cases=CASES, isolate=False)
    assert [result.status for result in run.results] == [Status.PASS] * len(CASES)
    assert len(CASES) == len(SCOPES) * len(MEMORIES) * len(SPLIT_TESTS)


@pytest.mark.usefixtures("swiftshader")
def test_a_device_without_the_feature_is_told_so() -> None:
    run = conformance.run(select_device("swiftshader"), cases=CASES, isolate=False)
    assert {result.status for result in run.results} == {Status.NOT_SUPPORTED}
    assert {result.detail for result in run.results} == {"needs shaderSplitBarrier"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_shaders_have_no_race_and_keep_the_rules(case: split_barriers.SplitCase, tmp_path: Path) -> None:
    path = tmp_path / "case.comp"
    path.write_text(split_barriers.source_of(case))
    report = check(path, sizes=[16], groups=(2, 1, 1))
    assert [finding for finding in report.findings if finding.kind in ("race", "barrier")] == []


@pytest.mark.parametrize(
    "planted", [_early_loads, _late_stores, _wait_before_arrival], ids=lambda planted: planted.__name__
)
@pytest.mark.parametrize("size", [4, 64])
def test_each_case_finds_accesses_on_the_wrong_side(
    planted: Callable[[str], str], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ReferenceDevice(size) as device:
        missed = [case.name for case in CASES if _status(case, planted, device, monkeypatch) != Status.FAIL]
    assert missed == []


@pytest.mark.parametrize("planted", [None, _no_barriers, _of_subgroups])
def test_each_case_of_workgroups_finds_subgroups_that_do_not_wait(
    planted: Callable[[str], str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Subgroups execute one after the other, each until it ends or waits for the others."""

    def in_turns(text: str) -> str:
        # Turns are taken in shaders with a loop that may wait; this one never does.
        loop = "while (atomicOr(turns, 0u) == 1u) {}"
        text = text.replace("void main() {", f"shared uint turns;\nvoid main() {{ turns = 0u; {loop}")
        return planted(text) if planted is not None else text

    model = ExecutionModel(progress="occupancy", unit="subgroup")
    cases = [case for case in CASES if case.axes.scope == "workgroup"]
    if planted is _of_subgroups:
        cases = [case for case in cases if case.axes.test != "both_scopes"]
    with ReferenceDevice(64, model) as device:
        statuses = {_status(case, in_turns, device, monkeypatch) for case in cases}
    assert statuses == {Status.PASS if planted is None else Status.FAIL}
