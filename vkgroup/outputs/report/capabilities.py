"""Capabilities of devices side by side: one column per device, one row per declaration or observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vkgroup.device import Capabilities
from vkgroup.outputs.diff import capability_changes
from vkgroup.outputs.history import RunRecord
from vkgroup.outputs.report.inputs import ReportInputs
from vkgroup.probe import EXPERIMENTS
from vkgroup.probe.declared import NO, declared, opengl

UNKNOWN = None
"""A cell without a record."""


@dataclass(frozen=True)
class CapabilityRow:
    """One capability: its name, and its value for each device (None if not recorded)."""

    label: str
    cells: tuple[str | None, ...]

    @property
    def differs(self) -> bool:
        """Whether the recorded values differ."""
        return len({cell for cell in self.cells if cell is not None}) > 1


@dataclass(frozen=True)
class Sections:
    """A table: its columns, the run of each column, and its rows under titles."""

    columns: tuple[str, ...]
    runs: tuple[RunRecord, ...]
    sections: tuple[tuple[str, tuple[CapabilityRow, ...]], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON data."""
        return {
            "columns": list(self.columns),
            "places": [run.info.id for run in self.runs],
            "sections": [
                [title, [[row.label, list(row.cells), row.differs] for row in rows]]
                for title, rows in self.sections
            ],
        }


Column = dict[tuple[str, str], str]


def side_by_side(inputs: ReportInputs) -> Sections:
    """Return the capabilities of every probe, and of every run whose device has no other column."""
    columns = [(run, _column(run)) for run in inputs.probes]
    for run in inputs.runs:
        column = _column(run)
        if not any(_same(run, column, *other) for other in columns):
            columns.append((run, column))
    keys: dict[str, dict[str, None]] = {}
    for _, column in columns:
        for title, label in column:
            keys.setdefault(title, {})[label] = None
    sections = tuple(
        (title, tuple(_row(title, label, columns) for label in labels)) for title, labels in keys.items()
    )
    return Sections(
        tuple(device_of(run) for run, _ in columns),
        tuple(run for run, _ in columns),
        sections,
    )


_LISTED = ("Features", "Extensions")
"""Sections that list supported items: the device lacks items that a probe does not list."""


def _row(title: str, label: str, columns: list[tuple[RunRecord, Column]]) -> CapabilityRow:
    cells = []
    for _, column in columns:
        probed = ("Device", "name") in column and len(column) > 1
        missing = NO if title in _LISTED and probed else UNKNOWN
        cells.append(column.get((title, label), missing))
    return CapabilityRow(label, tuple(cells))


def device_of(run: RunRecord) -> str:
    """Return the name of a run's device."""
    return run.info.device or "unknown device"


def capabilities_of(run: RunRecord) -> Capabilities | None:
    """Return the capabilities of a run's device; None if they are missing, or of another version."""
    if run.declared is None:
        return None
    try:
        capabilities = Capabilities.from_json(run.declared)
        # Invalid values may raise an error only when they become text.
        _sections(capabilities)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError):
        return None
    return capabilities


def _same(run: RunRecord, column: Column, other: RunRecord, shown: Column) -> bool:
    """Return whether an existing column has all data that a run has of its device."""
    driver = "Device", "driver"
    if (device_of(run), column.get(driver)) != (device_of(other), shown.get(driver)):
        return False
    declared = run.declared
    return declared is None or not capability_changes(declared, other.declared or {})


def _sections(capabilities: Capabilities) -> Column:
    """Return the declared capabilities as text."""
    found: Column = {}
    for section in (*declared(capabilities), opengl(capabilities)):
        found |= {(section.title, label): words for label, words in section.lines}
    found |= {("Features", name): "yes" for name in sorted(capabilities.features)}
    listed = sorted(capabilities.extensions.items())
    return found | {("Extensions", name): f"revision {version}" for name, version in listed}


def _column(run: RunRecord) -> Column:
    """Return the declared and observed capabilities of a run's device as text."""
    capabilities = capabilities_of(run)
    if capabilities is None:
        return _of_summary(run)
    found = _sections(capabilities)
    listed = {key: found.pop(key) for key in list(found) if key[0] in _LISTED}
    titles = {experiment.name: experiment.title for experiment in EXPERIMENTS}
    for name, outcome in (run.experiments or {}).items():
        if isinstance(outcome, dict) and isinstance(outcome.get("sentence"), str):
            found["Observed", titles.get(name, name.replace("_", " "))] = outcome["sentence"]
    return found | listed


def _of_summary(run: RunRecord) -> Column:
    """Return the known properties of a device without capabilities."""
    found: Column = {("Device", "driver"): run.info.driver or "unnamed"}
    if isinstance(version := run.summary.get("api_version"), str):
        found["Device", "version"] = f"Vulkan {version}"
    if run.summary.get("subgroup_size"):
        found["Subgroups, declared", "size"] = str(run.summary["subgroup_size"])
    return found
