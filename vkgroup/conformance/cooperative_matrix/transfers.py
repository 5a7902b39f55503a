"""Topics `load` and `store`: every layout, stride and offset, from and to buffers and shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.cooperative_matrix.case import COMPONENTS, USES, MatrixCase, Shape, matrix_case
from vkgroup.conformance.cooperative_matrix.judging import exactly
from vkgroup.conformance.cooperative_matrix.program import (
    LAYOUTS,
    PLACES,
    POISON,
    UNITS,
    VECTOR,
    Builder,
    Judge,
    Matrix,
    Outputs,
    Placement,
    Topic,
    any_bits,
    copy,
    in_place,
    load,
    matrix_of,
    placed,
    store,
    view_size,
)
from vkgroup.results.record import Status

MEMORIES = {
    "buffer": "a storage buffer",
    "shared": "shared memory",
    "buffer_vec4": "a storage buffer of uvec4",
    "shared_vec4": "shared memory of uvec4",
}
"""Memory of a matrix; a pointer's type need not be that of the elements."""


def _cases(topic: str, verb: str, preposition: str) -> Iterator[MatrixCase]:
    for component, use, layout, memory, place in product(COMPONENTS, USES, LAYOUTS, MEMORIES, PLACES):
        if place == "repeated" and (topic == "store" or memory != "buffer"):
            continue
        sentence = (
            f"A matrix of {component}, used as {USES[use]}, is {verb} {preposition} {MEMORIES[memory]}"
            f" by {layout}s, {PLACES[place]}."
        )
        yield matrix_case(topic, (component,), (use, layout, memory, place), sentence)


def _memory_of(case: MatrixCase, shape: Shape) -> tuple[str, Placement]:
    """Return the view of the memory that a case tests, and the placement of the matrix there."""
    component = COMPONENTS[case.axes.types[0]]
    _, layout, memory, place = case.axes.variant
    view = VECTOR if memory.endswith("vec4") else component.name
    return view, placed(shape, component.size, layout, place, unit=view_size(view))


def _add_load(builder: Builder, case: MatrixCase, shape: Shape) -> Judge:
    component, (use, _, memory, _) = COMPONENTS[case.axes.types[0]], case.axes.variant
    view, placement = _memory_of(case, shape)
    random = builder.random(f"{case.name} {shape}")
    numbers = any_bits(random, component, shape.rows, shape.columns)
    contents = in_place(component, placement, numbers, any_bits(random, component, placement.extent))
    # With stride 0 all rows are the same one.
    expected = component.read(np.ascontiguousarray(contents[:, placement.elements]).view(np.uint8))
    region = builder.read(view, contents)
    targets = [builder.output(component, placed(shape, component.size, layout)) for layout in LAYOUTS]
    fill = ""
    if memory.startswith("shared"):
        tile = builder.tile(view, region.count)
        fill, region = f"barrier(); {copy(tile, region)} barrier();", tile
    builder.block(
        fill,
        f"{matrix_of(component, use, shape)} m;",
        load("m", Matrix(component, placement, region)),
        *(store("m", target) for target in targets),
    )
    judges = [exactly(target, expected) for target in targets]

    def judge(outputs: Outputs) -> Verdict:
        verdicts = [judge_one(outputs) for judge_one in judges]
        failed = [verdict for verdict in verdicts if verdict.status == Status.FAIL]
        shown = (failed or verdicts)[0]
        return Verdict(
            shown.status, sum(verdict.defined for verdict in verdicts), 0, shown.detail, shown.evidence
        )

    return judge


def _add_store(builder: Builder, case: MatrixCase, shape: Shape) -> Judge:
    component, (use, _, memory, _) = COMPONENTS[case.axes.types[0]], case.axes.variant
    view, placement = _memory_of(case, shape)
    random = builder.random(f"{case.name} {shape}")
    numbers = any_bits(random, component, shape.rows, shape.columns)
    plain = placed(shape, component.size)
    source = builder.input(component, plain, numbers, any_bits(random, component, plain.extent))
    region = builder.write(view, -(-placement.extent * placement.size // view_size(view)))
    target = Matrix(component, placement, region)
    lines = [f"{matrix_of(component, use, shape)} m;", load("m", source)]
    if memory.startswith("shared"):
        poison = builder.read(view, np.full((UNITS, region.count * view_size(view)), POISON, np.uint8))
        tile = builder.tile(view, region.count)
        lines += [
            f"barrier(); {copy(tile, poison)} barrier();",
            store("m", Matrix(component, placement, tile)),
            "barrier();",
            copy(region, tile),
        ]
    else:
        lines.append(store("m", target))
    builder.block(*lines)
    return exactly(target, numbers)


LOAD_TOPIC = Topic("load", lambda: _cases("load", "loaded", "from"), _add_load, "coopMatLoad(m")
STORE_TOPIC = Topic("store", lambda: _cases("store", "stored", "to"), _add_store, "coopMatStore(m")
