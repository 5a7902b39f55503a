"""Cases of cooperative matrices: axes, names, and the matrices that a device lists for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from vkgroup.conformance.cooperative_matrix.component import BY_VULKAN, COMPONENTS, Combination
from vkgroup.conformance.family import TableCase
from vkgroup.device import Capabilities, CooperativeMatrix

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
    """Return a phrase for the kind of matrix that must be listed."""
    component, use = one_matrix(case)
    return f"a cooperative matrix of {COMPONENTS[component].vulkan} as {USES[use]} in subgroups"
