"""Puts files and tables into the pages: ``python tests/documentation/included.py [--check]``."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import subgroup_pictures
from cogapp import Cog

ROOT = Path(__file__).parents[2]
HERE = (
    "import sys; sys.path += ['tests/documentation', 'bench'];"
    " from included import include, markdown, recorded"
)


def include(path: str, language: str, command: str = "", start: str = "", end: str = "") -> None:
    """Write a file, or its part from `start` to `end`, as code, below the command that prints it."""
    text = (ROOT / path).read_text("utf-8")
    text = text[text.index(start) : text.index(end) if end else None].rstrip("\n")
    above = f"$ {command}\n" if command else ""
    print(f"\n```{language}\n{above}{text}\n```\n")


def markdown(text: str) -> None:
    """Write text as a part of the page."""
    print(f"\n{text}\n")


def recorded(path: str) -> Any:
    """Return the contents of a JSON file."""
    return json.loads((ROOT / path).read_text("utf-8"))


def pages() -> list[str]:
    """Return the pages that have text made by cog."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [str(path.relative_to(ROOT)) for path in found if "[[[cog" in path.read_text("utf-8")]


def main(*options: str) -> int:
    """Write the pages and their pictures, or with ``--check`` return an error if one differs."""
    os.chdir(ROOT)
    given = ["--check"] if "--check" in options else ["-r"]
    differs = int(Cog().main(["cog", *given, "-P", "-p", HERE, *pages()]))
    return subgroup_pictures.main(*options) or differs


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
