"""JSON that commands write: what wrote it, and the line of a run that it makes."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from vkgroup.results.record import Kind, RunInfo

NAMES = {Kind.CONFORM: "summary", Kind.PROBE: "probe", Kind.BENCH: "bench"}
"""What `RunRecord.documents` calls the JSON that a run of each kind writes."""


def parse(text: str | bytes) -> Any:
    """Return JSON's data; NaN and infinities, which are no JSON and which browsers refuse, become None.

    Raises
    ------
    ValueError, RecursionError
        It is none.
    """
    return json.loads(text, parse_constant=lambda _: None, parse_float=_finite)


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def kind_of(data: Mapping[str, Any]) -> Kind | None:
    """Tell what wrote a JSON object; None where that is no run that a history keeps."""
    if isinstance(data.get("benchmarks"), list):
        return Kind.BENCH
    if isinstance(data.get("capabilities"), dict):
        return Kind.PROBE
    if isinstance(data.get("totals"), dict) and isinstance(data.get("device"), str):
        return Kind.CONFORM
    return None


def is_check(data: Mapping[str, Any]) -> bool:
    """Tell whether a JSON object is what ``vkgroup check --json`` writes."""
    return isinstance(data.get("findings"), list) and "shader" in data


def describe(kind: Kind, data: dict[str, Any]) -> RunInfo:
    """Return the line of a run as far as its document says it."""
    if kind == Kind.PROBE:
        device = _table(data, "capabilities")
        found = RunInfo(
            "", kind, _text(device, "name"), _driver(device, "driver_name", "driver_info"), "", ""
        )
    elif kind == Kind.BENCH:
        context = _table(data, "context")
        seed = _text(context, "seed")
        found = RunInfo(
            id="",
            kind=kind,
            device=_text(context, "device"),
            driver=_driver(context, "driver_name", "driver_info"),
            vkgroup=_text(context, "vkgroup_version"),
            started=_moment(_text(context, "date")),
            seed=int(seed) if seed.isdecimal() and len(seed) < 19 else None,
            host=_text(context, "host_name"),
        )
    else:
        found = RunInfo(
            id="",
            kind=kind,
            device=_text(data, "device"),
            driver=_driver(_table(data, "driver"), "name", "info"),
            vkgroup=_text(_table(data, "versions"), "vkgroup"),
            started=_moment(_text(data, "started")),
            seconds=_number(data.get("seconds")),
            seed=_seed(data),
        )
    return replace(found, counts=count(kind, data))


def identify(data: Mapping[str, Any]) -> RunInfo:
    """Return the line of a conformance run that has not ended, as far as its ``run.json`` says it."""
    return RunInfo(
        id="",
        kind=Kind.CONFORM,
        device=_text(data, "device"),
        driver=_text(data, "driver").strip(),
        vkgroup=_text(data, "vkgroup"),
        started="",
        finished=False,
        seed=_seed(data),
    )


def count(kind: Kind, data: Mapping[str, Any]) -> dict[str, int]:
    """Return `RunInfo.counts` of what a run wrote."""
    if kind == Kind.CONFORM:
        totals = _table(data, "totals")
        return {name: number for name, number in totals.items() if isinstance(number, int) and number}
    if kind == Kind.PROBE:
        seen = _table(data, "experiments").values()
        found = [one.get("status") for one in seen if isinstance(one, dict)]
        return dict(Counter(status for status in found if isinstance(status, str)))
    rows: dict[str, str] = {}
    for entry in data["benchmarks"]:
        if isinstance(entry, dict) and isinstance(name := entry.get("run_name", entry.get("name")), str):
            state = "wrong" if entry.get("error_occurred") else "untimed" if entry.get("skipped") else "timed"
            rows[name] = state
    return dict(Counter(rows.values()))


def _table(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = data.get(name)
    return found if isinstance(found, dict) else {}


def _driver(data: Mapping[str, Any], name: str, info: str) -> str:
    return f"{_text(data, name)} {_text(data, info)}".strip()


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and abs(value) < 1e15 else None


def _seed(data: Mapping[str, Any]) -> int | None:
    found = data.get("seed")
    return found if isinstance(found, int) and abs(found) < 1 << 63 else None


def _text(data: Mapping[str, Any], name: str) -> str:
    found = data.get(name)
    return found if isinstance(found, str) else ""


def _moment(text: str) -> str:
    """Return a moment in UTC, or nothing where the text is none."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""
