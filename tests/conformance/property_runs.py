"""Judging cases on a device, as they are and with an error planted, for the tests of properties."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache

import vkgroup.conformance as conformance
from vkgroup.conformance import Status
from vkgroup.conformance.families import family_named
from vkgroup.conformance.family import AnyCase
from vkgroup.device import DeviceInfo
from vkgroup.opening import select as select_device
from vkgroup.results.record import Result

Mutate = Callable[[bytes], bytes]

_FAMILIES = ("size_control", "descriptor_indexing", "quad_control", "fragment")


@cache
def _cases() -> dict[str, AnyCase]:
    """Return the cases of the small families by name: the whole suite takes seconds to look through."""
    return {case.name: case for name in _FAMILIES for case in family_named(name).cases()}


@cache
def _device(name: str) -> DeviceInfo:
    """Return a device by its name: looking for it takes a process each time."""
    return select_device(name)


def chosen(*filters: str) -> list[AnyCase]:
    """Return the cases of those families whose names match any of the globs."""
    return [case for name, case in _cases().items() if any(fnmatchcase(name, glob) for glob in filters)]


def judged(device: str, *filters: str, transform: Mutate | None = None) -> list[Result]:
    """Judge the cases of filters on a device; return the results of those that it supports."""
    cases = chosen(*filters) or conformance.select(filters)
    found = conformance.run(_device(device), cases=cases, isolate=False, transform=transform, seed=5)
    return [result for result in found.results if result.status is not Status.NOT_SUPPORTED]


def assert_caught(device: str, name: str, mutate: Mutate) -> None:
    """Assert that the cases of a name pass, and that one of them fails where an error is planted."""
    honest = judged(device, name)
    assert honest
    assert {result.status for result in honest} == {Status.PASS}, honest[0].detail
    changed = []

    def transform(data: bytes) -> bytes:
        mutated = mutate(data)
        changed.append(mutated != data)
        return mutated

    planted = judged(device, name, transform=transform)
    assert any(changed), "the mutation found nothing to change"
    assert Status.FAIL in {result.status for result in planted}
    assert not any("InvalidModule" in result.detail for result in planted), "caught by the validator"
