"""Topic `convert`: a matrix of one type made of a matrix of another, element by element."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vkgroup.conformance.cooperative_matrix import data
from vkgroup.conformance.cooperative_matrix.case import USES, MatrixCase, Shape, matrices, matrix_case
from vkgroup.conformance.cooperative_matrix.component import COMPONENTS, Array, Component
from vkgroup.conformance.cooperative_matrix.judging import exactly, in_place
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
from vkgroup.device import Capabilities

_PAIRED = {"a": ("f16", "f32", "s8", "u8", "s16", "u16"), "c": ("f16", "f32", "s32", "u32")}
_PAIRED["b"] = _PAIRED["a"]


def _pairs(use: str) -> Iterator[tuple[str, str]]:
    for source in _PAIRED[use]:
        for target in _PAIRED[use]:
            if source != target:
                yield source, target
    # As bfloat16 stands in float16's place while a module is compiled, it meets no float16.
    yield "bf16", "f32"
    yield "f32", "bf16"


def _cases() -> Iterator[MatrixCase]:
    for use in USES:
        for source, target in _pairs(use):
            yield matrix_case(
                "convert",
                (source, target),
                (use,),
                f"A matrix of {source}, used as {USES[use]}, becomes one of {target} with the same numbers.",
            )


def _numbers(random: np.random.Generator, source: Component, target: Component, shape: Shape) -> Array:
    """Return numbers whose conversion is exact, or rounds towards zero to an integer, or keeps low bits."""
    if not source.is_float and not target.is_float:
        return data.any_bits(random, source, shape.rows, shape.columns)
    low = 0 if "u" in (source.dtype.kind, target.dtype.kind) else -120
    numbers = random.integers(low, 120, (UNITS, shape.rows, shape.columns)).astype(np.float64)
    if source.is_float and not target.is_float and not source.is_bfloat16:
        numbers += np.copysign(random.integers(0, 4, numbers.shape) / 4, numbers)
    return numbers.astype(source.dtype)


def _shapes(case: MatrixCase, capabilities: Capabilities) -> tuple[Shape, ...]:
    """Return the shapes that both types are listed in."""
    both = [matrices(component, case.axes.variant[0], capabilities) for component in case.axes.types]
    return tuple(shape for shape in both[0] if shape in both[1])


def _needs(case: MatrixCase) -> str:
    both = " and of ".join(COMPONENTS[component].vulkan for component in case.axes.types)
    return f"cooperative matrices of one shape of {both} as {USES[case.axes.variant[0]]} in subgroups"


def _add(builder: Builder, case: MatrixCase, shape: Shape) -> Judge:
    source, target = (COMPONENTS[name] for name in case.axes.types)
    (use,) = case.axes.variant
    numbers = _numbers(builder.random(f"{case.name} {shape}"), source, target, shape)
    before, after = (placed(shape, "row", "tight", component.size) for component in (source, target))
    around = np.zeros((UNITS, before.extent))
    region = builder.read(source.name, in_place(source, before, numbers, around))
    out = builder.write(target.name, after.extent)
    builder.block(
        f"{matrix_of(source, use, shape)} m;",
        load("m", region, before),
        f"{matrix_of(target, use, shape)} n = {matrix_of(target, use, shape)}(m);",
        store("n", out, after),
    )
    expected = numbers.astype(target.dtype)

    def judge(outputs: Outputs) -> Finding:
        return exactly(target, builder.written(outputs, out), after, expected, untouched=True)

    return judge


CONVERSION_TOPIC = Topic(
    "convert", _cases, lambda case: case.axes.types, _shapes, _needs, _add, "n = coopmat"
)
