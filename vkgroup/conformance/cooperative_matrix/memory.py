"""Topics `load` and `store`: every layout, stride and offset, from and to buffers and shared memory."""

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
from vkgroup.conformance.cooperative_matrix.component import COMPONENTS
from vkgroup.conformance.cooperative_matrix.judging import exactly, in_place, together
from vkgroup.conformance.cooperative_matrix.place import LAYOUTS, PLACES, Placement, placed
from vkgroup.conformance.cooperative_matrix.program import (
    POISON,
    UNITS,
    VECTOR,
    Builder,
    Finding,
    Judge,
    Outputs,
    Region,
    copy,
    load,
    matrix_of,
    store,
    view_size,
)
from vkgroup.conformance.cooperative_matrix.topic import Topic

MEMORIES = {
    "buffer": "a storage buffer",
    "shared": "shared memory",
    "buffer_vec4": "a storage buffer of uvec4",
    "shared_vec4": "shared memory of uvec4",
}
"""Where a matrix lies; a pointer's type need not be that of the elements."""


def _cases(topic: str, verb: str, preposition: str) -> Iterator[MatrixCase]:
    for component in COMPONENTS:
        for use in USES:
            for layout in LAYOUTS:
                for memory, where in MEMORIES.items():
                    for place, how in PLACES.items():
                        if place == "repeated" and (topic == "store" or memory != "buffer"):
                            continue
                        yield matrix_case(
                            topic,
                            (component,),
                            (use, layout, memory, place),
                            f"A matrix of {component}, used as {USES[use]}, is {verb} {preposition} {where}"
                            f" by {layout}s, {how}.",
                        )


def _variant(case: MatrixCase, shape: Shape) -> tuple[str, Placement]:
    """Return the view of the memory that a case is about, and the matrix's place there."""
    component = COMPONENTS[case.axes.types[0]]
    _, layout, memory, place = case.axes.variant
    view = VECTOR if memory.endswith("vec4") else component.name
    return view, placed(shape, layout, place, component.size, view_size(view))


def _units(placement: Placement, view: str) -> int:
    """Return the elements of a view that a placement takes."""
    return -(-placement.extent * placement.size // view_size(view))


def _add_load(builder: Builder, case: MatrixCase, shape: Shape) -> Judge:
    component, use = COMPONENTS[case.axes.types[0]], case.axes.variant[0]
    view, placement = _variant(case, shape)
    random = builder.random(f"{case.name} {shape}")
    numbers = data.any_bits(random, component, shape.rows, shape.columns)
    memory = in_place(component, placement, numbers, data.any_bits(random, component, placement.extent))
    # What is found with stride 0 is one row in all of them.
    expected = component.read(np.ascontiguousarray(memory[:, placement.elements]).view(np.uint8))
    source = builder.read(view, memory)
    by_rows, by_columns = (placed(shape, layout, "tight", component.size) for layout in LAYOUTS)
    rows, columns = (builder.write(component.name, out.extent) for out in (by_rows, by_columns))
    region, fill = source, ""
    if case.axes.variant[2].startswith("shared"):
        region = builder.tile(view, source.count)
        fill = f"barrier(); {copy(region, source)} barrier();"
    builder.block(
        fill,
        f"{matrix_of(component, use, shape)} m;",
        load("m", region, placement),
        store("m", rows, by_rows),
        store("m", columns, by_columns),
    )

    def judge(outputs: Outputs) -> Finding:
        return together(
            exactly(component, builder.written(outputs, rows), by_rows, expected, untouched=True),
            exactly(component, builder.written(outputs, columns), by_columns, expected, untouched=True),
        )

    return judge


def _add_store(builder: Builder, case: MatrixCase, shape: Shape) -> Judge:
    component, use = COMPONENTS[case.axes.types[0]], case.axes.variant[0]
    view, placement = _variant(case, shape)
    random = builder.random(f"{case.name} {shape}")
    numbers = data.any_bits(random, component, shape.rows, shape.columns)
    plain = placed(shape, "row", "tight", component.size)
    memory = in_place(component, plain, numbers, data.any_bits(random, component, plain.extent))
    source = builder.read(component.name, memory)
    target: Region = builder.write(view, _units(placement, view))
    lines = [f"{matrix_of(component, use, shape)} m;", load("m", source, plain)]
    if case.axes.variant[2].startswith("shared"):
        poison = builder.read(view, np.full((UNITS, target.count * view_size(view)), POISON, np.uint8))
        tile = builder.tile(view, target.count)
        lines += [f"barrier(); {copy(tile, poison)} barrier();", store("m", tile, placement), "barrier();"]
        lines.append(copy(target, tile))
    else:
        lines.append(store("m", target, placement))
    builder.block(*lines)

    def judge(outputs: Outputs) -> Finding:
        return exactly(component, builder.written(outputs, target), placement, numbers, untouched=True)

    return judge


LOAD_TOPIC = Topic(
    "load",
    lambda: _cases("load", "loaded", "from"),
    lambda case: case.axes.types,
    matrices_of,
    need_of_matrix,
    _add_load,
    "coopMatLoad(m",
)

STORE_TOPIC = Topic(
    "store",
    lambda: _cases("store", "stored", "to"),
    lambda case: case.axes.types,
    matrices_of,
    need_of_matrix,
    _add_store,
    "coopMatStore(m",
)
