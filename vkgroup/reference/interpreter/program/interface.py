"""Interface of a stage of a draw: its inputs and outputs by location, component and built-in variable."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.values.value import (
    Causes,
    Data,
    Leaf,
    Value,
    leaves_of,
    member_leaves,
    spread,
)
from vkgroup.spirv import ArrayType, MatrixType, ScalarType, StructType, Type, VectorType, grammar
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.preamble import Decorations

Component = tuple[int, int]
"""A location, and a component in it."""

_PER_LOCATION = 4
"""Components of 32 bits in a location (Vulkan 1.4, "Location Assignment")."""


@dataclass(frozen=True, slots=True)
class Port:
    """A variable of an interface, or a member of a block in it."""

    cell: int  # of the variable
    leaves: slice  # the leaves of the cell that belong to it
    type: Type  # its type
    name: str  # for messages
    built_in: str = ""  # SPIR-V's name; empty where it has a location
    #: `location`, `component`: the first that it takes.
    location: int = -1
    component: int = 0
    index: int = 0  # of an output of the fragment stage, for blending with two sources
    decorations: frozenset[str] = frozenset()  # SPIR-V's names of those that say how to interpolate it
    position: int = -1  # of the variable in the module

    def numbers(self) -> Iterator[Number]:
        """Yield every scalar of the port, with its location and component."""
        yield from _numbers_of(self.type, self.location, self.component, self.leaves.start, ())[0]


@dataclass(frozen=True, slots=True)
class Number:
    """One scalar of a port."""

    component: Component  # location and component
    scalar: ScalarType  # its type
    #: `leaf`, `index`: the leaf of the cell, and the index into its dims.
    leaf: int
    index: tuple[int, ...]


def _numbers_of(
    kind: Type, location: int, component: int, leaf: int, index: tuple[int, ...]
) -> tuple[list[Number], int]:
    """Return the scalars of a type, and the location after it (Vulkan 1.4, "Location Assignment")."""
    if isinstance(kind, ScalarType):
        return [Number((location, component), kind, leaf, index)], location + 1
    if isinstance(kind, VectorType):
        width = max(1, kind.component.bits // 32)
        numbers = []
        for number in range(kind.count):
            rows, start = divmod(component + width * number, _PER_LOCATION)
            numbers.append(Number((location + rows, start), kind.component, leaf, (*index, number)))
        return numbers, numbers[-1].component[0] + 1
    numbers = []
    if isinstance(kind, StructType):
        for entry in kind.members:
            inner, location = _numbers_of(entry.type, location, 0, leaf, index)
            numbers += inner
            leaf += len(leaves_of(entry.type))
        return numbers, location
    assert isinstance(kind, ArrayType | MatrixType)
    element = kind.element if isinstance(kind, ArrayType) else kind.column
    length = (kind.length or 0) if isinstance(kind, ArrayType) else kind.columns
    for number in range(length):
        inner, location = _numbers_of(element, location, component, leaf, (*index, number))
        numbers += inner
    return numbers, location


def ports_of(
    declared: Declarations, variable: int, kind: Type, type_id: int, cell: int, position: int
) -> list[Port]:
    """Return the interface of a variable of type `kind`: itself, or the members of a block."""
    own = declared.decorations.get(variable, {})
    name = declared.names.get(variable, "")
    is_block = "Block" in declared.decorations.get(type_id, {})
    if "BuiltIn" in own or not isinstance(kind, StructType) or not is_block:
        return [_port(own, kind, cell, slice(0, len(leaves_of(kind))), name or "a variable", position)]
    ports = []
    location = own["Location"][0] if "Location" in own else 0
    for number, member in enumerate(kind.members):
        decorations = declared.member_decorations.get((type_id, number), {})
        if "Location" not in decorations:
            decorations = {**decorations, "Location": (location,)}
        location = decorations["Location"][0] + _numbers_of(member.type, 0, 0, 0, ())[1]
        inner = _port(
            {**{key: value for key, value in own.items() if key in _INTERPOLATION}, **decorations},
            member.type,
            cell,
            member_leaves(kind, number),
            f"{name}.{member.name}" if name else member.name,
            position,
        )
        ports.append(inner)
    return ports


_INTERPOLATION = frozenset({"Flat", "NoPerspective", "Centroid", "Sample"})


def _port(decorations: Decorations, kind: Type, cell: int, leaves: slice, name: str, position: int) -> Port:
    built_in = decorations.get("BuiltIn")
    return Port(
        cell,
        leaves,
        kind,
        name,
        grammar().enumerant("BuiltIn", built_in[0]) if built_in else "",
        decorations["Location"][0] if "Location" in decorations else -1,
        decorations["Component"][0] if "Component" in decorations else 0,
        decorations["Index"][0] if "Index" in decorations else 0,
        _INTERPOLATION & decorations.keys(),
        position,
    )


Interpolate = Callable[[int, str, Value | None, npt.NDArray[np.int64]], Value]


@dataclass(frozen=True)
class StageInputs:
    """Inputs of the invocations of a slice."""

    built_ins: Mapping[str, Value] = field(default_factory=dict)  # value by SPIR-V's name
    variables: Mapping[int, Value] = field(default_factory=dict)  # value by cell
    #: Of a fragment shader: which invocations are helpers, (n,); else None.
    helpers: npt.NDArray[np.bool_] | None = None
    #: Of a fragment shader: a function of a cell, ``"Centroid"``, ``"Sample"`` or ``"Offset"``, the operand
    #: of the last two, and the indices of some invocations in the slice; it returns the interpolated value in
    #: them.
    interpolate: Interpolate | None = None


def read_numbers(port: Port, value: Value) -> dict[Component, tuple[Data, Causes | None]]:
    """Return a port's scalars from the value of its cell, by location and component; each (n,) or (1,)."""
    numbers: dict[Component, tuple[Data, Causes | None]] = {}
    for number in port.numbers():
        data, cause = value.leaves[number.leaf], value.causes[number.leaf]
        if cause is not None:
            cause = spread(cause, data.shape[:-1])[number.index]
        numbers[number.component] = data[number.index], cause
    return numbers


