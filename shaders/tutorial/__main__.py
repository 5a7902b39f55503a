"""``python shaders/tutorial``: every example of the tutorial, one line each, on any device."""

from __future__ import annotations

import argparse
import importlib
import sys

import host

import vkgroup
from vkgroup.base.errors import Unsupported, VkgroupError

#: The hosts, in the order of the text.
EXAMPLES = (
    "subgroup_properties",
    "small_workgroup",
    "dynamic_branch",
    "two_ways",
    "vote",
    "ballot_quarter",
    "broadcast_first",
    "sum",
    "loop_scan",
    "max_atomic",
    "cull_triangles",
    "blend_shuffle",
    "shuffle_xor",
    "strided_scan",
    "reverse_scan",
    "max_pooling",
    "quad_downsample",
)


def main(words: list[str]) -> int:
    """Run the examples; returns 1 where an answer is wrong, 2 for bad usage, 3 where there is no device."""
    parser = argparse.ArgumentParser(
        prog="python shaders/tutorial",
        description="Every example of the tutorial, one line each, on any device.",
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"examples to run: {', '.join(EXAMPLES)}")
    parser.add_argument("--device", metavar="D", help="device to run on (default: the best one)")
    arguments = parser.parse_args(words)
    unknown = [name for name in arguments.names if name not in EXAMPLES]
    if unknown:
        parser.error(f"no example {unknown[0]}; there are: {', '.join(EXAMPLES)}")
    try:
        with vkgroup.open(arguments.device) as device:
            print(f"On {device.name}:", flush=True)
            answers = [_run(name, device) for name in arguments.names or EXAMPLES]
    except VkgroupError as error:
        print(f"tutorial: {error}", file=sys.stderr)
        return 3
    return 0 if all(answers) else 1


def _run(name: str, device: vkgroup.Device) -> bool:
    """Run one example and print its line; returns whether nothing is wrong."""
    try:
        verdict, text = "ok", importlib.import_module(name).run(device)
    except Unsupported as error:
        verdict, text = "unsupported", "needs " + "; ".join(error.missing)
    except host.Wrong as error:
        verdict, text = "WRONG", str(error)
    print(f"{name:20} {verdict:12} {text}", flush=True)
    return verdict != "WRONG"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
