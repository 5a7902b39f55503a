"""A topic of cooperative matrices: cases that are written and judged alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from vkgroup.conformance.cooperative_matrix.case import MatrixCase, Shape
from vkgroup.conformance.cooperative_matrix.program import Builder, Judge
from vkgroup.device import Capabilities


@dataclass(frozen=True)
class Topic:
    """A group of cases that are written and judged alike.

    Attributes
    ----------
    name : the second word of its cases' names.
    cases : yields every case; needs no device.
    components : names of the types that a case's shader works with.
    shapes : the shapes in which a device lists what the case needs, each once; none where it lists none.
    needs : returns a phrase for what must be listed.
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
