"""Shared memory of every size up to the device's limit, sums by a tree, and many rounds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model.case import ModelCase, model_case
from vkgroup.conformance.compute_model.exchange_table import HASH, hashed
from vkgroup.conformance.compute_model.work import compare, invocations_limit, run
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.poison import poisoned
from vkgroup.device import Capabilities

Words = NDArray[np.uint32]

SIZES: dict[str, int] = {
    "1_word": 1,
    "63_words": 63,
    "1024_words": 1024,
    "4095_words": 4095,
    "16_KiB": 4096,
    "32_KiB": 8192,
    "limit": 0,
}
"""Words of shared memory by name; 0 for all that the device has (maxComputeSharedMemorySize)."""

TREES = {"2": 2, "32": 32, "128": 128, "1024": 1024, "limit": 0}
"""Invocations of a workgroup that adds up by a tree; 0 for as many powers of two as the device has."""

_LOCAL, _GROUPS, _ROUNDS = 64, 3, 2
_MANY = 200


def cases() -> Iterator[ModelCase]:
    """Yield the cases of sizes, trees and rounds."""
    for name in SIZES:
        size = "all shared memory that the device has" if name == "limit" else name.replace("_", " ")
        for layout, words in (("one_array", "one array"), ("several", "several variables of other types")):
            if layout == "several" and (SIZES[name] < 1024 and name != "limit"):
                continue
            sentence = f"Shared memory of {size}, in {words}, holds what was written before barrier()."
            yield model_case("shared", "size", (name, layout), sentence)
    for name in TREES:
        count = "as many invocations as the device has" if name == "limit" else f"{name} invocations"
        sentence = f"A tree with barrier() at each level adds up the values of {count}."
        yield model_case("shared", "tree", (name,), sentence)
    sentence = f"Sums that wander through a workgroup are right after {_MANY} rounds of two barriers."
    yield model_case("shared", "many_rounds", (), sentence)


def _words(name: str, capabilities: Capabilities) -> int:
    return SIZES[name] or int(capabilities.limits["maxComputeSharedMemorySize"]) // 4


def _tree(name: str, capabilities: Capabilities) -> int:
    return TREES[name] or 1 << (invocations_limit(capabilities.limits).bit_length() - 1)


def missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    """Return the limits that a case is over."""
    limits = capabilities.limits
    if case.axes.test == "size":
        nbytes = 4 * _words(case.axes.variant[0], capabilities)
        over = nbytes > limits["maxComputeSharedMemorySize"]
        return [f"maxComputeSharedMemorySize of at least {nbytes}"] if over else []
    if case.axes.test == "tree" and _tree(case.axes.variant[0], capabilities) > invocations_limit(limits):
        return [f"maxComputeWorkGroupInvocations of at least {_tree(case.axes.variant[0], capabilities)}"]
    return []


def judge(executor: Executor, case: ModelCase) -> Verdict:
    """Judge one case."""
    if case.axes.test == "size":
        return _judge_size(
            executor, _words(case.axes.variant[0], executor.capabilities), case.axes.variant[1]
        )
    if case.axes.test == "tree":
        return _judge_tree(executor, _tree(case.axes.variant[0], executor.capabilities))
    return _judge_rounds(executor)


def _declaration(words: int, layout: str) -> tuple[str, str, str]:
    """Return declarations of so many words of shared memory; a write of h to word `index`, a read of it."""
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


def _judge_size(executor: Executor, words: int, layout: str) -> Verdict:
    """Fill all of it, and read all of it by other invocations."""
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
            uint h = {HASH};
            {write}
        }}
        barrier();
        for (uint index = {_LOCAL - 1}u - own; index < {words}u; index += {_LOCAL}u)
            found[(group * {_ROUNDS}u + number) * {words}u + index] = {read};
        barrier();
    }}
}}
"""
    recorded = run(executor, source, _GROUPS, {"Found": poisoned(_GROUPS * _ROUNDS * words)})["Found"]
    group, number, index = np.indices((_GROUPS, _ROUNDS, words), dtype=np.uint32)
    expected = hashed(index, number, group)
    axes = ("workgroup", "round", "word")
    return compare(recorded.reshape(expected.shape), expected, "what shared memory held", axes)


def _judge_tree(executor: Executor, count: int) -> Verdict:
    """Add up by a tree: half of the invocations at each level, a barrier between the levels."""
    source = f"""#version 430
// A workgroup adds up {count} values by a tree.
layout(local_size_x = {count}) in;
layout(std430, binding = 0) writeonly buffer Found {{ uint found[]; }};
shared uint sums[{count}];
void main() {{
    uint index = gl_LocalInvocationIndex, group = gl_WorkGroupID.x;
    const uint number = 0u;
    sums[index] = {HASH};
    barrier();
    for (uint half_ = {count // 2}u; half_ > 0u; half_ /= 2u) {{
        if (index < half_) sums[index] += sums[index + half_];
        barrier();
    }}
    found[group * {count}u + index] = sums[0];
}}
"""
    recorded = run(executor, source, _GROUPS, {"Found": poisoned(_GROUPS * count)})["Found"]
    group, index = np.indices((_GROUPS, count), dtype=np.uint32)
    totals = hashed(index, np.zeros_like(index), group).sum(axis=1, dtype=np.uint32)
    expected = np.repeat(totals[:, None], count, axis=1)
    return compare(recorded.reshape(expected.shape), expected, "the sum", ("workgroup", "invocation"))


def _judge_rounds(executor: Executor) -> Verdict:
    """Hand values on to the next invocation many times; each invocation adds a different number."""
    source = f"""#version 430
// Values wander through the workgroup, {_MANY} times one place on.
layout(local_size_x = {_LOCAL}) in;
layout(std430, binding = 0) writeonly buffer Found {{ uint found[]; }};
shared uint cells[{_LOCAL}];
void main() {{
    uint index = gl_LocalInvocationIndex, group = gl_WorkGroupID.x;
    uint sum = 0u;
    for (uint number = 0u; number < {_MANY}u; ++number) {{
        cells[index] = sum ^ {HASH};
        barrier();
        sum = cells[(index + 1u) % {_LOCAL}u] * 3u + index;
        barrier();
    }}
    found[group * {_LOCAL}u + index] = sum;
}}
"""
    recorded = run(executor, source, _GROUPS, {"Found": poisoned(_GROUPS * _LOCAL)})["Found"]
    group, index = np.indices((_GROUPS, _LOCAL), dtype=np.uint32)
    sums = np.zeros_like(index)
    for number in range(_MANY):
        cells = sums ^ hashed(index, np.full_like(index, number), group)
        sums = np.roll(cells, -1, axis=1) * np.uint32(3) + index
    return compare(recorded.reshape(sums.shape), sums, "the sum", ("workgroup", "invocation"))
