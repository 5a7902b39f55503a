"""The table of docs/results/index.md, from the recorded runs."""

from __future__ import annotations

import json
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
STATUSES = ("Pass", "Fail", "Undefined", "NotSupported")
COLUMNS = ("device", "driver", "subgroup", "cases", "executed", *STATUSES, "seconds", "a second")

#: Description of a run's device, by the name of its file.
PARTS = {
    "summary": "all",
    "summary-compute": "the subgroup operations in compute shaders",
    "summary-others": "the fragment stage and the other families",
    "summary-sample": "patterns `all` and `nested`, and the other families",
}


def row(path: Path) -> str:
    """Return a run's row: cases by status, duration, and number of workers.

    A resumed run has no duration, since its recorded seconds are only those of its last session.
    """
    summary = json.loads(path.read_text())
    totals = summary["totals"]
    executed = sum(totals.values()) - totals["NotSupported"]
    whole = summary["executed"] == executed
    cells = [
        summary["device"],
        f"{summary['driver']['name']} {summary['driver']['info']}".strip(),
        summary["subgroup_size"],
        PARTS[path.stem] + (f" but {missing:,}" if (missing := summary.get("missing", 0)) else ""),
        f"{executed:,}",
        *(f"{totals[name]:,}" for name in STATUSES),
        f"{summary['seconds']:.0f} ({summary['jobs']} worker{'s' * (summary['jobs'] != 1)})"
        if whole
        else "–",
        f"{summary['cases_per_second']:,.0f}" if whole else "–",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def table() -> str:
    """Return one row per recorded run."""
    head = [f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS)]
    return "\n".join(head + [row(path) for path in sorted(RESULTS.glob("*/summary*.json"), reverse=True)])
