"""Each built-in compiles to the SPIR-V instruction in the table of operations."""

from __future__ import annotations

import pytest

from vkgroup.base.errors import CompileError
from vkgroup.compiler import TargetEnvironment, compile_source
from vkgroup.spec.categories import KHR_CATEGORIES, Category
from vkgroup.spec.operations import BUILTIN_VARIABLES, OPERATIONS, OperandKind
from vkgroup.spec.types import SCALARS, TYPES
from vkgroup.spirv import grammar

CLUSTER_SIZE = 4
SUBGROUP = 3  # SPIR-V, Scope
BUILTIN = 11  # SPIR-V, Decoration
# glslang adds this bit to the full barriers; Vulkan has no atomic counters and ignores it.
ATOMIC_COUNTER_MEMORY = 0x400
LITERALS = {OperandKind.CLUSTER_SIZE: f"{CLUSTER_SIZE}u", OperandKind.ID: "1u"}


def shader(extensions, statements) -> str:
    """Return a shader that has a buffer of uint, and `statements` in its main function."""
    lines = ["#version 460", *(f"#extension {name} : require" for name in extensions)]
    lines += ["layout(set = 0, binding = 0) buffer Data { uint data[]; };"]
    return "\n".join([*lines, "void main() {", *statements, "}"])


def compiled(extensions, statements, stage="compute"):
    """Return the module; nothing is taken from the user's cache nor left there."""
    layouts = {
        "task": "layout(local_size_x = 32) in;",
        "mesh": "layout(local_size_x = 32) in; layout(points, max_vertices = 1, max_primitives = 1) out;",
    }
    source = shader(extensions, statements)
    if stage in layouts:
        head, rest = source.split("layout", 1)
        source = f"{head}#extension GL_EXT_mesh_shader : require\n{layouts[stage]}\nlayout{rest}"
    target = TargetEnvironment.VULKAN_1_2 if stage in layouts else TargetEnvironment.VULKAN_1_1
    return compile_source(source, stage=stage, target=target, cache=False)


def call(operation, type_) -> list[str]:
    """Return statements that use the function on a value from memory and store its result."""
    if operation.result is None:
        return [f"{operation.name}();"]
    arguments = []
    for operand in operation.operands:
        value_type = operand.type or type_
        if operand.constant:
            arguments.append(LITERALS[operand.kind])
        else:
            scalar = TYPES[value_type.scalar.name].name
            arguments.append(f"{value_type}({scalar}(data[{len(arguments)}]))")
    result = operation.result_type(type_)
    component = ".x" if result.components > 1 else ""
    return [
        f"{result} result = {operation.name}({', '.join(arguments)});",
        f"data[gl_LocalInvocationIndex] = uint(result{component});",
    ]


def extensions_of(operation, type_=None) -> list[str]:
    scalar = type_.scalar if type_ else TYPES["uint"].scalar
    return [operation.category.extension, *scalar.extensions, *scalar.subgroup_extensions]


def constants_of(module) -> dict[int, int]:
    return {row.result_id: row.operands[0] for row in module.instructions if row.name == "OpConstant"}


def one_of_each_scalar(types):
    """Return a type of each scalar, with 1 to 4 components in turn."""
    scalars = list(dict.fromkeys(type_.scalar for type_ in types))
    for number, scalar in enumerate(scalars):
        of_scalar = [type_ for type_ in types if type_.scalar is scalar]
        yield of_scalar[number % len(of_scalar)]


VALUED = [operation for operation in OPERATIONS.values() if operation.result is not None]
EXTENDED = [scalar for scalar in SCALARS.values() if scalar.extended]
BARRIERS = [operation for operation in OPERATIONS.values() if operation.result is None]


@pytest.mark.parametrize("operation", VALUED, ids=lambda operation: operation.name)
def test_a_function_compiles_to_its_instruction_for_each_type(operation) -> None:
    names = grammar().enumeration("GroupOperation")
    for type_ in one_of_each_scalar(operation.types):
        module = compiled(extensions_of(operation, type_), call(operation, type_))
        group = [row for row in module.instructions if row.name.startswith("OpGroupNonUniform")]
        assert [row.name for row in group] == [operation.opcode(type_)], type_
        constants, operands = constants_of(module), group[0].operands
        assert constants[operands[0]] == SUBGROUP
        if operation.group_operation:
            assert names[operands[1]] == operation.group_operation
        if operation.group_operation == "ClusteredReduce":
            assert constants[operands[3]] == CLUSTER_SIZE
        if operation.direction is not None:
            assert constants[operands[2]] == operation.direction
        assert operation.category.capability in module.reflection.capabilities


