"""Vega-Lite specifications to SVG that follows the page's colours; needs the extra ``report``."""

from __future__ import annotations

import json
import re
import unicodedata
from types import ModuleType
from typing import Any

from vkgroup.base.errors import Unsupported
from vkgroup.outputs.report.plotter import Plotter

_CONFIG: dict[str, Any] = {
    "background": None,
    # Browsers may show labels in a wider font than the one used for measuring.
    "padding": {"left": 45, "right": 20, "top": 5, "bottom": 5},
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--ink)",
        "titleFontWeight": "normal",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "gridColor": "var(--line)",
        "domainColor": "var(--faint)",
        "tickColor": "var(--faint)",
    },
    "legend": {
        "labelColor": "var(--ink)",
        "labelFontSize": 11,
        "labelLimit": 220,
        "orient": "top",
        "direction": "horizontal",
        "columns": 5,
        "symbolSize": 70,
        "symbolStrokeWidth": 0,
        "symbolOpacity": 1,
    },
}

_MARK = re.compile(r'(<path (?:(?!/>)[^>])*?aria-label="([^"]*)"(?:(?!/>)[^>])*)/>')
_SIZE = re.compile(r'^<svg ([^>]*?)width="([\d.]+)" height="[\d.]+"')
_PROLOGUE = re.compile(r"^\s*(?:<\?xml[^>]*\?>)?\s*(?:<!DOCTYPE[^>]*>)?\s*", re.IGNORECASE)


def require_library() -> ModuleType:
    """Return the library that draws charts; raise Unsupported if it is not installed."""
    try:
        import vl_convert
    except ImportError as error:
        raise Unsupported(
            "Charts of benchmarks need Vega: pip install 'vkgroup[report]', or leave the benchmarks out.",
            ["vl-convert-python"],
        ) from error
    library: ModuleType = vl_convert
    return library


_MOST_CHARACTERS = 500
"""Length of the longest text in a chart; of a longer one, beginning and end are drawn."""


def drawable(value: Any) -> Any:
    """Return a part of a specification with texts that every drawing library accepts.

    Names come from files of other programs. XML forbids control characters, UTF-8 forbids lone surrogates,
    and U+2028 and U+2029 end a line of JavaScript. They become escapes such as ``\\u2028``, so that different
    names stay different.
    """
    if isinstance(value, dict):
        return {drawable(key): drawable(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [drawable(part) for part in value]
    if not isinstance(value, str):
        return value
    if len(value) > _MOST_CHARACTERS:
        half = _MOST_CHARACTERS // 2
        value = f"{value[:half]}…{value[-half + 1 :]}"
    return "".join(_escaped(character) for character in value)


def _escaped(character: str) -> str:
    code = ord(character)
    allowed = unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp") and code & 0xFFFE != 0xFFFE
    return character if allowed else f"\\u{code:04x}"


def svg(spec: dict[str, Any], title: str, plotter: Plotter) -> str:
    """Draw a specification.

    Returns an ``<svg>`` element without scripts, links and style attributes: colours are variables of the
    page's style sheet, so that a chart is readable in the dark and on paper. Marks have labels for screen
    readers and tips. Raises NotDrawn.
    """
    require_library()
    schema = "https://vega.github.io/schema/vega-lite/v5.json"
    text = plotter.draw(json.dumps({"$schema": schema, **drawable(spec), "config": _CONFIG}))
    title = drawable(title)
    text = _PROLOGUE.sub("", text)
    text = _SIZE.sub(rf'<svg \1role="group" aria-label="{_escape(title)}" width="\2"', text, count=1)
    # The labels for screen readers are repeated as titles, which browsers show as tooltips.
    return _MARK.sub(r"\1><title>\2</title></path>", text)


def _escape(text: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text.replace("\\", "&#92;")
