"""Chromium for the tests of reports: the one that the system has, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str:
    """Return the browser's path; it is part of what the tests need, so that they fail without it."""
    found = os.environ.get("VKGROUP_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    assert found, (
        "the tests of reports need Chromium: apt-get install chromium, or name it in VKGROUP_CHROMIUM"
    )
    return found


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Open the browser without a window."""
    with sync_playwright() as playwright:
        # Its sandbox needs namespaces that root in a container does not have; the pages are our own.
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield browser
        browser.close()
