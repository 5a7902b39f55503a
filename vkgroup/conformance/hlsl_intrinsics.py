"""HLSL's wave and quad intrinsics, each with the built-in of KHR_shader_subgroup that has the same result.

The definitions are those of Microsoft's reference of Shader Model 6.0. Where an intrinsic and its built-in
differ, the expression around the intrinsic compensates for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

INTEGERS = ("int", "uint")
_NUMBERS = (*INTEGERS, "float", "double")
ANY = (*_NUMBERS, "bool")
_PREFIXES = {"int": "i", "uint": "u", "float": "", "double": "d", "bool": "b"}

GLSL_OF: dict[str, str] = {
    f"{scalar}{count if count > 1 else ''}": f"{prefix}vec{count}" if count > 1 else scalar
    for scalar, prefix in _PREFIXES.items()
    for count in (1, 2, 3, 4)
}
"""HLSL's types, and GLSL's types with the same values."""

_COMPONENTS = "xyzw"

# A component that differs between lanes, next to the one with the case's values.
_VARYING = {
    "int": "int(lane)",
    "uint": "lane * 3u",
    "float": "float(lane)",
    "double": "double(float(lane))",
    "bool": "((lane & 1u) == 1u)",
}


@dataclass(frozen=True)
class HlslIntrinsic:
    """One use of an intrinsic."""

    name: str  # HLSL's name
    core: str  # the built-in of KHR_shader_subgroup with the same result
    definition: str  # a summary of its result in HLSL's reference
    call: str  # HLSL with {0} and {1} for the arguments and {type} for the result's type
    types: tuple[str, ...]  # HLSL types of its value; for a query, of its result
    #: Choices for the built-in's second operand; a single name if the call contains the operand.
    operands: tuple[str, ...] = ("",)
    data: tuple[str, ...] = ("exact",)  # data sets of the built-in
    compared: str = ""  # the built-in's type, if it is a component of the value


def vectors(scalars: tuple[str, ...]) -> tuple[str, ...]:
    """Return HLSL's names of scalars and of their vectors."""
    return tuple(name for name in GLSL_OF if name.rstrip("234") in scalars)


def row_of(name: str, core: str, definition: str, scalars: tuple[str, ...], *operands: str) -> HlslIntrinsic:
    """Return an intrinsic of scalars and vectors whose result has the type of its value."""
    second = ", {1}" if operands else ""
    call = f"{{type}}({name}({{0}}{second}))"
    return HlslIntrinsic(name, core, definition, call, vectors(scalars), operands or ("",))


def _combining(name: str, core: str, definition: str, *, rounds: bool) -> HlslIntrinsic:
    """Return an intrinsic for a sum, product, minimum or maximum."""
    return replace(row_of(name, core, definition, _NUMBERS), data=("exact", "rounding")[: 1 + rounds])


def _equal_components() -> list[HlslIntrinsic]:
    """Return WaveActiveAllEqual of vectors: the case gives the last component, and the others vary."""
    rows = []
    for type_ in vectors(ANY):
        scalar = type_.rstrip("234")
        if type_ == scalar:
            continue
        count = int(type_[-1])
        others = ", ".join([_VARYING[scalar]] * (count - 1))
        call = f"WaveActiveAllEqual({type_}({others}, {{0}})).{_COMPONENTS[count - 1]}"
        rows.append(
            HlslIntrinsic(
                "WaveActiveAllEqual",
                "subgroupAllEqual",
                "for each component, whether it is the same in every active lane",
                call,
                (type_,),
                compared=scalar,
            )
        )
    return rows


_EVERY_ACTIVE = "over the values of all active lanes"
_BELOW = "over the values of the active lanes with smaller indices"
_QUADS = ("q0", "q1", "q2", "q3", "dynamic")

