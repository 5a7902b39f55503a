"""A driver that is stuck: the second pipeline of a process is never created. For PYTHONPATH of a command."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from import_hooks import before_import


def replace() -> None:
    """Let all pipelines but the first wait in native code."""
    module: Any = import_module("vkgroup.dispatch.vulkan.stage_info")
    honest, made = module.create_compute_pipeline, []

    def create(*arguments: Any) -> Any:
        made.append(arguments)
        # The first pipeline only tests whether the device executes.
        if len(made) == 1:
            return honest(*arguments)
        return import_module("mutants.driver_errors").wait_in_native_code()

    module.create_compute_pipeline = create


before_import("vkgroup.dispatch.vulkan.pipeline", replace)