class Assembly:
    """The value of an input variable, assembled from scalars.

    `kind`: the variable's type.
    `count`: invocations.
    `cause`: of numbers that no output provides.
    """

    def __init__(self, kind: Type, count: int, cause: int) -> None:
        leaves = leaves_of(kind)
        self._count = count
        self._leaves = [np.zeros((*leaf.dims, count), leaf.scalar.dtype) for leaf in leaves]
        self._causes = [np.full((*leaf.dims, count), cause, np.uint16) for leaf in leaves]

    def put(self, number: Number, data: Data, cause: Causes | None) -> None:
        """Set the values of one number, (n,) or (1,), and their causes."""
        own = self._leaves[number.leaf]
        # The bits stay: Vulkan requires matching types in both stages.
        own[number.index] = data if data.dtype == own.dtype else _reinterpreted(data, own)
        self._causes[number.leaf][number.index] = 0 if cause is None else cause

    def value(self) -> Value:
        """Return the value."""
        return Value(tuple(self._leaves), tuple(cause if cause.any() else None for cause in self._causes))


def with_declared_types(value: Value, leaves: tuple[Leaf, ...]) -> Value:
    """Return a built-in variable's value in the number types that the shader declares."""
    return Value(
        tuple(
            data if data.dtype == leaf.scalar.dtype else _reinterpreted(data, np.zeros(0, leaf.scalar.dtype))
            for data, leaf in zip(value.leaves, leaves, strict=True)
        ),
        value.causes,
    )


def _reinterpreted(data: Data, like: Data) -> Data:
    """Return numbers viewed as a type of the same size, or converted to a type of another size."""
    if data.dtype.itemsize == like.dtype.itemsize:
        return data.view(like.dtype)
    return data.astype(like.dtype)
