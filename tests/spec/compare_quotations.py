"""Compare the quotations of `vkgroup.spec.sentences` with a published document.

    python tests/spec/compare_quotations.py KHR_shader_subgroup.txt

The text is the reader's own copy; the file's name tells which document it is.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from vkgroup.spec.sentences import SENTENCES


def plain(text: str) -> str:
    """Return text in one line, without the frames of tables and the marks of AsciiDoc."""
    lines = (re.sub(r"^\| ?| ?\|$", "", line.strip()) for line in text.splitlines())
    return " ".join(" ".join(lines).split())


def main() -> int:
    """Run the command; 0 if every quotation of the document is in the text."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("document", type=Path, help="the published text, NAME.txt")
    path = parser.parse_args().document
    quoted = {name: row.text for name, row in SENTENCES.items() if path.stem.endswith(row.document.name)}
    if not quoted:
        known = ", ".join(sorted({row.document.name for row in SENTENCES.values()}))
        parser.error(f"{path} is no text of a quoted document ({known})")
    text = plain(path.read_text("utf-8"))
    missing = [name for name, words in quoted.items() if words not in text]
    for name in missing:
        print(f"not in the text: {name}: {quoted[name]}")
    print(f"{path.name}: {len(quoted)} quotations, {len(missing)} not found")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
