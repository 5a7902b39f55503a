"""Topics `elements`, `fill` and `variables`: matrices as composites, as constants, and in variables."""

from __future__ import annotations

from collections.abc import Iterator

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
from vkgroup.conformance.cooperative_matrix.judging import exactly, in_place
from vkgroup.conformance.cooperative_matrix.place import Placement, placed
from vkgroup.conformance.cooperative_matrix.program import (
    UNITS,
    Builder,
    Finding,
    Judge,
    Outputs,
    Region,
    load,
    matrix_of,
    store,
)
from vkgroup.conformance.cooperative_matrix.topic import Topic

_VALUES = 113
"""Numbers from 0 on that every type has."""

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
        for use in USES:
            for test, sentence in table.items():
                if test == "modify" and component.is_bfloat16:
                    continue
                text = words.format(sentence)
                text = f"{text} ({component.name}, used as {USES[use]})."
                yield matrix_case(topic, (component.name,), (use, test), text)


def _input(builder: Builder, component: Component, place: Placement, numbers: Array) -> Region:
    around = np.zeros((UNITS, place.extent))
    return builder.read(component.name, in_place(component, place, numbers, around))


def _plain(component: Component, shape: Shape) -> Placement:
    return placed(shape, "row", "tight", component.size)


def _small(builder: Builder, case: MatrixCase, component: Component, shape: Shape, number: int = 0) -> Array:
    """Return whole numbers from 0 to 60, whose doubles every type has."""
    random = builder.random(f"{case.name} {shape} {number}")
    return data.small_integers(random, component, 60, shape.rows, shape.columns, least=0)


# --- components ---------------------------------------------------------------------------------------


def _add_elements(builder: Builder, case: MatrixCase, shape: Shape) -> Judge:
    component, (use, test) = COMPONENTS[case.axes.types[0]], case.axes.variant
    kind, place = matrix_of(component, use, shape), _plain(component, shape)
    if test in ("length", "read"):
        return _add_observed(builder, case, shape)
    x, y = (_small(builder, case, component, shape, number) for number in (0, 1))
    regions = [_input(builder, component, place, numbers) for numbers in (x, y)]
    target = builder.write(component.name, place.extent)
    body = {
        "write": f"for (int i = 0; i < m.length(); ++i) m[i] = in_{component.name}[{regions[1].start}];",
        "copy": "for (int i = 0; i < m.length(); ++i) m[i] = n[i];",
        "modify": (
            "for (int i = 0; i < m.length(); i += 2) m[i] = m[i] + m[i];\n"
            "for (int i = 1; i < m.length(); i += 2) m[i] = m[i] + m[i];"
        ),
    }[test]
    builder.block(
        f"{kind} m; {kind} n;",
        load("m", regions[0], place),
        load("n", regions[1], place),
        body,
        store("m", target, place),
    )
    expected = {"write": np.broadcast_to(y[:, :1, :1], y.shape), "copy": y, "modify": x + x}[test]
    return _exact(builder, component, target, place, expected)


def _exact(
    builder: Builder, component: Component, target: Region, place: Placement, expected: Array
) -> Judge:
    def judge(outputs: Outputs) -> Finding:
        return exactly(component, builder.written(outputs, target), place, expected, untouched=True)

    return judge


def _add_observed(builder: Builder, case: MatrixCase, shape: Shape) -> Judge:
    """Count what lanes have: `_VALUES` counters, and behind them the sum of the lengths."""
    component, (use, test) = COMPONENTS[case.axes.types[0]], case.axes.variant
    place = _plain(component, shape)
    numbers = np.arange(shape.rows * shape.columns).reshape(shape.rows, shape.columns) * 37 % _VALUES
    # Numbers come unequally often, so that one for another shows.
    numbers = np.where(numbers < 7, 3, numbers)
    source = _input(builder, component, place, np.broadcast_to(numbers, (UNITS, *numbers.shape)).copy())
    zero = builder.read("u32", np.zeros((UNITS, _VALUES + 1), np.uint32))
    target = builder.write("u32", _VALUES + 1)
    counter = f"out_u32[{target.start} + "
    builder.block(
        f"for (uint e = lane; e < {_VALUES + 1}u; e += lanes) {counter}e] = in_u32[{zero.start} + e];",
        "subgroupMemoryBarrier(); subgroupBarrier();",
        f"{matrix_of(component, use, shape)} m;",
        load("m", source, place),
        f"atomicAdd({counter}{_VALUES}u], uint(m.length()));",
        "for (int i = 0; i < m.length(); ++i)",
        f"    atomicAdd({counter}min(uint(float(m[i])), {_VALUES - 1}u)], 1u);",
    )
    wanted = np.bincount(numbers.ravel(), minlength=_VALUES)
    count = shape.rows * shape.columns

    def judge(outputs: Outputs) -> Finding:
        counters = builder.written(outputs, target).view(np.uint32)[:, : _VALUES + 1].astype(np.int64)
        seen, lengths = counters[:, :_VALUES], counters[:, _VALUES]
        if test == "length":
            short = lengths < count
            text = f"the lengths' sum is {int(lengths.min())}, and the matrix has {count} elements"
            return Finding(UNITS, 0, text if short.any() else "", f"{int(lengths[0])} components in all")
        # Whether several lanes may have the same element is not said; that each is somewhere is.
        wrong = (seen < wanted) | ((wanted == 0) & (seen != 0))
        wrong |= (lengths == count)[:, None] & (seen != wanted)
        text = ""
        if wrong.any():
            unit, number = np.argwhere(wrong)[0]
            text = (
                f"subgroup {unit}: {seen[unit, number]} components are {number}, of {wanted[number]} elements"
            )
        return Finding(UNITS * count, 0, text)

    return judge