INTRINSICS: tuple[HlslIntrinsic, ...] = (
    HlslIntrinsic(
        "WaveGetLaneCount", "gl_SubgroupSize", "the number of lanes of a wave", "WaveGetLaneCount()",
        ("uint",),
    ),
    HlslIntrinsic(
        "WaveGetLaneIndex", "gl_SubgroupInvocationID", "the lane's index", "WaveGetLaneIndex()", ("uint",)
    ),
    HlslIntrinsic(
        "WaveIsFirstLane", "subgroupElect", "true in the active lane with the smallest index alone",
        "WaveIsFirstLane()", ("bool",),
    ),
    row_of(
        "WaveReadLaneFirst", "subgroupBroadcastFirst", "the value of the active lane of the smallest index",
        ANY,
    ),
    row_of(
        "WaveReadLaneAt", "subgroupShuffle",
        "the value of the lane of an index, which may differ between lanes", ANY,
        *("last", "reverse", "dynamic", "data", "straddling"),
    ),
    HlslIntrinsic(
        "WaveActiveAnyTrue", "subgroupAny", "whether any active lane's is true", "WaveActiveAnyTrue({0})",
        ("bool",),
    ),
    HlslIntrinsic(
        "WaveActiveAllTrue", "subgroupAll", "whether all active lanes' are true", "WaveActiveAllTrue({0})",
        ("bool",),
    ),
    HlslIntrinsic(
        "WaveActiveBallot", "subgroupBallot", "a bit for each lane, set in those that are active and true",
        "WaveActiveBallot({0})", ("bool",),
    ),
    HlslIntrinsic(
        "WaveActiveAllEqual", "subgroupAllEqual", "whether the value is the same in every active lane",
        "WaveActiveAllEqual({0})", ANY,
    ),
    *_equal_components(),
    HlslIntrinsic(
        "WaveActiveCountBits", "subgroupAdd",
        "in how many active lanes it is true, asked of each bit of a word", "counted({0})", ("uint",),
    ),
    HlslIntrinsic(
        "WavePrefixCountBits", "subgroupExclusiveAdd",
        "in how many active lanes with smaller indices it is true, asked of each bit of a word",
        "counted_below({0})", ("uint",),
    ),
    row_of("WaveActiveBitAnd", "subgroupAnd", f"bitwise and {_EVERY_ACTIVE}", INTEGERS),
    row_of("WaveActiveBitOr", "subgroupOr", f"bitwise or {_EVERY_ACTIVE}", INTEGERS),
    row_of("WaveActiveBitXor", "subgroupXor", f"bitwise exclusive or {_EVERY_ACTIVE}", INTEGERS),
    _combining("WaveActiveMax", "subgroupMax", f"the greatest {_EVERY_ACTIVE}", rounds=False),
    _combining("WaveActiveMin", "subgroupMin", f"the least {_EVERY_ACTIVE}", rounds=False),
    _combining("WaveActiveSum", "subgroupAdd", f"the sum {_EVERY_ACTIVE}", rounds=True),
    _combining("WaveActiveProduct", "subgroupMul", f"the product {_EVERY_ACTIVE}", rounds=True),
    _combining("WavePrefixSum", "subgroupExclusiveAdd", f"the sum {_BELOW}", rounds=True),
    _combining("WavePrefixProduct", "subgroupExclusiveMul", f"the product {_BELOW}", rounds=True),
    row_of("QuadReadLaneAt", "subgroupQuadBroadcast", "the value of the quad's lane of an index", ANY,
           *_QUADS),
    HlslIntrinsic(
        "QuadReadLaneAt", "subgroupQuadSwapHorizontal",
        "the value of the quad's lane of an index that differs between lanes",
        "{type}(QuadReadLaneAt({0}, (lane & 3u) ^ 1u))", vectors(ANY), operands=("across",),
    ),
    row_of("QuadReadAcrossX", "subgroupQuadSwapHorizontal", "the value of the lane beside it", ANY),
    row_of("QuadReadAcrossY", "subgroupQuadSwapVertical", "the value of the lane above or below it", ANY),
    row_of("QuadReadAcrossDiagonal", "subgroupQuadSwapDiagonal", "the value of the lane opposite to it", ANY),
)  # fmt: skip
"""All uses of all intrinsics of Shader Model 6.0."""

_PARTITIONS = ("equal", "voted", "blocks", "active")
_OF_SUBSET = "over the values of the lanes of its subset with smaller indices"

LATER_INTRINSICS: tuple[HlslIntrinsic, ...] = (
    HlslIntrinsic(
        "WaveMatch", "subgroupPartitionNV", "a bit for each active lane with the same value",
        "WaveMatch({0})", vectors((*INTEGERS, "float", "bool")),
    ),
    *(
        row_of(f"WaveMultiPrefix{name}", f"subgroupPartitionedExclusive{core}NV", f"{what} {_OF_SUBSET}",
               types, *_PARTITIONS)
        for name, core, what, types in (
            ("Sum", "Add", "the sum", (*INTEGERS, "float")),
            ("Product", "Mul", "the product", (*INTEGERS, "float")),
            ("BitAnd", "And", "bitwise and", INTEGERS),
            ("BitOr", "Or", "bitwise or", INTEGERS),
            ("BitXor", "Xor", "bitwise exclusive or", INTEGERS),
        )
    ),
    HlslIntrinsic(
        "QuadAny", "subgroupClusteredOr", "whether it is true in any active lane of the quad", "QuadAny({0})",
        ("bool",), operands=("c4",),
    ),
    HlslIntrinsic(
        "QuadAll", "subgroupClusteredAnd", "whether it is true in all active lanes of the quad",
        "QuadAll({0})", ("bool",), operands=("c4",),
    ),
)  # fmt: skip
"""Intrinsics of Shader Model 6.5 (WaveMatch, WaveMultiPrefix…) and 6.7 (QuadAny, QuadAll).

Slang has all of them, DXC 1.8 makes SPIR-V of WaveMatch alone. QuadAny is a clustered or: it asks the active
lanes of four, as that does.
"""
