"""Hook that adapts pages written for GitHub to Python-Markdown, which needs more blank lines."""

from __future__ import annotations

import re
from typing import Any

_FENCE = re.compile(r"^(\s*)(```+)(\w*)(?: +([^\s=]+))?\s*$")
_LIST = re.compile(r"^(\s*)([-*]|\d+\.) ")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Set lists and tables apart from the paragraph above, and name the file that a block of code is."""
    return "\n".join(_apart(markdown.splitlines())) + "\n"


def _apart(lines: list[str]) -> list[str]:
    found: list[str] = []
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[2]
            if mark[4]:
                line = f'{mark[1]}{mark[2]}{mark[3]} title="{mark[4]}"'
        elif mark and mark[2] == fence and not mark[3]:
            fence = ""
        elif not fence and found and _begins(line, found[-1]):
            found.append("")
        found.append(line)
    return found


def _begins(line: str, above: str) -> bool:
    """Whether a line begins a list or a table right below a paragraph."""
    if not above.strip() or above.startswith("    "):
        return False
    if line.startswith("|"):
        return not above.startswith("|")
    started = _LIST.match(line)
    return bool(started) and not started[1] and not _LIST.match(above) and not above.startswith(" ")
