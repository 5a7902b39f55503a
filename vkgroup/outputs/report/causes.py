"""Causes of failures as data for the page."""

from __future__ import annotations

from functools import partial
from typing import Any

from vkgroup.conformance.rules import rule_of
from vkgroup.device import Capabilities
from vkgroup.record.causes import causes_of
from vkgroup.record.causes.text import truncated, without_rule
from vkgroup.record.record import Result, RunRecord, Status

_REPEAT = "repeat: "


def causes_shown(run: RunRecord, capabilities: Capabilities | None) -> list[dict[str, Any]]:
    """Return the causes of a run in the order in which they are shown, new ones first; each has its cases."""
    found = causes_of(run, partial(rule_of, capabilities=capabilities))
    return [_cause(cause) for cause in sorted(found, key=lambda cause: bool(cause.get("known")))]


def smallest_failures(run: RunRecord) -> list[Result]:
    """Return the failure of the smallest case of each cause in the summary."""
    return [
        Result(
            cause["smallest"],
            Status(next(iter(cause["statuses"]))),
            detail=cause["detail"],
            evidence=cause.get("evidence"),
        )
        for cause in causes_of(run)
    ]


def missing_without_results(run: RunRecord) -> str:
    """Return what the report of a run lacks because only its summary was read; empty if nothing."""
    if run.results is not None:
        return ""
    causes = "" if isinstance(run.summary.get("causes"), list) else "causes, "
    return (
        f"Only the summary of this run was read: without results.jsonl the report has no {causes}map, table "
        "of cases or comparison of cases."
    )


def _cause(cause: dict[str, Any]) -> dict[str, Any]:
    lines = without_rule(str(cause.get("detail", ""))).splitlines()
    commands = [line.removeprefix(_REPEAT) for line in lines if line.startswith(_REPEAT)]
    words = "\n".join(line for line in lines if not line.startswith(_REPEAT))
    return {
        **{
            name: cause.get(name)
            for name in ("id", "title", "sentence", "known", "since", "smallest", "cases")
        },
        "explanation": _explanation(cause),
        "rule": cause.get("rule") or None,
        "words": "\n".join(truncated(words)),
        "command": commands[-1] if commands else "",
    }


def _explanation(cause: dict[str, Any]) -> str:
    """Return what the device computes, with the numbers of cases and lanes, or what wrong lanes share."""
    hypothesis = cause.get("hypothesis")
    if hypothesis:
        (cases, of_cases), (lanes, of_lanes) = hypothesis["cases"], hypothesis["lanes"]
        counts = f"{cases:,} of {of_cases:,} cases, {lanes:,} of {of_lanes:,} wrong lanes"
        return f"{hypothesis['sentence']}: {counts}"
    shared = f"; all wrong lanes: {', '.join(cause['common'])}" if cause.get("common") else ""
    return f"no hypothesis matches{shared}"
