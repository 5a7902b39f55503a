"""The tables of operations, variables and categories against the SPIR-V grammar and the Vulkan headers."""

from __future__ import annotations

from collections import Counter

import pytest

from vkgroup.device import vk
from vkgroup.spec.categories import Category, ExtendedCategory
from vkgroup.spec.operations import (
    BUILTIN_VARIABLES,
    EXTENDED_OPERATIONS,
    OPERATIONS,
    SUBGROUP_OPERATIONS,
    MemorySemantics,
    OperandKind,
)
from vkgroup.spec.types import TYPES
from vkgroup.spirv import grammar

OPERATORS = ("Add", "Mul", "Min", "Max", "And", "Or", "Xor")
EVERY_OPERATION = OPERATIONS | EXTENDED_OPERATIONS
NEWER_THAN_THE_HEADERS = (Category.ROTATE, Category.ROTATE_CLUSTERED)


def specification(opcode: str):
    """Return the grammar of an instruction."""
    return grammar().instruction(grammar().opcodes[opcode])


def test_the_number_of_functions_in_each_category() -> None:
    assert Counter(operation.category.value for operation in SUBGROUP_OPERATIONS.values()) == {
        "basic": 6,
        "vote": 3,
        "arithmetic": 21,
        "ballot": 10,
        "shuffle": 2,
        "shuffle_relative": 2,
        "clustered": 7,
        "quad": 4,
        "partitioned": 22,
        "rotate": 1,
        "rotate_clustered": 1,
    }
    assert Counter(variable.category.value for variable in BUILTIN_VARIABLES.values()) == {
        "basic": 4,
        "ballot": 5,
    }


@pytest.mark.parametrize(
    ("name", "group_operation"),
    [
        ("subgroup{}", "Reduce"),
        ("subgroupInclusive{}", "InclusiveScan"),
        ("subgroupExclusive{}", "ExclusiveScan"),
        ("subgroupClustered{}", "ClusteredReduce"),
        ("subgroupPartitioned{}NV", "PartitionedReduceNV"),
        ("subgroupPartitionedInclusive{}NV", "PartitionedInclusiveScanNV"),
        ("subgroupPartitionedExclusive{}NV", "PartitionedExclusiveScanNV"),
    ],
)
def test_reductions_and_scans_have_every_operator(name, group_operation) -> None:
    family = {
        row.name: row.operator
        for row in SUBGROUP_OPERATIONS.values()
        if row.operator and row.group_operation == group_operation
    }
    assert family == {name.format(operator): operator for operator in OPERATORS}
    # Its number is that of the operand: grammars since 1.6.5 call the partitioned ones by another suffix.
    known = grammar().enumeration("GroupOperation").values()
    assert group_operation in known or group_operation.replace("NV", "EXT") in known


@pytest.mark.parametrize("operation", EVERY_OPERATION.values(), ids=lambda operation: operation.name)
def test_the_instructions_of_a_row_are_those_of_the_grammar(operation) -> None:
    kinds = {type_.scalar.kind for type_ in operation.types} or {None}
    assert set(operation.opcodes) == kinds
    for opcode in operation.opcodes.values():
        instruction = specification(opcode)
        operands = [operand for operand in instruction.operands if operand.kind == "IdRef"]
        if operation.memory_semantics is None:
            assert operation.category.capability in instruction.capabilities
            # A scope, then for some a group operation, then the operands of the GLSL function.
            needed = sum(not operand.quantifier for operand in operands)
            given = len(operation.operands) + (operation.direction is not None)
            assert needed <= given <= len(operands)
        takes_group = any(operand.kind == "GroupOperation" for operand in instruction.operands)
        assert takes_group == (operation.group_operation is not None)
        assert instruction.has_result == (operation.result is not None)


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.name)
def test_the_types_follow_from_the_kinds(operation) -> None:
    if not operation.operands or operation.operands[0].kind is not OperandKind.VALUE:
        assert len(operation.types) == (0 if operation.result is None else 1)
        return
    bitwise = operation.operator in ("And", "Or", "Xor")
    excluded = {"float"} if bitwise else {"bool"} if operation.operator else set()
    assert operation.types == tuple(type_ for type_ in TYPES.values() if type_.scalar.kind not in excluded)


def test_constants_are_asked_for_where_the_text_does() -> None:
    constant = {name for name, row in EVERY_OPERATION.items() if any(o.constant for o in row.operands)}
    quoted = {name for name, row in EVERY_OPERATION.items() if "constant expression" in row.sentence.text}
    clusters = (Category.CLUSTERED, Category.ROTATE_CLUSTERED)
    assert constant == quoted | {name for name, row in EVERY_OPERATION.items() if row.category in clusters}


@pytest.mark.parametrize("category", [*Category, *ExtendedCategory], ids=lambda category: category.value)
def test_a_category_has_a_capability_of_spirv(category) -> None:
    assert category.capability in grammar().enumeration("Capability").values()


@pytest.mark.parametrize("category", Category, ids=lambda category: category.value)
def test_the_bits_of_the_categories_are_those_of_vulkan(category) -> None:
    headers = vk.ffi.typeof("VkSubgroupFeatureFlagBits").relements
    if category in NEWER_THAN_THE_HEADERS:
        assert category.feature not in headers
        assert category.bit == {Category.ROTATE: 0x200, Category.ROTATE_CLUSTERED: 0x400}[category]
    else:
        assert category.bit == headers[category.feature]
        suffix = "_nv" if category.feature.endswith("_NV") else ""
        assert category.declared == category.value + suffix


def test_the_bits_of_memory_semantics_are_those_of_spirv() -> None:
    names = grammar().enumeration("MemorySemantics")
    for member in MemorySemantics:
        assert names[member.value].upper() == member.name.replace("_", "")


@pytest.mark.parametrize("variable", BUILTIN_VARIABLES.values(), ids=lambda variable: variable.name)
def test_a_variable_is_a_built_in_of_spirv(variable) -> None:
    assert variable.builtin in grammar().enumeration("BuiltIn").values()
    assert variable.type.name == ("uvec4" if variable.name.endswith("Mask") else "uint")
