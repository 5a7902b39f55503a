"""Shared memory: stores of a workgroup before ``barrier()`` are visible to all its invocations after it.

ARB_compute_shader, sections 4.3.7 ("Shared") and 8.15 ("Shader Invocation Control Functions"). Exchanges
combine the cell that each invocation reads, the cell's type, and the position of the barrier. Further tests
use all shared memory of the device, compute sums in a tree, and repeat many rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np

from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model import work
from vkgroup.conformance.compute_model.work import (
    LOCAL_SIZES,
    DispatchShape,
    ModelCase,
    Words,
    exceeded,
    invocations_limit,
    local_size,
)
from vkgroup.conformance.execute import Executor
from vkgroup.device import Capabilities

# --- exchanges ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ReadPattern:
    """The cell that an invocation reads after the barrier."""

    sentence: str  # description
    glsl: str  # the cell as an expression of `index`, `number` (the round) and `COUNT` (invocations)
    source: Callable[[Words, Words, int], Words]  # the same in NumPy, of index, round and count


def _transposed(index: Words, number: Words, count: int) -> Words:
    rows = count // 8 or 1
    return np.asarray(np.where(index < 8 * rows, index % rows * 8 + index // rows, index))


PATTERNS: dict[str, ReadPattern] = {
    "rotate": ReadPattern(
        "the cell of a later invocation, another one each round",
        "(index + 1u + number) % COUNT",
        lambda i, n, count: (i + 1 + n) % count,
    ),
    "half_way": ReadPattern(
        "the cell half the workgroup away", "(index + COUNT / 2u) % COUNT", lambda i, n, c: (i + c // 2) % c
    ),
    "reverse": ReadPattern("the cells in reverse order", "COUNT - 1u - index", lambda i, n, c: c - 1 - i),
    "transpose": ReadPattern(
        "the cells as a transposed matrix",
        "index < 8u * ROWS ? index % ROWS * 8u + index / ROWS : index",
        _transposed,
    ),
    "scatter": ReadPattern(
        "cells far apart", "(index * 37u + number) % COUNT", lambda i, n, c: (i * np.uint32(37) + n) % c
    ),
    "first": ReadPattern("the first invocation's cell", "0u", lambda i, n, c: np.zeros_like(i)),
    "last": ReadPattern("the last invocation's cell", "COUNT - 1u", lambda i, n, c: np.full_like(i, c - 1)),
    "butterfly": ReadPattern(
        "the cell whose index differs in one bit",
        "min(index ^ (1u << (number % 7u)), COUNT - 1u)",
        lambda i, n, c: np.minimum(i ^ (np.uint32(1) << (n % 7)), c - 1),
    ),
}
"""All patterns by name."""


@dataclass(frozen=True)
class CellType:
    """A type of shared variables."""

    name: str  # its name in GLSL
    make: str  # a value made of the uint `h`
    words: tuple[str, ...]  # each scalar of the value `v` as a uint
    expected: Callable[[Words], list[Words]]  # returns the words for values of h
    declaration: str = ""  # declaration of the type itself, if it needs one


def _small(h: Words) -> Words:
    """Return the number reduced to the integers that a float represents exactly."""
    return np.asarray(h & np.uint32(0xFFFF))


def _plus(h: Words, count: int) -> list[Words]:
    """Return an array of h, h + 1, … with this many elements."""
    return [np.asarray(h + np.uint32(number)) for number in range(count)]


def _floats(count: int) -> str:
    """Return the GLSL of this many numbers that a float represents exactly."""
    return ", ".join(f"float((h + {number}u) & 0xFFFFu)" for number in range(count))


def _of_floats(name: str, *parts: str) -> CellType:
    """Return a type that consists of floats; `parts` are those of the value `v`."""
    count = len(parts)
    words = tuple(f"uint({part})" for part in parts)
    return CellType(name, f"{name}({_floats(count)})", words, lambda h: [_small(n) for n in _plus(h, count)])


TYPES: dict[str, CellType] = {
    "uint": CellType("uint", "h", ("v",), lambda h: [h]),
    "int": CellType("int", "int(h)", ("uint(v)",), lambda h: [h]),
    "float": CellType("float", "float(h & 0xFFFFu)", ("uint(v)",), lambda h: [_small(h)]),
    "bool": CellType("bool", "(h & 4u) != 0u", ("uint(v)",), lambda h: [((h & 4) != 0).astype(np.uint32)]),
    "vec2": _of_floats("vec2", "v.x", "v.y"),
    "vec3": _of_floats("vec3", "v.x", "v.y", "v.z"),
    "vec4": _of_floats("vec4", "v.x", "v.y", "v.z", "v.w"),
    "uvec3": CellType("uvec3", "uvec3(h, h + 1u, h + 2u)", ("v.x", "v.y", "v.z"), lambda h: _plus(h, 3)),
    "mat2x3": _of_floats("mat2x3", *(f"v[{column}][{row}]" for column in range(2) for row in range(3))),
    "array": CellType(
        "uint[3]", "uint[3](h, h + 1u, h + 2u)", ("v[0]", "v[1]", "v[2]"), lambda h: _plus(h, 3)
    ),
    "struct": CellType(
        "Record",
        f"Record(h, vec2({_floats(2)}), int[2](int(h + 1u), int(h + 2u)))",
        ("v.a", "uint(v.b.x)", "uint(v.b.y)", "uint(v.c[0])", "uint(v.c[1])"),
        lambda h: [h, _small(h), _small(h + np.uint32(1)), *_plus(h, 3)[1:]],
        "struct Record { uint a; vec2 b; int c[2]; };",
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
"""Positions of the barrier: sentence, and GLSL with {write} and {read}; always uniform control flow.
`settings` holds 2 and 1."""

ROUNDS = 8
"""Number of exchanges of a case, each with different values."""

GROUPS = 4
"""Workgroups, each with different values."""

_PLAIN = ("rotate", "uint", "main", "8x8x1")


def _exchange_cases() -> Iterator[ModelCase]:
    chosen = [(pattern, *_PLAIN[1:]) for pattern in PATTERNS]
    chosen += [(_PLAIN[0], type_, *_PLAIN[2:]) for type_ in TYPES]
    chosen += [(_PLAIN[0], "vec3", control, _PLAIN[3]) for control in CONTROLS]
    chosen += [(pattern, "uint", "main", local) for pattern in ("rotate", "scatter") for local in LOCAL_SIZES]
    for variant in dict.fromkeys(chosen):
        pattern, type_, control, local = variant
        sentence = (
            f"After barrier() {CONTROLS[control][0]}, each invocation reads {PATTERNS[pattern].sentence}, of"
            f" type {type_}, as it was written: {local.replace('_', ' ')} invocations, {ROUNDS} rounds."
        )
        yield work.model_case("shared", "exchange", variant, sentence)


def _exchange_shader(pattern: str, type_: str, control: str, shape: DispatchShape) -> str:
    cell = TYPES[type_]
    x, y, z = shape.local
    write = [f"uint h = {work.HASH};", f"cells[index] = {cell.make};"]
    first = f"((group * {ROUNDS}u + number) * COUNT + index) * {len(cell.words)}u"
    read = [f"{cell.name} v = cells[{PATTERNS[pattern].glsl}];"]
    read += [f"found[{first} + {k}u] = {word};" for k, word in enumerate(cell.words)]
    body = CONTROLS[control][1].format(write="{ " + " ".join(write) + " }", read="{ " + " ".join(read) + " }")
    return f"""#version 430
