"""``vkgroup bench --compare``: compare two recorded runs, without a device."""

from __future__ import annotations

import argparse

from vkgroup.bench import compare
from vkgroup.cli import bench_tables
from vkgroup.cli.console import Console


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    console = Console.for_people(arguments.json)
    old, new = arguments.compare
    comparison = compare.compare(old, new, arguments.threshold)
    for item in bench_tables.comparison(comparison):
        console.write(item)
    return 1 if comparison.worse else 0
