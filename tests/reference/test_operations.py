"""The tables of types, functions and variables: complete, and consistent with the rules they follow."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from vkgroup.device import query
from vkgroup.reference.extended_operations import EXTENDED_OPERATIONS, SUBGROUP_OPERATIONS
from vkgroup.reference.operations import (
    BUILTIN_VARIABLES,
    OPERATIONS,
    Category,
    MemorySemantics,
)
from vkgroup.reference.types import SCALARS, TYPES
from vkgroup.spirv import grammar

OPERATORS = ("Add", "Mul", "Min", "Max", "And", "Or", "Xor")


def test_there_are_twelve_scalars_each_alone_and_in_vectors() -> None:
    assert len(SCALARS) == 12
    assert Counter(type_.components for type_ in TYPES.values()) == {1: 12, 2: 12, 3: 12, 4: 12}
    assert {"vec2", "dvec3", "ivec4", "uvec2", "bvec3", "i8vec4", "u16vec2", "i64vec3", "f16vec4"} <= set(
        TYPES
    )


@pytest.mark.parametrize("scalar", SCALARS.values(), ids=lambda scalar: scalar.name)
def test_a_scalar_is_what_its_name_says(scalar) -> None:
    kinds = {"float": "f", "int": "i", "uint": "u", "bool": "b"}
    assert scalar.dtype.kind == kinds[scalar.kind]
    assert scalar.kind == "bool" or scalar.dtype.itemsize * 8 == scalar.bits
    if scalar.name.endswith("_t"):
        assert scalar.name == f"{scalar.kind}{scalar.bits}_t"
    extended = scalar.bits in (8, 16) or (scalar.bits == 64 and scalar.kind != "float")
    assert scalar.extended == extended
    assert ("shaderSubgroupExtendedTypes" in scalar.subgroup_features) == extended
    wide = {8: "shaderInt8", 16: "shaderInt16", 64: "shaderInt64"}
    if scalar.kind == "float":
        wide = {16: "shaderFloat16", 64: "shaderFloat64"}
    assert scalar.features == ((wide[scalar.bits],) if scalar.bits in wide else ())


def test_the_number_of_functions_in_each_category() -> None:
    assert Counter(operation.category.value for operation in OPERATIONS.values()) == {
        "basic": 6,
        "vote": 3,
        "arithmetic": 21,
        "ballot": 10,
        "shuffle": 2,
        "shuffle_relative": 2,
        "clustered": 7,
        "quad": 4,
    }
    assert Counter(variable.category.value for variable in BUILTIN_VARIABLES.values()) == {
        "basic": 4,
        "ballot": 5,
    }


def test_the_number_of_functions_of_later_categories() -> None:
    later = SUBGROUP_OPERATIONS.keys() - OPERATIONS.keys()
    assert later < EXTENDED_OPERATIONS.keys()
    assert Counter(SUBGROUP_OPERATIONS[name].category.value for name in later) == {
        "partitioned": 22,
        "rotate": 1,
        "rotate_clustered": 1,
    }


@pytest.mark.parametrize(
    ("infix", "group_operation"),
    [
        ("", "Reduce"),
        ("Inclusive", "InclusiveScan"),
        ("Exclusive", "ExclusiveScan"),
        ("Clustered", "ClusteredReduce"),
    ],
)
def test_families_are_derivable(infix, group_operation) -> None:
    family = [row for row in OPERATIONS.values() if row.operator and row.group_operation == group_operation]
    assert [row.name for row in family] == [f"subgroup{infix}{operator}" for operator in OPERATORS]
    assert [row.operator for row in family] == list(OPERATORS)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_the_instruction_of_the_grammar_has_the_operands_of_the_row(operation) -> None:
    expected = ["GroupOperation"] if operation.group_operation else []
    expected += ["IdRef"] * (len(operation.operands) + (operation.direction is not None))
    expected = ["IdScope", *expected] if operation.result else ["IdScope", "IdMemorySemantics"]
    for opcode in operation.opcodes.values():
        instruction = grammar().instruction(grammar().opcodes[opcode])
        kinds = [operand.kind for operand in instruction.operands]
        mandatory = [operand.kind for operand in instruction.operands if not operand.quantifier]
        if opcode == "OpControlBarrier":
            assert kinds == ["IdScope", *expected]
        else:
            # The cluster size is the optional operand of the instructions that reduce.
            assert expected in (kinds, mandatory)
        assert instruction.has_result == (operation.result is not None)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_the_capability_of_the_category_enables_the_instruction(operation) -> None:
    if operation.result is None:
        return
    for opcode in operation.opcodes.values():
        instruction = grammar().instruction(grammar().opcodes[opcode])
        assert operation.category.capability in instruction.capabilities


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_the_section_and_the_reference_function_name_the_operation(operation) -> None:
    assert operation.section.endswith(f"{operation.name}()")
    assert operation.reference.__doc__.count(operation.name + "()") == 1


def test_constants_are_asked_for_where_the_text_does() -> None:
    constant = {name for name, row in OPERATIONS.items() if any(operand.constant for operand in row.operands)}
    clustered = {name for name, row in OPERATIONS.items() if row.category is Category.CLUSTERED}
    assert constant == clustered | {"subgroupBroadcast", "subgroupQuadBroadcast"}


@pytest.mark.parametrize("category", Category, ids=lambda category: category.value)
def test_a_category_has_a_capability_of_spirv(category) -> None:
    assert category.capability in grammar().enumeration("Capability").values()
    vendor = "_NV" if category is Category.PARTITIONED else ""
    assert category.feature == f"VK_SUBGROUP_FEATURE_{category.value.upper()}_BIT{vendor}"


def test_the_bits_of_the_categories_are_those_of_vulkan() -> None:
    assert {category.value: category.bit for category in Category} == {
        "basic": 0x01,
        "vote": 0x02,
        "arithmetic": 0x04,
        "ballot": 0x08,
        "shuffle": 0x10,
        "shuffle_relative": 0x20,
        "clustered": 0x40,
        "quad": 0x80,
        "partitioned": 0x100,
        "rotate": 0x200,
        "rotate_clustered": 0x400,
    }
    assert {category.declared: category.bit for category in Category} == query.OPERATIONS


def test_the_bits_of_memory_semantics_are_those_of_spirv() -> None:
    names = grammar().enumeration("MemorySemantics")
    for member in MemorySemantics:
        assert names[member.value].upper() == member.name.replace("_", "")


@pytest.mark.parametrize("variable", BUILTIN_VARIABLES.values(), ids=lambda variable: variable.name)
def test_a_variable_is_consistent(variable) -> None:
    assert variable.builtin in grammar().enumeration("BuiltIn").values()
    assert variable.type.name == ("uvec4" if variable.name.endswith("Mask") else "uint")
    assert variable.reference.__doc__.startswith(variable.name + ":")
    assert variable.reference(np.ones((1, 4), dtype=bool)).value.shape == (1, 4, variable.type.components)
