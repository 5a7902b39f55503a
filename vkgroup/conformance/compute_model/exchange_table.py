"""Exchanges through shared memory as data: who reads whose cell, of what type, and where the barrier is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint32]

HASH = "(index * 747796405u + number * 2891336453u + group * 277803737u + 1u)"
"""GLSL of the value of the cell `index` in round `number` of workgroup `group`; `hashed` is the same."""


def hashed(index: Words, number: Words, group: Words) -> Words:
    """Return the value of a cell in a round of a workgroup: NumPy's twin of `HASH`."""
    with np.errstate(over="ignore"):
        return np.asarray(
            index * np.uint32(747796405)
            + number * np.uint32(2891336453)
            + group * np.uint32(277803737)
            + np.uint32(1)
        )


@dataclass(frozen=True)
class Pattern:
    """Whose cell an invocation reads after the barrier.

    Attributes
    ----------
    sentence : in words.
    glsl : the cell as an expression of `index`, `number` (the round) and `COUNT` (invocations).
    source : the same in NumPy, of index, round and count.
    """

    sentence: str
    glsl: str
    source: Callable[[Words, Words, int], Words]


def _transposed(index: Words, number: Words, count: int) -> Words:
    rows = count // 8 or 1
    return np.asarray(np.where(index < 8 * rows, index % rows * 8 + index // rows, index))


PATTERNS: dict[str, Pattern] = {
    "rotate": Pattern(
        "the cell of a later invocation, another one each round",
        "(index + 1u + number) % COUNT",
        lambda i, n, count: (i + 1 + n) % count,
    ),
    "half_way": Pattern(
        "the cell half the workgroup away", "(index + COUNT / 2u) % COUNT", lambda i, n, c: (i + c // 2) % c
    ),
    "reverse": Pattern("the cells in reverse order", "COUNT - 1u - index", lambda i, n, c: c - 1 - i),
    "transpose": Pattern(
        "the cells as a transposed matrix",
        "index < 8u * ROWS ? index % ROWS * 8u + index / ROWS : index",
        _transposed,
    ),
    "scatter": Pattern(
        "cells far apart", "(index * 37u + number) % COUNT", lambda i, n, c: (i * np.uint32(37) + n) % c
    ),
    "first": Pattern("the first invocation's cell", "0u", lambda i, n, c: np.zeros_like(i)),
    "last": Pattern("the last invocation's cell", "COUNT - 1u", lambda i, n, c: np.full_like(i, c - 1)),
    "butterfly": Pattern(
        "the cell whose index differs in one bit",
        "min(index ^ (1u << (number % 7u)), COUNT - 1u)",
        lambda i, n, c: np.minimum(i ^ (np.uint32(1) << (n % 7)), c - 1),
    ),
}
"""All patterns by name."""


@dataclass(frozen=True)
class CellType:
    """A type of shared variables.

    Attributes
    ----------
    declaration : of types that it needs.
    name : its name in GLSL.
    make : a value made of the uint `h`.
    words : each scalar of the value `v` as a uint.
    expected : words of h, (…, number of words).
    """

    declaration: str
    name: str
    make: str
    words: tuple[str, ...]
    expected: Callable[[Words], list[Words]]


def _small(h: Words) -> Words:
    """Return what a float holds exactly."""
    return np.asarray(h & np.uint32(0xFFFF))


def _plus(h: Words, number: int) -> Words:
    return np.asarray(h + np.uint32(number))


_FLOATS = "float({0} & 0xFFFFu)"


def _floats(count: int) -> str:
    return ", ".join(_FLOATS.format(f"(h + {k}u)") for k in range(count))


def _vector(name: str, count: int) -> CellType:
    """Return a type of floating-point vectors or matrices, from its constructor."""
    return CellType(
        "",
        name,
        f"{name}({_floats(count)})",
        tuple(f"uint(v.{c})" for c in "xyzw"[:count]),
        lambda h: [_small(_plus(h, k)) for k in range(count)],
    )


TYPES: dict[str, CellType] = {
    "uint": CellType("", "uint", "h", ("v",), lambda h: [h]),
    "int": CellType("", "int", "int(h)", ("uint(v)",), lambda h: [h]),
    "float": CellType("", "float", _FLOATS.format("h"), ("uint(v)",), lambda h: [_small(h)]),
    "bool": CellType(
        "", "bool", "(h & 4u) != 0u", ("uint(v)",), lambda h: [((h & 4) != 0).astype(np.uint32)]
    ),
    "vec2": _vector("vec2", 2),
    "vec3": _vector("vec3", 3),
    "vec4": _vector("vec4", 4),
    "uvec3": CellType(
        "",
        "uvec3",
        "uvec3(h, h + 1u, h + 2u)",
        ("v.x", "v.y", "v.z"),
        lambda h: [_plus(h, k) for k in range(3)],
    ),
    "mat2x3": CellType(
        "",
        "mat2x3",
        f"mat2x3({_floats(6)})",
        tuple(f"uint(v[{c}][{r}])" for c in range(2) for r in range(3)),
        lambda h: [_small(_plus(h, k)) for k in range(6)],
    ),
    "array": CellType(
        "",
        "uint[3]",
        "uint[3](h, h + 1u, h + 2u)",
        ("v[0]", "v[1]", "v[2]"),
        lambda h: [_plus(h, k) for k in range(3)],
    ),
    "struct": CellType(
        "struct Record { uint a; vec2 b; int c[2]; };",
        "Record",
        f"Record(h, vec2({_floats(2)}), int[2](int(h + 1u), int(h + 2u)))",
        ("v.a", "uint(v.b.x)", "uint(v.b.y)", "uint(v.c[0])", "uint(v.c[1])"),
        lambda h: [h, _small(h), _small(_plus(h, 1)), _plus(h, 1), _plus(h, 2)],
    ),
}
"""All types by name."""

CONTROLS: dict[str, tuple[str, str]] = {
    "main": ("in main", "{write}\nbarrier();\n{read}"),
    "function": ("in a function that main calls", "{write}\nmeet();\n{read}"),
    "nested_function": ("in a function that a function calls", "{write}\nmeet_again();\n{read}"),
    "uniform_loop": (
        "in a loop as long as a buffer says",
        "for (uint i = 0u; i < settings[0]; ++i) {{\n{write}\nbarrier();\n{read}\nbarrier();\n}}",
    ),
    "uniform_if": (
        "behind a condition that a buffer decides",
        "if (settings[1] == 1u) {{\n{write}\nbarrier();\n{read}\n}}",
    ),
    "uniform_switch": (
        "in a case of a switch that a buffer decides",
        "switch (settings[1]) {{\ncase 0u: break;\ncase 1u: {{\n{write}\nbarrier();\n{read}\n}} break;\n}}",
    ),
    "by_workgroup": (
        "in a branch that depends on the workgroup",
        "if ((group & 1u) == 0u) {{\n{write}\nbarrier();\n{read}\n}}\n"
        "else {{\n{write}\nbarrier();\n{read}\n}}",
    ),
}
"""Places of the barrier: sentence, and GLSL with {write} and {read}; always uniform control flow.
`settings` holds 2 and 1."""
