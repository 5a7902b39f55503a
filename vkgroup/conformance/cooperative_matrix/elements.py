"""Topics of elements: arithmetic, conversions, components, constants, and matrices in variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from vkgroup.conformance import marks
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.cooperative_matrix.case import (
    COMPONENTS,
    USES,
    Array,
    Component,
    MatrixCase,
    MatrixShape,
    matrices,
    matrix_case,
)
from vkgroup.conformance.cooperative_matrix.comparing import exactly, in_range
from vkgroup.conformance.cooperative_matrix.program import (
    UNITS,
    Builder,
    OutputComparison,
    Outputs,
    Topic,
    any_bits,
    load,
    matrix_of,
    placed,
    small_integers,
    store,
    written,
)
from vkgroup.device import Capabilities
from vkgroup.record.record import Status

# --- arithmetic ---------------------------------------------------------------------------------------

_SCALAR = 3


@dataclass(frozen=True)
class _Operation:
    """An operation on each element."""

    glsl: str  # expression of the matrices x and y; ``@`` is the element type
    function: Callable[[Array, Array], Array]  # the same on numbers of the type
    instruction: str  # instruction on floats, in the tables of precision
    words: str  # subject of the case's sentence


def _quotient(x: Array, y: Array) -> Array:
    """Return x / y, of integers rounded towards zero."""
    if x.dtype.kind == "f":
        return x / y
    wide = x.astype(np.int64), y.astype(np.int64)
    quotient = np.sign(wide[0]) * np.sign(wide[1]) * (np.abs(wide[0]) // np.abs(wide[1]))
    return np.asarray(quotient).astype(x.dtype)


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


def _arithmetic_cases() -> Iterator[MatrixCase]:
    for component in COMPONENTS.values():
        if component.encoding:
            continue
        for use in USES:
            for name, operation in _OPERATIONS.items():
                for data in ("exact", "rounding") if component.is_float and name != "negate" else ("exact",):
                    sentence = (
                        f"{operation.words} of {component.name}, used as {USES[use]}, is right in every"
                        f" element of {data} data."
                    )
                    yield matrix_case("arithmetic", (component.name,), (use, name, data), sentence)


def _operands(
    random: np.random.Generator, component: Component, name: str, data: str, shape: MatrixShape
) -> tuple[Array, Array]:
    sizes = shape.rows, shape.columns
    if data == "rounding":
        x, y = (
            random.uniform(0.5, 2, (UNITS, *sizes)) * random.choice([-1, 1], (UNITS, *sizes)) for _ in "xy"
        )
        return x.astype(component.dtype), y.astype(component.dtype)
    if not component.is_float:
        x, y = (any_bits(random, component, *sizes) for _ in "xy")
        # Small divisors give quotients of all sizes; none is zero or minus one.
        divisor = small_integers(random, component, 11, *sizes, least=2)
        return x, divisor if name == "divide" else y
    if name == "divide":
        y = small_integers(random, component, 8, *sizes, least=1)
        return y * small_integers(random, component, 30, *sizes), y
    x, y = (small_integers(random, component, 30, *sizes) for _ in "xy")
    return x, y


def _add_arithmetic(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    component, (use, name, data) = COMPONENTS[case.axes.types[0]], case.axes.variant
    operation, placement = _OPERATIONS[name], placed(shape, component.size)
    x, y = _operands(builder.random(f"{case.name} {shape}"), component, name, data, shape)
    inputs = [builder.input(component, placement, numbers) for numbers in (x, y)]
    target = builder.output(component, placement)
    builder.block(
        # glslang takes the second of "x, y" for another type.
        *(f"{matrix_of(component, use, shape)} {variable};" for variable in "xy"),
        load("x", inputs[0]),
        load("y", inputs[1]),
        f"x = {operation.glsl.replace('@', component.glsl)};",
        store("x", target),
    )
    with np.errstate(over="ignore"):
        expected = operation.function(x, y)
    # A quotient may be wrong by some ULP, even if the exact one is a number of the type.
    if data == "rounding" or (component.is_float and name == "divide"):
        second = np.full_like(x, _SCALAR) if name == "scale" else y
        return in_range(target, operation.instruction, [x, second], expected)
    return exactly(target, expected, untouched=False)


ARITHMETIC_TOPIC = Topic("arithmetic", _arithmetic_cases, _add_arithmetic, "x = ")

# --- conversions --------------------------------------------------------------------------------------

_CONVERTED = {
    use: ("f16", "f32", "s32", "u32") if use == "c" else ("f16", "f32", "s8", "u8", "s16", "u16")
    for use in USES
}


def _conversion_cases() -> Iterator[MatrixCase]:
    for use, types in _CONVERTED.items():
        # bfloat16 is compiled as float16, so a module cannot contain both.
        for source, target in (*permutations(types, 2), ("bf16", "f32"), ("f32", "bf16")):
            sentence = (
                f"A matrix of {source}, used as {USES[use]}, becomes one of {target} with the same numbers."
            )
            yield matrix_case("convert", (source, target), (use,), sentence)


def _convertible(
    random: np.random.Generator, source: Component, target: Component, shape: MatrixShape
) -> Array:
    """Return numbers whose conversion is exact, or rounds towards zero to an integer, or keeps low bits."""
    if not source.is_float and not target.is_float:
        return any_bits(random, source, shape.rows, shape.columns)
    low = 0 if "u" in (source.dtype.kind, target.dtype.kind) else -120
    numbers = random.integers(low, 120, (UNITS, shape.rows, shape.columns)).astype(np.float64)
    if source.is_float and not target.is_float and not source.is_bfloat16:
        numbers += np.copysign(random.integers(0, 4, numbers.shape) / 4, numbers)
    return numbers.astype(source.dtype)


def _conversion_shapes(case: MatrixCase, capabilities: Capabilities) -> tuple[MatrixShape, ...]:
    """Return the shapes that the device lists for both types."""
    both = [matrices(component, case.axes.variant[0], capabilities) for component in case.axes.types]
    return tuple(shape for shape in both[0] if shape in both[1])


def _conversion_needs(case: MatrixCase) -> str:
    both = " and of ".join(COMPONENTS[component].vulkan for component in case.axes.types)
    return f"cooperative matrices of one shape of {both} as {USES[case.axes.variant[0]]} in subgroups"


def _add_conversion(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    source, target = (COMPONENTS[name] for name in case.axes.types)
    (use,) = case.axes.variant
    numbers = _convertible(builder.random(f"{case.name} {shape}"), source, target, shape)
    before = builder.input(source, placed(shape, source.size), numbers)
    after = builder.output(target, placed(shape, target.size))
    glsl = matrix_of(target, use, shape)
    builder.block(
        f"{matrix_of(source, use, shape)} m;", load("m", before), f"{glsl} n = {glsl}(m);", store("n", after)
    )
    return exactly(after, numbers.astype(target.dtype))


CONVERSION_TOPIC = Topic(
    "convert",
    _conversion_cases,
    _add_conversion,
    "n = coopmat",
    shapes=_conversion_shapes,
    needs=_conversion_needs,
)

# --- components, constants and variables --------------------------------------------------------------

_VALUES = 113
"""Number of the integers from 0 on that every type can represent."""

_ELEMENTS = {
    "length": "The lengths of a matrix in the lanes of a subgroup are together at least its elements",
    "read": "The components that lanes have of a matrix are its elements, and nothing else",
    "write": "A number written to all components is in every element of a matrix",
    "copy": "Components written with those of another matrix make it that matrix",
    "modify": "Components that are doubled where they are, even and odd ones apart, make the doubled matrix",
}
_FILL = {
    "constant": "constructed of a constant",
    "dynamic": "constructed of a number that is read from memory",
}
_VARIABLES = {
    "array": "An array of matrices is indexed by a number that only the run tells",
    "function": "A function takes a matrix, changes another and returns a third",
    "global": "A matrix in a global variable outlives the function that stored it there",
}


def _cases_of(topic: str, table: dict[str, str], words: str) -> Iterator[MatrixCase]:
    for component in COMPONENTS.values():
        # A float of 8 bits is compiled as an integer, whose constants are others.
        for use in () if component.is_float8 else USES:
            for test, sentence in table.items():
                if test != "modify" or not component.is_bfloat16:
                    text = f"{words.format(sentence)} ({component.name}, used as {USES[use]})."
                    yield matrix_case(topic, (component.name,), (use, test), text)


def _small(
    builder: Builder, case: MatrixCase, component: Component, shape: MatrixShape, number: int = 0
) -> Array:
    """Return integers from 0 to 60; every type can represent twice their value."""
    random = builder.random(f"{case.name} {shape} {number}")
    return small_integers(random, component, 60, shape.rows, shape.columns, least=0)


def _add_elements(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    component, (use, test) = COMPONENTS[case.axes.types[0]], case.axes.variant
    if test in ("length", "read"):
        return _add_observed(builder, case, shape)
    glsl, placement = matrix_of(component, use, shape), placed(shape, component.size)
    x, y = (_small(builder, case, component, shape, number) for number in (0, 1))
    inputs = [builder.input(component, placement, numbers) for numbers in (x, y)]
    target = builder.output(component, placement)
    body, expected = {
        "write": (
            f"for (int i = 0; i < m.length(); ++i) m[i] = in_{component.name}[{inputs[1].region.start}];",
            np.broadcast_to(y[:, :1, :1], y.shape),
        ),
        "copy": ("for (int i = 0; i < m.length(); ++i) m[i] = n[i];", y),
        "modify": (
            "for (int i = 0; i < m.length(); i += 2) m[i] = m[i] + m[i];\n"
            "for (int i = 1; i < m.length(); i += 2) m[i] = m[i] + m[i];",
            x + x,
        ),
    }[test]
    builder.block(
        f"{glsl} m; {glsl} n;", load("m", inputs[0]), load("n", inputs[1]), body, store("m", target)
    )
    return exactly(target, expected)


def _add_observed(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    """Count the components of all lanes: `_VALUES` counters, then the sum of the lengths.

    The counters begin with marks, so that the counts of another case are no counts of this one.
    """
    component, (use, test) = COMPONENTS[case.axes.types[0]], case.axes.variant
    first = marks.salt_of(case.name) % _VALUES
    numbers = (first + np.arange(shape.rows * shape.columns) * 37).reshape(
        shape.rows, shape.columns
    ) % _VALUES
    # Numbers occur with different frequencies, so swapped ones are detected.
    numbers = np.where(numbers < 7, 3, numbers)
    every_unit = np.broadcast_to(numbers, (UNITS, *numbers.shape)).copy()
    source = builder.input(component, placed(shape, component.size), every_unit)
    begin = marks.marks(np.arange(UNITS * (_VALUES + 1)), marks.salt_of(case.name)).reshape(UNITS, -1)
    beginning = builder.read("u32", begin)
    target = builder.write("u32", _VALUES + 1)
    counter = f"out_u32[{target.start} + "
    builder.block(
        f"for (uint e = lane; e < {_VALUES + 1}u; e += lanes) {counter}e] = in_u32[{beginning.start} + e];",
        "subgroupMemoryBarrier(); subgroupBarrier();",
        f"{matrix_of(component, use, shape)} m;",
        load("m", source),
        f"atomicAdd({counter}{_VALUES}u], uint(m.length()));",
        "for (int i = 0; i < m.length(); ++i)",
        f"    atomicAdd({counter}min(uint(float(m[i])), {_VALUES - 1}u)], 1u);",
    )
    wanted, count = np.bincount(numbers.ravel(), minlength=_VALUES), numbers.size

    def compare(outputs: Outputs) -> Verdict:
        counters = (written(outputs, target).view(np.uint32)[:, : _VALUES + 1] - begin).astype(np.int64)
        seen, lengths = counters[:, :_VALUES], counters[:, _VALUES]
        visited = seen.sum(axis=1)
        if (visited != lengths).any():
            unit = int(np.argmax(visited != lengths))
            text = (
                f"subgroup {unit}: {visited[unit]} components were read, and the lengths' sum is"
                f" {lengths[unit]}"
            )
            return Verdict(Status.FAIL, UNITS, 0, text)
        if test == "length":
            if (lengths < count).any():
                text = f"the lengths' sum is {int(lengths.min())}, and the matrix has {count} elements"
                return Verdict(Status.FAIL, UNITS, 0, text)
            return Verdict(Status.PASS, UNITS, 0, f"{int(lengths[0])} components in all")
        # Several lanes may have the same element; each element must occur at least once.
        wrong = (seen < wanted) | ((wanted == 0) & (seen != 0))
        wrong |= (lengths == count)[:, None] & (seen != wanted)
        if not wrong.any():
            return Verdict(Status.PASS, UNITS * count, 0)
        unit, number = np.argwhere(wrong)[0]
        text = f"subgroup {unit}: {seen[unit, number]} components are {number}, of {wanted[number]} elements"
        return Verdict(Status.FAIL, UNITS * count, 0, text)

    return compare


def _add_fill(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    component, (use, test) = COMPONENTS[case.axes.types[0]], case.axes.variant
    glsl, placement = matrix_of(component, use, shape), placed(shape, component.size)
    target = builder.output(component, placement)
    x = _small(builder, case, component, shape)
    # GLSL has no constants of bfloat16 except zero, whose bits are those of float16.
    number = 0 if component.is_bfloat16 else 5
    expression, expected = f"{component.glsl}({number})", np.full(x.shape, number, component.dtype)
    if test == "dynamic":
        region = builder.input(component, placement, x).region
        expression, expected = f"in_{component.name}[{region.start}]", np.broadcast_to(x[:, :1, :1], x.shape)
    builder.block(f"{glsl} m = {glsl}({expression});", store("m", target))
    return exactly(target, expected)


def _add_variables(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    component, (use, test) = COMPONENTS[case.axes.types[0]], case.axes.variant
    glsl, placement = matrix_of(component, use, shape), placed(shape, component.size)
    x, y = (_small(builder, case, component, shape, number) for number in (0, 1))
    first, second = (builder.input(component, placement, numbers) for numbers in (x, y))
    target = builder.output(component, placement)
    name, expected = f"{test}_{len(builder.code)}", y
    if test == "array":
        # The subgroup's number in the dispatch selects one of three.
        lines = [f"{glsl} m[3];", load("m[0]", first), load("m[2]", first), load("m[1]", second)]
        lines.append(f"{glsl} n = m[unit % 3u];")
        expected = np.where((np.arange(UNITS) % 3 == 1)[:, None, None], y, x)
    elif test == "function":
        builder.declarations.append(
            f"{glsl} {name}({glsl} first, inout {glsl} second) {{ second = first; return second; }}"
        )
        lines = [f"{glsl} m; {glsl} other;", load("m", second), load("other", first)]
        lines += [f"{glsl} n = {name}(m, other);", "n = other;"]
    else:
        builder.declarations.append(
            f"{glsl} kept_{name};\nvoid {name}() {{ {load(f'kept_{name}', second)} }}"
        )
        lines = [f"{name}();", f"{glsl} n = kept_{name};"]
    builder.block(*lines, store("n", target))
    return exactly(target, expected)


ELEMENT_TOPIC = Topic(
    "elements",
    lambda: _cases_of("elements", _ELEMENTS, "{}"),
    _add_elements,
    "m[i]",
    components=lambda case: (*case.axes.types, "u32"),
)
FILL_TOPIC = Topic(
    "fill", lambda: _cases_of("fill", _FILL, "A matrix {} has it in every element"), _add_fill, "m = coopmat"
)
VARIABLE_TOPIC = Topic("variables", lambda: _cases_of("variables", _VARIABLES, "{}"), _add_variables, "n = ")
