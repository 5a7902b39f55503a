"""Every subgroup function with every type in GLSL on the interpreter, against the semantics called directly.

Workgroups have 60 invocations, so the last subgroup is partial. Who was active at each observation is what
plain stores recorded, and what the program's text says; the semantics get those masks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from inputs import SIZES, values_of

from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.reference.dtypes import dtype_of
from vkgroup.reference.interpreter.execution.execute import execute
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.registry import reference_of
from vkgroup.spec.categories import ExtendedCategory
from vkgroup.spec.operations import EXTENDED_OPERATIONS, OPERATIONS, OperandKind
from vkgroup.spec.types import SCALARS, TYPES

WORKGROUPS, INVOCATIONS, CLUSTER_SIZE = 2, 60, 4
COUNT = WORKGROUPS * INVOCATIONS
SCALAR_NAMES = list(SCALARS)
OPERAND_BINDING, RAN_BINDING = 30, 31

ROWS = [row for row in OPERATIONS.values() if row.result is not None]
# What glslang 13 compiles of the others; the rest are instructions written with GL_EXT_spirv_intrinsics.
INTRINSICS = {
    "subgroupRotate": ('extensions = ["SPV_KHR_subgroup_rotate"], capabilities = [6026], id = 4431', True),
    "subgroupClusteredRotate": (
        'extensions = ["SPV_KHR_subgroup_rotate"], capabilities = [6026], id = 4431',
        True,
    ),
    "subgroupQuadAll": ('extensions = ["SPV_KHR_quad_control"], capabilities = [5087], id = 5110', False),
    "subgroupQuadAny": ('extensions = ["SPV_KHR_quad_control"], capabilities = [5087], id = 5111', False),
}
OLDER = (ExtendedCategory.ARB_BALLOT, ExtendedCategory.ARB_VOTE)
EXTENDED_ROWS = [row for row in EXTENDED_OPERATIONS.values() if row.category not in OLDER]

PROGRAM = """#version 460
{extensions}
layout(local_size_x = {invocations}) in;
layout(std430, binding = {operand_binding}) buffer Operands {{ uint operands[]; }};
layout(std430, binding = {ran_binding}) buffer Ran {{ uint ran[]; }};
{buffers}
{declarations}
void observe(uint slot) {{
    uint i = gl_GlobalInvocationID.x;
    uint at = slot * {count} + i;
    ran[at] = 1u;
{observations}
}}
{main}
"""


class Flow(NamedTuple):
    """A main function that observes, and who takes part in each observation, by its text."""

    main: str
    reached: tuple[Callable[[int], bool], ...]


HALVES = Flow(
    """void main() {
    uint i = gl_GlobalInvocationID.x;
    for (uint slot = 0u; slot < 3u; ++slot) {
        if (slot != 0u && (i % 3u == 1u) != (slot == 1u)) continue;
        observe(slot);
    }
}""",
    (lambda i: True, lambda i: i % 3 == 1, lambda i: i % 3 != 1),
)
STRUCTURES = Flow(
    """void main() {
    uint i = gl_GlobalInvocationID.x;
    if (i % 3u == 1u) { observe(0u); }
    else { observe(1u); }
    for (uint trip = 0u; trip < i % 5u; trip += 2u) {
        observe(2u + trip / 2u);
        if (i % 4u == 3u) { observe(4u + trip / 2u); break; }
    }
    switch (i % 4u) {
    case 0u: observe(6u); break;
    case 1u: observe(7u); break;
    default: observe(8u);
    }
    if (i % 7u == 2u) return;
    observe(9u);
}""",
    (
        lambda i: i % 3 == 1,
        lambda i: i % 3 != 1,
        lambda i: i % 5 > 0,
        lambda i: i % 5 > 2 and i % 4 != 3,
        lambda i: i % 5 > 0 and i % 4 == 3,
        lambda i: False,
        lambda i: i % 4 == 0,
        lambda i: i % 4 == 1,
        lambda i: i % 4 in (2, 3),
        lambda i: i % 7 != 2,
    ),
)


def storage(scalar):
    return "uint" if scalar.kind == "bool" else scalar.name


def stored(scalar):
    return np.uint32 if scalar.kind == "bool" else dtype_of(scalar)


def binding(scalar, result):
    return 2 * SCALAR_NAMES.index(scalar.name) + result


def used_types(row, turn):
    """Return a type of each scalar, its number of components by turns: in four turns every type."""
    types = list(row.types) or [TYPES["bool"]]
    of_scalars = {}
    for type_ in types:
        of_scalars.setdefault(type_.scalar, []).append(type_)
    return [same[(turn + place) % len(same)] for place, same in enumerate(of_scalars.values())]


def layout_of(types):
    """Return by type the place of its first component among an invocation's, and how many there are."""
    places, ends = {}, {}
    for type_ in types:
        places[type_] = ends.get(type_.scalar, 0)
        ends[type_.scalar] = places[type_] + type_.components
    return places, ends


