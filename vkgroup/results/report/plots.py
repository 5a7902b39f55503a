"""Vega-Lite specifications to SVG that follows the page's colours; needs the extra ``report``."""

from __future__ import annotations

import json
import re
from types import ModuleType
from typing import Any

from vkgroup.errors import Unsupported

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


def svg(spec: dict[str, Any], title: str) -> str:
    """Draw a specification.

    Returns an ``<svg>`` element without scripts, links and style attributes: colours are variables of the
    page's style sheet, so that a chart is readable in the dark and on paper. Marks have labels for screen
    readers and tips.
    """
    whole = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", **spec, "config": _CONFIG}
    text: str = require_library().vegalite_to_svg(json.dumps(whole))
    text = _PROLOGUE.sub("", text)
    text = _SIZE.sub(rf'<svg \1role="group" aria-label="{_escape(title)}" width="\2"', text, count=1)
    # The labels for screen readers are repeated as titles, which browsers show as tooltips.
    return _MARK.sub(r"\1><title>\2</title></path>", text)


def _escape(text: str) -> str:
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return text.replace("\\", "&#92;")
