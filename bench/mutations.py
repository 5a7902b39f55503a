"""Plant errors in every stage and operation, and count how many of the wrong modules the suite catches.

python bench/mutations.py --device swiftshader --jobs 2 --out FILE
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from vkgroup.workers.opening import select as select_device

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from mutants import Campaign, run

COLUMNS = ("caught", "missed", "crashed", "timed out", "no mutant")


def table(campaign: Campaign) -> str:
    """Return the numbers of mutants by stage and by operator."""
    lines = [f"{'':<26}" + "".join(f"{column:>11}" for column in COLUMNS)]
    groups = (lambda mutant: mutant.case.stage, lambda mutant: mutant.operator, lambda mutant: "all")
    for key in groups:
        for name, counts in campaign.counts(key).items():
            lines.append(f"{name:<26}" + "".join(f"{counts[column]:>11}" for column in COLUMNS))
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    """Run, print and record; the exit code is 1 if a mutant was missed without a known reason."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", help="device whose driver runs the modules (default: the best one)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="worker processes")
    parser.add_argument("--out", type=Path, help="JSON file for the run")
    parser.add_argument("--stages", default="", help="stages, with commas between them (default: all)")
    parser.add_argument("--limit", type=int, help="mutants at most")
    parser.add_argument(
        "--cases", type=int, default=2, help="cases of each operation in each stage (default: 2)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for a dispatch (default: 20)")
    parser.add_argument(
        "--undeclared",
        action="store_true",
        help="also the stages in which the device has subgroup operations and does not declare them",
    )
    arguments = parser.parse_args()
    campaign = run(
        select_device(arguments.device),
        jobs=arguments.jobs,
        seed=arguments.seed,
        stages=tuple(filter(None, arguments.stages.split(","))),
        cases=arguments.cases,
        limit=arguments.limit,
        timeout=arguments.timeout,
        undeclared=arguments.undeclared,
    )
    found = campaign.to_json()
    print(table(campaign))
    for name in campaign.named("missed"):
        print(f"missed: {name}: {campaign.results[name].detail}")
    print(
        f"{found['caught']} of {found['mutants']} mutants were caught ({found['caught_percent']} %), "
        f"{found['unexplained']} missed unexplained, in {found['seconds']} s"
    )
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")
    return int(bool(campaign.unexplained))


if __name__ == "__main__":
    sys.exit(main())