// After a barrier each invocation reads {PATTERNS[pattern].sentence}.
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
layout(std430, binding = 0) readonly buffer Settings {{ uint settings[]; }};
layout(std430, binding = 1) writeonly buffer Found {{ uint found[]; }};
const uint COUNT = {shape.in_group}u, ROWS = max(COUNT / 8u, 1u);
{cell.declaration}
shared {cell.name} cells[COUNT];
void meet() {{ barrier(); }}
void meet_again() {{ meet(); }}
void main() {{
    uint index = gl_LocalInvocationIndex, group = gl_WorkGroupID.x;
    for (uint number = 0u; number < {ROUNDS}u; ++number) {{
{body}
        barrier();
    }}
}}"""


def _exchange_shape(local: str, capabilities: Capabilities) -> DispatchShape:
    return DispatchShape(local_size(local, capabilities.limits), (GROUPS, 1, 1))


def _judge_exchange(executor: Executor, pattern: str, type_: str, control: str, local: str) -> Verdict:
    shape, cell = _exchange_shape(local, executor.capabilities), TYPES[type_]
    bindings = {
        "Settings": np.array([2, 1], np.uint32),
        "Found": poisoned(GROUPS * ROUNDS * shape.in_group * len(cell.words)),
    }
    recorded = work.run(executor, _exchange_shader(pattern, type_, control, shape), GROUPS, bindings)["Found"]
    group, number, index = np.indices((GROUPS, ROUNDS, shape.in_group), dtype=np.uint32)
    source = PATTERNS[pattern].source(index, number, shape.in_group).astype(np.uint32)
    expected = np.stack(cell.expected(work.hashed(source, number, group)), axis=-1)
    axes = ("workgroup", "round", "invocation", "word")
    return work.compare(recorded.reshape(expected.shape), expected, "what was read after the barrier", axes)


# --- sizes, trees and rounds --------------------------------------------------------------------------

SIZES: dict[str, int] = {
    "1_word": 1,
    "63_words": 63,
    "1024_words": 1024,
    "4095_words": 4095,
    "16_KiB": 4096,
    "32_KiB": 8192,
    "limit": 0,
}
"""Words of shared memory by name; 0 for the device's maximum (maxComputeSharedMemorySize)."""

