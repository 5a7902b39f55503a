"""A command that takes four seconds to write the file of ``--json``. For PYTHONPATH of a command."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from import_hooks import before_import


def replace() -> None:
    """Let the command sleep before it writes."""
    module: Any = import_module("vkgroup.cli.output")
    write_json = module.write_json

    def write_slowly(*arguments: Any) -> None:
        time.sleep(4)
        write_json(*arguments)

    module.write_json = write_slowly


before_import("vkgroup.cli.check", replace)
