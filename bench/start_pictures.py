"""Pictures of the start page: parts of reports of recorded results, and a trace, in Chromium.

``python bench/start_pictures.py`` writes ``docs/images/cause.png``, ``benchmark.png`` and ``trace.png``.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/outputs/report"))
from browser import open_browser  # noqa: E402

IMAGES = ROOT / "docs/images"
CONFORMANCE = "bench/results/swiftshader"
BENCHMARK = ROOT / "bench/results/nvidia-h200/bench.json"
ROWS = "reduce.sum.float32", "scan.add.float32", "compact.float32.50", "sort.keys.uint32"
RACE = "tests/check/wrong/product_with_one_barrier_too_few.comp"
WIDTH, COLOURS = 900, 96
STYLE = "header { display: none !important }"


class Picture(NamedTuple):
    """A part of a report."""

    name: str
    selector: str
    height: int
    """The most pixels that are shown of the element."""


PICTURES = (
    Picture("cause", "#cause-0-0", 700),
    Picture("benchmark", "#charts-0 svg >> nth=0", 500),
)


def vkgroup(*words: str) -> None:
    """Run a command of vkgroup in the repository."""
    subprocess.run([sys.executable, "-m", "vkgroup", *words], cwd=ROOT, check=False, capture_output=True)


def main() -> None:
    """Write the pictures."""
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        rows, report = f"{folder}/rows.json", Path(folder) / "report.html"
        measured = json.loads(BENCHMARK.read_text("utf-8"))
        measured["benchmarks"] = [row for row in measured["benchmarks"] if row["name"].split("/")[0] in ROWS]
        Path(rows).write_text(json.dumps(measured), "utf-8")
        vkgroup("report", CONFORMANCE, rows, "-o", str(report))
        page = browser.new_page(
            viewport={"width": WIDTH, "height": 800}, color_scheme="light", bypass_csp=True
        )
        page.goto(report.as_uri())
        page.add_style_tag(content=STYLE)
        page.locator("#cause-0-0 summary").first.click()
        for picture in PICTURES:
            element = page.locator(picture.selector).first
            taken = Image.open(io.BytesIO(element.screenshot()))
            shown = taken.crop((0, 0, taken.width, min(taken.height, picture.height)))
            shown.convert("RGB").quantize(COLOURS).save(IMAGES / f"{picture.name}.png", optimize=True)
        trace = Path(folder) / "trace.html"
        vkgroup("check", RACE, "--device", "none", "--subgroup-size", "8", "--trace", str(trace))
        page = browser.new_page(viewport={"width": 1200, "height": 1010}, color_scheme="light")
        page.goto(trace.as_uri())
        page.wait_for_function("document.documentElement.dataset.ready === 'yes'")
        taken = Image.open(io.BytesIO(page.screenshot()))
        taken.convert("RGB").quantize(COLOURS // 4).save(IMAGES / "trace.png", optimize=True)


if __name__ == "__main__":
    main()
