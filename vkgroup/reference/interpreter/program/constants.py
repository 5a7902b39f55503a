"""Constants of a module as values, with specialization applied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from vkgroup.errors import InvalidModule, Unsupported
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.causes import CauseTable
from vkgroup.reference.interpreter.values.value import Value, held, single, undefined, zeros
from vkgroup.spirv import Instruction, ScalarType, Type, grammar
from vkgroup.spirv.declarations import Declarations

Lanewise = Mapping[str, Callable[[Site], Callable[..., Value]]]
"""By name of a lane-wise instruction: the factory of its function."""


def read_constants(
    instructions: list[Instruction],
    declared: Declarations,
    types: Mapping[int, Type],
    causes: CauseTable,
    lanewise: Lanewise,
) -> dict[int, Value]:
    """Return the value of every constant and global OpUndef, by id; last axes have length one.

    Parameters
    ----------
    types : the type of every id that is a value.
    lanewise : the functions of instructions, for composites and OpSpecConstantOp.

    Raises
    ------
    Unsupported
        An operation on specialization constants is not known.
    """
    reader = _ConstantReader(declared, types, causes, lanewise)
    for entry in instructions:
        if entry.name.startswith(("OpConstant", "OpSpecConstant")) or entry.name == "OpUndef":
            value = reader.read(entry)
            if value is not None:
                reader.values[entry.result_id] = value
    return reader.values


@dataclass
class _ConstantReader:
    """The constants read so far, on which later ones build."""

    declared: Declarations
    types: Mapping[int, Type]
    causes: CauseTable
    lanewise: Lanewise
    values: dict[int, Value] = field(default_factory=dict)

    def read(self, entry: Instruction) -> Value | None:
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
            site = Site(name, kind, (), (), (), (), entry.position, self.causes)
            return undefined(kind, site.cause("uninitialised", "an undefined value stands here"))
        if name in ("OpConstantComposite", "OpSpecConstantComposite"):
            return self._evaluate("OpCompositeConstruct", entry, kind, entry.operands)
        if name == "OpSpecConstantOp":
            return self._operation(entry, kind)
        return None

    def _operation(self, entry: Instruction, kind: Type) -> Value:
        """Evaluate OpSpecConstantOp through the function of the instruction that it names."""
        opcode, ids = entry.operands[0], entry.operands[1:]
        name = grammar().name(opcode)
        if name not in self.lanewise:
            raise Unsupported(f"{name} in OpSpecConstantOp is not known to the reference device.", [name])
        literals: tuple[int, ...] = ()
        if name in _WITH_LITERALS:
            ids, literals = ids[: _WITH_LITERALS[name]], ids[_WITH_LITERALS[name] :]
        return self._evaluate(name, entry, kind, ids, literals)

    def _evaluate(
        self, name: str, entry: Instruction, kind: Type, ids: tuple[int, ...], literals: tuple[int, ...] = ()
    ) -> Value:
        """Apply an instruction to constants."""
        operands = tuple(self._get(identifier) for identifier in ids)
        types = tuple(self.types.get(identifier) for identifier in ids)
        site = Site(name, kind, types, operands, literals, (), entry.position, self.causes)
        with np.errstate(all="ignore"):
            return self.lanewise[name](site)(*operands)

    def _get(self, identifier: int) -> Value:
        if identifier not in self.values:
            raise InvalidModule(f"%{identifier} is used as a constant, and is none")
        return self.values[identifier]


def _number(words: tuple[int, ...], kind: ScalarType) -> np.ndarray[Any, Any]:
    bits = sum(word << (32 * index) for index, word in enumerate(words))
    raw = (bits & ((1 << kind.bits) - 1)).to_bytes(kind.bits // 8, "little")
    return np.frombuffer(raw, held(kind).dtype).copy()


_WITH_LITERALS = {"OpCompositeExtract": 1, "OpCompositeInsert": 2, "OpVectorShuffle": 2}
"""Operations whose operands end in literals: the number of ids before them."""
