"""Causes of mutants: whether the diagnosis of a caught mutant names the planted error.

Run as a program, this measures a sample::

    python -m mutants.causes --device swiftshader --limit 1000 --json FILE
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutants.generator import generate
from mutants.judging import judged_lanes, plant
from mutants.mutant import Group, Mutant
from vkgroup.base.errors import VkgroupError
from vkgroup.compiler import validate
from vkgroup.conformance.diagnosis import diagnose
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.subgroup.expectation import verdict_on
from vkgroup.conformance.subgroup.family import compiled, observed, program_of
from vkgroup.device import DeviceInfo
from vkgroup.record.record import Status
from vkgroup.workers.opening import open_device, select

HYPOTHESES: dict[str, tuple[str, ...]] = {
    "opcode": ("another_operator", "another_operation", "other_sign"),
    "group": ("another_group", "another_cluster"),
    "cluster": ("another_cluster",),
    "operand": ("another_operand",),
    "direction": ("another_operation",),
    "partition": ("another_partition",),
    "own": ("own_value",),
    "constant": ("zero", "ones"),
    "component": ("components",),
    "value": ("input_changed", "input_of_one_lane"),
    "uniform": ("result_of_another_lane",),
    "mask": ("split",),
    "built_in": ("another_variable",),
    "late": ("stale_memory",),
    "early": ("stale_memory",),
    "dropped": ("stale_memory",),
}
"""The hypotheses that describe each kind of mutant; of ``lane``, the wrong lanes have the lane in common."""


@dataclass(frozen=True)
class Diagnosed:
    """A caught mutant and its diagnosis."""

    mutant: Mutant
    diagnosis: dict[str, Any]

    @property
    def first(self) -> bool:
        """Whether the planted error is ranked first, and explains all lanes."""
        if self.mutant.operator == "lane":
            return any(text.startswith("lane ") for text in self.diagnosis["common"])
        rows = self.diagnosis["hypotheses"]
        return bool(rows) and self._is_planted(rows[0])

    @property
    def equivalent(self) -> bool:
        """Whether the planted error explains all lanes, as the hypothesis that is ranked first does."""
        rows = self.diagnosis["hypotheses"]
        return self.first or any(self._is_planted(row) for row in rows)

    def _is_planted(self, row: dict[str, Any]) -> bool:
        complete = row["matched"] + row["open"] == self.diagnosis["wrong"] and not row["contradicted"]
        return complete and row["name"] in HYPOTHESES[self.mutant.operator]


def diagnosed(executor: Executor, group: Group) -> Iterator[Diagnosed]:
    """Yield the mutants of a case that the suite catches, with their diagnoses."""
    case = group.cases[0].case
    program = program_of(executor, [case])
    (entry,) = program.entries
    module = compiled(executor, program)
    try:
        outputs, instances = observed(executor, program, module)
        if verdict_on(entry, program, instances, outputs).status is not Status.PASS:
            return
    except VkgroupError:
        return
    lanes, seen = judged_lanes(entry, instances), {module.to_bytes()}
    for mutant in group.cases:
        try:
            wrong = plant(module, mutant, lanes, program.subgroup_size)
            validate(wrong, executor.target)
            if wrong.to_bytes() in seen:
                continue
            seen.add(wrong.to_bytes())
            outputs, instances = observed(executor, program, wrong)
        except VkgroupError:
            continue
        verdict = verdict_on(entry, program, instances, outputs)
        if verdict.status is Status.FAIL:
            yield Diagnosed(mutant, diagnose(verdict) or {"hypotheses": [], "common": [], "wrong": 0})


def sample(device: DeviceInfo, *, limit: int, seed: int = 0) -> list[Diagnosed]:
    """Return the diagnoses of a sample of generated mutants on a device."""
    with open_device(device, robust=False) as opened:
        executor = Executor(opened, seed=0)
        groups = generate(executor.capabilities, seed=seed, limit=limit)
        rows = [row for group in groups for row in diagnosed(executor, group)]
        executor.close()
    return rows


def report(rows: list[Diagnosed]) -> dict[str, Any]:
    """Return the numbers by kind of mutant, and the mutants whose error is not ranked first."""
    total = Counter(row.mutant.operator for row in rows)
    first = Counter(row.mutant.operator for row in rows if row.first)
    return {
        "mutants": len(rows),
        "first": sum(first.values()),
        "first_percent": round(100 * sum(first.values()) / max(1, len(rows)), 1),
        "equal_predictions": sum(row.equivalent for row in rows),
        "by_operator": {name: {"mutants": total[name], "first": first[name]} for name in sorted(total)},
        "not_first": {
            row.mutant.name: [hypothesis["sentence"] for hypothesis in row.diagnosis["hypotheses"]]
            for row in rows
            if not row.first
        },
    }


def main() -> None:
    """Measure a sample and print or write the numbers."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--device", default="swiftshader")
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    device = select(arguments.device)
    data = {"device": arguments.device} | report(sample(device, limit=arguments.limit, seed=arguments.seed))
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    if arguments.json:
        arguments.json.write_text(text, encoding="utf-8")
    print(text if not arguments.json else f"{data['first']} of {data['mutants']} are ranked first")


if __name__ == "__main__":
    main()
