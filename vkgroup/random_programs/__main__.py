"""``python -m vkgroup.random_programs``: a device against the reference, or against another device.

Results go to a JSONL file as they come; of every program that does not agree the GLSL is written beside it,
and on request a smaller program that shows the same.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.errors import VkgroupError
from vkgroup.opening import open_device, select
from vkgroup.random_programs.generator import LOCAL_SIZES, generate
from vkgroup.random_programs.glsl import render
from vkgroup.random_programs.nodes import Program, Promise, size
from vkgroup.random_programs.shrink import shrink
from vkgroup.random_programs.subjects import Driver
from vkgroup.random_programs.trial import AGAINST_THE_DEVICE, Outcome, Trial, Verdict
from vkgroup.random_programs.vocabulary import Vocabulary, of_device, promise_of


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m vkgroup.random_programs", description=__doc__)
    parser.add_argument("--device", metavar="D", help="device to judge (default: the best one)")
    parser.add_argument("--against", metavar="D", help="a second device instead of the reference")
    parser.add_argument("--count", metavar="N", type=int, default=100, help="programs (default: 100)")
    parser.add_argument("--seed", metavar="S", type=int, default=0, help="seed of the first one (default: 0)")
    parser.add_argument("--statements", metavar="N", type=int, default=24, help="size of one (default: 24)")
    parser.add_argument(
        "--promise",
        choices=[promise.value for promise in Promise],
        help="what the programs count on (default: the most that the device promises)",
    )
    parser.add_argument("--subgroup-size", metavar="N", type=int, default=0, help="required subgroup size")
    parser.add_argument(
        "--avoid",
        metavar="GLOB",
        action="append",
        default=[],
        help="uses of operations to leave out, as 'subgroupAllEqual.*vec*'; may be repeated",
    )
    parser.add_argument("--one-dimension", action="store_true", help="only workgroups of one dimension")
    parser.add_argument("--shrink", action="store_true", help="make failing programs small")
    parser.add_argument("--timeout", metavar="S", type=float, default=20.0, help="seconds for a dispatch")
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("vkgroup-random-programs"))
    return parser.parse_args()


def _capabilities(device: DeviceInfo) -> Capabilities:
    with open_device(device) as opened:
        return opened.capabilities


def _shrunk(trial: Trial, program: Program, outcome: Outcome, vocabulary: Vocabulary) -> Program:
    """Make a failing program small: one that goes wrong in the same way."""

    def fails(candidate: Program) -> bool:
        return outcome.same_kind(trial.run(candidate))

    return shrink(program, fails, subgroup_size=vocabulary.subgroup_size)


def _write(path: Path, program: Program, outcome: Outcome) -> None:
    title = f"Random program {program.seed}: {outcome.verdict.value}.\n{outcome.detail}"
    path.write_text(render(program, title=title))


def _run(arguments: argparse.Namespace) -> Counter[Verdict]:
    """Run all programs; returns how many had each verdict."""
    device = select(arguments.device)
    found = [_capabilities(device)]
    other = None
    if arguments.against is not None:
        other = Driver(select(arguments.against), timeout=arguments.timeout)
        found.append(_capabilities(other.device))
    promise = Promise(arguments.promise) if arguments.promise else promise_of(found[0])
    vocabulary = of_device(
        *found,
        subgroup_size=arguments.subgroup_size,
        # Two devices may differ where nothing is defined.
        soft=other is None,
        avoid=tuple(arguments.avoid),
    )
    shapes = tuple(shape for shape in LOCAL_SIZES if shape[1] == 1 or not arguments.one_dimension)
    driver = Driver(device, timeout=arguments.timeout, subgroup_size=arguments.subgroup_size)
    trial = Trial(driver, other)
    arguments.out.mkdir(parents=True, exist_ok=True)
    counts: Counter[Verdict] = Counter()
    with (arguments.out / "results.jsonl").open("a") as results:
        for seed in range(arguments.seed, arguments.seed + arguments.count):
            program = generate(seed, vocabulary, promise, statements=arguments.statements, local_sizes=shapes)
            outcome = trial.run(program)
            counts[outcome.verdict] += 1
            record = {
                "seed": seed,
                "promise": promise.value,
                "device": found[0].name,
                "driver": found[0].driver_info,
                "verdict": outcome.verdict.value,
                "detail": outcome.detail,
                "statements": size((program.functions, program.body)),
                "defined": outcome.defined,
                "undefined": outcome.undefined,
                "subgroup_size": outcome.subgroup_size,
                "seconds": outcome.seconds,
            }
            if outcome.verdict is not Verdict.AGREE:
                sys.stdout.write(f"{seed}: {outcome.verdict.value}: {outcome.detail}\n")
                _write(arguments.out / f"{seed}.comp", program, outcome)
                if arguments.shrink and outcome.verdict is not Verdict.UNJUDGED:
                    small = _shrunk(trial, program, outcome, vocabulary)
                    _write(arguments.out / f"{seed}-small.comp", small, trial.run(small))
                    record["small_statements"] = size((small.functions, small.body))
            results.write(json.dumps(record) + "\n")
            results.flush()
    trial.close()
    return counts


def main() -> int:
    """Run the command; returns its exit code."""
    try:
        counts = _run(_arguments())
    except VkgroupError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(", ".join(f"{count} {verdict.value}" for verdict, count in counts.items()) + "\n")
    return 1 if any(counts[verdict] for verdict in AGAINST_THE_DEVICE) else 0


if __name__ == "__main__":
    sys.exit(main())
