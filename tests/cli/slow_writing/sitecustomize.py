"""A command that takes four seconds to write the file of ``--json``. For PYTHONPATH of a command."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from typing import Any


class Finder:
    """Replaces a function of vkgroup before the module that uses it is imported; finds no module."""

    def find_spec(self, name: str, *_: Any) -> None:
        """Replace the function when its user is about to be imported."""
        if name != "vkgroup.cli.check":
            return
        module: Any = import_module("vkgroup.cli.output")
        write_json = module.write_json

        def write_slowly(*arguments: Any) -> None:
            time.sleep(4)
            write_json(*arguments)

        module.write_json = write_slowly


sys.meta_path.insert(0, Finder())  # type: ignore[arg-type]
