"""A case of cooperative matrices as data, what a topic of them is, and which matrices a device lists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from vkgroup.conformance.cooperative_matrix.component import BY_VULKAN, COMPONENTS, Combination
from vkgroup.conformance.family import TableCase
from vkgroup.device import Capabilities, CooperativeMatrix

if TYPE_CHECKING:
    from vkgroup.conformance.cooperative_matrix.program import Builder, Judge

CATEGORY = "cooperative_matrix"

USES = {"a": "A", "b": "B", "c": "Accumulator"}
"""What a matrix is in a product, and how GLSL ends the name of that use."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Rows and columns of a matrix; `inner` is the k of a product of matrices, else 0."""

    rows: int
    columns: int
    inner: int = 0

    def __str__(self) -> str:
        return "×".join(str(number) for number in (self.rows, self.columns, self.inner) if number)


class MatrixAxes(NamedTuple):
    """The axes of a case, which is judged in every shape that the device lists for its types.

    Attributes
    ----------
    topic : key of the topic that judges it: ``"load"``, ``"multiply_add"``, ….
    types : names of `COMPONENTS`; of a product the name of a combination.
    variant : the further words of the name, each a key of a table of the topic.
    """

    topic: str
    types: tuple[str, ...]
    variant: tuple[str, ...]


MatrixCase = TableCase[MatrixAxes]


def matrix_case(topic: str, types: tuple[str, ...], variant: tuple[str, ...], sentence: str) -> MatrixCase:
    """Return a case."""
    return TableCase(CATEGORY, MatrixAxes(topic, types, variant), sentence)


@dataclass(frozen=True)
class Topic:
    """A group of cases that are written and judged alike.

    Attributes
    ----------
    name : the second word of its cases' names.
    cases : yields every case; needs no device.
    components : names of the types that a case's shader works with.
    shapes : the shapes in which a device lists what the case needs, each once; none where it lists none.
    needs : says in words what must be listed.
    add : adds a case in one shape to a program; returns what judges it.
    code : what the lines of its shaders contain that do what the cases are about.
    """

    name: str
    cases: Callable[[], Iterable[MatrixCase]]
    components: Callable[[MatrixCase], tuple[str, ...]]
    shapes: Callable[[MatrixCase, Capabilities], tuple[Shape, ...]]
    needs: Callable[[MatrixCase], str]
    add: Callable[[Builder, MatrixCase, Shape], Judge]
    code: str


def listed(capabilities: Capabilities) -> list[tuple[Combination, CooperativeMatrix]]:
    """Return the rows of the device's list that subgroups share and whose types have cases."""
    found = []
    for row in capabilities.cooperative_matrices:
        kinds = [BY_VULKAN.get(name) for name in (row.a_type, row.b_type, row.c_type, row.result_type)]
        names = [kind.name for kind in kinds if kind is not None]
        if row.scope == "SUBGROUP" and len(names) == len(kinds):
            a, b, c, result = names
            found.append((Combination(a, b, c, result, row.saturating), row))
    return found


def products(combination: Combination, capabilities: Capabilities) -> tuple[Shape, ...]:
    """Return the shapes in which a device lists a combination."""
    shapes = [Shape(row.m, row.n, row.k) for kind, row in listed(capabilities) if kind == combination]
    return tuple(dict.fromkeys(shapes))


def matrices(component: str, use: str, capabilities: Capabilities) -> tuple[Shape, ...]:
    """Return the shapes in which a device lists matrices of a type and a use."""
    shapes = []
    for kind, row in listed(capabilities):
        if use == "a" and kind.a == component:
            shapes.append(Shape(row.m, row.k))
        elif use == "b" and kind.b == component:
            shapes.append(Shape(row.k, row.n))
        elif use == "c" and component in (kind.c, kind.result):
            shapes.append(Shape(row.m, row.n))
    return tuple(dict.fromkeys(shapes))


def one_matrix(case: MatrixCase) -> tuple[str, str]:
    """Return type and use of a case whose first variant is the use."""
    return case.axes.types[0], case.axes.variant[0]


def matrices_of(case: MatrixCase, capabilities: Capabilities) -> tuple[Shape, ...]:
    """Return the shapes of the one kind of matrix that a case is about."""
    return matrices(*one_matrix(case), capabilities)


def need_of_matrix(case: MatrixCase) -> str:
    """Say in words which kind of matrix must be listed."""
    component, use = one_matrix(case)
    return f"a cooperative matrix of {COMPONENTS[component].vulkan} as {USES[use]} in subgroups"
