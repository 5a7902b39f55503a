"""Compilation of mutated modules with the drivers of absent GPUs.

::

    python tests/campaigns/fuzz/compile_campaign.py --device radv:navi31 --modules 10000 --seed 1 --folder OUT

The modules are those of executing fuzzing (`execution_worker.module_of`). SPIRV-Tools accepts them, and those
that exceed the limits of the device are `NotSupported`. Any other rejection, crash or time limit is an error
of the driver or of vkgroup.
"""

from __future__ import annotations

import argparse
import base64
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import fuzz_record
from execution_corpus import Base
from execution_worker import Mutated, load_corpus, module_of

from vkgroup.base.errors import VkgroupError
from vkgroup.cost import CompileJob, CompileStatus, Cost, costs_of_jobs, job_of
from vkgroup.device import DeviceInfo
from vkgroup.workers.opening import select

BATCH = 200
"""Modules of one process of the driver, which keeps memory of each pipeline."""

SECONDS = 20.0
"""Time limit of a compilation."""

REMARKABLE = (CompileStatus.REJECTED, CompileStatus.TIMEOUT, CompileStatus.CRASH)

_ORDER = (CompileStatus.NOT_SUPPORTED, CompileStatus.COMPILED, *REMARKABLE)
"""All statuses, the worst last."""


def jobs_of(
    bases: list[Base], seed: int, numbers: Sequence[int]
) -> Iterator[tuple[int, Mutated, CompileJob]]:
    """Yield the modules with these numbers that `vkgroup cost` accepts."""
    for number in numbers:
        made = module_of(bases, seed, number)
        if made is None:
            continue
        try:
            yield number, made, job_of(made.module, specialization=made.base.specialization)
        except VkgroupError:  # such as bindings of two kinds with one number
            continue


def findings_of(number: int, made: Mutated, costs: Sequence[Cost]) -> list[dict[str, Any]]:
    """Return an entry for each subgroup size at which a module does not compile."""
    module = base64.b64encode(made.module.to_bytes()).decode()
    return [
        {
            **{"number": number, "base": made.base.name, "kind": made.kind, "size": cost.subgroup_size},
            **{"status": str(cost.status), "detail": cost.detail, "module": module},
        }
        for cost in costs
        if cost.status in REMARKABLE
    ]


def campaign(device: DeviceInfo, bases: list[Base], seed: int, count: int, folder: Path) -> dict[str, Any]:
    """Compile modules, write their findings into the folder, and return the counts.

    A module with several statuses at several subgroup sizes counts by its worst one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    statuses = Counter[str]()
    kinds = Counter[str]()
    started = time.monotonic()
    with (folder / "findings.jsonl").open("w") as file:
        for start in range(0, count, BATCH):
            tried = list(jobs_of(bases, seed, range(start, min(start + BATCH, count))))
            all_costs = costs_of_jobs(device, [job for _, _, job in tried], SECONDS)
            for (number, made, _), costs in zip(tried, all_costs, strict=True):
                worst = max((cost.status for cost in costs), key=_ORDER.index)
                statuses[str(worst)] += 1
                kinds[made.kind] += 1
                for finding in findings_of(number, made, costs):
                    file.write(json.dumps(finding) + "\n")
                    print(*(finding[key] for key in ("number", "base", "kind", "size", "status")), flush=True)
    return {
        "device": device.choice,
        "seed": seed,
        "modules": sum(statuses.values()),
        "seconds": round(time.monotonic() - started, 1),
        "statuses": dict(sorted(statuses.items())),
        "kinds": dict(sorted(kinds.items())),
    }


def main() -> int:
    """Run a campaign; the exit code is 1 if a module did not compile, 2 if none was compiled."""
    parser = argparse.ArgumentParser(description="Compile mutated modules with the driver of an absent GPU.")
    parser.add_argument("--device", required=True, help="compile-only device, such as radv:navi31")
    parser.add_argument("--modules", type=int, default=1000, help="number (default: 1000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, required=True, help="for the findings")
    parser.add_argument("--corpus", type=Path, help="file with the modules to mutate, made if it is missing")
    parser.add_argument("--json", type=Path, help='add the counts to this file, under the key "compilation"')
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    bases = load_corpus(arguments.corpus or arguments.folder / "corpus.pickle")
    device = select(arguments.device, compile_only=True)
    record = campaign(device, bases, arguments.seed, arguments.modules, arguments.folder)
    if arguments.json:
        known = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        known = known.get("compilation", {})
        fuzz_record.update(arguments.json, {"compilation": {**known, arguments.device: record}})
    print(record["statuses"], f"{record['modules']} modules, {record['seconds']} s")
    if record["statuses"].keys() <= {str(CompileStatus.NOT_SUPPORTED)}:
        print("no module was compiled", file=sys.stderr)
        return 2
    return 1 if any(str(status) in record["statuses"] for status in REMARKABLE) else 0


if __name__ == "__main__":
    sys.exit(main())
