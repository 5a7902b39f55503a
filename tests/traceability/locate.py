"""Hold the data against a published document: find the row of any words, or check that nothing is left out.

    python tests/traceability/locate.py KHR_shader_subgroup.txt "lowest <gl_SubgroupInvocationID>"
    python tests/traceability/locate.py KHR_shader_subgroup.txt

The text is the reader's own copy; the file's name says which document it is. Without words, every row is
looked for in the text, in order, and long rows are listed: a row that reaches over many sentences may have
swallowed one.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from trace_model import DATA, Document, Row, Section, read

MANY_SENTENCES = 3
"""Sentences that a row may reach over without being listed."""


@dataclass(frozen=True)
class Stretch:
    """A piece of the text, from where a row or a section's heading begins to where the next thing does."""

    start: int
    text: str
    section: Section
    row: Row | None

    @property
    def name(self) -> str:
        """The row's id; the section's where it is a heading or a section without rows."""
        return self.row.id if self.row else self.section.id


def plain(text: str) -> str:
    """Return text in one line: one space between words, without quotation of code and frames of tables."""
    lines = (line.strip() for line in text.replace("`", "").splitlines())
    lines = (line for line in lines if len(line) < 8 or line.strip("-+| "))
    lines = (line[1:-1] if line.startswith("|") and line.endswith("|") else line for line in lines)
    return " ".join(" ".join(lines).split())


def stretches(document: Document, text: str) -> tuple[list[Stretch], list[str]]:
    """Map a document's rows to its text; text before the first section (of a web page) is ignored.

    Returns
    -------
    The stretches in order, which together are the text; and a line for each row or section that is not found
    behind the one before it.
    """
    text = plain(text)
    starts: list[tuple[int, Section, Row | None]] = []
    faults, place = [], 0
    for section in document.sections:
        for row in (None, *section.rows):
            opens = plain(row.opens if row else section.opens)
            found = text.find(opens, place)
            if found < 0:
                faults.append(
                    f"{row.id if row else section.id}: {opens!r} does not follow {text[place:][:60]!r}"
                )
                continue
            if row and starts and starts[-1][0] == found and starts[-1][2] is None:
                starts.pop()
            starts.append((found, section, row))
            place = found if row is None else found + 1
    if not starts:
        return [], faults
    ends = [start for start, _, _ in starts[1:]] + [len(text)]
    return [
        Stretch(start, text[start:end].strip(), section, row)
        for (start, section, row), end in zip(starts, ends, strict=True)
    ], faults


def sentences_in(text: str) -> int:
    """Return about how many sentences a text has."""
    return len(re.findall(r"[a-z)>\]0-9][.:](?=\s|$)", text))


def _check(document: Document, text: str) -> int:
    found, faults = stretches(document, text)
    for fault in faults:
        print("not there:", fault)
    for stretch in found:
        if stretch.section.informative:
            continue
        count = sentences_in(stretch.text)
        if stretch.row is None and len(stretch.text) > 240:
            print(f"no row for the start of {stretch.name}: {stretch.text[:200]!r}")
        elif stretch.row and count > MANY_SENTENCES:
            print(
                f"long ({count} sentences): {stretch.name}: {stretch.text[:120]!r} … {stretch.text[-60:]!r}"
            )
    print(f"{document.name}: {len(found)} stretches, {len(faults)} not found")
    return 1 if faults else 0


def _find(document: Document, text: str, words: str) -> int:
    words = plain(words)
    found = [
        stretch
        for stretch in stretches(document, text)[0]
        if any(
            stretch.start <= match.start() < stretch.start + len(stretch.text)
            for match in re.finditer(re.escape(words), plain(text), re.IGNORECASE)
        )
    ]
    for stretch in found:
        print(f"{stretch.name}  ({stretch.section.heading} / {stretch.section.title})")
        print(f"  text: {stretch.text[:300]}")
        if stretch.row is None:
            print(f"  {stretch.section.informative or 'a heading'}")
            continue
        print(f"  says: {stretch.row.says}")
        for evidence in stretch.row.shown:
            print(f"  shown by {evidence}")
        for why in (stretch.row.untestable, stretch.row.informative, stretch.row.note):
            if why:
                print(f"  {why}")
    if not found:
        print("no row holds these words")
    return 0 if found else 1


def main() -> int:
    """Run the command; 0 if everything was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("document", type=Path, help="the published text, NAME.txt or NAME.md")
    parser.add_argument("words", nargs="?", help="words of the sentence whose row is wanted")
    arguments = parser.parse_args()
    data = DATA / f"{arguments.document.stem}.toml"
    if not arguments.document.exists():
        parser.error(f"there is no file {arguments.document}: give your copy of the published text")
    if not data.exists():
        known = ", ".join(sorted(path.stem for path in DATA.glob("*.toml")))
        parser.error(f"{arguments.document} is no text of a known document ({known})")
    text = arguments.document.read_text(encoding="utf-8", errors="replace")
    if arguments.words:
        return _find(read(data), text, arguments.words)
    return _check(read(data), text)


if __name__ == "__main__":
    sys.exit(main())
