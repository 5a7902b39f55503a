"""Tables of docs/start/compile-only.md, from the runs in bench/results/compile-only/suite.json."""

from __future__ import annotations

from typing import Any

_STATUSES = {
    "Compiled": "compiled",
    "Rejected": "rejected",
    "Crash": "crash",
    "Timeout": "time limit",
    "NotSupported": "features missing",
}


def suites(record: dict[str, Any]) -> str:
    """Return a row for each device: cases by status, and the processor time of all processes."""
    lines = [f"| device | {' | '.join(_STATUSES.values())} | processor time |", "|---" * 7 + "|"]
    for name, run in record["devices"].items():
        minutes = run.get("processor_minutes")
        time = f"{minutes} min" if minutes else "not recorded"
        lines.append(f"| {name} | {_counts(run, _STATUSES)} | {time} |")
    return "\n".join(lines)


def _counts(run: dict[str, Any], statuses: dict[str, str]) -> str:
    """Return the cells with the number of cases of each status."""
    return " | ".join(f"{run['totals'].get(status, 0):,}" for status in statuses)


def programs(record: dict[str, Any]) -> str:
    """Return a row for each group of devices with the same failures: random programs and causes."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for name, run in record["programs"]["devices"].items():
        failed = run["programs"] - run["compiled"]
        causes = "; ".join(f"{cause}: {count:,}" for cause, count in run["causes"].items())
        groups.setdefault((f"{run['programs']:,}", f"{failed:,}", causes), []).append(name)
    lines = ["| device | programs for each | failed for each | causes |", "|---" * 4 + "|"]
    lines += [f"| {', '.join(names)} | {' | '.join(cells)} |" for cells, names in groups.items()]
    return "\n".join(lines)


_EMULATED = {
    "Pass": "pass",
    "Fail": "fail",
    "Undefined": "undefined",
    "NotEmulated": "not emulated",
    "Timeout": "time limit",
    "NotSupported": "features missing",
}


def emulated(record: dict[str, Any]) -> str:
    """Return a row for each run of compute cases on an emulated GPU: cases by status, and why."""
    lines = [f"| GPU | cases | {' | '.join(_EMULATED.values())} | explanation |", "|---" * 9 + "|"]
    for run in record["runs"]:
        why = "; ".join(run["explained"])
        lines.append(f"| {run['gpu']} | {run['cases']} | {_counts(run, _EMULATED)} | {why} |")
    return "\n".join(lines)


def emulated_speed(record: dict[str, Any]) -> str:
    """Return a row for each shader and number of invocations: instructions a second on one core."""
    lines = [
        "| shader | invocations | instructions a second | for each wave | time / reference |",
        "|---" * 5 + "|",
    ]
    for row in record["rows"]:
        rates = [row["instructions_per_second"], row["wave_instructions_per_second"]]
        cells = [row["shader"], f"{row['invocations']:,}", *(f"{rate:,.0f}" for rate in rates)]
        lines.append(f"| {' | '.join(cells)} | {row['times_the_reference']:.1f} |")
    return "\n".join(lines)