@pytest.mark.parametrize("type_", TYPES.values(), ids=str)
def test_every_function_takes_every_type_of_its_row_and_no_other(type_) -> None:
    takers = [
        operation
        for operation in VALUED
        if operation.operands and operation.operands[0].kind is OperandKind.VALUE
    ]
    taken = [operation for operation in takers if type_ in operation.types]
    extensions = sorted({name for operation in takers for name in extensions_of(operation, type_)})
    statements = [line for operation in taken for line in ("{", *call(operation, type_), "}")]
    module = compiled(extensions, statements)
    names = [row.name for row in module.instructions if row.name.startswith("OpGroupNonUniform")]
    assert names == [operation.opcode(type_) for operation in taken]
    for operation in takers:
        if operation not in taken:
            with pytest.raises(CompileError):
                compiled(extensions, call(operation, type_))


@pytest.mark.parametrize("operation", BARRIERS, ids=lambda operation: operation.name)
def test_a_barrier_has_its_scope_and_semantics(operation) -> None:
    module = compiled(extensions_of(operation), call(operation, None))
    (barrier,) = [row for row in module.instructions if row.name.endswith("Barrier")]
    *scopes, semantics = (constants_of(module)[operand] for operand in barrier.operands)
    assert barrier.name == operation.opcode()
    assert scopes == [SUBGROUP] * (2 if barrier.name == "OpControlBarrier" else 1)
    assert semantics & ~ATOMIC_COUNTER_MEMORY == operation.memory_semantics


@pytest.mark.parametrize("variable", BUILTIN_VARIABLES.values(), ids=lambda variable: variable.name)
def test_a_variable_has_its_decoration(variable) -> None:
    component = ".x" if variable.type.components > 1 else ""
    statement = f"data[gl_LocalInvocationIndex] = {variable.name}{component};"
    module = compiled([variable.category.extension], [statement])
    decorations = [row.operands[2] for row in module.instructions if row.operands[1:2] == (BUILTIN,)]
    names = [grammar().enumerant("BuiltIn", value) for value in decorations]
    assert [name for name in names if "Subgroup" in name] == [variable.builtin]
    assert variable.category.capability in module.reflection.capabilities


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_a_function_needs_its_extension(operation) -> None:
    type_ = operation.types[0] if operation.types else None
    others = [category.extension for category in KHR_CATEGORIES if category is not operation.category]
    # Every other part of the extension enables the basic one.
    extensions = [] if operation.category is Category.BASIC else others
    with pytest.raises(CompileError):
        compiled(extensions, call(operation, type_))


@pytest.mark.parametrize("scalar", EXTENDED, ids=lambda scalar: scalar.name)
def test_an_extended_type_needs_its_subgroup_extension(scalar) -> None:
    operation = OPERATIONS["subgroupShuffle"]
    statements = call(operation, TYPES[scalar.name])
    with pytest.raises(CompileError):
        compiled([operation.category.extension, *scalar.extensions], statements)


@pytest.mark.parametrize("stage", ["compute", "task", "mesh", "fragment", "vertex"])
@pytest.mark.parametrize("row", [*BARRIERS, *BUILTIN_VARIABLES.values()], ids=lambda row: row.name)
def test_a_built_in_compiles_in_its_stages(row, stage) -> None:
    is_variable = row.name in BUILTIN_VARIABLES
    component = ".x" if is_variable and row.type.components > 1 else ""
    statement = f"data[0] = {row.name}{component};" if is_variable else f"{row.name}();"
    if row.stages is None or stage in row.stages:
        module = compiled([row.category.extension], [statement], stage)
        assert module.reflection.entry_points[0].stage == stage
    else:
        with pytest.raises(CompileError):
            compiled([row.category.extension], [statement], stage)
