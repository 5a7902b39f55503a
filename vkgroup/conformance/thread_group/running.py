"""Running a program on a device: a dispatch, or a draw whose vertices or fragments record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.poison import poisoned
from vkgroup.conformance.thread_group.program import GROUPS, HEIGHT, WIDTH, Program

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
    device = executor.device
    module = executor.compile(program.source, stage=program.stage, dialect="gl")
    words = poisoned(program.planes * program.invocations)
    for slot in range(len(program.flow.executes)):
        words.reshape(program.planes, -1)[program.slot_at(slot)] = 0
    words.reshape(program.planes, -1)[0] = 0
    bindings = {"Outputs": words}
    if program.stage == "compute":
        found = device.run(module, GROUPS, bindings, timeout=executor.timeout)
    elif program.stage == "vertex":
        fragment = executor.compile(_PLAIN_FRAGMENT, stage="fragment", dialect="gl")
        found = device.draw(
            fragment,
            (1, 1),
            bindings,
            vertex=module,
            count=program.invocations,
            topology="points",
            timeout=executor.timeout,
        )
    else:
        corners = np.array(_CORNERS[program.coverage], np.float32)
        found = device.draw(
            module, (WIDTH, HEIGHT), bindings, vertices={"position": corners}, timeout=executor.timeout
        )
    return np.asarray(found["Outputs"]).reshape(program.planes, program.invocations)
