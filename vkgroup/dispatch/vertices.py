"""Vertex data matched to vertex shaders, and the vertex shader of draws without one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.base.suggestions import suggestion
from vkgroup.dispatch.buffer import checked_array
from vkgroup.dispatch.draw_state import Attribute
from vkgroup.spirv import EntryPoint, MatrixType, ScalarType, StageVariable, VectorType
from vkgroup.spirv.types import innermost

#: Vertices of a triangle that covers the whole image, in clip coordinates.
_CORNERS = "vec2[](vec2(-1.0, -1.0), vec2(3.0, -1.0), vec2(-1.0, 3.0))"

_POSITION = "position"

#: Vulkan counts vertices, instances and indices in 32 bits.
_MOST = 2**32 - 1


@dataclass(frozen=True)
class Vertices:
    """The vertices of a draw."""

    # arrays by location, (count, components) of float32, int32 or uint32
    arrays: Mapping[int, npt.NDArray[Any]] = field(default_factory=dict)
    count: int = 3  # number of vertices of one instance, or of indices if there are any
    indices: npt.NDArray[np.uint32] | None = None  # (count,) uint32; None draws the vertices in their order
    instances: int = 1  # number of instances

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes that a pipeline for these vertices has."""
        kinds = {"f": "float", "i": "int", "u": "uint"}
        return tuple(
            Attribute(location, kinds[array.dtype.kind], array.shape[1])
            for location, array in sorted(self.arrays.items())
        )


@dataclass(frozen=True)
class MeshGroups:
    """Workgroups in x, y and z that a draw with mesh shaders starts: of its task shader if there is one."""

    counts: tuple[int, int, int]
    arrays: Mapping[int, npt.NDArray[Any]] = field(default_factory=dict)
    indices: npt.NDArray[np.uint32] | None = None

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """None: mesh shaders have no vertices."""
        return ()


def match_vertices(
    entry: EntryPoint,
    given: Mapping[Any, npt.ArrayLike],
    *,
    indices: npt.ArrayLike | None = None,
    count: int | None = None,
    instances: int = 1,
) -> Vertices:
    """Return the vertices, with an array for each input of a vertex shader.

    The arrays are (vertices,) or (vertices, components), by the input's name or location. An input that is an
    array or a matrix has one for each location: ``"name[0]"`` and so on. A `count` of None draws as many as
    there are, and 3 where there are no arrays.
    """
    inputs = [part for item in entry.variables.inputs for part in at_each_location(item)]
    values = by_location(given, inputs, "vertex shader", "input")
    arrays = {
        item.location: _checked(item, values[item.location]) for item in inputs if item.location in values
    }
    lacking = [item.name or str(item.location) for item in inputs if item.location not in arrays]
    if lacking:
        raise InvalidDispatch(f"No vertices are given for the inputs: {', '.join(lacking)}.")
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        raise InvalidDispatch(f"All vertex arrays have the same length; {_listed(lengths)} were given.")
    most = lengths.pop() if lengths else None
    return _counted(arrays, most, indices, count, instances)


def at_each_location(item: StageVariable) -> list[StageVariable]:
    """Return an input as one scalar or vector for each of its locations."""
    kind = innermost(item.type)
    kind = kind.column if isinstance(kind, MatrixType) else kind
    if len(item.locations) == 1 or not isinstance(kind, ScalarType | VectorType):
        return [item]
    return [
        replace(item, name=f"{item.name}[{number}]" if item.name else "", location=location, type=kind)
        for number, location in enumerate(item.locations)
    ]


def by_location(given: Mapping[Any, Any], variables: Sequence[Any], shader: str, kind: str) -> dict[int, Any]:
    """Return values that are given by the names or locations of variables, by location."""
    values: dict[int, Any] = {}
    for key, value in given.items():
        matching = [item for item in variables if key in (item.name, item.location)]
        if not matching:
            names = [item.name or str(item.location) for item in variables]
            raise InvalidDispatch(f"The {shader} has no {kind} {key!r}.{suggestion(key, names)}")
        if matching[0].location in values:
            raise InvalidDispatch(f"The {shader}'s {kind} {matching[0].name!r} is given twice.")
        values[matching[0].location] = value
    return values


def _listed(lengths: Iterable[int]) -> str:
    return " and ".join(map(str, sorted(lengths)))


def _counted(
    arrays: dict[int, npt.NDArray[Any]],
    most: int | None,
    indices: npt.ArrayLike | None,
    count: int | None,
    instances: int,
) -> Vertices:
    """Check numbers of vertices against each other."""
    for name, number in (("count", count), ("instances", instances)):
        if number is not None and not (isinstance(number, int | np.integer) and 0 <= number <= _MOST):
            raise InvalidDispatch(f"{name} is a whole number from 0 to {_MOST}; {number!r} was given.")
    order = None if indices is None else checked_array(indices, "indices").reshape(-1)
    if order is not None and (order.dtype.kind not in "iu" or (order < 0).any() or order.max() > _MOST):
        raise InvalidDispatch(f"indices are whole numbers from 0 to {_MOST}.")
    if order is not None and most is not None and int(order.max()) >= most:
        raise InvalidDispatch(f"indices go up to {int(order.max())}; there are {most} vertices.")
    available = len(order) if order is not None else most
    drawn = available if count is None else int(count)
    if drawn is None:
        drawn = 3
    if available is not None and drawn > available:
        raise InvalidDispatch(f"count is {drawn}; there are {available} vertices.")
    return Vertices(arrays, drawn, None if order is None else order.astype(np.uint32), int(instances))


