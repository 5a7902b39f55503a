"""Executing fuzzing with a fixed budget, what it finds when failures are planted, and its recorded run."""

from __future__ import annotations

import json
import pickle
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from execution_campaign import DRIVERS, campaign, repeat, reports, write_record
from execution_corpus import TARGET, Base, base_of
from execution_counts import Counts, Store, findings_of, totals
from execution_mutant import Mutant
from execution_mutations import MUTATIONS, SEVERAL, mutated
from execution_planted import OF_DRIVER, OF_VKGROUP, failure_of
from execution_trial import AGREED, CRASH, DIFFERED, ERROR, EXECUTED, REFERENCE, TIME_LIMIT, Outcome, Trial
from execution_worker import Task, module_of
from fuzz_corpora import ROOT

import vkgroup
from vkgroup.compiler import compile_file, compile_source, validate
from vkgroup.drivers import CachedDriver

SEED = 5
"""With this one, the first ten modules have every planted failure."""

SOURCES = (
    """#version 450
    layout(local_size_x = 32) in;
    layout(binding = 0) buffer Data { uint data[]; };
    void main() {
        uint sum = 0u;
        for (uint i = 0u; i < 5u; ++i) sum += data[gl_LocalInvocationID.x] * i;
        data[gl_LocalInvocationID.x] = sum > 90u ? sum - 7u : sum;
    }""",
    """#version 450
    #extension GL_KHR_shader_subgroup_vote : require
    #extension GL_KHR_shader_subgroup_shuffle : require
    layout(local_size_x = 32) in;
    layout(binding = 0) buffer Data { uint data[]; };
    void main() {
        uint value = data[gl_LocalInvocationID.x];
        if (subgroupAny(value > 40u)) value = subgroupShuffle(value, gl_SubgroupInvocationID & 1u);
        data[gl_LocalInvocationID.x] = value;
    }""",
)


@pytest.fixture(scope="module")
def bases() -> list[Base]:
    made = [
        base_of(f"shader {n}", compile_source(s, stage="compute", target=TARGET))
        for n, s in enumerate(SOURCES)
    ]
    assert None not in made
    return [base for base in made if base is not None]


