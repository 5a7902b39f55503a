"""``results.csv`` and ``failures.csv``, as deqp-runner writes them.

They have no header and are sorted by name: ``NAME,OUTCOME,SECONDS`` for every case, ``NAME,OUTCOME`` for
unexpected outcomes (deqp-runner, runner_results.rs: ``write_results``, ``write_failures``). Both files of a
run without a baseline can be the baseline of the next run.
"""

from __future__ import annotations

from pathlib import Path

from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.files import write_output

RESULTS, FAILURES = "results.csv", "failures.csv"


def write_tables(outcomes: RunOutcomes, folder: Path) -> None:
    """Write both files into a run's folder; InvalidInput if that fails."""
    seconds = {result.case: result.seconds for result in outcomes.results}
    results = [
        f"{name},{outcome},{seconds.get(name, 0.0):.6f}\n" for name, outcome in outcomes.by_case.items()
    ]
    write_output(folder / RESULTS, "".join(results))
    failures = [f"{name},{outcome}\n" for name, outcome in outcomes.unexpected.items()]
    write_output(folder / FAILURES, "".join(failures))