def _checked(item: StageVariable, value: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return an input's array as (vertices, components)."""
    scalar, what = item.scalar, f"The vertex input {item.name or item.location!r}"
    if scalar is None or not isinstance(item.type, ScalarType | VectorType) or scalar.bits != 32:
        raise Unsupported(
            f"{what} is no scalar or vector of 32 bits, which vertex arrays are made for."
            " Read it from a storage buffer by gl_VertexIndex.",
            [str(item.type)],
        )
    array = checked_array(value, what)
    if array.dtype != scalar.dtype:
        raise InvalidDispatch(
            f"{what} holds {scalar.dtype.name}; the array given is {array.dtype.name}."
            f" Use array.astype(np.{scalar.dtype.name})."
        )
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not 1 <= array.shape[1] <= 4:
        raise InvalidDispatch(
            f"{what} takes an array of shape (vertices, {item.components}); {array.shape} was given."
        )
    return np.ascontiguousarray(array)


def pass_through(fragment: EntryPoint, given: Mapping[Any, npt.ArrayLike]) -> str:
    """Return the GLSL vertex shader of a draw that has none, with inputs named as the fragment shader's.

    Without vertices it covers the image with one triangle. With them, ``position`` is the position, and each
    other array goes on to the fragment shader's input of that name or location. Where only ``position`` is
    missing, three vertices are those of the triangle that covers the image.
    """
    inputs = fragment.variables.inputs
    lacking = [item for item in inputs if item.name not in given and item.location not in given]
    if lacking:
        names = ", ".join(f"{item.name or item.location}" for item in lacking)
        raise InvalidDispatch(
            f"The fragment shader has inputs that nothing gives values: {names}. Give `vertex`, a vertex"
            " shader that does, or arrays of values by the inputs' names as `vertices`."
        )
    lengths = {len(np.atleast_1d(checked_array(value, f"vertices {key!r}"))) for key, value in given.items()}
    placed = _POSITION in given
    if given and not placed and lengths != {3}:
        raise InvalidDispatch(
            f"vertices has no {_POSITION!r}; then three values of each input are needed, for the corners"
            f" (-1, -1), (3, -1) and (-1, 3) in clip coordinates. {_listed(lengths)} were given."
        )
    free = 1 + max((item.location for item in inputs), default=-1)
    lines = ["#version 450"]
    body = []
    for item in inputs:
        kind = item.type.glsl if isinstance(item.type, ScalarType | VectorType) else None
        if kind is None:
            raise Unsupported(f"The fragment input {item.name!r} is no scalar or vector.", [str(item.type)])
        name = item.name if item.name in given else f"input_{item.location}"
        qualifier = f"{item.interpolation} " if item.interpolation != "smooth" else ""
        lines.append(f"layout(location = {item.location}) in {kind} {name};")
        lines.append(f"layout(location = {item.location}) {qualifier}out {kind} passed_{item.location};")
        body.append(f"    passed_{item.location} = {name};")
    if placed:
        lines.append(f"layout(location = {free}) in vec4 {_POSITION};")
        body.append(f"    gl_Position = {_POSITION};")
    else:
        body.append(f"    gl_Position = vec4({_CORNERS}[gl_VertexIndex], 0.0, 1.0);")
    body.append("    gl_PointSize = 1.0;")
    return "\n".join([*lines, "void main()", "{", *body, "}", ""])


def check_interface(giver: EntryPoint, taker: EntryPoint) -> None:
    """Check that a stage gives what the next one takes, at the same location (Vulkan 1.4, 15.1.3)."""
    first, second = (entry.stage.replace("_", " ") for entry in (giver, taker))
    outputs = {
        (_frequency(item), location, item.component): item
        for item in giver.variables.outputs
        for location in item.locations
    }
    inputs = taker.variables.inputs
    for item, location in ((entry, number) for entry in inputs for number in entry.locations):
        output = outputs.get((_frequency(item), location, item.component))
        patch = _frequency(item)
        what = f"The {second} shader's {patch}input {item.name!r} (location {location})"
        if output is None:
            raise InvalidDispatch(f"{what} has no {patch}output of the {first} shader at its location.")
        if output.scalar != item.scalar or output.components < item.components:
            raise InvalidDispatch(
                f"{what} and the {first} shader's output {output.name!r} are of different types."
            )


def _frequency(item: StageVariable) -> str:
    """Say where a variable is not one of each vertex; in words that go before "input"."""
    return {"patch": "patch ", "primitive": "per-primitive "}.get(item.auxiliary, "")
