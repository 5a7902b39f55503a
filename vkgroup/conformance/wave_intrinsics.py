"""The wave intrinsics of HLSL and of Slang in one table."""

from __future__ import annotations

from functools import cache

from vkgroup.conformance.hlsl_intrinsics import INTRINSICS, LATER_INTRINSICS, HlslIntrinsic
from vkgroup.conformance.slang_functions import SLANG_FUNCTIONS

ALL_INTRINSICS = (*INTRINSICS, *LATER_INTRINSICS, *SLANG_FUNCTIONS)
"""The rows of HLSL and of Slang."""


@cache
def row_numbers() -> dict[tuple[str, str, str], int]:
    """Return the number of each row of `ALL_INTRINSICS` by name, type and operand."""
    return {
        (row.name, type_, operand): number
        for number, row in enumerate(ALL_INTRINSICS)
        for type_ in row.types
        for operand in row.operands
    }


def intrinsic_of(name: str, type_: str, operand: str) -> HlslIntrinsic:
    """Return the row of an intrinsic with a type and an operand."""
    return ALL_INTRINSICS[row_numbers()[name, type_, operand]]
