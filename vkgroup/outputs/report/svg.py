"""SVG of a chart: scales, axes, marks and a legend, in the colours of the page's style sheet.

The elements have no scripts, links and style attributes: colours are variables of the style sheet, so that a
chart is readable in the dark and on paper. Marks have labels for screen readers and tips.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

_MOST_CHARACTERS = 500
"""Length of the longest text in a chart; of a longer one, beginning and end are drawn."""

_LABEL_CHARACTERS = 48
"""Length of the longest label in a chart."""

_FONT = 12

_CHARACTER = 7
"""Estimated width of a character in pixels at that font size; browsers choose the font."""

_LINE = 18
_ROW_OF_LEGEND = 22
_FEW_DECADES = 2.5
_MOST_TICKS = 7

_SHAPES = {
    "circle": "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z",
    "square": "M-3.6,-3.6h7.2v7.2h-7.2Z",
    "diamond": "M0,-5L4,0L0,5L-4,0Z",
    "triangle-up": "M0,-4.6L4.6,3.6H-4.6Z",
    "cross": "M-4.5,-1.6h2.9v-2.9h3.2v2.9h2.9v3.2h-2.9v2.9h-3.2v-2.9h-2.9Z",
    "triangle-down": "M0,4.6L4.6,-3.6H-4.6Z",
    "triangle-right": "M4.6,0L-3.6,4.6V-4.6Z",
    "triangle-left": "M-4.6,0L3.6,4.6V-4.6Z",
}

SERIES = len(_SHAPES)
"""Number of colours and shapes for versions."""


def drawable(text: str) -> str:
    """Return a text that XML and JavaScript accept.

    Names come from files of other programs. XML forbids control characters, UTF-8 forbids lone surrogates,
    and U+2028 and U+2029 end a line of JavaScript. They become escapes such as ``\\u2028``, so that different
    names stay different.
    """
    if len(text) > _MOST_CHARACTERS:
        half = _MOST_CHARACTERS // 2
        text = f"{text[:half]}…{text[-half + 1 :]}"
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    code = ord(character)
    allowed = unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp") and code & 0xFFFE != 0xFFFE
    return character if allowed else f"\\u{code:04x}"


class Scale(NamedTuple):
    """A map from values to pixels.

    `low`, `high`: the values at the pixels `start` and `end`. `log`: whether it is logarithmic.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool = True

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        low, high, value = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        part = (value - low) / (high - low) if high > low else 0.5
        return round(self.start + part * (self.end - self.start), 2)

    def ticks(self) -> list[float]:
        """Return round numbers in the scale; in a logarithmic one of a decade or more, 1, 2 and 5 at most."""
        if not self.log or self.high < 10 * self.low:
            size = self.high - self.low
            steps = (part * 10.0 ** (math.floor(math.log10(size)) - 1) for part in (1, 2, 5, 10, 20, 50))
            step = next(step for step in steps if size / step <= _MOST_TICKS)
            return [number * step for number in range(math.ceil(self.low / step), int(self.high / step) + 1)]
        exponents = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        digits = (1,) if math.log10(self.high / self.low) >= _FEW_DECADES else (1, 2, 5)
        numbers = (digit * 10.0**exponent for exponent in exponents for digit in digits)
        ticks = [number for number in numbers if self.low <= number <= self.high]
        return ticks[:: math.ceil(len(ticks) / _MOST_TICKS)]


