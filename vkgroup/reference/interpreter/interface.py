"""What a stage of a draw gets from the one before, and hands on: variables by location and built-in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.values import Causes, Data, Leaf, Value, leaves_of, member_leaves
from vkgroup.spirv import ArrayType, MatrixType, ScalarType, StructType, Type, VectorType, grammar
from vkgroup.spirv.annotations import Decorations
from vkgroup.spirv.declarations import Declarations

Place = tuple[int, int]
"""A location, and a component in it."""

_PER_LOCATION = 4
"""Components of 32 bits in a location (Vulkan 1.4, "Location Assignment")."""


@dataclass(frozen=True, slots=True)
class Port:
    """A variable of an interface, or a member of a block in it.

    Attributes
    ----------
    cell : of the variable.
    leaves : which leaves of the cell it is.
    type : what it is.
    name : for messages.
    built_in : SPIR-V's name; empty where it has a location.
    location, component : where it begins.
    index : of an output of the fragment stage, for blending with two sources.
    decorations : SPIR-V's names of those that say how to interpolate it.
    position : of the variable in the module.
    """

    cell: int
    leaves: slice
    type: Type
    name: str
    built_in: str = ""
    location: int = -1
    component: int = 0
    index: int = 0
    decorations: frozenset[str] = frozenset()
    position: int = -1

    def numbers(self) -> Iterator[Number]:
        """Yield every number of it, with the place that it takes."""
        found = _walk(self.type, self.location, self.component, self.leaves.start, ())
        yield from found[0]


@dataclass(frozen=True, slots=True)
class Number:
    """One number of a port.

    Attributes
    ----------
    place : location and component.
    scalar : its type.
    leaf, index : which leaf of the cell, and where in its dims.
    """

    place: Place
    scalar: ScalarType
    leaf: int
    index: tuple[int, ...]


def _walk(
    kind: Type, location: int, component: int, leaf: int, index: tuple[int, ...]
) -> tuple[list[Number], int]:
    """Return the numbers of a type, and the location behind it (Vulkan 1.4, "Location Assignment")."""
    if isinstance(kind, ScalarType):
        return [Number((location, component), kind, leaf, index)], location + 1
    if isinstance(kind, VectorType):
        width = max(1, kind.component.bits // 32)
        places = [component + width * number for number in range(kind.count)]
        numbers = [
            Number(
                (location + place // _PER_LOCATION, place % _PER_LOCATION),
                kind.component,
                leaf,
                (*index, number),
            )
            for number, place in enumerate(places)
        ]
        return numbers, numbers[-1].place[0] + 1
    found: list[Number] = []
    if isinstance(kind, StructType):
        for entry in kind.members:
            inner, location = _walk(entry.type, location, 0, leaf, index)
            found += inner
            leaf += len(leaves_of(entry.type))
        return found, location
    assert isinstance(kind, ArrayType | MatrixType)
    element = kind.element if isinstance(kind, ArrayType) else kind.column
    length = (kind.length or 0) if isinstance(kind, ArrayType) else kind.columns
    for number in range(length):
        inner, location = _walk(element, location, component, leaf, (*index, number))
        found += inner
    return found, location


def ports_of(
    declared: Declarations, variable: int, kind: Type, type_id: int, cell: int, position: int
) -> list[Port]:
    """Return the interface of a variable: itself, or the members of a block.

    Parameters
    ----------
    variable, type_id : ids of the variable, and of what it points to.
    kind, cell, position : its type; its cell; where the module declares it.
    """
    own = declared.decorations.get(variable, {})
    name = declared.names.get(variable, "")
    is_block = "Block" in declared.decorations.get(type_id, {})
    if "BuiltIn" in own or not isinstance(kind, StructType) or not is_block:
        return [_port(own, kind, cell, slice(0, len(leaves_of(kind))), name or "a variable", position)]
    ports = []
    location = own["Location"][0] if "Location" in own else 0
    for number, member in enumerate(kind.members):
        said = declared.member_decorations.get((type_id, number), {})
        if "Location" not in said:
            said = {**said, "Location": (location,)}
        location = said["Location"][0] + locations_of(member.type)
        inner = _port(
            {**{key: value for key, value in own.items() if key in _INTERPOLATION}, **said},
            member.type,
            cell,
            member_leaves(kind, number),
            f"{name}.{member.name}" if name else member.name,
            position,
        )
        ports.append(inner)
    return ports


_INTERPOLATION = frozenset({"Flat", "NoPerspective", "Centroid", "Sample"})


def _port(said: Decorations, kind: Type, cell: int, leaves: slice, name: str, position: int) -> Port:
    built_in = said.get("BuiltIn")
    return Port(
        cell,
        leaves,
        kind,
        name,
        grammar().enumerant("BuiltIn", built_in[0]) if built_in else "",
        said["Location"][0] if "Location" in said else -1,
        said["Component"][0] if "Component" in said else 0,
        said["Index"][0] if "Index" in said else 0,
        _INTERPOLATION & said.keys(),
        position,
    )


def locations_of(kind: Type) -> int:
    """Return how many locations a type takes."""
    return _walk(kind, 0, 0, 0, ())[1]


Interpolate = Callable[[int, str, Value | None, npt.NDArray[np.int64]], Value]


@dataclass(frozen=True)
class StageInputs:
    """What the invocations of a slice start with.

    Attributes
    ----------
    built_ins : value by SPIR-V's name.
    variables : value by cell.
    helpers : of a fragment shader: which invocations are helpers, (n,); else None.
    interpolate : of a fragment shader: gives the value of a cell in some invocations, by their places in
        the slice, interpolated ``"Centroid"``, at the ``"Sample"`` or the ``"Offset"`` that a value says.
    """

    built_ins: Mapping[str, Value] = field(default_factory=dict)
    variables: Mapping[int, Value] = field(default_factory=dict)
    helpers: npt.NDArray[np.bool_] | None = None
    interpolate: Interpolate | None = None


def read_numbers(port: Port, value: Value) -> dict[Place, tuple[Data, Causes | None]]:
    """Take a port's numbers out of the value of its cell: by place, each (n,) or (1,)."""
    found: dict[Place, tuple[Data, Causes | None]] = {}
    for number in port.numbers():
        data, cause = value.leaves[number.leaf], value.causes[number.leaf]
        if cause is not None:
            cause = np.broadcast_to(cause, (*data.shape[:-1], cause.shape[-1]))[number.index]
        found[number.place] = data[number.index], cause
    return found


