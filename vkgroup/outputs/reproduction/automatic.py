"""Reproduction folders of a run's new causes, each with the smallest case that fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from vkgroup.conformance.families import select
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.run import Setup
from vkgroup.device import Capabilities
from vkgroup.outputs.reproduction.cases import make_smallest
from vkgroup.outputs.reproduction.folder import PROGRAM
from vkgroup.outputs.reproduction.jobs import Smallest
from vkgroup.outputs.reproduction.smallest import SmallestCaseSearch, Trials, alike, folder_of, may_hang
from vkgroup.record.causes import Cause
from vkgroup.record.record import Result, Status

SECONDS = 120.0
"""Seconds after which no further reproducer of a run is begun."""


@dataclass(frozen=True)
class Reproducer:
    """The reproduction folder of a cause."""

    cause: Cause
    folder: Path | None  # None if it was not made
    case: str = ""  # the case in the folder
    remark: str = ""  # why there is no folder, or what is missing in it


def make_reproducers(
    causes: Sequence[Cause],
    results: Iterable[Result],
    setup: Setup,
    capabilities: Capabilities,
    out: Path,
    on_cause: Callable[[Cause], None] = lambda cause: None,
) -> list[Reproducer]:
    """Make the reproduction folder of each cause in a run's folder.

    Nothing is raised: if a folder cannot be made, its remark says why.

    Parameters
    ----------
    causes : the causes, in the order in which they are reported.
    results : all results of the run.
    setup : device, seed, time limit and transform of the run.
    capabilities : of the device.
    out : the run's folder; the folders are ``reproducers/ID`` in it.
    on_cause : called before each search.
    """
    known = {result.case: result for result in results if result.status is not Status.NOT_SUPPORTED}
    until = time.monotonic() + SECONDS
    found = []
    with Trials(setup) as trials:
        for cause in causes:
            on_cause(cause)
            remark = ""
            if trials.gone:
                remark = f"the device is not used any more: {trials.gone}"
            elif time.monotonic() > until:
                remark = f"{SECONDS:g} s have passed"
            if remark:
                found.append(Reproducer(cause, None, remark=remark))
                continue
            try:
                found.append(_made(cause, known, trials, setup, capabilities, out))
            except Exception as error:  # a reproducer is an extra: the run is complete without it
                text = (str(error).splitlines() or [""])[0]
                found.append(Reproducer(cause, None, remark=f"{type(error).__name__}: {text}"))
    return found


def _made(
    cause: Cause,
    known: dict[str, Result],
    trials: Trials,
    setup: Setup,
    capabilities: Capabilities,
    out: Path,
) -> Reproducer:
    """Search for the smallest case of one cause and make its folder."""
    case, first = _case(cause.smallest), known[cause.smallest]
    if reason := _forbidden(case, first, capabilities):
        return Reproducer(cause, None, case.name, reason)
    smallest = SmallestCaseSearch(trials, capabilities, known, alike(cause, first)).smallest(case)
    if trials.gone:
        return Reproducer(cause, None, case.name, f"the search ended: {trials.gone}")
    folder = folder_of(out, cause)
    make_smallest(setup, smallest, folder, capabilities, cause)
    return Reproducer(cause, folder, smallest.case.name, _remark(smallest, folder))


def _case(name: str) -> AnyCase:
    """Return a case by its name."""
    return next(case for case in select((name,)) if case.name == name)


def _forbidden(case: AnyCase, result: Result, capabilities: Capabilities) -> str:
    """Return why a case must not be executed again; "" if it may."""
    if result.status is Status.TIMEOUT or may_hang(case, capabilities):
        return "the case may hang the device again"
    if result.status is Status.CRASH and "the process was" not in result.detail:
        return "the case may lose the device again"
    return ""


def _remark(smallest: Smallest, folder: Path) -> str:
    remarks = []
    if not smallest.fails:
        remarks.append("it does not fail in this way when it runs alone")
    if not smallest.done:
        remarks.append("the search ended early")
    if not (folder / PROGRAM).is_file():
        remarks.append("no C program, see its README")
    return "; ".join(remarks)
