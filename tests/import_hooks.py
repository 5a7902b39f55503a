"""Replacement of functions before the module that uses them is imported, for `sitecustomize` of commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


class _Finder:
    """Calls a function when a module is about to be imported; finds no module itself."""

    def __init__(self, name: str, replace: Callable[[], object]) -> None:
        self._name, self._replace = name, replace

    def find_spec(self, name: str, *_: Any) -> None:
        """Call the function if it is this module."""
        if name == self._name:
            self._replace()


def before_import(name: str, replace: Callable[[], object]) -> None:
    """Call `replace` when the module with this name is about to be imported."""
    sys.meta_path.insert(0, _Finder(name, replace))  # type: ignore[arg-type]
