"""What a report shows, by kind: runs from files and from databases, and findings of checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vkgroup.results.history import Check, Kind, RunRecord, kind_of, load_shown


@dataclass
class Inputs:
    """Everything that a report shows, by kind, in the order in which it was given.

    Attributes
    ----------
    runs : conformance runs, some of which may have no more than their summary.
    probes, benches : runs that have such a document.
    given : for each of `benches` which of the places that were given it came from, from 0.
    checks : what ``vkgroup check`` wrote.
    """

    runs: list[RunRecord] = field(default_factory=list)
    probes: list[RunRecord] = field(default_factory=list)
    benches: list[RunRecord] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)


def read(places: Sequence[Path | RunRecord]) -> Inputs:
    """Read folders and files, and sort what they hold.

    Parameters
    ----------
    places : each a run of `vkgroup.results.history.Database.run`, whose database must be open until the
        report is made, or else the folder of a run (``results.jsonl`` or ``results.jsonl.xz``, ``run.json``,
        ``summary.json``, and files of other commands beside them), or a file of results, of ``vkgroup probe
        --json``, of ``vkgroup check --json``, or of ``vkgroup bench --json``.

    Raises
    ------
    InvalidInput
        One of them cannot be read, or holds nothing of that.
    """
    found = Inputs()
    for given, place in enumerate(places):
        for one in [place] if isinstance(place, RunRecord) else load_shown(place):
            if isinstance(one, Check):
                found.checks.append(one)
            else:
                _sort(one, given, found)
    return found


def _sort(run: RunRecord, given: int, found: Inputs) -> None:
    """Put a run where its parts are shown."""
    if run.info.kind == Kind.CONFORM:
        found.runs.append(run)
    kinds = {kind_of(data) for data in run.documents.values()}
    if "probe" in run.documents and Kind.PROBE in kinds:
        found.probes.append(run)
    if run.bench is not None and Kind.BENCH in kinds:
        found.benches.append(run)
        found.given.append(given)
