"""Which subgroup operations a module uses, on which types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.errors import InvalidModule
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.grammar import InstructionSpec, grammar
from vkgroup.spirv.module import Module
from vkgroup.spirv.types import ScalarType, VectorType


@dataclass(frozen=True, slots=True)
class SubgroupUse:
    """One way in which the module uses subgroups.

    Attributes
    ----------
    operation : SPIR-V's name, for example ``"OpGroupNonUniformIAdd"``.
    type : scalar type of the value it works on, or of the result where it takes none; None where
        that is neither scalar nor vector.
    group_operation : ``"Reduce"``, ``"InclusiveScan"``, …; empty where the operation has none.
    dynamic_id : whether an `OpGroupNonUniformBroadcast` or quad broadcast takes an id that is no
        constant, which needs ``subgroupBroadcastDynamicId``.
    """

    operation: str
    type: ScalarType | None
    group_operation: str = ""
    dynamic_id: bool = False


def find_subgroup_uses(module: Module, declared: Declarations) -> frozenset[SubgroupUse]:
    """Collect the OpGroupNonUniform… instructions, each kind once."""
    table = grammar()
    words, starts = module.words, module.instruction_starts
    opcodes = words[starts] & 0xFFFF
    codes = [code for name, code in table.opcodes.items() if name.startswith("OpGroupNonUniform")]
    chosen = np.flatnonzero(np.isin(opcodes, codes)).tolist()
    type_of = _result_types(module, opcodes) if chosen else {}
    found = set()
    for position in chosen:
        start = int(starts[position])
        spec = table.instruction(int(opcodes[position]))
        operands = words[start + 1 : start + (int(words[start]) >> 16)].tolist()
        if spec is None or len(operands) + 1 < spec.minimum_words:
            raise InvalidModule(f"a subgroup operation of {len(operands) + 1} words at word {start}, too few")
        found.add(_subgroup_use(declared, spec, operands, type_of))
    return frozenset(found)


def _result_types(module: Module, opcodes: npt.NDArray[np.integer[Any]]) -> dict[int, int]:
    """Type id by result id, for every instruction that has both."""
    table = grammar()
    specs = [table.instruction(code) for code in np.unique(opcodes).tolist()]
    typed = [spec.opcode for spec in specs if spec and spec.has_type and spec.has_result]
    starts = module.instruction_starts[np.isin(opcodes, typed)]
    starts = starts[(module.words[starts] >> 16) > 2]
    return dict(zip(module.words[starts + 2].tolist(), module.words[starts + 1].tolist(), strict=True))


def _subgroup_use(
    declared: Declarations, spec: InstructionSpec, operands: list[int], type_of: dict[int, int]
) -> SubgroupUse:
    """Describe one instruction by the type of its value, or of its result where it takes no value."""
    value, group = spec.operand_index("Value"), spec.operand_index("Operation")
    kind = declared.types.get(type_of.get(operands[value - 1], 0) if value else operands[0])
    if isinstance(kind, VectorType):
        kind = kind.component
    identifier = {"OpGroupNonUniformBroadcast": "Id", "OpGroupNonUniformQuadBroadcast": "Index"}.get(
        spec.name
    )
    index = spec.operand_index(identifier) if identifier else None
    return SubgroupUse(
        operation=spec.name,
        type=kind if isinstance(kind, ScalarType) else None,
        group_operation=grammar().enumerant("GroupOperation", operands[group - 1]) if group else "",
        dynamic_id=index is not None and operands[index - 1] not in declared.constants,
    )