TREES = {"2": 2, "32": 32, "128": 128, "1024": 1024, "limit": 0}
"""Invocations of a workgroup that sums in a tree; 0 for the device's largest power of two."""

_LOCAL, _GROUPS, _ROUNDS = 64, 3, 2
_MANY = 200


def _size_cases() -> Iterator[ModelCase]:
    for name, words in SIZES.items():
        size = "all shared memory that the device has" if name == "limit" else name.replace("_", " ")
        for layout, phrase in (("one_array", "one array"), ("several", "several variables of other types")):
            if layout == "one_array" or words >= 1024 or name == "limit":
                sentence = f"Shared memory of {size}, in {phrase}, holds what was written before barrier()."
                yield work.model_case("shared", "size", (name, layout), sentence)
    for name in TREES:
        count = "as many invocations as the device has" if name == "limit" else f"{name} invocations"
        sentence = f"A tree with barrier() at each level adds up the values of {count}."
        yield work.model_case("shared", "tree", (name,), sentence)
    sentence = f"Sums that wander through a workgroup are right after {_MANY} rounds of two barriers."
    yield work.model_case("shared", "many_rounds", (), sentence)


def _words(name: str, capabilities: Capabilities) -> int:
    return SIZES[name] or int(capabilities.limits["maxComputeSharedMemorySize"]) // 4


def _tree_invocations(name: str, capabilities: Capabilities) -> int:
    return TREES[name] or 1 << (invocations_limit(capabilities.limits).bit_length() - 1)


def _declaration(words: int, layout: str) -> tuple[str, str, str]:
    """Return the GLSL of this many words of shared memory: declarations, a write of h to `index`, a read."""
    if layout == "one_array":
        return f"shared uint cells[{words}];", "cells[index] = h;", "cells[index]"
    # Half in an array of uint, a quarter in vectors of four, the rest in int.
    half, vectors = words // 2, words // 16
    rest = words - half - 4 * vectors
    declarations = f"shared uint cells[{half}]; shared uvec4 fours[{vectors}]; shared int others[{rest}];"
    first, second = f"index < {half}u", f"index < {half + 4 * vectors}u"
    four, other = f"index - {half}u", f"index - {half + 4 * vectors}u"
    write = (
        f"if ({first}) cells[index] = h; else if ({second}) fours[({four}) / 4u][({four}) % 4u] = h;"
        f" else others[{other}] = int(h);"
    )
    read = (
        f"{first} ? cells[min(index, {half - 1}u)] : {second} ?"
        f" fours[min(({four}) / 4u, {vectors - 1}u)][({four}) % 4u] :"
        f" uint(others[min({other}, {rest - 1}u)])"
    )
    return declarations, write, read


def _judge_size(executor: Executor, size: str, layout: str) -> Verdict:
    """Write all of the memory, read it by other invocations, and return the verdict."""
    words = _words(size, executor.capabilities)
    declaration, write, read = _declaration(words, layout)
    source = f"""#version 430
// All {words} words of shared memory are written, and read by other invocations after a barrier.
layout(local_size_x = {_LOCAL}) in;
layout(std430, binding = 0) writeonly buffer Found {{ uint found[]; }};
{declaration}
void main() {{
    uint own = gl_LocalInvocationIndex, group = gl_WorkGroupID.x;
    for (uint number = 0u; number < {_ROUNDS}u; ++number) {{
        for (uint index = own; index < {words}u; index += {_LOCAL}u) {{
            uint h = {work.HASH};
            {write}
        }}
        barrier();
        for (uint index = {_LOCAL - 1}u - own; index < {words}u; index += {_LOCAL}u)
            found[(group * {_ROUNDS}u + number) * {words}u + index] = {read};
        barrier();
    }}
}}
"""
    recorded = work.run(executor, source, _GROUPS, {"Found": poisoned(_GROUPS * _ROUNDS * words)})["Found"]
    group, number, index = np.indices((_GROUPS, _ROUNDS, words), dtype=np.uint32)
    expected = work.hashed(index, number, group)
    axes = ("workgroup", "round", "word")
    return work.compare(recorded.reshape(expected.shape), expected, "what shared memory held", axes)


