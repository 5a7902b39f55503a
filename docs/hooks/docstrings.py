"""Griffe extension for vkgroup's docstrings, which have ``name : description`` where numpydoc has the type.

The types are in the signatures.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_SECTION = re.compile(r"^(Parameters|Other Parameters|Attributes|Returns|Yields)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^([\w*]+(?:, [\w*]+)*) ?: (.+)$")
_RESULTS = ("Returns", "Yields")


class Untyped(griffe.Extension):
    """Rewrites the sections of every docstring as numpydoc has them."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite one docstring."""
        if obj.docstring is not None:
            obj.docstring.value = numpydoc(obj.docstring.value)


def numpydoc(text: str) -> str:
    """Return a docstring in which what follows a colon is the description."""
    pieces = _SECTION.split(text)
    whole = pieces[0]
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        section, blank, rest = body.partition("\n\n")
        lines = _results(section) if title in _RESULTS else _entries(section)
        whole += f"{title}\n{'-' * len(title)}\n" + "\n".join(lines) + blank + rest
    return whole


def _entries(section: str) -> list[str]:
    lines = []
    for line in section.splitlines():
        entry = _ENTRY.match(line)
        lines += [entry[1], f"    {entry[2]}"] if entry else [line]
    return lines


def _results(section: str) -> list[str]:
    return [":", *(f"    {line.strip()}" for line in section.splitlines())]
