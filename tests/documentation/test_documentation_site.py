"""The site: it builds strictly, has every page and option, and fetches nothing from elsewhere."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Self
from urllib.parse import unquote, urlsplit

import pytest
from mkdocs.config import load_config

from vkgroup.cli.parser import COMMANDS, parser

ROOT = Path(__file__).parents[2]
LINKED = (
    "gallery/",
    "development/traceability/",
    "conformance/coverage.html",
    "example-project/",
    "shaders/kinds/",
)
"""Pages that another page links in place of the navigation."""
sys.path.insert(0, str(ROOT / "tests/outputs/report"))
from browser import open_browser  # noqa: E402


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` builds it, with the reports of one recorded run."""
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "VKGROUP_GALLERY": "lavapipe-22.3.6", "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize(
    "tab", ["Start", "Conformance", "Shaders", "Benchmarks", "Python", "Results", "Development"]
)
def test_a_tab_has_at_most_ten_pages_and_no_sections(tab: str) -> None:
    (pages,) = (entry[tab] for entry in load_config(str(ROOT / "mkdocs.yml"))["nav"] if tab in entry)
    paths = [page if isinstance(page, str) else next(iter(page.values())) for page in pages]
    assert 0 < len(paths) <= 10
    assert all(isinstance(path, str) for path in paths)


@pytest.mark.slow
def test_every_page_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text("utf-8")
    pages = [path.relative_to(site).as_posix() for path in site.rglob("*.html")]
    assert len(pages) > 50
    for page in pages:
        if page != "404.html" and not page.startswith(LINKED):
            assert f'href="{page}"' in home, page


def test_every_option_of_every_command_is_there(site: Path) -> None:
    text = (site / "start/commands.html").read_text("utf-8")
    (below,) = (action for action in parser()._actions if action.dest == "command")
    assert below.choices is not None
    for name in COMMANDS:
        assert f'id="vkgroup-{name}"' in text
        for option in dict(below.choices)[name]._option_string_actions:
            assert option in ("-h", "--help") or f"<code>{option}" in text, f"{name} {option}"


def test_the_api_pages_have_what_docstrings_say(site: Path) -> None:
    text = re.sub("<[^>]+>", "", (site / "api/runtime.html").read_text("utf-8"))
    assert "Run a compute shader on arrays, and return what it wrote." in text
    assert "Draw with" in text
    assert "whether errors of the Khronos validation layer become exceptions" in text


def test_the_start_page_has_small_pictures_of_a_cause_a_trace_and_a_benchmark(site: Path) -> None:
    """Made by ``python bench/start_pictures.py``."""
    pictures = re.findall(r'<img [^>]*src="(images/[^"]+)"', (site / "index.html").read_text("utf-8"))
    pictures = [name for name in pictures if "logo" not in name]
    assert pictures == ["images/cause.png", "images/trace.png", "images/benchmark.png"]
    assert [name for name in pictures if (site / name).stat().st_size > 60_000] == []


def test_generated_pages_are_linked(site: Path) -> None:
    linked = (site / "development/traceability.html").read_text("utf-8")
    pages = [path.name for path in (site / "development/traceability").glob("*.html")]
    assert len(pages) == 5
    assert [name for name in pages if f'href="traceability/{name}"' not in linked] == []
    assert 'href="coverage.html"' in (site / "conformance/suite.html").read_text("utf-8")


def test_every_link_inside_the_site_has_its_page_and_heading(site: Path) -> None:
    """Not those of the page for absent pages, which a server sends for any address."""
    pages = {path: _Links.of(path) for path in site.rglob("*.html") if path.parent.name != "gallery"}
    del pages[site / "404.html"]
    broken = []
    for path, page in pages.items():
        for link in page.links:
            place, _, heading = unquote(link).partition("#")
            target = (path.parent / place).resolve() if place else path
            known = pages[target].names if target in pages and heading else {heading}
            if not target.exists() or heading not in known:
                broken.append((path.relative_to(site), link))
    assert sum(len(page.links) for page in pages.values()) > 1000
    assert broken == []


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    sheets = list(site.rglob("*.css"))
    assert len(sheets) > 2
    for path in [*site.rglob("*.html"), *sheets]:
        assert _fetched(path.read_text("utf-8"), path.suffix) == [], path


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        ('<script src="https://a.example/x.js"></script>', ".html"),
        ('<link rel="stylesheet" href="//a.example/x.css">', ".html"),
        ('<p style="background: url(https://a.example/x.png)">', ".html"),
        ("<style>@import 'https://a.example/x.css';</style>", ".html"),
        ('@import "https://a.example/x.css";', ".css"),
        ("@font-face { src: url( '//a.example/x.woff2' ) }", ".css"),
    ],
)
def test_what_a_browser_fetches_is_recognized(text: str, suffix: str) -> None:
    assert len(_fetched(text, suffix)) == 1
    assert _fetched(re.sub(r"(https:)?//a\.example", "..", text), suffix) == []


def test_no_page_and_no_search_result_has_a_directive_of_snippets(site: Path) -> None:
    built = [*site.rglob("*.html"), site / "search/search_index.json"]
    for path in built:
        text = html.unescape(re.sub("<[^>]+>", "", path.read_text("utf-8")))
        assert not re.search("-{2}8 *<", text), path
        assert "[[[cog" not in text, path


@pytest.mark.slow
def test_search_and_menu_work_when_the_site_is_opened_from_its_folder(site: Path) -> None:
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1300, "height": 900})
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.click("input.md-search__input")
        page.keyboard.type("reconvergence")
        results = page.locator("a.md-search-result__link")
        results.first.wait_for(timeout=20_000)
        results.first.click()
        page.wait_for_url(re.compile("reconvergence.*[.]html"))
        page.locator("a.md-tabs__link", has_text="Python").click()
        page.wait_for_url(re.compile("examples[.]html$"))
        assert "Ten examples" in page.locator("nav.md-nav--primary").inner_text()
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def _fetched(text: str, suffix: str) -> list[str]:
    """Return the places on other hosts that a browser loads for a page or a style sheet."""
    if suffix == ".css":
        return _IN_STYLE.findall(text)
    page = _Fetched()
    page.feed(text)
    return page.places


_ELSEWHERE = ("http:", "https:", "//")
_IN_STYLE = re.compile(r"""(?:\burl\(|@import)\s*["']?((?:https?:)?//[^\s"')]+)""")


class _Links(HTMLParser):
    """Collects the links of a page to files of the site, and the names that links can have after the `#`."""

    def __init__(self) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.names: set[str] = set()

    @classmethod
    def of(cls, path: Path) -> Self:
        page = cls()
        page.feed(path.read_text("utf-8"))
        return page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.names.add(value)
            elif name in ("href", "src") and value and not urlsplit(value).scheme:
                self.links.add(value)


class _Fetched(HTMLParser):
    """Collects what a browser loads by itself from another host."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {"script": "src", "img": "src", "iframe": "src", "link": "href"}
        place = dict(attrs).get(names.get(tag, "")) or ""
        if place.startswith(_ELSEWHERE) and ("rel", "canonical") not in attrs:
            self.places.append(place)
        self.places += _IN_STYLE.findall(dict(attrs).get("style") or "")

    def handle_data(self, data: str) -> None:
        if self.lasttag == "style":
            self.places += _IN_STYLE.findall(data)
