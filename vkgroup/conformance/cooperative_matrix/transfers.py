"""Topics `load` and `store`: all layouts, strides and offsets, in buffers and shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.cooperative_matrix import program
from vkgroup.conformance.cooperative_matrix.case import COMPONENTS, USES, MatrixCase, MatrixShape, matrix_case
from vkgroup.conformance.cooperative_matrix.comparing import exactly
from vkgroup.conformance.cooperative_matrix.program import (
    Builder,
    Matrix,
    MatrixPlacement,
    OutputComparison,
    Outputs,
    Topic,
)
from vkgroup.record.record import Status

MEMORIES = {
    "buffer": "a storage buffer",
    "shared": "shared memory",
    "buffer_vec4": "a storage buffer of uvec4",
    "shared_vec4": "shared memory of uvec4",
}
"""Memory of a matrix; the pointer's type may differ from that of the elements."""


def _cases(topic: str, verb: str, preposition: str) -> Iterator[MatrixCase]:
    for component, use, layout, memory, place in product(
        COMPONENTS, USES, program.LAYOUTS, MEMORIES, program.PLACES
    ):
        if place == "repeated" and (topic == "store" or memory != "buffer"):
            continue
        sentence = (
            f"A matrix of {component}, used as {USES[use]}, is {verb} {preposition} {MEMORIES[memory]}"
            f" by {layout}s, {program.PLACES[place]}."
        )
        yield matrix_case(topic, (component,), (use, layout, memory, place), sentence)


def _memory_of(case: MatrixCase, shape: MatrixShape) -> tuple[str, MatrixPlacement]:
    """Return the view of the memory that a case tests, and the placement of the matrix there."""
    component = COMPONENTS[case.axes.types[0]]
    _, layout, memory, place = case.axes.variant
    view = program.VECTOR if memory.endswith("vec4") else component.name
    return view, program.placed(shape, component.size, layout, place, unit=program.view_size(view))


def _add_load(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    component, (use, _, memory, _) = COMPONENTS[case.axes.types[0]], case.axes.variant
    view, placement = _memory_of(case, shape)
    random = builder.random(f"{case.name} {shape}")
    numbers = program.any_bits(random, component, shape.rows, shape.columns)
    contents = program.in_place(
        component, placement, numbers, program.any_bits(random, component, placement.extent)
    )
    # With stride 0 all rows are in the same place.
    expected = component.read(np.ascontiguousarray(contents[:, placement.elements]).view(np.uint8))
    region = builder.read(view, contents)
    targets = [
        builder.output(component, program.placed(shape, component.size, layout)) for layout in program.LAYOUTS
    ]
    fill = ""
    if memory.startswith("shared"):
        tile = builder.tile(view, region.count)
        fill, region = f"barrier(); {program.copy(tile, region)} barrier();", tile
    builder.block(
        fill,
        f"{program.matrix_of(component, use, shape)} m;",
        program.load("m", Matrix(component, placement, region)),
        *(program.store("m", target) for target in targets),
    )
    comparisons = [exactly(target, expected) for target in targets]

    def compare(outputs: Outputs) -> Verdict:
        verdicts = [compare_one(outputs) for compare_one in comparisons]
        failed = [verdict for verdict in verdicts if verdict.status == Status.FAIL]
        shown = (failed or verdicts)[0]
        return Verdict(
            shown.status, sum(verdict.defined for verdict in verdicts), 0, shown.detail, shown.evidence
        )

    return compare


def _add_store(builder: Builder, case: MatrixCase, shape: MatrixShape) -> OutputComparison:
    component, (use, _, memory, _) = COMPONENTS[case.axes.types[0]], case.axes.variant
    view, placement = _memory_of(case, shape)
    random = builder.random(f"{case.name} {shape}")
    numbers = program.any_bits(random, component, shape.rows, shape.columns)
    plain = program.placed(shape, component.size)
    source = builder.input(component, plain, numbers, program.any_bits(random, component, plain.extent))
    region = builder.write(view, -(-placement.extent * placement.size // program.view_size(view)))
    target = Matrix(component, placement, region)
    lines = [f"{program.matrix_of(component, use, shape)} m;", program.load("m", source)]
    if memory.startswith("shared"):
        poison = builder.read(
            view, np.full((program.UNITS, region.count * program.view_size(view)), program.POISON, np.uint8)
        )
        tile = builder.tile(view, region.count)
        lines += [
            f"barrier(); {program.copy(tile, poison)} barrier();",
            program.store("m", Matrix(component, placement, tile)),
            "barrier();",
            program.copy(region, tile),
        ]
    else:
        lines.append(program.store("m", target))
    builder.block(*lines)
    return exactly(target, numbers)


LOAD_TOPIC = Topic("load", lambda: _cases("load", "loaded", "from"), _add_load, "coopMatLoad(m")
STORE_TOPIC = Topic("store", lambda: _cases("store", "stored", "to"), _add_store, "coopMatStore(m")
