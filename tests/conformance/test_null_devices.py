"""No case passes on a device that executes nothing, nor with the results of another case.

The allowed exceptions are in `allowed_passes`. The first tier runs a sample, the second tier every case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import other_results
import pytest
from allowed_passes import DECLARATIONS, NOT_BUILT, REFUSED, SAME_RESULTS, reason
from fills import FILLS
from null_runs import Outcome, batches_of, executor_of, outcomes, without_compilation
from replay import SIZE, outcomes_of_others
from suite_runs import matching

from vkgroup.conformance import all_cases, family_of, plan
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.spellings.legacy_ballot import EXAMPLE
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.record.record import Status

PAGE = Path(__file__).parents[2] / "docs" / "development" / "trust.md"

PARTS = 8
"""Parts of the whole suite, each a test of the second tier."""

pytestmark = pytest.mark.timeout(1800)  # a part of the whole suite takes minutes, beside other tests longer

SAMPLE = 250
"""In the first tier every so many batches one is run; of families with fewer batches, the first."""


@cache
def planned() -> tuple[list[tuple[int, Batch]], int]:
    """Return all batches with the subgroup size of their null device, and the number of cases in none."""
    batches, left = batches_of(all_cases())
    return batches, len(left)


def sample(batches: Sequence[tuple[int, Batch]]) -> list[tuple[int, Batch]]:
    """Return every `SAMPLE`-th batch of each family, the first included."""
    by_family: dict[str, list[tuple[int, Batch]]] = {}
    for item in batches:
        by_family.setdefault(item[1].family, []).append(item)
    return [item for items in by_family.values() for item in items[::SAMPLE]]


def is_rejected(result: Outcome) -> bool:
    """Return whether a case did not pass, or had a reason to, and an error is one of those of the tables."""
    if result.error:
        return reason(result.case, NOT_BUILT if "CompileError" in result.error else REFUSED) is not None
    return result.status is not Status.PASS or reason(result.case, DECLARATIONS) is not None


def run_on_null_devices(batches: Iterable[tuple[int, Batch]]) -> int:
    """Judge batches on every null device; return the number of results."""
    with without_compilation():
        results = [result for size, batch in batches for result in outcomes(size, batch)]
    assert [result for result in results if not is_rejected(result)] == []
    return len(results)


def test_almost_every_case_is_executed() -> None:
    """Only required sizes below a cluster's or quad's size are left out: no device supports these."""
    batches, left = planned()
    assert sum(len(batch) for _, batch in batches) + left == len(all_cases())
    assert left < len(all_cases()) / 100


def test_no_case_of_a_sample_passes_on_a_null_device() -> None:
    batches = sample(planned()[0])
    assert run_on_null_devices(batches) == len(FILLS) * sum(len(batch) for _, batch in batches)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_case_passes_on_a_null_device(part: int) -> None:
    batches = planned()[0][part::PARTS]
    assert run_on_null_devices(batches) == len(FILLS) * sum(len(batch) for _, batch in batches)


@pytest.mark.parametrize(
    "glob", ["cooperative_matrix.elements.*.length", "compute_model.litmus.two_plus_two_writes.*"]
)
def test_cases_that_passed_without_execution_fail(glob: str) -> None:
    """The fill pattern satisfied the first ones, memory of zeros the others."""
    with without_compilation():
        batches, _ = batches_of(matching(glob))
        for size, batch in batches:
            assert {result.status for result in outcomes(size, batch)} == {Status.FAIL}


def test_declarations_pass_on_every_null_device() -> None:
    """The table of allowed passes has no row that no case needs."""
    batches, _ = batches_of(matching(*DECLARATIONS))
    passed: dict[str, set[str]] = {}
    for size, batch in batches:
        for result in outcomes(size, batch):
            if result.status is Status.PASS:
                passed.setdefault(result.case, set()).add(result.device)
    assert all(devices == set(FILLS) for devices in passed.values())
    for glob in DECLARATIONS:
        assert any(reason(case, {glob: ""}) is not None for case in passed), glob


def test_programs_fail_alike_compiled_and_filled_directly() -> None:
    """The runs without compilation stand for those of modules, which a null device does not execute."""
    batches = [item for item in sample(planned()[0]) if item[1].family in ("subgroup", "hlsl")][::12]
    for size, batch in batches:
        with without_compilation():
            filled = [(result.case, result.device, result.status) for result in outcomes(size, batch)]
        compiled = [(result.case, result.device, result.status) for result in outcomes(size, batch)]
        assert filled == compiled


# --- results of another case -------------------------------------------------------------------------------


def programs(batches: Iterable[tuple[int, Batch]]) -> list[tuple[int, Batch]]:
    """Return the batches that are programs of subgroup operations."""
    return [
        (size, batch)
        for size, batch in batches
        if all(isinstance(case, Case) and case.operation != EXAMPLE for case in batch.cases)
    ]


def check_other_results(batches: Iterable[tuple[int, Batch]]) -> int:
    """Give each case the results of another one of its batch; return the number of cases that got some."""
    count = 0
    passed: list[tuple[str, str]] = []
    for size, batch in batches:
        family = family_of(batch.cases[0])
        assert family.program is not None
        program = family.program(executor_of("zeros", size), batch.cases)
        rows = zip(batch.cases, other_results.judged(program), strict=True)
        for case, (_, other, own, status) in rows:
            assert own in (Status.PASS, Status.UNDEFINED), case.name
            if other is not None:
                count += 1
                if status is Status.PASS:
                    passed.append((case.name, other.case.name))
    assert passed == []
    return count


def test_no_case_of_a_sample_passes_with_the_results_of_another() -> None:
    assert check_other_results(sample(programs(planned()[0]))) > 500


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_no_case_passes_with_the_results_of_another(part: int) -> None:
    assert check_other_results(programs(planned()[0])[part::PARTS]) > 10_000


def replayed(every: int) -> list[list[Batch]]:
    """Return every so many batches of each other family that the reference device runs, at least two."""
    capabilities = capabilities_of(SIZE)
    families: dict[str, list[Batch]] = {}
    cases = [case for case in all_cases() if not isinstance(case, Case)]
    for batch in plan.batches(
        (case for case in cases if not family_of(case).missing(case, capabilities)), capabilities
    ):
        families.setdefault(batch.family, []).append(batch)
    # Programs of reconvergence are large, and all are of one kind; so are shaders of the memory model.
    for name in ("reconvergence", "memory_model"):
        families[name] = families[name][::8]
    return [batches[:: min(every, len(batches) // 2) or 1] for batches in families.values()]


def check_replayed(families: Iterable[list[Batch]]) -> None:
    passed: list[Outcome] = []
    for batches in families:
        for own, other in outcomes_of_others(batches):
            assert own.status in (Status.PASS, Status.UNDEFINED), own
            if other.status is Status.PASS and reason(other.case, DECLARATIONS, SAME_RESULTS) is None:
                passed.append(other)
    assert passed == []


def test_no_batch_of_a_sample_passes_with_the_outputs_of_another() -> None:
    check_replayed(replayed(60))


@pytest.mark.slow
def test_no_batch_passes_with_the_outputs_of_another() -> None:
    check_replayed(replayed(1))


# --- the page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", [DECLARATIONS, SAME_RESULTS, NOT_BUILT, REFUSED])
def test_the_page_shows_the_tables(table: dict[str, str]) -> None:
    rows = PAGE.read_text("utf-8")
    assert [glob for glob, text in table.items() if f"| `{glob}` | {text} |" not in rows] == []
