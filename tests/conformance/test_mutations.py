"""Test of the suite: each error that is planted into the modules of a real driver is caught."""

from __future__ import annotations

from functools import partial

import pytest
from mutants.subgroup_mutations import FRAGMENT_MUTATIONS, MUTATIONS
from suite_runs import matching, results_of, results_with_error

from vkgroup.conformance import Status

PATTERNS = ("all", "odd", "loop", "nested")
MOST = {"compute": 40, "fragment": 12}

pytestmark = pytest.mark.usefixtures("swiftshader", "lavapipe")


def cases_of(mutation):
    """Return about `MOST` of the cases that a mutation names, with a few patterns and one shape."""
    cases = [
        case
        for case in matching(mutation.cases)
        if case.pattern in PATTERNS and not case.subgroup_size and case.shape == "1d"
    ]
    return cases[:: max(1, len(cases) // MOST[cases[0].stage])]


def judge(mutation, transform):
    results = results_of(mutation.driver, cases_of(mutation), seed=11, transform=transform)
    return [result for result in results if result.status != Status.NOT_SUPPORTED]


def test_there_are_at_least_thirty_mutations() -> None:
    for mutations in (MUTATIONS, FRAGMENT_MUTATIONS):
        assert len({mutation.name for mutation in mutations}) == len(mutations) >= 30


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("mutation", [*MUTATIONS, *FRAGMENT_MUTATIONS], ids=lambda mutation: mutation.name)
def test_a_planted_error_is_caught(mutation) -> None:
    honest = judge(mutation, None)
    assert honest
    assert {result.status for result in honest} <= {Status.PASS, Status.UNDEFINED}
    results_with_error(partial(judge, mutation), mutation.mutate)
