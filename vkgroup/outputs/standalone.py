"""HTML pages in one file: data, style sheet and script inside of them; they load no other files."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from pathlib import Path
from typing import Any

from vkgroup.base.files import write_output

_COLORS = Path(__file__).parent / "colors.css"


def page_of(folder: Path, title: str, script: str, data: dict[str, Any], **parts: str) -> str:
    """Return the page that ``page.html`` of a folder describes, with the folder's ``style.css``.

    `script`: the code of the page. `data`: what the script reads. `parts`: HTML for further places.
    """
    style = _COLORS.read_text(encoding="utf-8") + (folder / "style.css").read_text(encoding="utf-8")
    filled = {
        "title": html.escape(title),
        "policy": html.escape(_policy(script, style)),
        "style": style,
        "data": _inert(data),
        "script": script,
        **parts,
    }
    pieces = (folder / "page.html").read_text(encoding="utf-8").split("@@")
    return "".join(filled[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def write_page(path: Path, text: str, remedy: str) -> None:
    """Write a page; an existing file is replaced atomically. `remedy`: what to do if that fails."""
    # A lone surrogate, which JSON can hold and UTF-8 cannot, becomes a question mark.
    write_output(path, text.encode("utf-8", "replace").decode("utf-8"), remedy)


def _policy(script: str, style: str) -> str:
    """Return a Content-Security-Policy that allows only the page's own script, styles and data."""
    script_hash, style_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (script, style)
    )
    return (
        f"default-src 'none'; script-src 'sha256-{script_hash}'; style-src 'sha256-{style_hash}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _inert(data: dict[str, Any]) -> str:
    """Return data as JSON for a script element, escaped so that no text can end the element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=str)
    return text.replace("<", "\\u003c")
