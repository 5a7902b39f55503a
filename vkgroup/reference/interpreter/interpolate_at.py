"""InterpolateAtCentroid, InterpolateAtSample, InterpolateAtOffset: an input at another place in the pixel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vkgroup.errors import Unsupported
from vkgroup.reference.interpreter.cells import Cell
from vkgroup.reference.interpreter.chains import cell_path
from vkgroup.reference.interpreter.frame import Frame
from vkgroup.reference.interpreter.inline import Op
from vkgroup.reference.interpreter.site import Site

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.program import Program


def interpolate_at(program: Program, op: Op, site: Site) -> Callable[[Frame], None]:
    """Make the function of one of the instructions (GLSL.std.450, "InterpolateAtCentroid" and after)."""
    if program.stage != "fragment":
        raise Unsupported(
            f"{site.name} interpolates between vertices: only fragment shaders have it.", [site.name]
        )
    how = site.name.partition("InterpolateAt")[2]
    (chain,) = op.chains
    path, cell = cell_path(chain), chain.root.number
    if any(step.is_slot for step, _ in path.steps):
        raise Unsupported(f"{site.name} of an element that is chosen at run time.", [site.name])
    steps = tuple(step.number for step, _ in path.steps)
    slots = [slot for slot in op.arguments if slot is not None]
    result = op.result

    def run(frame: Frame) -> None:
        interpolate = frame.machine.interpolate
        assert interpolate is not None
        whole = interpolate(cell, how, frame.regs[slots[0]] if slots else None, frame.lanes)
        there = Cell(program.cells[cell], frame.count)
        there.write(whole, None)
        frame.regs[result] = there.read_part(path.leaves, steps, None)

    return run
