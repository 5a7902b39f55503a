"""Hook that generates the gallery of reports from the recorded runs with ``vkgroup report``."""

from __future__ import annotations

import atexit
import logging
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PAGE = "results/gallery.md"
MARK = "<!-- reports -->"
RESULTS = Path(__file__).parents[2] / "bench" / "results"

_log = logging.getLogger("mkdocs.hooks.gallery")
_made: dict[str, str] = {}


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Make a report of each recorded run; `extra.gallery` of the configuration names the wanted."""
    _made.clear()
    folder = Path(tempfile.mkdtemp(prefix="vkgroup-gallery-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    everything = ",".join(sorted({path.parent.name for path in RESULTS.glob("*/summary*.json")}))
    recorded = (config.extra["gallery"] or everything).split(",")
    for name in recorded:
        _report(name, [name], folder, files, config)
    if len(recorded) > 1:
        _report("all of them, side by side", recorded, folder, files, config)
    return files


def _report(name: str, runs: list[str], folder: Path, files: Files, config: MkDocsConfig) -> None:
    """Add the report of some recorded runs to the site's files; warn if it cannot be made."""
    report = folder / f"{'-'.join(runs)}.html"
    places = [str(RESULTS / run) for run in runs]
    command = [sys.executable, "-m", "vkgroup", "report", *places, "-o", str(report)]
    done = subprocess.run(command, capture_output=True, text=True)
    if not report.is_file():
        _log.warning("no report of %s: %s", name, done.stderr.strip())
        return
    _made[name] = f"gallery/{report.name}"
    files.append(File.generated(config, _made[name], abs_src_path=str(report)))


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """List the reports in the gallery's page."""
    if page.file.src_uri != PAGE:
        return markdown
    lines = [f"- [{name}](../{link})" for name, link in _made.items()]
    return markdown.replace(MARK, "\n".join(lines))
