"""Chromium for the tests of reports: the system's, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

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
