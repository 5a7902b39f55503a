"""Drawing of lanes as SVG: rows of boxes, lines that lead from lane to lane, and a key of the signs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import NamedTuple

COLORS = Path(__file__).parents[2] / "vkgroup/outputs/colors.css"

WIDTH, LEFT, COLUMNS = 480, 84, 384
"""Pixels of a picture, of the labels on its left, and of all columns."""

BOX, GAP, STRAIGHT, LEVEL = 28, 6, 40, 12
"""Pixels: height of a box, of the space below it, of straight arrows, of each further bar."""

ACTIVE, INACTIVE, ABSENT, UNDEFINED = "active", "inactive", "absent", "undefined"
KEY = {INACTIVE: "inactive lane", ABSENT: "lane without invocation", UNDEFINED: "undefined result"}

STYLE = Template("""text { font: 16px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: $ink }
.code { font: 15px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace }
.faint { fill: $faint }
.middle { text-anchor: middle }
.paper { fill: $paper }
.active { fill: $active; stroke: $link }
.inactive { fill: url(#hatched); stroke: $faint }
.absent { fill: none; stroke: $faint; stroke-dasharray: 2 4 }
.undefined { fill: $undefinedfill; stroke: $undefined; stroke-dasharray: 6 3 }
.arrow { fill: none; stroke: $series1; stroke-width: 2 }
.tip { fill: $series1 }
.frame, .hatch { fill: none; stroke: $faint }
""")


class LaneBox(NamedTuple):
    """The box of one lane: its text, and how it is drawn."""

    text: str
    kind: str = ACTIVE


class LanePicture:
    """A picture that grows downwards, with some lanes side by side; `y` is where it goes on."""

    def __init__(self, title: str, columns: int = 8) -> None:
        self._title, self._columns, self._pitch = title, columns, COLUMNS // columns
        self._parts: list[str] = []
        self._kinds: set[str] = set()
        self.y = 8

    def code(self, text: str, lanes: int = 0) -> None:
        """Write a line of the shader, and the numbers of the lanes below it."""
        assert len(text) <= 51, f"too wide for the picture: {text}"
        self._text(8, self.y + 17, text, "code")
        self.y += 26
        self._text(8, self.y + 15, "lane" if lanes else "", "faint")
        for lane in range(lanes):
            self._text(self._center(lane), self.y + 15, str(lane), "faint middle")
        self.y += 22 if lanes else 0

    def note(self, text: str) -> None:
        """Write a text between two lines over the full width."""
        y, end = self.y + 12, LEFT + 16 + 8 * len(text)
        self._parts.append(f'<path class="arrow" d="M8 {y}H{LEFT - 8}M{end} {y}H{WIDTH - 8}"/>\n')
        self._text(LEFT, y + 5, text, "")
        self.y += 30

    def row(self, label: str, boxes: Sequence[LaneBox], span: int = 1) -> None:
        """Draw a row of boxes, each as wide as some lanes."""
        self._text(8, self.y + 20, label, "faint")
        width, gap = self._pitch * span, min(4, self._pitch // 12)
        for lane, box in enumerate(boxes):
            self._kinds.add(box.kind)
            self._rect(box.kind, LEFT + lane * width + gap // 2, self.y, width - gap, BOX)
            self._text(LEFT + lane * width + width // 2, self.y + 20, box.text, "middle")
        self.y += BOX + GAP

    def frames(self, size: int) -> None:
        """Frame the last row's lanes in groups of a size."""
        width, top = self._pitch * size, self.y - GAP - BOX - 4
        for first in range(LEFT, LEFT + COLUMNS, width):
            self._rect("frame", first, top, width, BOX + 8)

    def lead(self, sources: Sequence[frozenset[int]]) -> None:
        """Draw arrows from single lanes, or a bar for all lanes that have the same sources."""
        groups: dict[frozenset[int], list[int]] = {}
        for target, leading in enumerate(sources):
            if leading:
                groups.setdefault(leading, []).append(target)
        top = self.y - GAP + 2
        if all(len(lanes) == 1 for lanes in groups):
            self.y += STRAIGHT
            for (source,), targets in groups.items():
                for target in targets:
                    self._arrow(self._center(source), top, self._center(target))
            return
        level, end, bars = -1, COLUMNS, []
        for leading, targets in groups.items():
            lanes = sorted(leading)
            level += end >= min(*lanes, *targets)  # below the last bar, or beside it
            end = max(*lanes, *targets)
            bars.append((top + 10 + LEVEL * level, lanes, targets))
        self.y += 38 + LEVEL * level
        aside = 6 if level else 0
        for y, lanes, targets in bars:
            into = [self._center(lane) - aside for lane in lanes]
            out = [self._center(lane) + aside for lane in targets]
            way = "".join(f"M{x} {top}V{y}" for x in into)
            self._parts.append(f'<path class="arrow" d="{way}M{min(into + out)} {y}H{max(into + out)}"/>\n')
            self._parts += [f'<circle class="tip" cx="{x}" cy="{y}" r="3.5"/>\n' for x in into]
            for x in out:
                self._arrow(x, y, x)

    def svg(self, description: str) -> str:
        """Return the picture, with a key of its signs and a description for screen readers."""
        x, y = 8, self.y + 8
        for kind, text in KEY.items():
            if kind in self._kinds:
                self._rect(kind, x, y, 26, 20)
                self._text(x + 34, y + 16, text, "faint")
                x, self.y = x + 50 + 8 * len(text), y + 24
        width, height = f'width="{WIDTH}"', f'height="{self.y + 6}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.y + 6}" {width} {height}'
            f' role="img" aria-labelledby="title description">\n<title id="title">{escape(self._title)}'
            f'</title>\n<desc id="description">{escape(description)}</desc>\n<style>\n{_style()}</style>\n'
            '<pattern id="hatched" width="6" height="6" patternUnits="userSpaceOnUse"'
            ' patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern>\n'
            f'<rect class="paper" {width} {height} rx="6"/>\n{"".join(self._parts)}</svg>\n'
        )

    def _center(self, lane: int) -> int:
        return LEFT + lane * self._pitch + self._pitch // 2

    def _text(self, x: int, y: int, text: str, kind: str) -> None:
        self._parts += [f'<text class="{kind}" x="{x}" y="{y}">{escape(text)}</text>\n'] if text else []

    def _rect(self, kind: str, x: int, y: int, width: int, height: int) -> None:
        size = f'width="{width}" height="{height}"'
        self._parts.append(f'<rect class="{kind}" x="{x}" y="{y}" {size} rx="3"/>\n')

    def _arrow(self, x: int, y: int, target: int) -> None:
        """Draw a line that ends with a tip above the next row."""
        end = self.y - 2
        self._parts.append(f'<path class="arrow" d="M{x} {y}L{target} {end - 6}"/>\n')
        self._parts.append(f'<path class="tip" d="M{target - 5} {end - 8}h10l-5 8z"/>\n')


def _style() -> str:
    """Return the rules in the colours of the reports, for light and for dark pages."""
    light, dark = COLORS.read_text("utf-8").split("@media", 1)
    named = [re.findall(r"--([\w-]+): (#\w+);", part) for part in (light, dark)]
    day, night = (STYLE.substitute({name.replace("-", ""): color for name, color in part}) for part in named)
    return f"{day}@media (prefers-color-scheme: dark) {{\n{night}}}\n"
