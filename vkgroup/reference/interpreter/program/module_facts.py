"""Facts of a module by id, specialization applied: types, constants, instruction sets, functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vkgroup.base.errors import InvalidModule, Unsupported
from vkgroup.reference.interpreter.program.flow import read_functions
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import CauseTable, Value, held, single, undefined, zeros
from vkgroup.spirv import Instruction, Module, PointerType, ScalarType, Type, grammar
from vkgroup.spirv.declarations import Declarations

Lanewise = Mapping[str, Callable[[Site], Callable[..., Value]]]
"""By name of a lane-wise instruction: the factory of its function."""


class ModuleFacts:
    """Declarations that instructions refer to by id, read once.

    `module`: the module, specialization applied.
    `causes`: the table in which undefined constants are numbered.
    `lanewise`: the functions of lane-wise instructions, for OpSpecConstantOp.

    Attributes: `declared`: the declarations.
    `global_instructions`: the instructions before the first function.
    `functions`: the functions by id.
    `types`: the type of every id that has one.
    `constants`: the value of every constant and global OpUndef by id; the last axis has length one.
    `extended_sets`: names of extended instruction sets by id.
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
        self._causes, self._lanewise = causes, lanewise
        self.constants: dict[int, Value] = {}
        self.extended_sets: dict[int, str] = {}
        for entry in self.global_instructions:
            if entry.name == "OpExtInstImport":
                raw = b"".join(word.to_bytes(4, "little") for word in entry.operands)
                self.extended_sets[entry.result_id] = raw.split(b"\0")[0].decode("utf-8", "replace")
            elif entry.name.startswith(("OpConstant", "OpSpecConstant")) or entry.name == "OpUndef":
                value = self._constant(entry)
                if value is not None:
                    self.constants[entry.result_id] = value

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
            raise Unsupported("OpPtrAccessChain of a type without a size.", ["variablePointers"])
        return stride

    # --- constants ------------------------------------------------------------------------------------

    def _constant(self, entry: Instruction) -> Value | None:
        """Return the value of a constant; None for an instruction that the interpreter does not need."""
        kind = self.declared.type(entry.result_type)
        name = entry.name
        if name in ("OpConstantTrue", "OpSpecConstantTrue", "OpConstantFalse", "OpSpecConstantFalse"):
            return single(np.array([name.endswith("True")]))
        if name in ("OpConstant", "OpSpecConstant"):
            assert isinstance(kind, ScalarType)
            return single(_number(entry.operands, kind))
        if name == "OpConstantNull":
            return zeros(kind)
        if name == "OpUndef":
            site = Site(name, kind, (), (), (), (), entry.position, self._causes)
            return undefined(kind, site.cause("uninitialised", "an undefined value stands here"))
        if name in ("OpConstantComposite", "OpSpecConstantComposite"):
            return self._evaluate("OpCompositeConstruct", entry, kind, entry.operands)
        if name != "OpSpecConstantOp":
            return None
        opcode, ids = entry.operands[0], entry.operands[1:]
        name = grammar().name(opcode)
        if name not in self._lanewise:
            raise Unsupported(f"The reference device does not support {name} in OpSpecConstantOp.", [name])
        values = _WITH_LITERALS.get(name, len(ids))
        return self._evaluate(name, entry, kind, ids[:values], ids[values:])

    def _evaluate(
        self, name: str, entry: Instruction, kind: Type, ids: tuple[int, ...], literals: tuple[int, ...] = ()
    ) -> Value:
        """Apply an instruction to constants."""
        for identifier in ids:
            if identifier not in self.constants:
                raise InvalidModule(f"%{identifier} is used as a constant but is not a constant")
        operands = tuple(self.constants[identifier] for identifier in ids)
        types = tuple(self.types.get(identifier) for identifier in ids)
        site = Site(name, kind, types, operands, literals, (), entry.position, self._causes)
        with np.errstate(all="ignore"):
            return self._lanewise[name](site)(*operands)


def _number(words: tuple[int, ...], kind: ScalarType) -> np.ndarray[Any, Any]:
    bits = sum(word << (32 * index) for index, word in enumerate(words))
    raw = (bits & ((1 << kind.bits) - 1)).to_bytes(kind.bits // 8, "little")
    return np.frombuffer(raw, held(kind).dtype).copy()


_WITH_LITERALS = {"OpCompositeExtract": 1, "OpCompositeInsert": 2, "OpVectorShuffle": 2}
"""Operations whose operands end in literals: the number of ids before them."""


_TRUE, _FALSE = "OpSpecConstantTrue", "OpSpecConstantFalse"


def specialize(module: Module, values: Mapping[int, Any]) -> Module:
    """Return a module with new defaults for specialization constants, by specialization id."""
    if not values:
        return module
    declared = Declarations(module)
    words = module.words.copy()
    opcodes = grammar().opcodes
    for entry in module.instructions:
        if entry.name not in (_TRUE, _FALSE, "OpSpecConstant"):
            continue
        number = declared.decoration(entry.result_id, "SpecId")
        if number is None or number not in values:
            continue
        if entry.name == "OpSpecConstant":
            kind = declared.type(entry.result_type)
            assert isinstance(kind, ScalarType)
            literal = _literal_words(values[number], kind)
            words[entry.position + 3 : entry.position + 3 + len(literal)] = literal
        else:
            opcode = opcodes[_TRUE if values[number] else _FALSE]
            words[entry.position] = (int(words[entry.position]) & 0xFFFF0000) | opcode
    return Module.from_bytes(words.tobytes())


def _literal_words(value: Any, kind: ScalarType) -> list[int]:
    """Return the words of a literal; narrow signed integers are sign-extended."""
    if kind.kind == "float":
        bits = int(np.asarray(value, kind.dtype).view(f"<u{kind.bits // 8}"))
    else:
        bits = int(value) & 0xFFFFFFFFFFFFFFFF
    return [bits & 0xFFFFFFFF] if kind.bits <= 32 else [bits & 0xFFFFFFFF, bits >> 32]
