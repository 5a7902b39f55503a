"""Topic `arithmetic`: what is done to each element of a matrix, or of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from vkgroup.conformance.cooperative_matrix import data
from vkgroup.conformance.cooperative_matrix.case import (
    USES,
    MatrixCase,
    Shape,
    matrices_of,
    matrix_case,
    need_of_matrix,
)
from vkgroup.conformance.cooperative_matrix.component import COMPONENTS, Array, Component
from vkgroup.conformance.cooperative_matrix.judging import exactly, in_place, in_range
from vkgroup.conformance.cooperative_matrix.place import placed
from vkgroup.conformance.cooperative_matrix.program import (
    UNITS,
    Builder,
    Finding,
    Judge,
    Outputs,
    load,
    matrix_of,
    store,
)
from vkgroup.conformance.cooperative_matrix.topic import Topic

_SCALAR = 3


@dataclass(frozen=True)
class _Operation:
    """An operation on each element.

    Attributes
    ----------
    glsl : of matrices x and y; ``@`` stands for the type of elements.
    function : on numbers, of the type itself.
    instruction : of floats, in the tables of precision.
    words : for the case's sentence.
    """

    glsl: str
    function: Callable[[Array, Array], Array]
    instruction: str
    words: str


def _quotient(x: Array, y: Array) -> Array:
    """Return x / y, of integers rounded towards zero."""
    if x.dtype.kind == "f":
        return x / y
    wide = x.astype(np.int64), y.astype(np.int64)
    return np.asarray(np.sign(wide[0]) * np.sign(wide[1]) * (np.abs(wide[0]) // np.abs(wide[1]))).astype(
        x.dtype
    )


_OPERATIONS = {
    "add": _Operation("x + y", lambda x, y: x + y, "OpFAdd", "The sum of two matrices"),
    "subtract": _Operation("x - y", lambda x, y: x - y, "OpFSub", "The difference of two matrices"),
    "multiply": _Operation(
        "x * y", lambda x, y: x * y, "OpFMul", "The product, element by element, of two matrices"
    ),
    "divide": _Operation("x / y", _quotient, "OpFDiv", "The quotient, element by element, of two matrices"),
    "negate": _Operation("-x", lambda x, y: -x, "OpFNegate", "The negative of a matrix"),
    "scale": _Operation(
        f"x * @({_SCALAR})",
        lambda x, y: x * x.dtype.type(_SCALAR),
        "OpFMul",
        "The product of a matrix and a number",
    ),
}


def _cases() -> Iterator[MatrixCase]:
    for component in COMPONENTS.values():
        if component.is_bfloat16:
            continue
        for use in USES:
            for name, operation in _OPERATIONS.items():
                for kind in ("exact", "rounding") if component.is_float and name != "negate" else ("exact",):
                    yield matrix_case(
                        "arithmetic",
                        (component.name,),
                        (use, name, kind),
                        f"{operation.words} of {component.name}, used as {USES[use]}, is right in every"
                        f" element of {kind} data.",
                    )


def _numbers(
    random: np.random.Generator, component: Component, name: str, kind: str, shape: Shape
) -> tuple[Array, Array]:
    sizes = shape.rows, shape.columns
    if kind == "rounding":
        x, y = (
            random.uniform(0.5, 2, (UNITS, *sizes)) * random.choice([-1, 1], (UNITS, *sizes)) for _ in "xy"
        )
        return x.astype(component.dtype), y.astype(component.dtype)
    if not component.is_float:
        x, y = (data.any_bits(random, component, *sizes) for _ in "xy")
        # Divided by small numbers, so that quotients are of all sizes; none by zero or by minus one.
        divisor = data.small_integers(random, component, 11, *sizes, least=2)
        return x, divisor if name == "divide" else y
    if name == "divide":
        y = data.small_integers(random, component, 8, *sizes, least=1)
        return y * data.small_integers(random, component, 30, *sizes), y
    return data.small_integers(random, component, 30, *sizes), data.small_integers(
        random, component, 30, *sizes
    )


def _add(builder: Builder, case: MatrixCase, shape: Shape) -> Judge:
    component, (use, name, kind) = COMPONENTS[case.axes.types[0]], case.axes.variant
    operation = _OPERATIONS[name]
    x, y = _numbers(builder.random(f"{case.name} {shape}"), component, name, kind, shape)
    place = placed(shape, "row", "tight", component.size)
    around = np.zeros((UNITS, place.extent))
    regions = [builder.read(component.name, in_place(component, place, part, around)) for part in (x, y)]
    target = builder.write(component.name, place.extent)
    builder.block(
        # glslang takes the second of "x, y" for another type.
        *(f"{matrix_of(component, use, shape)} {name};" for name in "xy"),
        load("x", regions[0], place),
        load("y", regions[1], place),
        f"x = {operation.glsl.replace('@', component.glsl)};",
        store("x", target, place),
    )
    with np.errstate(over="ignore"):
        expected = operation.function(x, y)

    def judge(outputs: Outputs) -> Finding:
        memory = builder.written(outputs, target)
        # A quotient may be wrong by units of its last place, also where the exact one is a number.
        if kind == "rounding" or (component.is_float and name == "divide"):
            second = np.full_like(x, _SCALAR) if name == "scale" else y
            return in_range(component, memory, place, operation.instruction, [x, second], expected)
        return exactly(component, memory, place, expected)

    return judge


ARITHMETIC_TOPIC = Topic(
    "arithmetic", _cases, lambda case: case.axes.types, matrices_of, need_of_matrix, _add, "x = "
)
