"""``vkgroup bench --compare``: two recorded runs, without anything that measures."""

from __future__ import annotations

import argparse

from vkgroup.bench import compare
from vkgroup.cli import bench_tables
from vkgroup.cli.console import Console
from vkgroup.cli.output import people

WIDTH = 100
"""Columns where the output is no terminal."""


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    stream = people(arguments.json)
    console = Console(file=stream, highlight=False, width=None if stream.isatty() else WIDTH)
    old, new = arguments.compare
    found = compare.compare(old, new, arguments.threshold)
    for item in bench_tables.comparison(found):
        console.print(item)
    return 1 if found.worse else 0
