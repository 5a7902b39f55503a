"""Results of cases of the small families, with and without a planted error."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache, partial

from suite_runs import Transform, results_of, results_with_error

import vkgroup.conformance as conformance
from vkgroup.conformance import Status
from vkgroup.conformance.families import all_families
from vkgroup.conformance.family import AnyCase
from vkgroup.record.record import Result

_FAMILIES = ("size_control", "descriptor_indexing", "quad_control", "fragment")


@cache
def _cases() -> dict[str, AnyCase]:
    """Return the cases of the small families by name; a search of the whole suite takes seconds."""
    families = [family for family in all_families() if family.name.partition(".")[0] in _FAMILIES]
    return {case.name: case for family in families for case in family.cases()}


def chosen(*filters: str) -> list[AnyCase]:
    """Return the cases of those families whose names match any of the globs."""
    return [case for name, case in _cases().items() if any(fnmatchcase(name, glob) for glob in filters)]


def judged(device: str, *filters: str, transform: Transform | None = None) -> list[Result]:
    """Judge the cases of filters on a device; return the results of those that it supports."""
    cases = chosen(*filters) or conformance.select(filters)
    results = results_of(device, cases, seed=5, transform=transform)
    return [result for result in results if result.status is not Status.NOT_SUPPORTED]


def assert_caught(device: str, name: str, mutate: Transform) -> None:
    """Assert that the cases of a name pass, and that one of them fails where an error is planted."""
    honest = judged(device, name)
    assert honest
    assert {result.status for result in honest} == {Status.PASS}, honest[0].detail
    results_with_error(partial(judged, device, name), mutate)
