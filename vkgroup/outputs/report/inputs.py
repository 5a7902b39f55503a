"""Inputs of a report by kind: runs from files and databases, findings of checks, and costs of shaders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vkgroup.outputs.history import CheckFindings, CostFile, RunKind, RunRecord, kind_of, load_shown


@dataclass
class ReportInputs:
    """All inputs of a report by kind, in the given order."""

    runs: list[RunRecord] = field(default_factory=list)  # conformance runs; some may have a summary only
    #: `probes`, `benches`: runs that have such a document.
    probes: list[RunRecord] = field(default_factory=list)
    benches: list[RunRecord] = field(default_factory=list)
    given: list[int] = field(default_factory=list)  # for each of `benches` the index of its path, from 0
    checks: list[CheckFindings] = field(default_factory=list)  # findings of ``vkgroup check``
    costs: list[CostFile] = field(default_factory=list)  # costs of ``vkgroup cost``, one for each shader


def read(paths: Sequence[Path | RunRecord]) -> ReportInputs:
    """Read folders and files, and sort their content by kind.

    `paths`: each a run of `vkgroup.outputs.history.Database.run`, whose database must be open until the
    report is made, or else the folder of a run (``results.jsonl`` or ``results.jsonl.xz``, ``run.json``,
    ``summary.json``, and files of other commands beside them), or a file of results, of ``vkgroup probe
    --json``, of ``vkgroup check --json``, of ``vkgroup bench --json`` or of ``vkgroup cost --json``.
    """
    found = ReportInputs()
    for given, path in enumerate(paths):
        for one in [path] if isinstance(path, RunRecord) else load_shown(path):
            if isinstance(one, CheckFindings):
                found.checks.append(one)
            elif isinstance(one, CostFile):
                found.costs.append(one)
            else:
                _sort(one, given, found)
    return found


def _sort(run: RunRecord, given: int, found: ReportInputs) -> None:
    """Add a run to the kinds that it has data for."""
    if run.info.kind == RunKind.CONFORM:
        found.runs.append(run)
    kinds = {kind_of(data) for data in run.documents.values()}
    if "probe" in run.documents and RunKind.PROBE in kinds:
        found.probes.append(run)
    if run.bench is not None and RunKind.BENCH in kinds:
        found.benches.append(run)
        found.given.append(given)
