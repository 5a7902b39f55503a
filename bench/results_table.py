"""Print the README's table of results from the recorded runs: ``python bench/results_table.py``."""

from __future__ import annotations

import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
STATUSES = ("Pass", "Fail", "Undefined", "NotSupported")
COLUMNS = ("device", "driver", "subgroup", "executed", *STATUSES, "seconds", "a second")


def row(summary: dict) -> str:
    """Return a run's row: cases by status, and how long it took with how many workers."""
    totals = summary["totals"]
    cells = [
        summary["device"],
        f"{summary['driver']['name']} {summary['driver']['info']}".strip(),
        summary["subgroup_size"],
        f"{summary['executed']:,}",
        *(f"{totals[name]:,}" for name in STATUSES),
        f"{summary['seconds']:.0f} ({summary['jobs']} workers)",
        f"{summary['cases_per_second']:,.0f}",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Print one row a recorded run, the fastest first."""
    summaries = [json.loads(path.read_text()) for path in RESULTS.glob("*/summary.json")]
    print(f"| {' | '.join(COLUMNS)} |")
    print("|" + "---|" * len(COLUMNS))
    for summary in sorted(summaries, key=lambda summary: -summary["cases_per_second"]):
        print(row(summary))


if __name__ == "__main__":
    main()
