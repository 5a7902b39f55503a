"""``results.csv`` and ``failures.csv``, as deqp-runner writes them.

No header; sorted by name; ``NAME,OUTCOME,SECONDS`` for every case, ``NAME,OUTCOME`` for what is unexpected
(deqp-runner, runner_results.rs: ``write_results``, ``write_failures``). Without a baseline in the run, either
is one for the next.
"""

from __future__ import annotations

from pathlib import Path

from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.files import write_output

RESULTS, FAILURES = "results.csv", "failures.csv"


def write_tables(judged: RunOutcomes, folder: Path) -> None:
    """Write both files into a run's folder; InvalidInput where that is impossible."""
    seconds = {result.case: result.seconds for result in judged.results}
    results = [
        f"{name},{outcome},{seconds.get(name, 0.0):.6f}\n" for name, outcome in judged.outcomes.items()
    ]
    write_output(folder / RESULTS, "".join(results))
    failures = [f"{name},{outcome}\n" for name, outcome in judged.unexpected.items()]
    write_output(folder / FAILURES, "".join(failures))
