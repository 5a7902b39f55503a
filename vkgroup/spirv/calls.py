"""Calls of functions: by OpFunctionCall, and by instructions of cooperative matrices for their elements."""

from __future__ import annotations

from typing import NamedTuple

from vkgroup.spirv.binary import Instruction


class Call(NamedTuple):
    """A call of a function."""

    function: int  # its id
    #: The id of each argument; 0 for a value without an id. For an element of a matrix it is the matrix.
    arguments: tuple[int, ...]


def call_of(entry: Instruction) -> Call | None:
    """Return the call that an instruction makes; None for other instructions."""
    words = entry.operands
    if entry.name == "OpFunctionCall":
        return Call(words[0], words[1:])
    if entry.name == "OpCooperativeMatrixReduceEXT":
        return Call(words[2], (words[0], words[0]))
    if entry.name == "OpCooperativeMatrixPerElementOpEXT":
        return Call(words[1], (0, 0, words[0], *words[2:]))
    return None