# --- constants ----------------------------------------------------------------------------------------


def _add_fill(builder: Builder, case: MatrixCase, shape: Shape) -> Judge:
    component, (use, test) = COMPONENTS[case.axes.types[0]], case.axes.variant
    kind, place = matrix_of(component, use, shape), _plain(component, shape)
    target = builder.write(component.name, place.extent)
    x = _small(builder, case, component, shape)
    # Constants of bfloat16 cannot be written in GLSL, but for zero, whose bits are those of float16.
    number = 0 if component.is_bfloat16 else 5
    expression = f"{component.glsl}({number})"
    expected = np.full(x.shape, number, component.dtype)
    if test == "dynamic":
        region = _input(builder, component, place, x)
        expression = f"in_{component.name}[{region.start}]"
        expected = np.broadcast_to(x[:, :1, :1], x.shape)
    builder.block(f"{kind} m = {kind}({expression});", store("m", target, place))
    return _exact(builder, component, target, place, expected)


# --- variables ----------------------------------------------------------------------------------------


def _add_variables(builder: Builder, case: MatrixCase, shape: Shape) -> Judge:
    component, (use, test) = COMPONENTS[case.axes.types[0]], case.axes.variant
    kind, place = matrix_of(component, use, shape), _plain(component, shape)
    x, y = (_small(builder, case, component, shape, number) for number in (0, 1))
    regions = [_input(builder, component, place, numbers) for numbers in (x, y)]
    target = builder.write(component.name, place.extent)
    name = f"{test}_{builder.blocks}"
    if test == "array":
        # Of three, the one that the subgroup's number in the dispatch says.
        lines = [f"{kind} m[3];", load("m[0]", regions[0], place), load("m[2]", regions[0], place)]
        lines += [load("m[1]", regions[1], place), f"{kind} n = m[unit % 3u];"]
        expected = np.where((np.arange(UNITS) % 3 == 1)[:, None, None], y, x)
    elif test == "function":
        builder.define(
            f"{kind} {name}({kind} first, inout {kind} second) {{ second = first; return second; }}"
        )
        lines = [f"{kind} m; {kind} other;", load("m", regions[1], place), load("other", regions[0], place)]
        lines += [f"{kind} n = {name}(m, other);", "n = other;"]
        expected = y
    else:
        builder.define(f"{kind} kept_{name};\nvoid {name}() {{ {load(f'kept_{name}', regions[1], place)} }}")
        lines = [f"{name}();", f"{kind} n = kept_{name};"]
        expected = y
    builder.block(*lines, store("n", target, place))
    return _exact(builder, component, target, place, expected)


ELEMENT_TOPIC = Topic(
    "elements",
    lambda: _cases_of("elements", _ELEMENTS, "{}"),
    lambda case: (*case.axes.types, "u32"),
    matrices_of,
    need_of_matrix,
    _add_elements,
    "m[i]",
)

FILL_TOPIC = Topic(
    "fill",
    lambda: _cases_of("fill", _FILL, "A matrix {} has it in every element"),
    lambda case: case.axes.types,
    matrices_of,
    need_of_matrix,
    _add_fill,
    "m = coopmat",
)

VARIABLE_TOPIC = Topic(
    "variables",
    lambda: _cases_of("variables", _VARIABLES, "{}"),
    lambda case: case.axes.types,
    matrices_of,
    need_of_matrix,
    _add_variables,
    "n = ",
)
