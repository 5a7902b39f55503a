"""WGSL's subgroup functions, each with the built-in of KHR_shader_subgroup that has the same result.

The definitions are those of the WGSL specification, "Subgroup Built-in Functions" and "Quad Operations".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_PREFIXES = {"i32": "i", "u32": "u", "f32": "", "f16": "f16", "bool": "b"}
_SCALARS = {"i32": "int", "u32": "uint", "f32": "float", "f16": "float16_t", "bool": "bool"}
_LETTERS = {"i32": "i", "u32": "u", "f32": "f", "f16": "h", "bool": "<bool>"}

GLSL_OF: dict[str, str] = {
    scalar if count == 1 else f"vec{count}{_LETTERS[scalar]}": _SCALARS[scalar]
    if count == 1
    else f"{prefix}vec{count}"
    for scalar, prefix in _PREFIXES.items()
    for count in (1, 2, 3, 4)
}
"""WGSL's types, and GLSL's types with the same values."""

_NUMBERS = tuple(name for name in GLSL_OF if "bool" not in name)
_INTEGERS = tuple(name for name in _NUMBERS if name[-1] in "iu" or name in ("i32", "u32"))


@dataclass(frozen=True)
class WgslFunction:
    """One subgroup function or built-in value."""

    name: str
    core: str  # the built-in of KHR_shader_subgroup with the same result
    definition: str  # a summary of its result in WGSL's specification
    types: tuple[str, ...]  # of its value; of a built-in value, of its result
    operands: tuple[str, ...] = ("",)  # choices for the second operand
    rounds: bool = False  # whether it is also tried with data whose sums are rounded


_ACTIVE = "over the values of the active invocations in the subgroup"
_UP_TO = "over the values of the active invocations with a smaller or the same id"
_BELOW = "over the values of the active invocations with smaller ids"
_IDS = ("last", "reverse", "dynamic", "data")


def _arithmetic() -> Iterator[WgslFunction]:
    for word, what in (("Add", "the sum"), ("Mul", "the product")):
        yield WgslFunction(f"subgroup{word}", f"subgroup{word}", f"{what} {_ACTIVE}", _NUMBERS, rounds=True)
        for scan, where in (("Exclusive", _BELOW), ("Inclusive", _UP_TO)):
            name = f"subgroup{scan}{word}"
            yield WgslFunction(name, name, f"{what} {where}", _NUMBERS, rounds=True)
    for word, what, types in (
        ("Min", "the least", _NUMBERS),
        ("Max", "the greatest", _NUMBERS),
        ("And", "the bitwise and", _INTEGERS),
        ("Or", "the bitwise or", _INTEGERS),
        ("Xor", "the bitwise exclusive or", _INTEGERS),
    ):
        yield WgslFunction(f"subgroup{word}", f"subgroup{word}", f"{what} {_ACTIVE}", types)


FUNCTIONS: tuple[WgslFunction, ...] = (
    WgslFunction("subgroup_size", "gl_SubgroupSize", "the size of the subgroup", ("u32",)),
    WgslFunction("subgroup_invocation_id", "gl_SubgroupInvocationID", "the id in the subgroup", ("u32",)),
    WgslFunction(
        "subgroupElect", "subgroupElect", "true in the active invocation of the lowest id", ("bool",)
    ),
    WgslFunction("subgroupAll", "subgroupAll", "whether it is true in all active invocations", ("bool",)),
    WgslFunction("subgroupAny", "subgroupAny", "whether it is true in any active invocation", ("bool",)),
    WgslFunction(
        "subgroupBallot", "subgroupBallot", "a bit for each active invocation in which it is true", ("bool",)
    ),
    WgslFunction(
        "subgroupBroadcastFirst",
        "subgroupBroadcastFirst",
        "the value of the active invocation of the lowest id",
        _NUMBERS,
    ),
    WgslFunction(
        "subgroupBroadcast",
        "subgroupBroadcast",
        "the value of the invocation of an id",
        _NUMBERS,
        ("first", "last"),
    ),
    WgslFunction(
        "subgroupShuffle", "subgroupShuffle", "the value of the invocation of an id", _NUMBERS, _IDS
    ),
    WgslFunction(
        "subgroupShuffleXor",
        "subgroupShuffleXor",
        "the value of the id xor a mask",
        _NUMBERS,
        ("by1", "dynamic"),
    ),
    WgslFunction(
        "subgroupShuffleUp",
        "subgroupShuffleUp",
        "the value of the id less a distance",
        _NUMBERS,
        ("by1", "dynamic"),
    ),
    WgslFunction(
        "subgroupShuffleDown",
        "subgroupShuffleDown",
        "the value of the id plus a distance",
        _NUMBERS,
        ("by1", "dynamic"),
    ),
    *_arithmetic(),
    WgslFunction(
        "quadBroadcast",
        "subgroupQuadBroadcast",
        "the value of the quad's invocation of an id",
        _NUMBERS,
        ("q0", "q1", "q2", "q3"),
    ),
    WgslFunction(
        "quadSwapX",
        "subgroupQuadSwapHorizontal",
        "the value of the invocation beside it in the quad",
        _NUMBERS,
    ),
    WgslFunction(
        "quadSwapY", "subgroupQuadSwapVertical", "the value of the invocation above or below it", _NUMBERS
    ),
    WgslFunction(
        "quadSwapDiagonal", "subgroupQuadSwapDiagonal", "the value of the opposite invocation", _NUMBERS
    ),
)

FUNCTIONS_BY_NAME = {row.name: row for row in FUNCTIONS}
