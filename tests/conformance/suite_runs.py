"""Runs of the suite in this process. Results without a transform are kept, and each case is judged once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import translate
from functools import cache

import vkgroup.conformance as conformance
from vkgroup.conformance import cases_by_name
from vkgroup.conformance.family import AnyCase
from vkgroup.device import DeviceInfo
from vkgroup.record.record import Result, Status
from vkgroup.workers.opening import select

Transform = Callable[[bytes], bytes]

_kept: dict[tuple[str, int], dict[str, Result]] = {}


@cache
def device_of(name: str) -> DeviceInfo:
    """Return a device by its name; each search takes a process."""
    return select(name)


@cache
def matching(*globs: str) -> tuple[AnyCase, ...]:
    """Return the cases that `select` returns for globs; the names of all cases are made only once."""
    pattern = re.compile("|".join(map(translate, globs)))
    return tuple(case for name, case in cases_by_name().items() if pattern.match(name))


def results_of(
    device: str, cases: Iterable[AnyCase], *, seed: int = 0, transform: Transform | None = None
) -> list[Result]:
    """Return the results of cases on a device, in the order of the cases."""
    cases = list(cases)
    kept = _kept.setdefault((device, seed), {}) if transform is None else {}
    if missing := [case for case in cases if case.name not in kept]:
        run = conformance.run(device_of(device), cases=missing, isolate=False, seed=seed, transform=transform)
        kept.update((result.case, result) for result in run.results)
    return [kept[case.name] for case in cases]


def results_with_error(judge: Callable[..., Iterable[Result]], mutate: Transform) -> list[Result]:
    """Return the results with a planted error: it must change a module, and a case must fail.

    An invalid module shows nothing: the validator rejects it, and no device executes it.
    """
    changed = []

    def transform(data: bytes) -> bytes:
        mutated = mutate(data)
        changed.append(mutated != data)
        return mutated

    planted = list(judge(transform=transform))
    assert any(changed), "the mutation found nothing to change"
    assert any(result.status is Status.FAIL for result in planted)
    assert not any("InvalidModule" in result.detail for result in planted)
    return planted
