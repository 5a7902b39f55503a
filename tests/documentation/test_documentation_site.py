"""The site: it builds strictly, has every page and option, and fetches nothing from elsewhere."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from vkgroup.cli.main import COMMANDS, parser

ROOT = Path(__file__).parents[2]
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


@pytest.mark.slow
def test_every_page_is_in_the_navigation(site: Path) -> None:
    home = (site / "index.html").read_text("utf-8")
    pages = [path.relative_to(site).as_posix() for path in site.rglob("*.html")]
    assert len(pages) > 50
    for page in pages:
        if page != "404.html" and not page.startswith("gallery/"):
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


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        found = _Fetched()
        found.feed(page.read_text("utf-8"))
        assert found.places == [], page


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
        page.wait_for_url(re.compile("runtime[.]html$"))
        assert "Ten examples" in page.locator("nav.md-nav--primary").inner_text()
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


class _Fetched(HTMLParser):
    """Collects what a browser loads by itself from another host."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = {"script": "src", "img": "src", "iframe": "src", "link": "href"}
        place = dict(attrs).get(names.get(tag, "")) or ""
        if place.startswith(("http:", "https:", "//")) and ("rel", "canonical") not in attrs:
            self.places.append(place)
