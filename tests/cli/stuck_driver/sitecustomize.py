"""A driver that is stuck: the second pipeline of a process is never created. For PYTHONPATH of a command."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


class Finder:
    """Replaces a function of vkgroup before the module that uses it is imported; finds no module."""

    def find_spec(self, name: str, *_: Any) -> None:
        """Replace the function when its user is about to be imported."""
        if name != "vkgroup.dispatch.vulkan.pipeline":
            return
        module: Any = import_module("vkgroup.dispatch.vulkan.stage_info")
        honest, made = module.create_compute_pipeline, []

        def create(*arguments: Any) -> Any:
            made.append(arguments)
            # The first pipeline only tests whether the device executes.
            if len(made) == 1:
                return honest(*arguments)
            return import_module("mutants.driver_errors").wait_in_native_code()

        module.create_compute_pipeline = create


sys.meta_path.insert(0, Finder())  # type: ignore[arg-type]
