"""Random programs on a device, compared with the reference or with another device.

``PYTHONPATH=tests python -m campaigns.random_programs --device D --count N``
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from campaigns.random_programs.run import AGAINST_THE_DEVICE, UNREMARKABLE, Outcome, Settings, run
from vkgroup.base.errors import VkgroupError
from vkgroup.programs.nodes import Promise
from vkgroup.workers.opening import select

_DESCRIPTION = "Run random programs on a device; compare it with the reference or with another device."


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m campaigns.random_programs", description=_DESCRIPTION)
    parser.add_argument("--device", metavar="D", help="device to test (default: the best one)")
    parser.add_argument("--against", metavar="D", help="second device (default: the reference)")
    parser.add_argument("--count", metavar="N", type=int, default=100, help="programs (default: 100)")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="first seed (default: 0)")
    parser.add_argument("--statements", metavar="N", type=int, default=24, help="program size (default: 24)")
    parser.add_argument(
        "--promise",
        choices=[promise.value for promise in Promise],
        help="reconvergence guarantee that programs rely on (default: the strongest of the device)",
    )
    parser.add_argument("--subgroup-size", metavar="N", type=int, default=0, help="required subgroup size")
    parser.add_argument(
        "--avoid",
        metavar="GLOB",
        action="append",
        default=[],
        help="operations and types to avoid, such as 'subgroupAllEqual.*vec*'; may be repeated",
    )
    parser.add_argument("--one-dimension", action="store_true", help="use only workgroups of one dimension")
    parser.add_argument("--shrink", action="store_true", help="shrink failing programs")
    parser.add_argument(
        "--timeout", metavar="S", type=float, default=60.0, help="seconds for a dispatch (default: 60)"
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        type=Path,
        default=Path("vkgroup-results/random-programs"),
        help="folder for the results (default: vkgroup-results/random-programs)",
    )
    return parser.parse_args()


def _show(seed: int, outcome: Outcome) -> None:
    if outcome.verdict not in UNREMARKABLE:
        sys.stdout.write(f"{seed}: {outcome.verdict.value}: {outcome.detail}\n")
        sys.stdout.flush()


def main() -> int:
    """Run the command; return its exit code, 1 if the device is wrong."""
    options = vars(_arguments())
    out = options.pop("out")
    try:
        options["device"] = select(options["device"])
        if options["against"] is not None:
            options["against"] = select(options["against"])
        if options["promise"]:
            options["promise"] = Promise(options["promise"])
        tally = run(Settings(**options), out, _show)
    except VkgroupError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except OSError as error:
        sys.stderr.write(f"{error.filename or out}: {error.strerror or error}\n")
        return 2
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in tally.verdicts.items())
    sys.stdout.write(f"{counts}; {tally.defined} words compared, {tally.undefined} undefined\n")
    return 1 if any(tally.verdicts[verdict] for verdict in AGAINST_THE_DEVICE) else 0


if __name__ == "__main__":
    sys.exit(main())
