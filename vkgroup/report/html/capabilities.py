"""What devices can do, side by side: a column a device, a row for all it declares or was seen doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vkgroup.device import Capabilities
from vkgroup.probe import EXPERIMENTS
from vkgroup.probe.declared import NO, declared, opengl
from vkgroup.report.html.inputs import Conformance, Data, Inputs

UNKNOWN = None
"""A cell of which nothing was recorded."""


@dataclass(frozen=True)
class Row:
    """One thing: its name, and what each device has of it (None where that was not recorded)."""

    label: str
    cells: tuple[str | None, ...]

    @property
    def differs(self) -> bool:
        """Whether the devices that tell do not agree."""
        return len({cell for cell in self.cells if cell is not None}) > 1


@dataclass(frozen=True)
class Sections:
    """A table: its columns, which of them are of probes, and its rows under titles."""

    columns: tuple[str, ...]
    places: tuple[str, ...]
    probed: tuple[bool, ...]
    sections: tuple[tuple[str, tuple[Row, ...]], ...]

    def to_json(self) -> dict[str, Any]:
        """Return the table as JSON data."""
        return {
            "columns": list(self.columns),
            "places": list(self.places),
            "sections": [
                [title, [[row.label, list(row.cells), row.differs] for row in rows]]
                for title, rows in self.sections
            ],
        }


Column = dict[tuple[str, str], str]


def side_by_side(inputs: Inputs) -> Sections:
    """Return the capabilities of every probe, and of every run whose device was not probed."""
    columns: list[tuple[str, str, Column]] = [
        (_name(probe), probe.place, _of_probe(probe)) for probe in inputs.probes
    ]
    known = {(name, str(column.get(("Device", "driver")))) for name, _, column in columns}
    for run in inputs.runs:
        column = _of_run(run)
        if (run.device, str(column.get(("Device", "driver")))) not in known:
            columns.append((run.device, run.place, column))
            known.add((run.device, str(column.get(("Device", "driver")))))
    keys: dict[str, dict[str, None]] = {}
    for _, _, column in columns:
        for title, label in column:
            keys.setdefault(title, {})[label] = None
    sections = tuple(
        (title, tuple(_row(title, label, columns) for label in labels)) for title, labels in keys.items()
    )
    return Sections(
        tuple(name for name, _, _ in columns),
        tuple(place for _, place, _ in columns),
        tuple(number < len(inputs.probes) for number in range(len(columns))),
        sections,
    )


_LISTED = ("Features", "Extensions")
"""Sections that list what there is: what a probe does not list there, the device lacks."""


def _row(title: str, label: str, columns: list[tuple[str, str, Column]]) -> Row:
    cells = []
    for _, _, column in columns:
        probed = ("Device", "name") in column and len(column) > 1
        missing = NO if title in _LISTED and probed else UNKNOWN
        cells.append(column.get((title, label), missing))
    return Row(label, tuple(cells))


def capabilities_of(probe: Data) -> Capabilities | None:
    """Return a probe's capabilities; None where they are of another version, or no such thing."""
    try:
        capabilities = Capabilities.from_json(probe.data["capabilities"])
        # What is no capability may show only where it is put into words.
        _sections(capabilities)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError):
        return None
    return capabilities


def _sections(capabilities: Capabilities) -> Column:
    """Return what is declared, in words."""
    found: Column = {}
    for section in (*declared(capabilities), opengl(capabilities)):
        found |= {(section.title, label): words for label, words in section.lines}
    found |= {("Features", name): "yes" for name in sorted(capabilities.features)}
    listed = sorted(capabilities.extensions.items())
    return found | {("Extensions", name): f"revision {version}" for name, version in listed}


def _name(probe: Data) -> str:
    return str(probe.data["capabilities"].get("name") or "unknown device")


def _of_probe(probe: Data) -> Column:
    """Return what a probe declares and observed, in words."""
    capabilities = capabilities_of(probe)
    if capabilities is None:
        return {("Device", "name"): _name(probe)}
    found = _sections(capabilities)
    listed = {key: found.pop(key) for key in list(found) if key[0] in _LISTED}
    experiments = probe.data.get("experiments")
    titles = {experiment.name: experiment.title for experiment in EXPERIMENTS}
    for name, outcome in (experiments if isinstance(experiments, dict) else {}).items():
        if isinstance(outcome, dict) and isinstance(outcome.get("sentence"), str):
            found["Observed", titles.get(name, name.replace("_", " "))] = outcome["sentence"]
    return found | listed


def _of_run(run: Conformance) -> Column:
    """Return what a run says of its device."""
    found: Column = {("Device", "driver"): run.driver or "unnamed"}
    if isinstance(version := run.summary.get("api_version"), str):
        found["Device", "version"] = f"Vulkan {version}"
    if run.summary.get("subgroup_size"):
        found["Subgroups, declared", "size"] = str(run.summary["subgroup_size"])
    return found
