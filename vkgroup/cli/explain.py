"""``vkgroup explain KIND``: what a kind of finding means, with a wrong and a right shader, and the remedy."""

from __future__ import annotations

import argparse
import sys

from rich.text import Text

from vkgroup.check.findings import FindingKind
from vkgroup.cli import output
from vkgroup.cli.console import Console

_FENCE = "```"


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if arguments.kind is None:
        output.table([[kind.value, kind.headline] for kind in FindingKind], sys.stdout)
        return 0
    page = FindingKind(arguments.kind).page
    if not sys.stdout.isatty():
        print(page, end="")
        return 0
    console = Console(highlight=False)
    for part in page.split("\n\n" + _FENCE):
        code, fence, text = part.rpartition("\n" + _FENCE)
        if fence:
            name, _, source = code.partition("\n")
            console.write_line(name.removeprefix("glsl "), style="bold cyan")
            console.print(Text(source), soft_wrap=True)  # as it is, so that it can be copied
        for paragraph in text.strip().split("\n\n"):
            console.print()
            style = "bold" if paragraph.startswith("#") else ""
            console.write_line(" ".join(paragraph.lstrip("# ").split()), style=style)
    return 0
