"""Instructions of the same signature, and limits of numbers, for mutations of modules."""

from __future__ import annotations

from collections.abc import Mapping

_SAME_SIGNATURE = (
    "OpIAdd OpISub OpIMul OpUDiv OpSDiv OpUMod OpSRem OpSMod OpBitwiseAnd OpBitwiseOr OpBitwiseXor"
    " OpShiftLeftLogical OpShiftRightLogical OpShiftRightArithmetic",
    "OpFAdd OpFSub OpFMul OpFDiv OpFRem OpFMod",
    "OpIEqual OpINotEqual OpULessThan OpULessThanEqual OpUGreaterThan OpUGreaterThanEqual OpSLessThan"
    " OpSLessThanEqual OpSGreaterThan OpSGreaterThanEqual",
    "OpFOrdEqual OpFOrdNotEqual OpFOrdLessThan OpFOrdLessThanEqual OpFOrdGreaterThan OpFOrdGreaterThanEqual"
    " OpFUnordEqual OpFUnordNotEqual OpFUnordLessThan OpFUnordGreaterThan",
    "OpLogicalAnd OpLogicalOr OpLogicalEqual OpLogicalNotEqual",
    "OpSNegate OpNot OpBitReverse OpBitCount",
    "OpConvertFToS OpConvertFToU",
    "OpConvertSToF OpConvertUToF",
    "OpSConvert OpUConvert",
    "OpIsNan OpIsInf",
    "OpAny OpAll",
    "OpVectorTimesScalar",
    "OpGroupNonUniformIAdd OpGroupNonUniformIMul OpGroupNonUniformSMin OpGroupNonUniformUMin"
    " OpGroupNonUniformSMax OpGroupNonUniformUMax OpGroupNonUniformBitwiseAnd OpGroupNonUniformBitwiseOr"
    " OpGroupNonUniformBitwiseXor",
    "OpGroupNonUniformFAdd OpGroupNonUniformFMul OpGroupNonUniformFMin OpGroupNonUniformFMax",
    "OpGroupNonUniformLogicalAnd OpGroupNonUniformLogicalOr OpGroupNonUniformLogicalXor",
    "OpGroupNonUniformAll OpGroupNonUniformAny",
    "OpGroupNonUniformBroadcast OpGroupNonUniformShuffle OpGroupNonUniformShuffleXor"
    " OpGroupNonUniformShuffleUp OpGroupNonUniformShuffleDown OpGroupNonUniformQuadBroadcast",
    "OpGroupNonUniformBallotFindLSB OpGroupNonUniformBallotFindMSB",
    "OpAtomicIAdd OpAtomicISub OpAtomicSMin OpAtomicUMin OpAtomicSMax OpAtomicUMax OpAtomicAnd OpAtomicOr"
    " OpAtomicXor OpAtomicExchange",
)

CLASSES: Mapping[str, tuple[str, ...]] = {
    name: tuple(names.split())
    for names in _SAME_SIGNATURE
    for name in names.split()
    if len(names.split()) > 1
}
"""Instructions with the same operands and result, by the name of each."""

CLASSES_EXTENDED: Mapping[str, tuple[str, ...]] = {
    number: numbers
    for numbers in (
        tuple(map(str, (1, 2, 3, 4, 6, 8, 9, 10))),  # Round … Fract
        tuple(map(str, (5, 7))),  # SAbs, SSign
        tuple(map(str, (11, 12, 13, 14, 21, 27, 28, 29, 30, 31, 32))),  # Radians … InverseSqrt
        tuple(map(str, (38, 39, 41, 42))),  # UMin, SMin, UMax, SMax
        tuple(map(str, (37, 40, 79, 80, 26, 48))),  # FMin, FMax, NMin, NMax, Pow, Step
        tuple(map(str, (44, 45))),  # UClamp, SClamp
        tuple(map(str, (43, 46, 50, 49))),  # FClamp, FMix, Fma, SmoothStep
        tuple(map(str, (73, 74, 75))),  # FindILsb, FindSMsb, FindUMsb
    )
    for number in numbers
}
"""Instructions of GLSL.std.450 with the same signature, by number."""

GROUP_OPERATIONS = (0, 1, 2)
"""Reduce, InclusiveScan, ExclusiveScan."""


def EDGES_INTEGER(bits: int) -> list[int]:  # noqa: N802 - a table by width
    """Return the bits of limits and small numbers."""
    top = 1 << bits - 1
    small = [0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64]
    return [*(n for n in small if n < 2 * top), top - 1, top, top + 1, 2 * top - 1, 2 * top - 2]


EDGES_FLOAT: Mapping[int, tuple[int, ...]] = {
    16: (0, 0x8000, 0x3C00, 0xBC00, 0x4000, 0x3800, 0x7BFF, 0x0001, 0x0400, 0x7C00, 0xFC00, 0x7E00),
    32: (
        *(0, 0x80000000, 0x3F800000, 0xBF800000, 0x40000000, 0x3F000000, 0x7F7FFFFF, 0x00000001),
        *(0x00800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x4B800000, 0x4F000000, 0x3EAAAAAB),
    ),
    64: (
        *(0, 1 << 63, 0x3FF0 << 48, 0xBFF0 << 48, 0x4000 << 48, 0x3FE0 << 48, 0x7FEFFFFFFFFFFFFF, 1),
        *(0x0010 << 48, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, 0x4340 << 48),
    ),
}
"""Bits of floats by width: zeros, ones, two, a half, limits, denormals, infinities, NaN."""