def _judge_tree(executor: Executor, name: str) -> Verdict:
    """Sum in a tree with half of the invocations at each level and barriers between; return the verdict."""
    count = _tree_invocations(name, executor.capabilities)
    source = f"""#version 430
// A workgroup adds up {count} values by a tree.
layout(local_size_x = {count}) in;
layout(std430, binding = 0) writeonly buffer Found {{ uint found[]; }};
shared uint sums[{count}];
void main() {{
    uint index = gl_LocalInvocationIndex, group = gl_WorkGroupID.x;
    const uint number = 0u;
    sums[index] = {work.HASH};
    barrier();
    for (uint half_ = {count // 2}u; half_ > 0u; half_ /= 2u) {{
        if (index < half_) sums[index] += sums[index + half_];
        barrier();
    }}
    found[group * {count}u + index] = sums[0];
}}
"""
    recorded = work.run(executor, source, _GROUPS, {"Found": poisoned(_GROUPS * count)})["Found"]
    group, index = np.indices((_GROUPS, count), dtype=np.uint32)
    totals = work.hashed(index, np.zeros_like(index), group).sum(axis=1, dtype=np.uint32)
    expected = np.repeat(totals[:, None], count, axis=1)
    return work.compare(recorded.reshape(expected.shape), expected, "the sum", ("workgroup", "invocation"))


def _judge_rounds(executor: Executor) -> Verdict:
    """Pass values to the next invocation many times; each adds a different number; return the verdict."""
    source = f"""#version 430
// Values move through the workgroup, {_MANY} times to the next invocation.
layout(local_size_x = {_LOCAL}) in;
layout(std430, binding = 0) writeonly buffer Found {{ uint found[]; }};
shared uint cells[{_LOCAL}];
void main() {{
    uint index = gl_LocalInvocationIndex, group = gl_WorkGroupID.x;
    uint sum = 0u;
    for (uint number = 0u; number < {_MANY}u; ++number) {{
        cells[index] = sum ^ {work.HASH};
        barrier();
        sum = cells[(index + 1u) % {_LOCAL}u] * 3u + index;
        barrier();
    }}
    found[group * {_LOCAL}u + index] = sum;
}}
"""
    recorded = work.run(executor, source, _GROUPS, {"Found": poisoned(_GROUPS * _LOCAL)})["Found"]
    group, index = np.indices((_GROUPS, _LOCAL), dtype=np.uint32)
    sums = np.zeros_like(index)
    for number in range(_MANY):
        cells = sums ^ work.hashed(index, np.full_like(index, number), group)
        sums = np.roll(cells, -1, axis=1) * np.uint32(3) + index
    return work.compare(recorded.reshape(sums.shape), sums, "the sum", ("workgroup", "invocation"))


# --- topic --------------------------------------------------------------------------------------------


def _missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    limits, variant = capabilities.limits, case.axes.variant
    if case.axes.test == "exchange":
        return exceeded(_exchange_shape(variant[3], capabilities), limits)
    if case.axes.test == "size":
        nbytes = 4 * _words(variant[0], capabilities)
        over = nbytes > limits["maxComputeSharedMemorySize"]
        return [f"maxComputeSharedMemorySize of at least {nbytes}"] if over else []
    if case.axes.test == "tree":
        count = _tree_invocations(variant[0], capabilities)
        over = count > invocations_limit(limits)
        return [f"maxComputeWorkGroupInvocations of at least {count}"] if over else []
    return []


SHARED_TOPIC = work.topic(
    "shared",
    lambda: chain(_exchange_cases(), _size_cases()),
    {"exchange": _judge_exchange, "size": _judge_size, "tree": _judge_tree, "many_rounds": _judge_rounds},
    _missing,
)
