"""InterpolateAtCentroid, InterpolateAtSample, InterpolateAtOffset: an input at another point of the pixel."""

from __future__ import annotations

from vkgroup.errors import Unsupported
from vkgroup.reference.interpreter.operations.state import Frame, Step
from vkgroup.reference.interpreter.program.chains import cell_path
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.segments import Op
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.cells import Cell
from vkgroup.reference.interpreter.values.lane_set import LaneSet


def interpolate_at(program: ProgramForm, op: Op, site: Site) -> Step:
    """Return the step of one of the instructions (GLSL.std.450, "InterpolateAtCentroid" and after)."""
    if program.stage != "fragment":
        raise Unsupported(
            f"{site.name} interpolates between vertices: only fragment shaders have it.", [site.name]
        )
    point = site.name.partition("InterpolateAt")[2]
    (chain,) = op.chains
    path, cell = cell_path(chain), chain.root.number
    if any(index.is_slot for index, _ in path.indices):
        raise Unsupported(f"{site.name} of an element that is chosen at run time.", [site.name])
    indices = tuple(index.number for index, _ in path.indices)
    slots = [slot for slot in op.arguments if slot is not None]
    result = op.result

    def run(frame: Frame) -> None:
        interpolate = frame.machine.interpolate
        assert interpolate is not None
        whole = interpolate(cell, point, frame.regs[slots[0]] if slots else None, frame.lanes.indices)
        everywhere = LaneSet.all(frame.count)
        interpolated = Cell(program.cells[cell], frame.count)
        interpolated.write(whole, everywhere)
        frame.regs[result] = interpolated.read_part(path.leaves, indices, everywhere)

    return run


INTERPOLATION = {
    f"GLSL.std.450 InterpolateAt{point}": interpolate_at for point in ("Centroid", "Sample", "Offset")
}
"""By name: the factory of a step."""