class Assembly:
    """The value of an input variable, put together number by number.

    Parameters
    ----------
    kind : the variable's type.
    count : invocations.
    cause : of what nobody gives.
    """

    def __init__(self, kind: Type, count: int, cause: int) -> None:
        leaves = leaves_of(kind)
        self._count = count
        self._leaves = [np.zeros((*leaf.dims, count), leaf.scalar.dtype) for leaf in leaves]
        self._causes = [np.full((*leaf.dims, count), cause, np.uint16) for leaf in leaves]

    def put(self, number: Number, data: Data, cause: Causes | None) -> None:
        """Give one number its values, (n,) or (1,), and what is undefined about them."""
        own = self._leaves[number.leaf]
        # The bits count: the interface matches types, or the other stage would not have matched.
        own[number.index] = data if data.dtype == own.dtype else _as(data, own)
        self._causes[number.leaf][number.index] = 0 if cause is None else cause

    def value(self) -> Value:
        """Return the value."""
        return Value(tuple(self._leaves), tuple(cause if cause.any() else None for cause in self._causes))


def seen_as(value: Value, leaves: tuple[Leaf, ...]) -> Value:
    """Return a built-in variable's value with the number types that a shader declares for it."""
    return Value(
        tuple(
            data if data.dtype == leaf.scalar.dtype else _as(data, np.zeros(0, leaf.scalar.dtype))
            for data, leaf in zip(value.leaves, leaves, strict=True)
        ),
        value.causes,
    )


def _as(data: Data, like: Data) -> Data:
    """Return numbers as another type of the same size; of another size, converted."""
    if data.dtype.itemsize == like.dtype.itemsize:
        return data.view(like.dtype)
    return data.astype(like.dtype)
