"""Litmus tests of the execution model: on drivers, on the reference device's models, on a played device."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from test_probe_command import PlayedSession
from test_probe_run import PLAYED

from vkgroup.cli.main import main
from vkgroup.device import Capabilities
from vkgroup.dispatch import Device
from vkgroup.dispatch.reference.device import ReferenceDevice
from vkgroup.probe import EXECUTION, Observed, execution, probe
from vkgroup.probe.branches import CONSTRUCTS, undeclared
from vkgroup.probe.litmus import LitmusResult, OutcomeCount
from vkgroup.probe.stress import PATTERNS, STRESS, Stress, drawn
from vkgroup.probe.subject import Subject
from vkgroup.reference.interpreter.execution.models import ExecutionModel


def test_every_question_has_an_answer_and_nothing_forbidden_is_seen(device: Device) -> None:
    found = probe(device, execution=True)
    size = Subject(device).size
    assert found.forbidden == []
    for experiment in EXECUTION:
        outcome = found.outcomes[experiment.name]
        assert isinstance(outcome, Observed), outcome
        result = outcome.observation
        assert isinstance(result, LitmusResult)
        assert result.answer
        assert all(0 <= count.seen <= count.tried for count in result.counts)
        assert result.to_json()["forbidden"] is None
    exchanges = found.outcomes["progress"].observation.counts  # type: ignore[attr-defined]
    assert sum(count.seen for count in exchanges) == exchanges[0].tried
    reads = found.outcomes["lockstep"].observation.counts  # type: ignore[attr-defined]
    assert reads[0].tried == reads[1].tried == size * sum(run.rounds * run.workgroups for run in STRESS)
    # A workgroup that has started is executed by a thread of the host, which the host's scheduler serves.
    earlier = found.outcomes["workgroups"].observation.counts[2]  # type: ignore[attr-defined]
    assert earlier.always


def test_litmus_tests_run_only_if_asked_for(device: Device) -> None:
    assert not probe(device).outcomes.keys() & {experiment.name for experiment in EXECUTION}


def _modelled(question: Callable[[Subject], LitmusResult], **choices: str | int) -> LitmusResult:
    """Ask a reference device whose model makes these choices."""
    with ReferenceDevice(4, ExecutionModel(**choices)) as opened:  # type: ignore[arg-type]
        return question(Subject(opened))


@pytest.mark.parametrize("apart", ["end", "iteration"])
def test_lanes_that_stay_apart_are_seen(apart: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "_SETS_OF_KEYS", 8)
    assert _modelled(execution.reconverging).answer == "after all constructs in these runs"
    result = _modelled(execution.reconverging, reconvergence="declared", apart=apart)
    assert result.answer == "not after every construct"
    assert any(count.seen < count.tried for count in result.counts)


@pytest.mark.parametrize(("seed", "answer"), [(0, "start in order"), (1, "start in any order")])
def test_the_order_in_which_workgroups_start_is_seen(
    seed: int, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "_WORKGROUPS", (Stress(16, 1, tries=50),))
    result = _modelled(execution.workgroups, progress="occupancy", seed=seed)
    assert result.answer.startswith(answer)


def test_a_started_workgroup_that_stays_behind_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "_WORKGROUPS", (Stress(8, 1, tries=50),))
    result = _modelled(execution.workgroups, progress="one")
    assert result.answer.endswith("a started one may stay behind")


def test_exchanges_are_counted_by_what_each_side_saw() -> None:
    side = np.array([[0, 1, 0, 1]], np.uint32)
    rounds = {(1, 1): [1, 1, 1, 1], (1, 0): [1, 0, 1, 0], (0, 1): [0, 1, 0, 1], (0, 0): [1, 0, 0, 1]}
    for (first, second), seen in rounds.items():
        counts = execution.exchanges(np.array([[seen]], np.uint32), side)
        assert counts.sum() == counts[first, second] == 1


def test_constructs_that_separated_nothing_do_not_count() -> None:
    masks = np.zeros((1, len(CONSTRUCTS), 3, 2, 4), np.uint32)
    masks[..., 0] = 3  # both lanes together at each moment
    masks[0, 1, 1, :, 0] = 1, 2  # apart inside the second construct
    masks[0, 1, 2, 0, 0] = 1  # and one of them after it
    counts = list(undeclared(masks).values())
    assert counts[0] == (0, 0)
    assert counts[1] == (1, 2)


def test_a_store_that_a_barrier_does_not_make_visible_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The shaders of a played device write nothing, so no store is visible.
    monkeypatch.setattr("vkgroup.open", lambda choice: PlayedSession(PLAYED))
    assert main(["probe"]) == 0
    capsys.readouterr()
    assert main(["probe", "--execution"]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert "stores were not visible after it" in out
    # The case of `conform` that fails on such a device: tests/mutants plants this error in it.
    assert "basic.compute.subgroupBarrier.*" in out


@pytest.mark.usefixtures("radv")
@pytest.mark.parametrize(
    ("device", "kind"),
    [("radv:navi31", "emulated"), ("radv:navi2*", "compile-only"), ("RX 6800", "emulated")],
)
def test_absent_gpus_are_refused(device: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "--execution", "--device", device]) == 2
    out, err = capsys.readouterr()
    assert not out
    assert all(word in err for word in ("--execution", "radv", kind, "vkgroup devices"))


def test_the_reference_device_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "--execution", "--device", "reference:4"]) == 2
    err = capsys.readouterr().err
    assert all(word in err for word in ("--execution", "lavapipe or SwiftShader"))


def test_runs_are_drawn_from_one_seed_and_reach_every_choice() -> None:
    runs = [run for run in STRESS if run.seed or run.stress_iterations]
    assert runs == list(drawn(len(runs)))
    assert drawn(8, tries=5)[3] == dataclasses.replace(runs[3], tries=5)
    for name, choices in {
        "stress_pattern": set(PATTERNS),
        "pre_stress_pattern": set(PATTERNS),
        "chunked": {False, True},
        "shuffled": {False, True},
    }.items():
        assert {getattr(run, name) for run in runs} == choices
    for name in ("stressing_workgroups", "pre_stress_iterations", "barrier_spins"):
        assert {bool(getattr(run, name)) for run in runs} == {False, True}


@pytest.mark.parametrize("run", STRESS[::5], ids=str)
def test_each_workgroup_has_one_number_and_a_word_of_the_scratch_memory(run: Stress) -> None:
    bindings = run.bindings()
    numbers, targets = bindings["Groups"].reshape(-1, 2).T
    assert sorted(numbers) == list(range(run.all_workgroups))
    assert run.shuffled == (numbers.tolist() != sorted(numbers))
    assert 0 < targets.min() <= targets.max() < len(bindings["Scratch"])
    assert len(np.unique(targets)) <= run.target_lines
    for size in (2, 4, 32, 128):
        for round_ in range(run.rounds):
            # litmus_order.comp: the offset is odd in every round.
            partners = (np.arange(size) * run.partner_factor + 1 + 2 * round_) % size
            assert sorted(partners) == list(range(size))
            assert (partners != np.arange(size)).all()


def test_the_run_in_which_a_rare_outcome_was_seen_is_told() -> None:
    runs = (Stress(1, 1), Stress(64, 16, shuffled=True))
    count = OutcomeCount.of("saw it", [(100, 100), (97, 100)])
    assert (count.seen, count.tried) == (197, 200)
    assert count.rare(runs) is None  # 3 of 200
    count = OutcomeCount.of("saw it", [(500, 500), (497, 500)])
    line = "3 of the 3 times not seen were in a run of 500: workgroups 64, stride 16, shuffled"
    assert count.rare(runs) == line
    seen = OutcomeCount.of("saw it", [(1, 500), (3, 500)])
    assert seen.rare(runs) == line.replace("3 of the 3 times not", "3 of the 4 times")
    result = LitmusResult("often", (count, OutcomeCount("no runs", 1, 1000)), runs=runs)
    text = " ".join(" ".join(result.lines()).split())
    assert line in text
    assert text.endswith("1 of 1,000: no runs")


def _without(name: str, capabilities: Capabilities) -> list[str]:
    (experiment,) = (each for each in EXECUTION if each.name == name)
    return list(experiment.missing(capabilities))


def test_the_models_need_ballots() -> None:
    lacking = dataclasses.replace(
        PLAYED, subgroup=dataclasses.replace(PLAYED.subgroup, supported_operations=("basic",))
    )
    assert _without("simt_step", lacking) == ["VK_SUBGROUP_FEATURE_BALLOT_BIT"]
