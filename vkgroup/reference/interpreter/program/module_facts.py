"""Facts of a module by id: types, constants, extended instruction sets, functions."""

from __future__ import annotations

from vkgroup.errors import Unsupported
from vkgroup.reference.interpreter.program.constants import Lanewise, read_constants
from vkgroup.reference.interpreter.program.functions import read_functions
from vkgroup.reference.interpreter.values.causes import CauseTable
from vkgroup.reference.interpreter.values.value import Value
from vkgroup.spirv import Instruction, Module, PointerType, Type
from vkgroup.spirv.declarations import Declarations


class ModuleFacts:
    """What instructions refer to by id, read once for all of them.

    Parameters
    ----------
    module : the module, specialization applied.
    causes : the table in which undefined constants are numbered.
    lanewise : the functions of lane-wise instructions, for constants that are operations on others.

    Attributes
    ----------
    declared : the declarations.
    global_instructions : the instructions before the first function.
    functions : the functions by id.
    types : the type of every id that has one.
    constants : the value of every constant by id.
    extended_sets : names of extended instruction sets by id.
    """

    def __init__(self, module: Module, causes: CauseTable, lanewise: Lanewise) -> None:
        self.declared = Declarations(module)
        self.global_instructions, self.functions = read_functions(module)
        self._type_ids = {entry.result_id: entry.result_type for entry in module.instructions}
        self._pointee_ids = {
            entry.result_id: entry.operands[1]
            for entry in self.global_instructions
            if entry.name == "OpTypePointer"
        }
        types = self.declared.types
        self.types: dict[int, Type] = {
            entry.result_id: types[entry.result_type]
            for entry in module.instructions
            if entry.result_id and entry.result_type in types
        }
        self.constants = read_constants(self.global_instructions, self.declared, self.types, causes, lanewise)
        self.extended_sets = _extended_sets(self.global_instructions)

    def type_of(self, identifier: int) -> Type | None:
        """Return the type of a value's id; None for an id that is no value."""
        return self.types.get(identifier)

    def value_of(self, identifier: int) -> Value | None:
        """Return a constant's value; None for any other id."""
        return self.constants.get(identifier)

    def pointee_id(self, pointer_type: int) -> int:
        """Return the id of the type that a pointer type points to."""
        return self._pointee_ids[pointer_type]

    def is_non_semantic(self, entry: Instruction) -> bool:
        """Return whether an instruction has no effect on execution (SPV_KHR_non_semantic_info)."""
        return entry.name == "OpExtInst" and self.extended_sets[entry.operands[0]].startswith("NonSemantic.")

    def element_stride(self, pointer: int) -> int:
        """Return the bytes between elements for OpPtrAccessChain: ArrayStride of the pointer's own type."""
        kind = self.types.get(pointer)
        size = kind.pointee.size if isinstance(kind, PointerType) and kind.pointee is not None else None
        stride = self.declared.decoration(self._type_ids[pointer], "ArrayStride") or size
        if stride is None:
            raise Unsupported("OpPtrAccessChain of a type without size.", ["variablePointers"])
        return stride


def _extended_sets(instructions: list[Instruction]) -> dict[int, str]:
    """Return the names of extended instruction sets by id."""
    names = {}
    for entry in instructions:
        if entry.name == "OpExtInstImport":
            raw = b"".join(word.to_bytes(4, "little") for word in entry.operands)
            names[entry.result_id] = raw.split(b"\0")[0].decode("utf-8", "replace")
    return names
