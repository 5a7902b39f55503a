"""Chromium for the tests of reports: the system's, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium(fetched: str) -> str:
    """Return the browser's path; it is part of what the tests need, so that they fail without it.

    Parameters
    ----------
    fetched : where Playwright puts the one that it fetches on request.
    """
    installed = os.environ.get("VKGROUP_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    assert installed or os.path.exists(fetched), (
        "the tests of reports need Chromium: apt-get install chromium (Debian), or playwright install "
        "--with-deps chromium, or name one in VKGROUP_CHROMIUM"
    )
    return installed or fetched


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Open the browser without a window."""
    with sync_playwright() as playwright:
        path = chromium(playwright.chromium.executable_path)
        # Its sandbox needs namespaces that root in a container does not have; the pages are our own.
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def open_page() -> Iterator[Page]:
    """Open a page of a browser; errors of scripts and of the security policy fail the test at the end."""
    with open_browser() as browser:
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        complaints: list[str] = []
        opened.on("console", lambda message: complaints.append(message.text))
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        yield opened
        assert complaints == []


CONTRAST = """element => {
  const light = colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  let behind = element, colour = "rgba(0, 0, 0, 0)";
  while (colour === "rgba(0, 0, 0, 0)") {
    colour = getComputedStyle(behind).backgroundColor;
    behind = behind.parentElement;
  }
  const [a, b] = [light(getComputedStyle(element).color), light(colour)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""
"""A function of JavaScript: the contrast of an element's text with what is behind it (WCAG 2.2)."""
