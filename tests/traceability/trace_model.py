"""The data of traceability: documents, their sections, and a row for each statement.

A document is a TOML file beside this one::

    title = "GL_KHR_shader_subgroup"
    edition = "revision 6, 28 February 2018"
    headings = ["Overview", …]            # all headings of the document, in order

    [[section]]
    id = "8.18.subgroupElect"             # unique in all documents
    heading = "Additions to Chapter 8 …"  # one of the headings
    title = "subgroupElect"
    opens = "bool subgroupElect"          # the words with which it begins
    informative = "…"                     # only where nothing in it is normative: why

    [[section.row]]
    id = "elect.one"                      # unique in all documents
    opens = "The function subgroupElect"  # the words with which the statement begins
    says = "…"                            # what it says, in our words
    shown = ["case:basic.*.subgroupElect.*", "test:tests/…/test_x.py", "file:shaders/…"]
    untestable = "…"                      # instead of shown: why nothing can show it
    informative = "…"                     # instead of shown: why it demands nothing
    note = "…"                            # where something is to be said besides

A row reaches from the words it opens with to the words that the next one opens with, so that the rows of a
document lie over its text like tiles: `locate.py` finds the row of any sentence of the published text.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent
ROOT = DATA.parents[1]

KINDS = ("case", "test", "tutorial", "file")
"""Evidence for a statement.

Cases of the conformance suite (a glob), a file of tests (``tests/…/test_x.py``), an example of
``python shaders/tutorial``, or another file.
"""


class BadData(ValueError):
    """A file of traceability data does not have the form described above."""


@dataclass(frozen=True)
class Evidence:
    """One thing that shows a statement: ``kind:name`` in the data."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True)
class Row:
    """One statement of a document; see the file's docstring for the fields."""

    id: str
    opens: str
    says: str
    shown: tuple[Evidence, ...]
    untestable: str
    informative: str
    note: str

    @property
    def answers(self) -> int:
        """Return the number of the three answers that are given; it must be one."""
        return sum(map(bool, (self.shown, self.untestable, self.informative)))


@dataclass(frozen=True)
class Section:
    """A stretch of a document under one of its headings."""

    id: str
    heading: str
    title: str
    opens: str
    informative: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Document:
    """One of the published documents; `name` is that of its file."""

    name: str
    title: str
    edition: str
    headings: tuple[str, ...]
    sections: tuple[Section, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows in the order of the text."""
        return tuple(row for section in self.sections for row in section.rows)


def _taken(table: dict[str, Any], where: str, needed: str, others: str = "") -> dict[str, Any]:
    """Return the values of a table by name, "" for what may be left out; BadData where names do not fit."""
    known = (*needed.split(), *others.split())
    surplus = [key for key in table if key not in known]
    lacking = [key for key in needed.split() if not table.get(key)]
    if surplus or lacking:
        raise BadData(f"{where}: fields that are missing: {lacking}; that are unknown: {surplus}")
    return {key: table.get(key, "") for key in known}


def _evidence(text: str, where: str) -> Evidence:
    kind, colon, name = text.partition(":")
    if not colon or not name or kind not in KINDS:
        raise BadData(f"{where}: {text!r} is none of {', '.join(f'{kind}:…' for kind in KINDS)}")
    return Evidence(kind, name)


def _row(table: dict[str, Any], where: str) -> Row:
    where = f"{where}, row {table.get('id')}"
    values = _taken(table, where, "id opens says", "shown untestable informative note")
    values["shown"] = tuple(_evidence(text, where) for text in values["shown"])
    return Row(**values)


def _section(table: dict[str, Any], where: str) -> Section:
    where = f"{where}, section {table.get('id')}"
    rows = tuple(_row(row, where) for row in table.pop("row", ()))
    values = _taken(table, where, "id heading title opens", "informative")
    return Section(**values, rows=rows)


def read(path: Path) -> Document:
    """Read one document's file; BadData where it is not of the form."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    sections = tuple(_section(section, path.name) for section in table.pop("section", ()))
    values = _taken(table, path.name, "title edition headings")
    values["headings"] = tuple(values["headings"])
    return Document(name=path.stem, **values, sections=sections)


def documents() -> tuple[Document, ...]:
    """Read all documents, by name."""
    return tuple(read(path) for path in sorted(DATA.glob("*.toml")))