@dataclass(frozen=True)
class Chart:
    """The drawn parts of a chart: coordinates are pixels from the upper left corner of the plot.

    `width`, `height`: of the plot without labels.
    """

    title: str
    width: float
    height: float
    parts: list[str]

    def horizontal(self, label: str, ticks: Mapping[float, str]) -> None:
        """Draw the axis below the plot: texts at pixels, with lines across the plot."""
        for x, text in ticks.items():
            self._line(x, 0, x, self.height, "var(--line)")
            self.text(x, self.height + 17, text, "middle")
        self._line(0, self.height, self.width, self.height, "var(--faint)")
        self.text(self.width / 2, self.height + 34, label, "middle")

    def vertical(self, label: str, ticks: Mapping[float, str]) -> None:
        """Draw the axis left of the plot."""
        for y, text in ticks.items():
            self._line(0, y, self.width, y, "var(--line)")
            self.text(-8, y + 4, text, "end")
        self._line(0, 0, 0, self.height, "var(--faint)")
        if label:
            self.text(0, -8, label, "end")

    def rows(self, labels: Mapping[float, str]) -> None:
        """Draw labels below the lines above their rows."""
        for y, text in labels.items():
            self._line(0, y, self.width, y, "var(--line)")
            self.text(2, y + 13, text, more=' stroke="var(--paper)" stroke-width="3" paint-order="stroke"')
        self._line(0, 0, 0, self.height, "var(--faint)")

    def _line(self, x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> None:
        self.parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}"{more}/>')

    def reference(self, x: float) -> None:
        """Draw a dashed line across the plot."""
        self._line(x, 0, x, self.height, "var(--ink)", ' stroke-dasharray="4,3"')

    def interval(self, low: float, high: float, y: float, series: int) -> None:
        """Draw a horizontal interval."""
        self._line(low, y, high, y, f"var(--series-{series})", ' stroke-width="3" opacity="0.55"')

    def band(self, points: Sequence[tuple[float, float, float, float]], series: int) -> None:
        """Draw a line with its interval: x, and the y of value, low and high."""
        line = " ".join(f"{x},{y}" for x, y, _, _ in points)
        edge = " ".join([*(f"{x},{low}" for x, _, low, _ in points),
                         *(f"{x},{high}" for x, _, _, high in reversed(points))])  # fmt: skip
        colour = f"var(--series-{series})"
        self.parts.append(f'<polygon points="{edge}" fill="{colour}" opacity="0.25"/>')
        self.parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.6"/>')

    def point(self, x: float, y: float, series: int, words: str) -> None:
        """Draw a point with a label for screen readers, which browsers show as a tip."""
        label = escape(drawable(words))
        self.parts.append(
            f'<path d="{list(_SHAPES.values())[series]}" transform="translate({x},{y})" '
            f'fill="var(--series-{series})" role="graphics-symbol" aria-label="{label}">'
            f"<title>{label}</title></path>"
        )

    def text(self, x: float, y: float, text: str, anchor: str = "start", more: str = "") -> None:
        """Draw a text; a long one is shortened, and its tip has all of it."""
        shown = shortened(text)
        tip = f"<title>{escape(drawable(text))}</title>" if shown != drawable(text) else ""
        self.parts.append(
            f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="var(--ink)"{more}>'
            f"{escape(shown)}{tip}</text>"
        )

    def legend(self, entries: Iterable[tuple[str, int]], bottom: float = -24) -> float:
        """Draw the names of series above the plot; return the height of the whole legend in pixels."""
        rows: list[list[tuple[float, str, int]]] = [[]]
        x = 0.0
        for name, series in entries:
            needed = width_of(name) + 34
            if rows[-1] and x + needed > self.width:
                rows.append([])
                x = 0.0
            rows[-1].append((x, name, series))
            x += needed
        for number, row in enumerate(reversed(rows)):
            y = bottom - _ROW_OF_LEGEND * number
            for x, name, series in row:
                shape = list(_SHAPES.values())[series]
                place = f'transform="translate({x + 5},{y - 4})" fill="var(--series-{series})"'
                self.parts.append(f'<path d="{shape}" {place}/>')
                self.text(x + 16, y, name)
        return _ROW_OF_LEGEND * len(rows) - bottom - _ROW_OF_LEGEND + _LINE

    def svg(self, left: float, top: float) -> str:
        """Return the ``<svg>`` element; `left` and `top` are pixels for labels beside and above the plot."""
        width, height = math.ceil(left + self.width + 20), math.ceil(top + self.height + 44)
        return (
            f'<svg role="group" aria-label="{escape(drawable(self.title))}" '
            f'width="{width}" height="{height}" viewBox="{-left:g} {-top:g} {width} {height}" '
            f'font-family="sans-serif" font-size="{_FONT}">{"".join(self.parts)}</svg>'
        )


def shortened(text: str) -> str:
    """Return a text as a label of at most `_LABEL_CHARACTERS`: beginning and end of a longer one."""
    text, half = drawable(text), _LABEL_CHARACTERS // 2
    return text if len(text) <= _LABEL_CHARACTERS else f"{text[:half]}…{text[1 - half :]}"


def width_of(text: str) -> float:
    """Return the estimated width of a label in pixels."""
    return _CHARACTER * len(shortened(text))
