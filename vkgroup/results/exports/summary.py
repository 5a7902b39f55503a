"""``summary.json`` and ``capabilities.json`` of a conformance run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.files import write_output
from vkgroup.results.run import Run


def write_summary(run: Run, path: Path, outcomes: RunOutcomes | None = None) -> dict[str, Any]:
    """Write the summary of a run, and return what was written; see `vkgroup.results.run.Run.summary`.

    With `outcomes` it has, under ``outcomes``, the number of cases with each outcome that occurs.
    """
    summary = run.summary()
    if outcomes is not None:
        summary["outcomes"] = {outcome.value: count for outcome, count in sorted(outcomes.counts.items())}
    write_output(path, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return summary


def write_capabilities(run: Run, path: Path) -> None:
    """Write the device's capabilities, as ``vkgroup probe --json`` does: reports compare them."""
    data = {"capabilities": run.capabilities.to_json()}
    write_output(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
