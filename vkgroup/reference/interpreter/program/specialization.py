"""Specialization: a module with other defaults of its specialization constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from vkgroup.spirv import Module, ScalarType, grammar
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
