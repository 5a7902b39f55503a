"""Specialization: a module with other values of its specialization constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.numbers import exact_numbers
from vkgroup.spirv import Module, ScalarType, grammar

_TRUE, _FALSE = "OpSpecConstantTrue", "OpSpecConstantFalse"


def specialize(module: Module, values: Mapping[int, Any]) -> Module:
    """Return a module with new defaults for specialization constants, by specialization id."""
    if not values:
        return module
    declared = module.declarations
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
            literal = _literal_words(_exact(values[number], kind.dtype, number), kind)
            words[entry.position + 3 : entry.position + 3 + len(literal)] = literal
        else:
            truth = _exact(values[number], np.dtype(np.uint32), number)
            opcode = opcodes[_TRUE if truth else _FALSE]
            words[entry.position] = (int(words[entry.position]) & 0xFFFF0000) | opcode
    return Module.from_bytes(words.tobytes())


def _exact(value: Any, dtype: np.dtype[Any], number: int) -> npt.NDArray[Any]:
    """Return the value of a specialization constant; raise InvalidDispatch where it is not of the type."""
    what = f"The specialization constant {number}"
    result = exact_numbers(value, dtype, what)
    if result.ndim:
        raise InvalidDispatch(f"{what} takes one number; {value!r} was given.")
    return result


def _literal_words(value: Any, kind: ScalarType) -> list[int]:
    """Return the words of a literal; narrow signed integers are sign-extended."""
    if kind.kind == "float":
        bits = int(np.asarray(value, kind.dtype).view(f"<u{kind.bits // 8}"))
    else:
        bits = int(value) & 0xFFFFFFFFFFFFFFFF
    return [bits & 0xFFFFFFFF] if kind.bits <= 32 else [bits & 0xFFFFFFFF, bits >> 32]
