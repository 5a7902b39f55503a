"""The JSON documents that commands write: their schemas, and the summary of the run that each describes."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from vkgroup.record.record import RunInfo, RunKind, RunRecord

NAMES = {RunKind.CONFORM: "summary", RunKind.PROBE: "probe", RunKind.BENCH: "bench"}
"""Kind of run → the name of its document in `RunRecord.documents`."""

Seed = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
"""A seed in the range that a database can store."""


class _Driver(msgspec.Struct):
    """The driver in a summary."""

    name: str = ""
    info: str = ""


class _Versions(msgspec.Struct):
    """The versions in a summary."""

    vkgroup: str = ""


class _Summary(msgspec.Struct):
    """The part of ``summary.json`` of ``vkgroup conform`` that describes the run."""

    device: str
    totals: dict[str, int]
    driver: _Driver = msgspec.field(default_factory=_Driver)
    versions: _Versions = msgspec.field(default_factory=_Versions)
    started: str = ""
    seconds: float | None = None
    seed: Seed | None = None


class _Device(msgspec.Struct):
    """The part of a device's capabilities that describes it."""

    name: str = ""
    driver_name: str = ""
    driver_info: str = ""


class _Experiment(msgspec.Struct):
    """The part of an experiment's outcome that is counted."""

    status: str = ""


class _Probe(msgspec.Struct):
    """The part of the document of ``vkgroup probe`` that describes the run."""

    capabilities: _Device
    experiments: dict[str, _Experiment] = {}


class _Context(msgspec.Struct):
    """The part of the context in a benchmark's document that describes the run."""

    device: str = ""
    driver_name: str = ""
    driver_info: str = ""
    vkgroup_version: str = ""
    date: str = ""
    seed: str | Seed = ""
    host_name: str = ""


class _Row(msgspec.Struct):
    """The part of a row in a benchmark's document that is counted."""

    name: str = ""
    run_name: str | None = None
    error_occurred: bool = False
    skipped: Any = None


class _Bench(msgspec.Struct):
    """The part of the document of ``vkgroup bench`` (Google Benchmark's format) that describes the run."""

    benchmarks: list[_Row]
    context: _Context = msgspec.field(default_factory=_Context)


class _Identity(msgspec.Struct):
    """``run.json`` of ``vkgroup conform``."""

    device: str = ""
    driver: str = ""
    vkgroup: str = ""
    seed: Seed | None = None


def parse(text: str | bytes) -> Any:
    """Return JSON's data; NaN and infinities, which JSON does not have and browsers refuse, become None.

    Raises ValueError or RecursionError: the text is not JSON.
    """
    return json.loads(text, parse_constant=lambda _: None, parse_float=_finite)


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None


def kind_of(data: Mapping[str, Any]) -> RunKind | None:
    """Return the kind of run that wrote a JSON object; None if a history does not store it."""
    if isinstance(data.get("benchmarks"), list):
        return RunKind.BENCH
    if isinstance(data.get("capabilities"), dict):
        return RunKind.PROBE
    if isinstance(data.get("totals"), dict) and isinstance(data.get("device"), str):
        return RunKind.CONFORM
    return None


def is_check(data: Mapping[str, Any]) -> bool:
    """Return whether ``vkgroup check --json`` wrote a JSON object."""
    return isinstance(data.get("findings"), list) and "shader" in data


def is_cost(data: Any) -> bool:
    """Return whether JSON data is the costs of one shader in what ``vkgroup cost --json`` wrote."""
    return isinstance(data, dict) and isinstance(data.get("costs"), list) and "shader" in data


def reports_of(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the reports in what ``vkgroup check --json`` wrote for several configurations.

    The shader of a report also has the name of the configuration. Configurations without a report are left
    out.
    """
    entries = data.get("configurations")
    found = []
    for entry in entries if isinstance(entries, list) else []:
        report = entry.get("report") if isinstance(entry, dict) else None
        if isinstance(report, dict) and is_check(report):
            found.append({**report, "shader": f"{report['shader']}, configuration {entry.get('name')}"})
    return found


def describe(kind: RunKind, data: Mapping[str, Any]) -> RunInfo:
    """Return the summary of the run that a document describes.

    Raises ValueError: a field has an unexpected type; the message names the field and both types.
    """
    if kind == RunKind.PROBE:
        probe = msgspec.convert(data, _Probe)
        device = probe.capabilities
        statuses = Counter(experiment.status for experiment in probe.experiments.values())
        del statuses[""]
        driver = _joined(device.driver_name, device.driver_info)
        return RunInfo("", kind, device.name, driver, "", "", counts=dict(statuses))
    if kind == RunKind.BENCH:
        bench = msgspec.convert(data, _Bench)
        context, seed = bench.context, str(bench.context.seed)
        rows: dict[str, str] = {}
        for row in bench.benchmarks:
            state = "wrong" if row.error_occurred else "untimed" if row.skipped else "timed"
            rows[row.name if row.run_name is None else row.run_name] = state
        return RunInfo(
            id="",
            kind=kind,
            device=context.device,
            driver=_joined(context.driver_name, context.driver_info),
            vkgroup=context.vkgroup_version,
            started=_moment(context.date),
            seed=int(seed) if seed.isdecimal() and len(seed) < 19 else None,
            host=context.host_name,
            counts=dict(Counter(rows.values())),
        )
    summary = msgspec.convert(data, _Summary)
    return RunInfo(
        id="",
        kind=kind,
        device=summary.device,
        driver=_joined(summary.driver.name, summary.driver.info),
        vkgroup=summary.versions.vkgroup,
        started=_moment(summary.started),
        seconds=summary.seconds,
        seed=summary.seed,
        counts={name: number for name, number in summary.totals.items() if number},
    )


def recorded(data: dict[str, Any]) -> RunRecord:
    """Return the record of a run with one document; ValueError if it is not a document of a run."""
    kind = kind_of(data)
    if kind is None:
        raise ValueError("this is not a document of vkgroup conform, probe or bench")
    return RunRecord(describe(kind, data), None, {NAMES[kind]: data})


def identify(data: Mapping[str, Any]) -> RunInfo:
    """Return the unfinished conformance run that a ``run.json`` identifies; ValueError as for `describe`."""
    identity = msgspec.convert(data, _Identity)
    return RunInfo(
        id="",
        kind=RunKind.CONFORM,
        device=identity.device,
        driver=identity.driver.strip(),
        vkgroup=identity.vkgroup,
        started="",
        finished=False,
        seed=identity.seed,
    )


def _joined(name: str, info: str) -> str:
    """Return a driver's name and version text."""
    return f"{name} {info}".strip()


def _moment(text: str) -> str:
    """Return a date in UTC; empty if the text is not a date."""
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""
