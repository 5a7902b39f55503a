"""Locations of a GL program's inputs and outputs: what one stage writes and the next reads has the same."""

from __future__ import annotations

from collections.abc import Sequence

from vkgroup.compiler.gl.stage import GlStage, GlVariable, location_count
from vkgroup.spirv.types import ArrayType, Type

#: Stages whose inputs, and those whose outputs, are arrays over the vertices of a primitive.
_ARRAYED_INPUTS = ("tessellation_control", "tessellation_evaluation", "geometry")
_ARRAYED_OUTPUTS = ("tessellation_control",)

Locations = dict[tuple[str, int], int]
"""Location by stage and variable, of those that have none of their author."""


class PlanError(Exception):
    """What the stages of a program contradict each other in; each argument is one message."""


def locate(stages: Sequence[GlStage]) -> Locations:
    """Give inputs and outputs locations, those of the author first.

    Parameters
    ----------
    stages : in the order in which they feed each other.

    Raises
    ------
    PlanError
        A stage reads what the one before it does not write.
    """
    locations: Locations = {}
    for number in range(len(stages) + 1):
        sides = [
            (stage, direction)
            for stage, direction in (
                (stages[number - 1] if number else None, "output"),
                (stages[number] if number < len(stages) else None, "input"),
            )
            if stage is not None
        ]
        found = [
            (stage, variable, _per_vertex(stage, variable))
            for stage, direction in sides
            for variable in stage.variables
            if variable.kind == direction and not _members_located(stage, variable)
        ]
        _check_inputs(sides)
        by_name = {
            variable.name: variable.location for _, variable, _ in found if variable.location is not None
        }
        taken = Numbers()
        for _, variable, kind in found:
            if variable.location is not None:
                taken.take(variable.location, location_count(kind))
        for stage, variable, kind in found:
            if variable.location is None:
                if variable.name not in by_name:
                    by_name[variable.name] = taken.free(location_count(kind))
                locations[stage.name, variable.id] = by_name[variable.name]
    return locations


def _check_inputs(sides: Sequence[tuple[GlStage, str]]) -> None:
    """Refuse inputs that a stage uses and the stage before it does not declare (GL 4.3, 7.4.1)."""
    if len(sides) < 2:
        return
    (before, _), (after, _) = sides
    outputs = [variable for variable in before.variables if variable.kind == "output"]
    names = {variable.name for variable in outputs}
    locations = {variable.location for variable in outputs} - {None}
    for variable in after.variables:
        if variable.kind == "input" and variable.used and not _members_located(after, variable):
            known = variable.name in names or variable.location in locations
            if not known:
                raise PlanError(
                    f"the {after.name} stage reads {variable.name}, which the {before.name} stage does not "
                    f"declare: add out {variable.type.glsl} {variable.name}; there"
                )


def _members_located(stage: GlStage, variable: GlVariable) -> bool:
    """Whether the members of a block have locations of their author."""
    structure = stage.struct_of(variable.id)
    return any(
        identifier == structure and "Location" in decorations
        for (identifier, _), decorations in stage.declared.member_decorations.items()
    )


def _per_vertex(stage: GlStage, variable: GlVariable) -> Type:
    """Return what an input or output is for one vertex."""
    arrayed = _ARRAYED_INPUTS if variable.kind == "input" else _ARRAYED_OUTPUTS
    patch = "Patch" in stage.declared.decorations.get(variable.id, {})
    if stage.name in arrayed and not patch and isinstance(variable.type, ArrayType):
        return variable.type.element
    return variable.type


def located(locations: Locations, stage: GlStage, kind: str) -> tuple[tuple[str, int], ...]:
    """Return names and locations of the inputs or outputs of a stage."""
    found = []
    for variable in stage.variables:
        if variable.kind == kind:
            location = locations.get((stage.name, variable.id), variable.location)
            if location is not None:
                found.append((variable.name, location))
    return tuple(found)


class Numbers:
    """Numbers that are taken."""

    def __init__(self) -> None:
        self._taken: set[int] = set()

    def take(self, first: int, count: int) -> None:
        """Take a run of numbers."""
        self._taken.update(range(first, first + count))

    def free(self, count: int, first: int = 0) -> int:
        """Take the first run of `count` free numbers from `first` on."""
        while any(number in self._taken for number in range(first, first + count)):
            first += 1
        self.take(first, count)
        return first
