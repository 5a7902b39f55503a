"""Running a program on a device: a dispatch, or a draw whose vertices or fragments record."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.thread_group.program import Program

_CORNERS = {
    "whole": ((-1.0, -1.0), (3.0, -1.0), (-1.0, 3.0)),
    # The long edge runs through quads at every place that an edge can have in them.
    "edge": ((-1.0, -1.0), (0.93, -1.0), (-1.0, 0.87)),
}

_PLAIN_FRAGMENT = """#version 430
// Of points whose vertices are what is judged.
layout(location = 0) out uint color;
void main() { color = 1u; }
"""


def run(executor: Executor, program: Program) -> NDArray[np.uint32]:
    """Run a program; return its outputs, (planes, invocations)."""
    module = executor.compile(program.source, stage=program.stage, dialect="gl")
    draw: dict[str, Any] = {}
    if program.stage == "vertex":
        draw["fragment"] = executor.compile(_PLAIN_FRAGMENT, stage="fragment", dialect="gl")
    elif program.stage == "fragment":
        draw["vertices"] = {"position": np.array(_CORNERS[program.coverage], np.float32)}
    words, _ = program.recorder.run(executor, module, **draw)
    return words
