"""Topic `multiply_add`: A · B + C in every combination of types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.cooperative_matrix import program
from vkgroup.conformance.cooperative_matrix.case import (
    COMBINATIONS,
    COMPONENTS,
    Array,
    Combination,
    MatrixCase,
    MatrixShape,
    listed,
    matrix_case,
)
from vkgroup.conformance.cooperative_matrix.comparing import exactly
from vkgroup.conformance.cooperative_matrix.program import Builder, Matrix, OutputComparison, Outputs, Topic
from vkgroup.device import Capabilities
from vkgroup.record.record import Status
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
"""Forms of a product of exact data, besides the layouts of A, B, and C with the result."""

_SIGNIFICAND = 11
"""Maximum number of bits of exact sums; hardware keeps at least this many for every floating-point type."""


def _cases() -> Iterator[MatrixCase]:
    for name, combination in COMBINATIONS.items():
        subject = f"The product of {name.replace('_', ', ')}"
        for order in _ORDERS:
            layouts = " and ".join(
                f"{matrix} by {_LAYOUTS[letter]}s" for matrix, letter in zip("ABC", order, strict=True)
            )
            sentence = f"{subject}, loaded with {layouts}."
            yield matrix_case("multiply_add", (name,), ("exact", order), sentence)
        for form, words in _FORMS.items():
            if form != "zero" or not combination.saturating:
                yield matrix_case("multiply_add", (name,), ("exact", form), f"{subject}, {words}.")
        if COMPONENTS[combination.a].is_float:
            text = f"{subject} of numbers whose sums must be rounded, which the specification leaves open."
            yield matrix_case("multiply_add", (name,), ("rounding", "rrr"), text)


# --- data -----------------------------------------------------------------------------------------------


def _data(builder: Builder, case: MatrixCase, shape: MatrixShape) -> tuple[Array, Array, Array]:
    """Return A, B and C as `exact_product` does."""
    random = builder.random(f"{case.name} {shape}")
    combination, (data, form) = COMBINATIONS[case.axes.types[0]], case.axes.variant
    if data == "rounding":
        return _rounding_product(random, combination, shape)
    steps = _STEPS if form == "accumulated" else 1
    if combination.saturating:
        return _saturating_product(random, combination, shape, steps)
    a, b, c = exact_product(random, combination, shape, steps)
    return a, b, np.zeros_like(c) if form == "zero" else c


def _sizes(shape: MatrixShape, steps: int) -> tuple[tuple[int, ...], ...]:
    """Return the sizes of A, B and C for one unit."""
    return (steps, shape.rows, shape.inner), (steps, shape.inner, shape.columns), (shape.rows, shape.columns)


def exact_product(
    random: np.random.Generator, combination: Combination, shape: MatrixShape, steps: int = 1
) -> tuple[Array, Array, Array]:
    """Return A, B and C whose product is exact in every order of additions, in types with enough digits.

    Shapes: A (UNITS, steps, rows, inner), B (UNITS, steps, inner, columns), C (UNITS, rows, columns). Floats:
    every partial sum of `steps` products is an integer of at most 11 bits, which the narrowest of the
    four types can represent. Integers: any numbers; overflow keeps the low bits in every order.
    """
    components, sizes = [COMPONENTS[name] for name in combination.types], _sizes(shape, steps)
    if not components[0].is_float:
        a, b, c = (
            program.any_bits(random, component, *size)
            for component, size in zip(components, sizes, strict=False)
        )
        return a, b, c
    largest = 2 ** min(_SIGNIFICAND, *(component.digits for component in components))
    limit = max(1, int((0.7 * largest / (steps * shape.inner)) ** 0.5))
    a = program.small_integers(random, components[0], limit, *sizes[0])
    # If even the sum of products of ones is too large, only this many numbers of a row are nonzero.
    nonzero = int(0.7 * largest / limit**2)
    a[..., max(1, nonzero // steps) :] = 0
    b = program.small_integers(random, components[1], limit, *sizes[1])
    c = program.small_integers(random, components[2], int(0.3 * largest), *sizes[2])
    return a, b, c


def _rounding_product(
    random: np.random.Generator, combination: Combination, shape: MatrixShape
) -> tuple[Array, Array, Array]:
    """Return A, B and C of floats near 1 with all their bits, whose sums must be rounded."""
    a, b, c = (
        COMPONENTS[name].rounded(
            random.uniform(0.5, 2, (program.UNITS, *size))
            * random.choice([-1.0, 1.0], (program.UNITS, *size))
        )
        for name, size in zip(combination.types, _sizes(shape, 1), strict=False)
    )
    return a, b, c


def _saturating_product(
    random: np.random.Generator, combination: Combination, shape: MatrixShape, steps: int
) -> tuple[Array, Array, Array]:
    """Return A and B of small integers, and C near the limits of its type, so that many sums saturate."""
    a, b = (
        program.small_integers(random, COMPONENTS[name], 100, *size)
        for name, size in zip(combination.types, _sizes(shape, steps)[:2], strict=False)
    )
    dtype = COMPONENTS[combination.c].dtype
    limits = np.iinfo(dtype)
    near = random.integers(0, 50 * shape.inner, (program.UNITS, shape.rows, shape.columns))
    top = random.integers(0, 2, near.shape) == 1
    return a, b, np.where(top, limits.max - near, limits.min + near).astype(dtype)


# --- code and comparison --------------------------------------------------------------------------------


def _add(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    combination, (data, form) = COMBINATIONS[case.axes.types[0]], case.axes.variant
    components = [COMPONENTS[name] for name in combination.types]
    a, b, c = _data(builder, case, shape)
    order = form if form in _ORDERS else "rrr"
    m, n, k = shape.rows, shape.columns, shape.inner
    placements = [
        program.placed(MatrixShape(*size), component.size, _LAYOUTS[letter])
        for size, letter, component in zip(
            ((m, k), (k, n), (m, n), (m, n)), order + order[2], components, strict=True
        )
    ]
    inputs = [
        [builder.input(component, placement, part) for part in parts]
        for component, placement, parts in zip(
            components, placements, (list(a.swapaxes(0, 1)), list(b.swapaxes(0, 1)), [c]), strict=False
        )
    ]
    target = builder.output(components[3], placements[3])
    builder.block(*_lines(builder, case, shape, inputs), program.store("d", target))
    if data == "rounding":
        return _measured(target, combination, a, b, c)
    product = _expected(combination, a, b, c)
    if form == "branch":
        odd = (np.arange(program.UNITS) % 2 == 1)[:, None, None]
        other = c.astype(components[3].dtype)
        product = Product(np.where(odd, product.value, other), np.where(odd, product.defined, True))
    untouched = bool(product.defined.all())
    return exactly(target, product.value, defined=product.defined, untouched=untouched)


def _expected(combination: Combination, a: Array, b: Array, c: Array) -> Product:
    """Return the result after all steps: (UNITS, rows, columns)."""
    result = COMPONENTS[combination.result].dtype
    value, defined = c, np.ones(c.shape, np.bool_)
    for step in range(a.shape[1]):
        product = multiply_add(a[:, step], b[:, step], value, result, saturating=combination.saturating)
        value, defined = product.value, defined & product.defined
    return Product(value, defined)


def _lines(
    builder: Builder, case: MatrixCase, shape: MatrixShape, inputs: Sequence[Sequence[Matrix]]
) -> list[str]:
    """Return the code that computes d; `inputs` has the matrices a, b and c, of each step."""
    combination, form = COMBINATIONS[case.axes.types[0]], case.axes.variant[1]
    m, n, k = str(shape.rows), str(shape.columns), str(shape.inner)
    if form == "specialized":
        m, n, k = (builder.constant(number) for number in (shape.rows, shape.columns, shape.inner))
    a, b, c, d = (
        program.matrix_type(COMPONENTS[name], use, *size)
        for name, use, size in zip(combination.types, "abcc", ((m, k), (k, n), (m, n), (m, n)), strict=True)
    )
    flags = ", gl_MatrixOperandsSaturatingAccumulation" if combination.saturating else ""
    lines = [f"{glsl} {name};" for glsl, name in zip((a, b, c, d), "abcd", strict=True)]
    lines.append(f"c = {c}(0);" if form == "zero" else program.load("c", inputs[2][0]))
    start = "d = c;" if c == d else f"d = {d}(c);"
    multiply = f"d = coopMatMulAdd(a, b, c{flags});"
    if form == "function":
        name = f"product_{len(builder.code)}"
        builder.declarations.append(
            f"{d} {name}({a} a, {b} b, {c} c) {{ return coopMatMulAdd(a, b, c{flags}); }}"
        )
        multiply = f"d = {name}(a, b, c);"
    if form == "accumulated":
        lines += [start, f"for (uint step = 0u; step < {_STEPS}u; ++step) {{"]
        for name, (first, second, *_) in zip("ab", inputs, strict=False):
            # The regions of the steps are equally far apart.
            skipped = f"step * {second.region.first - first.region.first}u"
            lines.append(program.load(name, replace(first, region=replace(first.region, skipped=skipped))))
        added = "d" if c == d else f"{c}(d)"
        return [*lines, f"d = coopMatMulAdd(a, b, {added}{flags});", "}"]
    for name, (matrix, *_) in zip("ab", inputs, strict=False):
        if form == "shared":
            # One after the other, because matrices of the same type share memory.
            tile = builder.tile(matrix.region.view, matrix.region.count)
            lines.append(f"barrier(); {program.copy(tile, matrix.region)} barrier();")
            lines.append(program.load(name, replace(matrix, region=tile)))
        else:
            lines.append(program.load(name, matrix))
    if form == "branch":
        multiply = f"if ((unit & 1u) == 1u) {{ {multiply} }} else {{ {start} }}"
    return [*lines, multiply]


def _measured(target: Matrix, combination: Combination, a: Array, b: Array, c: Array) -> OutputComparison:
    """Return a function that counts a product of floats as undefined and measures its error.

    The specification leaves the internal precision open (Vulkan 1.4, "Precision of Core SPIR-V Instructions":
    "in an implementation-dependent order and internal precision"). The detail has the largest error divided
    by the bound of an implementation that rounds each product and each of the k sums to the result's type, in
    any order, to either side: ((1 + u)^(k + 1) - 1) (|A| · |B| + |C|), u = 2^(1 - digits).
    """

    def compare(outputs: Outputs) -> Verdict:
        result, got = COMPONENTS[combination.result], target.numbers(outputs)
        left, right, added = (numbers.astype(np.float64) for numbers in (a[:, 0], b[:, 0], c))
        unit = 2.0 ** (1 - result.digits)
        bound = ((1 + unit) ** (left.shape[2] + 1) - 1) * (np.abs(left) @ np.abs(right) + np.abs(added))
        largest = float(np.max(np.abs(got.astype(np.float64) - (left @ right + added)) / bound))
        note = f"the largest error is {largest:.3f} of what rounding every operation to {result.name} permits"
        return Verdict(Status.UNDEFINED, 0, got.size, note)

    return compare


def _shapes(case: MatrixCase, capabilities: Capabilities) -> tuple[MatrixShape, ...]:
    """Return the shapes that a device lists for the combination, without duplicates."""
    combination = COMBINATIONS[case.axes.types[0]]
    shapes = [MatrixShape(row.m, row.n, row.k) for types, row in listed(capabilities) if types == combination]
    return tuple(dict.fromkeys(shapes))


def _needs(case: MatrixCase) -> str:
    combination = COMBINATIONS[case.axes.types[0]]
    words = " × ".join(COMPONENTS[name].vulkan for name in combination.types[:2])
    ends = " to ".join(COMPONENTS[name].vulkan for name in combination.types[2:])
    saturating = ", saturating" if combination.saturating else ""
    return f"a cooperative matrix product of {words} added to {ends}{saturating} in subgroups"


PRODUCT_TOPIC = Topic(
    "multiply_add",
    _cases,
    _add,
    "coopMatMulAdd(",
    components=lambda case: COMBINATIONS[case.axes.types[0]].types,
    shapes=_shapes,
    needs=_needs,
)