def plan(row, types):
    """Return the layout of the values and that of the results."""
    values, value_ends = layout_of(types)
    results, result_ends = {}, {}
    for type_ in types:
        result = row.result_type(type_)
        results[type_] = result_ends.get(result.scalar, 0)
        result_ends[result.scalar] = results[type_] + result.components
    return values, value_ends, results, result_ends


def read(type_, place, total):
    """Return GLSL for a value of invocation `i`."""
    name = f"value_{type_.scalar.name}"
    parts = [f"{name}[i * {total} + {place + component}]" for component in range(type_.components)]
    if type_.scalar.kind == "bool":
        parts = [f"{part} != 0u" for part in parts]
    return f"{type_}({', '.join(parts)})"


def other_argument(operand, position):
    if operand.kind is OperandKind.CLUSTER_SIZE:
        return f"{CLUSTER_SIZE}u"
    if operand.kind is OperandKind.BALLOT:
        words = ", ".join(f"operands[i * 4 + {word}]" for word in range(4))
        return f"uvec4({words})"
    return "operands[i * 4]"


def observation(row, type_, values, value_ends, results, result_ends):
    """Return GLSL that stores the result of a function with one type."""
    arguments = [other_argument(operand, place) for place, operand in enumerate(row.operands)]
    if row.operands and row.operands[0].kind is not OperandKind.BALLOT:
        arguments[0] = read(type_, values[type_], value_ends[type_.scalar])
    result = row.result_type(type_)
    name = row.name
    if name in INTRINSICS:
        name = f"{row.name}_"
        if INTRINSICS[row.name][1]:
            arguments.insert(0, "3u")
    total, place = result_ends[result.scalar], results[type_]
    lines = [f"{{ {result} result = {name}({', '.join(arguments)});"]
    for component in range(result.components):
        part = "result" if result.components == 1 else f"result[{component}]"
        part = f"uint({part})" if result.scalar.kind == "bool" else part
        lines.append(f"result_{result.scalar.name}[at * {total} + {place + component}] = {part};")
    return "    " + " ".join(lines) + " }"


def intrinsic(row, types):
    """Return the declarations of an instruction that glslang has no function for."""
    if row.name not in INTRINSICS:
        return ""
    words, scoped = INTRINSICS[row.name]
    rest = ", ".join(["", *("uint" for _ in row.operands[1:])])
    return "\n".join(
        f"spirv_instruction({words}) {row.result_type(type_)} {row.name}_"
        f"({'uint, ' if scoped else ''}{type_}{rest});"
        for type_ in types
    )


def extensions_of(row, types):
    names = {"GL_KHR_shader_subgroup_basic", "GL_EXT_shader_8bit_storage", "GL_EXT_shader_16bit_storage"}
    names |= {"GL_EXT_spirv_intrinsics"} if row.name in INTRINSICS else {row.category.extension}
    for type_ in types:
        names |= {*type_.scalar.extensions, *type_.scalar.subgroup_extensions}
    return "\n".join(f"#extension {name} : require" for name in sorted(names))


@cache
def program_of(name, types, flow):
    row = OPERATIONS.get(name) or EXTENDED_OPERATIONS[name]
    values, value_ends, results, result_ends = plan(row, types)
    lines = [observation(row, type_, values, value_ends, results, result_ends) for type_ in types]
    buffers = "\n".join(
        f"layout(std430, binding = {binding(scalar, result)}) buffer B{word}{scalar.name}"
        f" {{ {storage(scalar)} {word}_{scalar.name}[]; }};"
        for ends, word, result in ((value_ends, "value", 0), (result_ends, "result", 1))
        for scalar in ends
    )
    source = PROGRAM.format(
        extensions=extensions_of(row, types),
        invocations=INVOCATIONS,
        operand_binding=OPERAND_BINDING,
        ran_binding=RAN_BINDING,
        buffers=buffers,
        declarations=intrinsic(row, types),
        count=COUNT,
        observations="\n".join(lines),
        main=flow.main,
    )
    return ExecutableShader(compile_source(source, stage="compute", target=TargetEnvironment.VULKAN_1_2))


