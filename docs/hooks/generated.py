"""Hook that generates the pages of traceability, and the page on the coverage of Khronos' suite."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from vkgroup.conformance import coverage
from vkgroup.conformance.caselist import listed

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "traceability"))
import trace_pages
from trace_model import documents
from trace_status import load

COVERAGE = "conformance/coverage.md"
TRACEABILITY = "development/traceability.md"
MARK = "<!-- traceability -->"


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add the generated pages; the navigation does not list them."""
    recorded = load()
    for document in documents():
        name = f"development/traceability/{document.name}.md"
        files.append(File.generated(config, name, content=trace_pages.page(document, recorded)))
    files.append(File.generated(config, COVERAGE, content=coverage.page(list(listed()))))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Put the tables of the documents into the page that explains them."""
    if page.file.src_uri != TRACEABILITY:
        return markdown
    assert MARK in markdown
    return markdown.replace(MARK, trace_pages.index(documents(), load()))
