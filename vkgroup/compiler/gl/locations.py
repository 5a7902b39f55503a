"""Locations of a GL program's inputs and outputs; outputs match the next stage's inputs by name."""

from __future__ import annotations

from collections.abc import Sequence

from vkgroup.compiler.gl.stage import GlStage, GlVariable
from vkgroup.spirv.interface import location_count
from vkgroup.spirv.types import ArrayType, Type

#: Stages whose inputs or outputs are arrays with one element per vertex of a primitive.
_ARRAYED_INPUTS = ("tessellation_control", "tessellation_evaluation", "geometry")
_ARRAYED_OUTPUTS = ("tessellation_control",)

Locations = dict[tuple[str, int], int]
"""Location by stage and variable, for variables without an explicit location."""


class PlanError(Exception):
    """A conflict between stages of a program; each argument is one message."""


def locate(stages: Sequence[GlStage]) -> Locations:
    """Return locations for inputs and outputs without an explicit location; stages are in pipeline order.

    Raises PlanError if a stage reads an input that the stage before it does not declare as output.
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
        variables = [
            (stage, variable, _per_vertex(stage, variable))
            for stage, direction in sides
            for variable in stage.variables
            if variable.kind == direction and not _members_located(stage, variable)
        ]
        _check_inputs(sides)
        by_name = {
            variable.name: variable.location for _, variable, _ in variables if variable.location is not None
        }
        taken = Numbers()
        for _, variable, kind in variables:
            if variable.location is not None:
                taken.take(variable.location, location_count(kind))
        for stage, variable, kind in variables:
            if variable.location is None:
                if variable.name not in by_name:
                    by_name[variable.name] = taken.free(location_count(kind))
                locations[stage.name, variable.id] = by_name[variable.name]
    return locations


def _check_inputs(sides: Sequence[tuple[GlStage, str]]) -> None:
    """Raise PlanError for a used input that the stage before does not declare (GL 4.3, 7.4.1)."""
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
    """Return whether members of a block have explicit locations."""
    structure = stage.struct_of(variable.id)
    return any(
        identifier == structure and "Location" in decorations
        for (identifier, _), decorations in stage.declared.member_decorations.items()
    )


def _per_vertex(stage: GlStage, variable: GlVariable) -> Type:
    """Return the type of an input or output for one vertex."""
    arrayed = _ARRAYED_INPUTS if variable.kind == "input" else _ARRAYED_OUTPUTS
    patch = "Patch" in stage.declared.decorations.get(variable.id, {})
    if stage.name in arrayed and not patch and isinstance(variable.type, ArrayType):
        return variable.type.element
    return variable.type


def located(locations: Locations, stage: GlStage, kind: str) -> tuple[tuple[str, int], ...]:
    """Return names and locations of the inputs or outputs of a stage."""
    pairs = []
    for variable in stage.variables:
        if variable.kind == kind:
            location = locations.get((stage.name, variable.id), variable.location)
            if location is not None:
                pairs.append((variable.name, location))
    return tuple(pairs)


class Numbers:
    """Allocator of consecutive numbers."""

    def __init__(self) -> None:
        self._taken: set[int] = set()

    def take(self, first: int, count: int) -> None:
        """Mark `count` consecutive numbers as taken."""
        self._taken.update(range(first, first + count))

    def free(self, count: int, first: int = 0) -> int:
        """Take the first `count` consecutive free numbers that are not below `first`; return the lowest."""
        while any(number in self._taken for number in range(first, first + count)):
            first += 1
        self.take(first, count)
        return first