def operands_of(rng, row, size):
    """Return four words for each invocation: uniform in the first workgroup, any in the second."""
    words = np.zeros((COUNT, 4), np.uint32)
    if any(operand.kind is OperandKind.BALLOT for operand in row.operands[:1]):
        words[:] = rng.integers(0, 2**32, (COUNT, 4), dtype=np.uint32)
    elif any(operand.kind is OperandKind.BALLOT for operand in row.operands):
        label = rng.integers(0, 3, COUNT)
        for i in range(COUNT):
            base = i - i % INVOCATIONS + i % INVOCATIONS // size * size
            for lane in range(size):
                if base + lane < COUNT and label[base + lane] == label[i]:
                    words[i, lane // 32] |= np.uint32(1 << lane % 32)
        words[COUNT - 1, 0] ^= np.uint32(1)  # wrong in the last subgroup
        return words
    else:
        words[:, 0] = rng.integers(0, max(size, 2), COUNT)
        words[::17, 0] = rng.choice([size, 2**31, 2**32 - 1], len(words[::17]))
    words[:INVOCATIONS] = words[1]
    return words


def as_rows(array, size):
    """Arrange (COUNT, ...) as (subgroups, size, ...), zeros where a subgroup has no invocation."""
    subgroups = math.ceil(INVOCATIONS / size)
    rows = np.zeros((WORKGROUPS, subgroups * size, *array.shape[1:]), array.dtype)
    rows[:, :INVOCATIONS] = array.reshape(WORKGROUPS, INVOCATIONS, *array.shape[1:])
    return rows.reshape(WORKGROUPS * subgroups, size, *array.shape[1:])


def from_rows(rows, size):
    subgroups = math.ceil(INVOCATIONS / size)
    flat = rows.reshape(WORKGROUPS, subgroups * size, *rows.shape[2:])
    return flat[:, :INVOCATIONS].reshape(COUNT, *rows.shape[2:])


def undefined_parts(memory, shape, itemsize):
    """Return which elements of a memory are undefined, or left to an order."""
    if memory.causes is None:
        return np.zeros(shape, bool)
    granule = memory.causes[np.arange(math.prod(shape)) * itemsize // memory.granule]
    return (granule != 0).reshape(shape)


def memory_of(array, name):
    return Memory(array.reshape(-1).view(np.uint8), name)


def execute_row(row, types, flow, size, rng):
    """Run the program of a function; return its inputs, who ran, the results, what of them is undefined."""
    values, value_ends, results, result_ends = plan(row, types)
    slots = len(flow.reached)
    inputs = {
        scalar: values_of(rng, scalar, (COUNT, total)).astype(stored(scalar))
        for scalar, total in value_ends.items()
    }
    operands = operands_of(rng, row, size)
    ran = np.zeros((slots, COUNT), np.uint32)
    outputs = {
        scalar: np.zeros((slots, COUNT, total), stored(scalar)) for scalar, total in result_ends.items()
    }
    memories = {binding(scalar, 0): memory_of(array, scalar.name) for scalar, array in inputs.items()}
    found = {scalar: memory_of(array, scalar.name) for scalar, array in outputs.items()}
    memories |= {binding(scalar, 1): memory for scalar, memory in found.items()}
    memories |= {OPERAND_BINDING: memory_of(operands, "operands"), RAN_BINDING: memory_of(ran, "ran")}
    outcome = execute(
        program_of(row.name, types, flow),
        (WORKGROUPS, 1, 1),
        {(0, place): [memory] for place, memory in memories.items()},
        subgroup_size=size,
    )
    missing = {
        scalar: undefined_parts(found[scalar], array.shape, array.itemsize)
        for scalar, array in outputs.items()
    }
    return values, results, inputs, operands, ran != 0, outputs, missing, outcome


def reference_arguments(row, type_, value, operands, size):
    """Return what the reference function takes beside the active lanes."""
    arguments = []
    for place, operand in enumerate(row.operands):
        if operand.kind is OperandKind.CLUSTER_SIZE:
            arguments.append(CLUSTER_SIZE)
        elif operand.kind is OperandKind.BALLOT:
            arguments.append(as_rows(operands, size))
        elif place == 0:
            arguments.append(as_rows(value.astype(dtype_of(type_.scalar)), size))
        else:
            arguments.append(as_rows(operands[:, 0], size))
    return arguments


def check(row, types, flow, size):
    """Run a program and compare each observation with what the semantics say of who took part."""
    rng = np.random.default_rng([size, *row.name.encode()])
    values, results, inputs, operands, ran, outputs, missing, outcome = execute_row(
        row, types, flow, size, rng
    )
    for slot, reached in enumerate(flow.reached):
        assert ran[slot].tolist() == [reached(i) for i in range(COUNT)]
        active = as_rows(ran[slot], size)
        for type_ in types:
            place = values[type_]
            value = inputs[type_.scalar][:, place : place + type_.components]
            arguments = reference_arguments(row, type_, value, operands, size)
            lanes = reference_of(row.name)(*arguments[:1], active, *arguments[1:])
            expected, defined = from_rows(lanes.value, size), from_rows(lanes.defined, size)
            result = row.result_type(type_)
            part = slice(results[type_], results[type_] + result.components)
            got = outputs[result.scalar][slot][:, part]
            message = f"{type_} in slot {slot}"
            np.testing.assert_array_equal(got[defined], expected[defined].astype(got.dtype), message)
            undefined = missing[result.scalar][slot][:, part]
            np.testing.assert_array_equal(undefined, ~defined & ran[slot][:, None], message)
    for event in outcome.events:
        assert event.kind == "undefined", event
        assert event.cause is not None
        assert event.cause.detail.startswith(f"{row.name}() "), event


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("row", [*ROWS, *EXTENDED_ROWS], ids=lambda row: row.name)
def test_a_function_of_every_type_does_what_the_semantics_say(row, size) -> None:
    check(row, tuple(used_types(row, turn=SIZES.index(size))), HALVES, size)


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("size", [2, 8, 32, 64])
@pytest.mark.parametrize("row", [*ROWS, *EXTENDED_ROWS], ids=lambda row: row.name)
def test_a_function_does_what_the_semantics_say_in_every_structure(row, size) -> None:
    check(row, tuple(used_types(row, turn=0)[:1]), STRUCTURES, size)
