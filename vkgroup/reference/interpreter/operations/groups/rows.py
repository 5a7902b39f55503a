"""Lookup of an instruction in the tables of operations."""

from __future__ import annotations

from vkgroup.errors import Unsupported
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.spec.extended_operations import EXTENDED_OPERATIONS
from vkgroup.spec.operations import OPERATIONS, Operation
from vkgroup.spirv import grammar

_SUBGROUP = 3

# SPIR-V 3.28; later grammars have another suffix in the last three names.
_GROUP_OPERATIONS = {
    0: "Reduce",
    1: "InclusiveScan",
    2: "ExclusiveScan",
    3: "ClusteredReduce",
    6: "PartitionedReduceNV",
    7: "PartitionedInclusiveScanNV",
    8: "PartitionedExclusiveScanNV",
}

# Instructions of GL_AMD_shader_ballot, for uniform and for any control flow.
_OLDER = ("IAdd", "FAdd", "FMin", "UMin", "SMin", "FMax", "UMax", "SMax")

ALIASES: dict[str, str] = {
    **{f"OpGroup{name}": f"OpGroupNonUniform{name}" for name in _OLDER},
    **{f"OpGroup{name}NonUniformAMD": f"OpGroupNonUniform{name}" for name in _OLDER},
    "OpGroupNonUniformPartitionEXT": "OpGroupNonUniformPartitionNV",
}
"""Instructions that do the same as another."""

# By opcode, group operation, direction and number of operands.
_ROWS: dict[tuple[str, str | None, int | None, int], Operation] = {
    (opcode, row.group_operation, row.direction, len(row.operands) + (row.direction is not None)): row
    for row in (*OPERATIONS.values(), *EXTENDED_OPERATIONS.values())
    if row.result is not None
    for opcode in row.opcodes.values()
}

OPCODES: frozenset[str] = frozenset(opcode for opcode, *_ in _ROWS) | frozenset(ALIASES)
"""Every instruction that has a row."""


def row_of(site: Site) -> Operation:
    """Return the row of an instruction.

    Raises
    ------
    Unsupported
        The group is not the subgroup, or the instruction has no such variant.
    """
    if site.scopes and site.scopes[0] != _SUBGROUP:
        scope = grammar().enumerant("Scope", site.scopes[0])
        raise Unsupported(f"{site.name} with scope {scope}: the reference device has it for Subgroup only")
    opcode = ALIASES.get(site.name, site.name)
    group_operation = _GROUP_OPERATIONS.get(site.literals[0], "") if site.literals else None
    direction = integer(site, 1) if opcode == "OpGroupNonUniformQuadSwap" else None
    row = _ROWS.get((opcode, group_operation, direction, len(site.operand_types)))
    if row is None:
        named = grammar().enumerant("GroupOperation", site.literals[0]) if site.literals else "these operands"
        raise Unsupported(f"{site.name} with {named}: the reference device does not know it")
    return row


def kinds_of(site: Site, row: Operation) -> frozenset[str | None]:
    """Return the kinds of scalar that an instruction takes: "int" for OpGroupNonUniformSMin."""
    opcode = ALIASES.get(site.name, site.name)
    return frozenset(kind for kind, name in row.opcodes.items() if name == opcode)


def integer(site: Site, operand: int) -> int:
    """Return the value of an operand, which must come from a constant instruction.

    Raises `Unsupported` where it does not.
    """
    value = site.constants[operand]
    if value is None:
        raise Unsupported(f"{site.name} with operand {operand + 1} that is no constant: SPIR-V wants one")
    return int(value.data.reshape(-1)[0])
