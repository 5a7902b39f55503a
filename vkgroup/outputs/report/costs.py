"""Static costs of ``vkgroup cost --json`` as data for the page: rows of quantities, by driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkgroup.cost import FIELDS, CompileStatus, Cost, labels
from vkgroup.cost.comparing import paired
from vkgroup.dispatch.statistics import UNITS
from vkgroup.drivers.gpus import GPUS
from vkgroup.outputs.history import CostFile

_VENDORS = {
    "radv": "AMD (RADV)",
    "nvk": "NVIDIA (NVK)",
    "turnip": "Qualcomm (Turnip)",
    "honeykrisp": "Apple (Honeykrisp)",
}

_GENERATIONS = {gpu.choice: gpu.generation for gpu in GPUS}


def to_json(file: CostFile) -> dict[str, Any]:
    """Return the costs of one shader, in a table for each driver.

    Raises InvalidInput: the file has other fields than ``vkgroup cost --json`` writes.
    """
    costs = _costs(file, "costs")
    others = _costs(file, "against_costs")
    pairs = paired(costs, others)
    groups: dict[str, list[tuple[Cost, Cost | None]]] = {}
    for cost, other in pairs:
        groups.setdefault(_family(cost), []).append((cost, other))
    return {
        "place": str(file.path),
        "shader": str(file.data["shader"]),
        "against": str(file.data.get("against") or "") if others else "",
        "drivers": [_driver(family, rows) for family, rows in groups.items()],
    }


def _costs(file: CostFile, name: str) -> list[Cost]:
    data = file.data.get(name)
    return [Cost.from_json(entry, str(file.path)) for entry in data] if isinstance(data, list) else []


def _family(cost: Cost) -> str:
    """Return the family of the driver of a compile-only device; the name of another device."""
    family = cost.key[0].partition(":")[0]
    return family if family in _VENDORS else cost.gpu


def _driver(family: str, rows: Sequence[tuple[Cost, Cost | None]]) -> dict[str, Any]:
    every = [cost for row in rows for cost in row if cost is not None]
    names = [name for name in FIELDS if any(name in cost.quantities for cost in every)]
    devices = labels(cost for cost, _ in rows)
    versions = dict.fromkeys(cost.device.partition(":")[0] for cost in every if family in _VENDORS)
    return {
        "name": _VENDORS.get(family, family),
        "versions": list(versions),
        "quantities": [
            {
                "title": FIELDS[name].title,
                "unit": UNITS.get(family, {}).get(name, ""),
                "more_is_better": FIELDS[name].worse < 0,
                "most": max(cost.quantities.get(name, 0.0) for cost in every),
            }
            for name in names
        ],
        "rows": [_row(cost, other, names, devices[cost.device]) for cost, other in rows],
    }


def _row(cost: Cost, other: Cost | None, names: Sequence[str], label: str) -> dict[str, Any]:
    """Return a row; `label`: the device, as `labels` names it."""
    driver, _, gpu = label.partition(":")
    return {
        "gpu": f"{gpu} ({driver})" if label != cost.label else gpu or cost.gpu,
        "generation": _GENERATIONS.get(cost.key[0], ""),
        "size": cost.subgroup_size,
        "sides": [_side(entry, names) for entry in (cost, other) if entry is not None],
    }


def _side(cost: Cost, names: Sequence[str]) -> dict[str, Any]:
    """Return the values of one shader; None where the driver reports no value."""
    compiled = cost.status is CompileStatus.COMPILED
    return {
        "status": "" if compiled else cost.status.value,
        "detail": cost.detail,
        "values": [cost.quantities.get(name) for name in names] if compiled else [],
        "kinds": ", ".join(f"{count}\N{NO-BREAK SPACE}{kind}" for kind, count in cost.kinds.items()),
    }
