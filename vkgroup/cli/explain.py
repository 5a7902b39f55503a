"""``vkgroup explain KIND``: what a kind of finding means, with a wrong and a right shader, and the remedy."""

from __future__ import annotations

import argparse
import re
import sys

from rich.markdown import Markdown

from vkgroup.check.findings import FindingKind
from vkgroup.cli import output
from vkgroup.cli.console import Console

_FENCE = re.compile(r"^```glsl (\w+)\.comp$", re.MULTILINE)


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if arguments.kind is None:
        output.table([[kind.value, kind.headline] for kind in FindingKind], sys.stdout)
        return 0
    page = FindingKind(arguments.kind).page
    if sys.stdout.isatty():
        Console().print(Markdown(_FENCE.sub(r"**\1:**\n\n```glsl", page)))
    else:
        print(page, end="")
    return 0