@pytest.fixture(scope="module")
def small(bases: list[Base], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a corpus of two shaders."""
    file = tmp_path_factory.mktemp("corpus") / "corpus.pickle"
    file.write_bytes(pickle.dumps(bases))
    return file


def task(small: Path, modules: int, *drivers: str, **options: Any) -> Task:
    return Task(SEED, 0, modules, drivers, str(small), **{"seconds": 2.0, **options})


def expected(bases: list[Base], modules: int, failures: tuple[str, ...]) -> dict[int, str]:
    """Return the planted failure of each module that has one."""
    made = {number: module_of(bases, SEED, number) for number in range(modules)}
    found = {number: failure_of(one.module, failures) for number, one in made.items() if one is not None}
    return {number: failure for number, failure in found.items() if failure}


def test_mutated_modules_agree_on_a_driver(bases: list[Base], swiftshader: CachedDriver) -> None:
    numbers: Counter[str] = Counter()
    with vkgroup.open(swiftshader.name, isolated=True, validation=False) as device:
        trial = Trial({"swiftshader": device})
        for number in range(12):
            made = module_of(bases, 0, number)
            assert made is not None
            for name, outcome in trial.run(made.base, made.module, hangs=False).items():
                numbers[f"{name} {outcome.kind}"] += 1
                assert outcome.kind not in (ERROR, DIFFERED, CRASH), outcome.detail
    assert numbers[f"{REFERENCE} {EXECUTED}"] >= 6
    assert numbers[f"swiftshader {AGREED}"] >= 3


def test_a_fixed_budget_finds_no_error_of_vkgroup(tmp_path: Path) -> None:
    store = Store(tmp_path / "campaign", 0, 2.0)
    campaign(Task(0, 0, 150, DRIVERS, str(tmp_path / "corpus.pickle"), 2.0), store, tmp_path)
    assert (store.counts.next, store.counts.modules) == (150, 150)
    numbers = totals(store.counts.outcomes)
    assert numbers.keys() == {REFERENCE, *DRIVERS}
    assert not any(ERROR in outcomes for outcomes in numbers.values()), findings_of(tmp_path / "campaign")
    assert all(numbers[driver][AGREED] > 0 for driver in DRIVERS)


def test_planted_failures_of_a_driver_are_found(
    small: Path, bases: list[Base], swiftshader: CachedDriver, tmp_path: Path
) -> None:
    modules = 10
    planted = expected(bases, modules, OF_DRIVER)
    assert set(planted.values()) == set(OF_DRIVER)
    given = task(small, modules, "swiftshader", seconds=0.5, opener="execution_planted:planted_driver")
    outcomes = {report["number"]: report["outcomes"]["swiftshader"][0] for report in reports(given, tmp_path)}
    assert outcomes.keys() == set(range(modules))
    names = {"crash": CRASH, "hang": TIME_LIMIT, "differed": DIFFERED}
    for number, outcome in outcomes.items():
        # A mutation may itself make an endless loop.
        if outcome in (CRASH, DIFFERED):
            assert names[planted[number]] == outcome
    # What a device does not support or the rules leave undefined shows no failure.
    found = {failure for number, failure in planted.items() if outcomes[number] == names[failure]}
    assert found == set(OF_DRIVER)


def test_a_repetition_replaces_failures(
    small: Path, bases: list[Base], swiftshader: CachedDriver, tmp_path: Path
) -> None:
    """The failures are those of a driver that is corrected before the repetition."""
    modules = 10
    store = Store(tmp_path / "campaign", SEED, 2.0)
    wrong = task(small, modules, "swiftshader", seconds=0.5, opener="execution_planted:planted_driver")
    campaign(wrong, store, tmp_path)
    before = totals(store.counts.outcomes)
    assert before["swiftshader"][CRASH] + before["swiftshader"][DIFFERED] >= 2
    repeat(task(small, modules, "swiftshader"), store, tmp_path)
    after = totals(store.counts.outcomes)
    assert not {CRASH, DIFFERED} & after["swiftshader"].keys()
    assert sum(after["swiftshader"].values()) == sum(before["swiftshader"].values()) == store.counts.modules
    assert after[REFERENCE] == before[REFERENCE]
    assert not {CRASH, DIFFERED} & {finding["outcome"] for finding in findings_of(tmp_path / "campaign")}
    assert Store(tmp_path / "campaign", SEED, 2.0).counts == store.counts


def test_an_interrupted_repetition_loses_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path, 1, 2.0)
    report = {"base": "x", "kind": "unknown", "module": "", "slowest": 0.1}
    wrong, right = {REFERENCE: [ERROR, "the worker ended"]}, {REFERENCE: [EXECUTED, ""]}
    for number in range(3):
        store.add(report | {"number": number, "outcomes": wrong})

    def again(number: int) -> dict[str, Any]:
        if number == 1:
            raise KeyboardInterrupt
        return report | {"number": number, "kind": "operand", "outcomes": right}

    with pytest.raises(KeyboardInterrupt):
        store.repeat(again)
    assert [finding["number"] for finding in findings_of(tmp_path)] == [1, 2]
    counts = Store(tmp_path, 1, 2.0).counts
    assert counts.modules == 3
    assert totals(counts.outcomes) == {REFERENCE: {ERROR: 2, EXECUTED: 1}}


def test_planted_failures_of_vkgroup_are_found(
    small: Path, bases: list[Base], swiftshader: CachedDriver, tmp_path: Path
) -> None:
    modules = 10
    planted = expected(bases, modules, OF_VKGROUP)
    assert set(planted.values()) == set(OF_VKGROUP)
    given = task(small, modules, "swiftshader", opener="execution_planted_errors:open_device")
    store = Store(tmp_path / "campaign", SEED, 2.0)
    campaign(given, store, tmp_path, limit=6.0)
    found = {
        finding["number"]: finding["detail"]
        for finding in findings_of(tmp_path / "campaign")
        if finding["outcome"] == ERROR
    }
    assert {planted[number] for number in found} == set(OF_VKGROUP)
    words = {"exception": "KeyError: 'planted'", "end": "ended with 9", "hang": "did not answer in 6 s"}
    for number, detail in found.items():
        assert words[planted[number]] in detail
    # Continued, nothing is left to do.
    campaign(given, again := Store(tmp_path / "campaign", SEED, 2.0), tmp_path)
    assert again.counts == store.counts


def test_only_the_failure_of_the_base_is_that_of_the_known_error(
    bases: list[Base], swiftshader: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    shader = "shaders/findings/all_equal_vector.comp"
    known = base_of(shader, compile_file(ROOT / shader, target=TARGET))
    assert known is not None
    right = replace(bases[0], name=shader)
    with vkgroup.open(swiftshader.name, isolated=True, validation=False) as device:
        outcome = Trial({"swiftshader": device}).run(known, known.module)["swiftshader"]
        assert outcome.kind == f"{DIFFERED}: swiftshader-all-equal-vector"
        # A planted difference in a module whose base is right, in spite of its name, stays unexplained.
        trial = Trial({"swiftshader": device})
        assert trial.run(right, right.module)["swiftshader"].kind == AGREED
        monkeypatch.setattr(trial, "_judged", lambda *_: Outcome(DIFFERED, output="data"))
        monkeypatch.setattr(trial, "_of_base", lambda *_: Outcome(AGREED))
        assert trial.run(right, right.module)["swiftshader"].kind == DIFFERED


def test_a_seed_makes_the_same_modules(bases: list[Base]) -> None:
    first, again, other = (module_of(bases, seed, 5) for seed in (1, 1, 2))
    assert first is not None
    assert again is not None
    assert other is not None
    assert (first.module, first.kind) == (again.module, again.kind)
    assert first.module != other.module


def test_every_mutation_makes_valid_modules() -> None:
    source = """#version 450
        #extension GL_KHR_shader_subgroup_arithmetic : require
        layout(local_size_x = 32) in;
        layout(binding = 0) buffer Data { uint data[]; };
        layout(binding = 1) readonly buffer Numbers { float numbers[]; };
        void main() {
            uint at = gl_GlobalInvocationID.x;
            int sum = 0;
            for (int i = 0; i < 4; ++i) sum += int(sin(numbers[at])) * i - int(at);
            uint value = subgroupAdd(data[at]) + uint(sum);
            switch (at & 3u) { case 0u: value += 1u; break; case 1u: value *= 5u; break; default: break; }
            if (value > 7u) data[at] = value;
            atomicAdd(data[0], 1u);
        }"""
    module = compile_source(source, stage="compute", target=TARGET)
    for name, mutation in MUTATIONS.items():
        valid = 0
        for seed in range(20):
            mutant, rng = Mutant(module), random.Random(seed)
            if mutation(mutant, rng) and mutant.module() != module:
                try:
                    validate(mutant.module(), TARGET)
                    valid += 1
                except vkgroup.errors.InvalidModule:
                    continue
        assert valid >= 1, name
    kinds = {made[0] for seed in range(200) if (made := mutated(module, random.Random(seed))) is not None}
    assert kinds == {*MUTATIONS, SEVERAL}


def test_counts_of_campaigns_are_added(tmp_path: Path) -> None:
    first, second = Counts(1, versions={"commit": "a"}), Counts(2, versions={"commit": "b"})
    report = {"kind": "operand", "rejected": {"operand": 2}, "slowest": 0.5}
    for counts, outcome in ((first, AGREED), (second, AGREED), (second, DIFFERED)):
        counts.add(report | {"outcomes": {"swiftshader": [outcome, ""]}})
    file = tmp_path / "fuzz.json"
    file.write_text('{"inputs": 7}')
    write_record(file, [first, second])
    record = json.loads(file.read_text())
    assert record["inputs"] == 7
    execution = record["execution"]
    assert execution["modules"] == 3
    assert execution["kinds"]["operand"]["rejected"] == 6
    assert execution["devices"]["swiftshader"] == {AGREED: 2, DIFFERED: 1}
    assert [part["versions"]["commit"] for part in execution["campaigns"]] == ["a", "b"]


def test_a_folder_continues_its_own_seed_only(tmp_path: Path) -> None:
    store = Store(tmp_path, 1, 2.0)
    store.save()
    with pytest.raises(ValueError, match="the campaign of seed 1, not of 2"):
        Store(tmp_path, 2, 2.0)


def test_the_recorded_campaigns_found_no_error_of_vkgroup() -> None:
    record = json.loads((ROOT / "bench" / "results" / "fuzz.json").read_text())["execution"]
    assert record["devices"].keys() == {REFERENCE, *DRIVERS}
    assert set(MUTATIONS) < set(record["kinds"])
    for outcomes in record["devices"].values():
        assert sum(outcomes.values()) == record["modules"]
        assert ERROR not in outcomes
    assert record["slowest"] <= record["limit_seconds"] + 2
