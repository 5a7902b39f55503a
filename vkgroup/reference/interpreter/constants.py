"""Constants of a module as values, with specialization applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vkgroup.errors import InvalidModule, Unsupported
from vkgroup.reference.interpreter.lanewise import LANEWISE
from vkgroup.reference.interpreter.site import CauseTable, Site
from vkgroup.reference.interpreter.values import Value, held, single, undefined, zeros
from vkgroup.spirv import Instruction, Module, ScalarType, Type, grammar
from vkgroup.spirv.declarations import Declarations

_TRUE, _FALSE = "OpSpecConstantTrue", "OpSpecConstantFalse"


def specialize(module: Module, values: Mapping[int, Any]) -> Module:
    """Return a module whose specialization constants have these values as defaults.

    Parameters
    ----------
    values : by specialization id (``constant_id``); others keep their defaults.
    """
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
    """Return the words of a literal; narrow integers are extended by their sign."""
    if kind.kind == "float":
        bits = int(np.asarray(value, kind.dtype).view(f"<u{kind.bits // 8}"))
    else:
        bits = int(value) & 0xFFFFFFFFFFFFFFFF
    return [bits & 0xFFFFFFFF] if kind.bits <= 32 else [bits & 0xFFFFFFFF, bits >> 32]


def read_constants(
    instructions: list[Instruction], declared: Declarations, kinds: Mapping[int, Type], causes: CauseTable
) -> dict[int, Value]:
    """Return the value of every constant and global OpUndef, by id; last axes have length one.

    `kinds` has the type of every id that is a value.

    Raises
    ------
    Unsupported
        An operation on specialization constants is not known.
    """
    found: dict[int, Value] = {}
    for entry in instructions:
        if entry.name.startswith(("OpConstant", "OpSpecConstant")) or entry.name == "OpUndef":
            value = _constant(entry, declared, kinds, found, causes)
            if value is not None:
                found[entry.result_id] = value
    return found


def _constant(
    entry: Instruction,
    declared: Declarations,
    kinds: Mapping[int, Type],
    found: Mapping[int, Value],
    causes: CauseTable,
) -> Value | None:
    kind = declared.type(entry.result_type)
    name = entry.name
    if name in ("OpConstantTrue", _TRUE, "OpConstantFalse", _FALSE):
        return single(np.array([name.endswith("True")]))
    if name in ("OpConstant", "OpSpecConstant"):
        assert isinstance(kind, ScalarType)
        return single(_number(entry.operands, kind))
    if name == "OpConstantNull":
        return zeros(kind)
    if name == "OpUndef":
        site = Site(name, kind, (), (), (), (), entry.position, causes)
        return undefined(kind, site.cause("uninitialised", "an undefined value stands here"))
    if name in ("OpConstantComposite", "OpSpecConstantComposite"):
        return _evaluate("OpCompositeConstruct", entry, kind, kinds, found, causes, entry.operands)
    if name == "OpSpecConstantOp":
        return _operation(entry, kind, kinds, found, causes)
    return None


def _get(found: Mapping[int, Value], identifier: int) -> Value:
    if identifier not in found:
        raise InvalidModule(f"%{identifier} is used as a constant, and is none")
    return found[identifier]


def _number(words: tuple[int, ...], kind: ScalarType) -> np.ndarray[Any, Any]:
    bits = sum(word << (32 * index) for index, word in enumerate(words))
    raw = (bits & ((1 << kind.bits) - 1)).to_bytes(kind.bits // 8, "little")
    return np.frombuffer(raw, held(kind).dtype).copy()


def _operation(
    entry: Instruction,
    kind: Type,
    kinds: Mapping[int, Type],
    found: Mapping[int, Value],
    causes: CauseTable,
) -> Value:
    """Evaluate OpSpecConstantOp through the function of the instruction that it names."""
    opcode, ids = entry.operands[0], entry.operands[1:]
    name = grammar().name(opcode)
    if name not in LANEWISE:
        raise Unsupported(f"{name} in OpSpecConstantOp is not known to the reference device.", [name])
    literals: tuple[int, ...] = ()
    if name in _WITH_LITERALS:
        ids, literals = ids[: _WITH_LITERALS[name]], ids[_WITH_LITERALS[name] :]
    return _evaluate(name, entry, kind, kinds, found, causes, ids, literals)


def _evaluate(
    name: str,
    entry: Instruction,
    kind: Type,
    kinds: Mapping[int, Type],
    found: Mapping[int, Value],
    causes: CauseTable,
    ids: tuple[int, ...],
    literals: tuple[int, ...] = (),
) -> Value:
    """Apply an instruction to constants."""
    operands = tuple(_get(found, identifier) for identifier in ids)
    types = tuple(kinds.get(identifier) for identifier in ids)
    site = Site(name, kind, types, operands, literals, (), entry.position, causes)
    with np.errstate(all="ignore"):
        return LANEWISE[name](site)(*operands)


_WITH_LITERALS = {"OpCompositeExtract": 1, "OpCompositeInsert": 2, "OpVectorShuffle": 2}
"""Operations whose operands end in literals: how many ids come first."""
