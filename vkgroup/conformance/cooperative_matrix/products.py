"""Topic `multiply_add`: A · B + C in every combination of types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from vkgroup.conformance.cooperative_matrix import data
from vkgroup.conformance.cooperative_matrix.case import MatrixCase, Shape, matrix_case, products
from vkgroup.conformance.cooperative_matrix.component import COMBINATIONS, COMPONENTS, Array, Combination
from vkgroup.conformance.cooperative_matrix.judging import elements, exactly, in_place
from vkgroup.conformance.cooperative_matrix.place import Placement, placed
from vkgroup.conformance.cooperative_matrix.program import (
    UNITS,
    Builder,
    Finding,
    Judge,
    Outputs,
    Region,
    copy,
    load,
    matrix_type,
    store,
)
from vkgroup.conformance.cooperative_matrix.topic import Topic
from vkgroup.device import Capabilities
from vkgroup.reference.semantics.cooperative import Product, multiply_add

_LAYOUTS = {"r": "row", "c": "column"}
_ORDERS = tuple(a + b + c for a in "rc" for b in "rc" for c in "rc")
_STEPS = 4

_FORMS = {
    "shared": "with A and B in shared memory",
    "accumulated": f"{_STEPS} times in a loop, each result the next one's C",
    "zero": "with a constant as C",
    "specialized": "with rows and columns that are specialization constants",
    "branch": "in a branch that every other subgroup takes",
    "function": "in a function that is given the matrices",
}
"""Forms of a product of exact data, beside those of the layouts of A, B, and C with the result."""


def _cases() -> Iterator[MatrixCase]:
    for name, combination in COMBINATIONS.items():
        said = f"The product of {name.replace('_', ', ')}"
        for order in _ORDERS:
            layouts = " and ".join(
                f"{matrix} by {_LAYOUTS[letter]}s" for matrix, letter in zip("ABC", order, strict=True)
            )
            yield matrix_case("multiply_add", (name,), ("exact", order), f"{said}, loaded with {layouts}.")
        for form, words in _FORMS.items():
            if form != "zero" or not combination.saturating:
                yield matrix_case("multiply_add", (name,), ("exact", form), f"{said}, {words}.")
        if COMPONENTS[combination.a].is_float:
            text = f"{said} of numbers whose sums must be rounded, which the specification leaves open."
            yield matrix_case("multiply_add", (name,), ("rounding", "rrr"), text)


def _combination(case: MatrixCase) -> Combination:
    return COMBINATIONS[case.axes.types[0]]


def _data(builder: Builder, case: MatrixCase, shape: Shape) -> tuple[Array, Array, Array]:
    random = builder.random(f"{case.name} {shape}")
    combination, (kind, form) = _combination(case), case.axes.variant
    if kind == "rounding":
        return data.rounding_product(random, combination, shape)
    steps = _STEPS if form == "accumulated" else 1
    if combination.saturating:
        return data.saturating_product(random, combination, shape, steps)
    a, b, c = data.exact_product(random, combination, shape, steps)
    return a, b, np.zeros_like(c) if form == "zero" else c


def _add(builder: Builder, case: MatrixCase, shape: Shape) -> Judge:
    combination, (kind, form) = _combination(case), case.axes.variant
    kinds = [COMPONENTS[name] for name in combination.types]
    a, b, c = _data(builder, case, shape)
    order = form if form in _ORDERS else "rrr"
    shapes = (
        Shape(shape.rows, shape.inner),
        Shape(shape.inner, shape.columns),
        Shape(shape.rows, shape.columns),
    )
    places = [
        placed(one, _LAYOUTS[letter], "tight", component.size)
        for one, letter, component in zip((*shapes, shapes[2]), (*order, order[2]), kinds, strict=True)
    ]
    steps = a.shape[1]
    inputs = [
        [
            builder.read(component.name, in_place(component, place, part, np.zeros((UNITS, place.extent))))
            for part in parts
        ]
        for component, place, parts in zip(
            kinds,
            places,
            ([a[:, s] for s in range(steps)], [b[:, s] for s in range(steps)], [c]),
            strict=False,
        )
    ]
    target = builder.write(kinds[3].name, places[3].extent)
    _write_code(builder, case, shape, inputs, places, target)
    product = _expected(combination, a, b, c)
    if form == "branch":
        product = _of_odd_units(product, c.astype(kinds[3].dtype))

    def judge(outputs: Outputs) -> Finding:
        memory = builder.written(outputs, target)
        if kind == "rounding":
            return _open(combination, elements(kinds[3], memory, places[3]), a, b, c)
        return exactly(
            kinds[3],
            memory,
            places[3],
            product.value,
            defined=product.defined,
            untouched=bool(product.defined.all()),
        )

    return judge


def _expected(combination: Combination, a: Array, b: Array, c: Array) -> Product:
    """Return the result after all steps: (UNITS, rows, columns)."""
    result = COMPONENTS[combination.result].dtype
    value, defined = c, np.ones(c.shape, np.bool_)
    for step in range(a.shape[1]):
        step_result = multiply_add(a[:, step], b[:, step], value, result, saturating=combination.saturating)
        value, defined = step_result.value, defined & step_result.defined
    return Product(value, defined)


def _of_odd_units(product: Product, otherwise: Array) -> Product:
    odd = (np.arange(UNITS) % 2 == 1)[:, None, None]
    return Product(np.where(odd, product.value, otherwise), np.where(odd, product.defined, True))


def _write_code(
    builder: Builder,
    case: MatrixCase,
    shape: Shape,
    inputs: list[list[Region]],
    places: list[Placement],
    target: Region,
) -> None:
    """Add the block of a case."""
    combination, form = _combination(case), case.axes.variant[1]
    m, n, k = str(shape.rows), str(shape.columns), str(shape.inner)
    if form == "specialized":
        m, n, k = (builder.constant(number) for number in (shape.rows, shape.columns, shape.inner))
    sizes = {"a": (m, k), "b": (k, n), "c": (m, n), "d": (m, n)}
    uses = {"a": "a", "b": "b", "c": "c", "d": "c"}
    types = {
        name: matrix_type(COMPONENTS[kind], uses[name], *sizes[name])
        for name, kind in zip("abcd", combination.types, strict=True)
    }
    flags = ", gl_MatrixOperandsSaturatingAccumulation" if combination.saturating else ""
    lines = [f"{types[name]} {name};" for name in "abcd"]
    lines.append(f"c = {types['c']}(0);" if form == "zero" else load("c", inputs[2][0], places[2]))
    multiply = f"d = coopMatMulAdd(a, b, c{flags});"
    if form == "function":
        name = f"product_{builder.blocks}"
        builder.define(
            f"{types['d']} {name}({types['a']} a, {types['b']} b, {types['c']} c) "
            f"{{ return coopMatMulAdd(a, b, c{flags}); }}"
        )
        multiply = f"d = {name}(a, b, c);"
    if form == "accumulated":
        lines += _loop(inputs, places, types, flags)
    else:
        lines += _load_both(builder, inputs, places, shared=form == "shared")
        if form == "branch":
            convert = f"d = {_as_result('c', types)};"
            multiply = f"if ((unit & 1u) == 1u) {{ {multiply} }} else {{ {convert} }}"
        lines.append(multiply)
    builder.block(*lines, store("d", target, places[3]))


def _load_both(
    builder: Builder, inputs: list[list[Region]], places: list[Placement], *, shared: bool
) -> list[str]:
    lines = []
    for name, parts, place in zip("ab", inputs, places, strict=False):
        region = parts[0]
        if shared:
            # One after the other, for both may be of one type, whose memory they share.
            tile = builder.tile(region.view, region.count)
            lines.append(f"barrier(); {copy(tile, region)} barrier();")
            region = tile
        lines.append(load(name, region, place))
    return lines


def _loop(
    inputs: list[list[Region]], places: list[Placement], types: dict[str, str], flags: str
) -> list[str]:
    """Return a loop over the steps, whose regions lie equally far apart."""
    lines = [f"d = {_as_result('c', types)};", f"for (uint step = 0u; step < {_STEPS}u; ++step) {{"]
    for name, parts, place in zip("ab", inputs, places, strict=False):
        apart = parts[1].first - parts[0].first
        lines.append(load(name, replace(parts[0], behind=f"step * {apart}u"), place))
    added = "d" if types["c"] == types["d"] else f"{types['c']}(d)"
    return [*lines, f"d = coopMatMulAdd(a, b, {added}{flags});", "}"]


def _as_result(name: str, types: dict[str, str]) -> str:
    """Return the GLSL that makes a matrix of C's type one of the result's."""
    return name if types["c"] == types["d"] else f"{types['d']}({name})"


def _open(combination: Combination, got: Array, a: Array, b: Array, c: Array) -> Finding:
    """Count a product of floats as undefined, and tell how far it is from the exact one.

    The specification leaves the internal precision open (Vulkan 1.4, "Precision of Core SPIR-V Instructions":
    "in an implementation-dependent order and internal precision"). What is told is the largest error by the
    bound of an implementation that rounds each product and each of the k sums to the result's type, in any
    order, to either side: ((1 + u)^(k + 1) - 1) (|A| · |B| + |C|), u = 2^(1 - digits).
    """
    result = COMPONENTS[combination.result]
    left, right, added = (numbers.astype(np.float64) for numbers in (a[:, 0], b[:, 0], c))
    exact = left @ right + added
    unit = 2.0 ** (1 - result.digits)
    bound = ((1 + unit) ** (left.shape[2] + 1) - 1) * (np.abs(left) @ np.abs(right) + np.abs(added))
    farthest = float(np.max(np.abs(got.astype(np.float64) - exact) / bound))
    note = f"the largest error is {farthest:.3f} of what rounding every operation to {result.name} permits"
    return Finding(0, got.size, note=note)


def _shapes(case: MatrixCase, capabilities: Capabilities) -> tuple[Shape, ...]:
    return products(_combination(case), capabilities)


def _needs(case: MatrixCase) -> str:
    combination = _combination(case)
    words = " × ".join(COMPONENTS[name].vulkan for name in combination.types[:2])
    ends = " to ".join(COMPONENTS[name].vulkan for name in combination.types[2:])
    saturating = ", saturating" if combination.saturating else ""
    return f"a cooperative matrix product of {words} added to {ends}{saturating} in subgroups"


PRODUCT_TOPIC = Topic(
    "multiply_add",
    _cases,
    lambda case: _combination(case).types,
    _shapes,
    _needs,
    _add,
    "coopMatMulAdd(",
)
