"""Pages of the site about traceability: one for each document, and the tables that link them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from trace_model import Document, Evidence, Row, Section
from trace_status import DEVICES, Count, Recorded, of_row

_EMPTY = "·"


class Reasons:
    """Reasons why a device does not support something, lettered in the order in which they are met."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def letter(self, reason: str) -> str:
        """Return the reason's letter: a, b, … z, aa, …"""
        if reason not in self._letters:
            number, letters = len(self._letters), ""
            while number >= 0:
                letters = chr(ord("a") + number % 26) + letters
                number = number // 26 - 1
            self._letters[reason] = letters
        return self._letters[reason]

    def lines(self) -> list[str]:
        """Return the legend."""
        return [f"- ({letter}) {_cell(reason)}" for reason, letter in self._letters.items()]


def _cell(text: str) -> str:
    """Return text as it can stand in a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def verdict(count: Count, reasons: Reasons) -> str:
    """Return the words for what was counted."""
    if count.failed:
        return f"**Fail {count.failed}**, Pass {count.passed}"
    if count.passed:
        return f"Pass {count.passed}"
    if count.undefined:
        return f"undefined {count.undefined}"
    if count.not_supported:
        return f"not supported ({reasons.letter(count.reason)})"
    return ""


def _statuses(row: Row, recorded: Recorded, reasons: Reasons) -> list[str]:
    cells = [verdict(of_row(recorded, row.shown, device), reasons) for device in DEVICES]
    recordable = any(evidence.kind in ("case", "tutorial") for evidence in row.shown)
    return [cell or ("not run" if recordable else _EMPTY) for cell in cells]


def _words(evidence: Evidence) -> str:
    return f"shaders/tutorial {evidence.name}" if evidence.kind == "tutorial" else evidence.name


def _answer(row: Row) -> str:
    if row.shown:
        text = "<br>".join(f"`{_cell(_words(evidence))}`" for evidence in row.shown)
    elif row.untestable:
        text = f"cannot be tested: {_cell(row.untestable)}"
    else:
        text = f"not normative: {_cell(row.informative)}"
    return f"{text}<br>{_cell(row.note)}" if row.note else text


def _row_line(row: Row, recorded: Recorded, reasons: Reasons) -> str:
    statuses = _statuses(row, recorded, reasons) if row.shown else [_EMPTY] * len(DEVICES)
    cells = [f"`{row.id}`", f"{_cell(row.opens)} …", _cell(row.says), _answer(row), *statuses]
    return f"| {' | '.join(cells)} |"


def _section_lines(section: Section, recorded: Recorded, reasons: Reasons) -> list[str]:
    lines = [f"### {section.title}", "", f"Begins with: {_cell(section.opens)} …", ""]
    if section.informative:
        lines += [f"Not normative: {section.informative}", ""]
    if section.rows:
        head = ["row", "opens with", "says", "shown by", *DEVICES.values()]
        lines += [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        lines += [_row_line(row, recorded, reasons) for row in section.rows]
        lines.append("")
    return lines


def totals(document: Document) -> dict[str, int]:
    """Count a document's rows by their answers."""
    rows = document.rows
    return {
        "rows": len(rows),
        "shown": sum(bool(row.shown) for row in rows),
        "cannot be tested": sum(bool(row.untestable) for row in rows),
        "not normative": sum(bool(row.informative) for row in rows),
    }


_HOW = """\
Each row is a statement: the words that it opens with (it reaches to those of the next row), what it says,
what shows it (globs of cases, `vkgroup conform --filter GLOB`; files of tests, `pytest FILE`; other files),
and how many of the cases passed on each device. **Fail n**: n are against the device; not supported (a): it
lacks something, by the letter at the end of the page; undefined: they ran, and the specification leaves the
results open; not run: nothing was recorded; ·: only tests show the row, and every change of vkgroup runs
them. See [traceability](../traceability.md).
"""

_KINDS = ("Pass", "Fail", "undefined", "not supported", "not run")


def _kind(cell: str) -> str:
    """Return which of `_KINDS` a cell's words are; "" for the empty cell."""
    return next((kind for kind in _KINDS if cell.removeprefix("**").startswith(kind)), "")


def _summary(document: Document, recorded: Recorded) -> list[str]:
    """Return a table: how many rows ended how, by device."""
    columns: dict[str, Counter[str]] = {title: Counter() for title in DEVICES.values()}
    for row in document.rows:
        if row.shown:
            cells = _statuses(row, recorded, Reasons())
            for title, cell in zip(DEVICES.values(), cells, strict=True):
                columns[title][_kind(cell)] += 1
    lines = [f"| rows | {' | '.join(columns)} |", f"|{'---|' * (len(columns) + 1)}"]
    for kind in _KINDS:
        numbers = " | ".join(str(counts[kind]) for counts in columns.values())
        lines.append(f"| {kind} | {numbers} |")
    return lines


def page(document: Document, recorded: Recorded) -> str:
    """Return a document's page as Markdown."""
    reasons = Reasons()
    rows, *others = totals(document).items()
    counts = ", ".join(f"{number} {name}" for name, number in others)
    lines = [
        f"# {document.title}",
        "",
        f"Edition: {document.edition}. {rows[1]} rows: {counts}.",
        "",
        _HOW,
        *_summary(document, recorded),
        "",
    ]
    heading = ""
    for section in document.sections:
        if section.heading != heading:
            heading = section.heading
            lines += [f"## {heading}", ""]
        lines += _section_lines(section, recorded, reasons)
    if reasons.lines():
        lines += ["## Why something is not supported", "", *reasons.lines(), ""]
    return "\n".join(lines)


def index(documents: Iterable[Document], recorded: Recorded) -> str:
    """Return the table of the documents, and the table of the rows with a failure by device."""
    documents = tuple(documents)
    lines = ["## The documents", ""]
    lines += ["| document | edition | rows | shown | cannot be tested | not normative |", f"|{'---|' * 6}"]
    for document in documents:
        counts = " | ".join(str(number) for number in totals(document).values())
        lines.append(
            f"| [{document.title}](traceability/{document.name}.md) | {document.edition} | {counts} |"
        )
    lines += ["", "## Rows with a failure, by device", ""]
    lines += [f"| document | {' | '.join(DEVICES.values())} |"]
    lines += [f"|{'---|' * (len(DEVICES) + 1)}"]
    for document in documents:
        cells = []
        for device in DEVICES:
            counted = [of_row(recorded, row.shown, device) for row in document.rows]
            judged = sum(bool(count.passed or count.failed) for count in counted)
            cells.append(f"{sum(bool(count.failed) for count in counted)} of {judged} judged")
        lines.append(f"| {document.title} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])
