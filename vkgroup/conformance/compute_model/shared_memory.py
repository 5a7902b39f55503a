"""Shared memory: what a workgroup's invocations wrote before ``barrier()`` is there for all of them after it.

ARB_compute_shader, section 4.3.7 ("Shared") and 8.15 ("Shader Invocation Control Functions").
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model import exchange_table, sizes
from vkgroup.conformance.compute_model.case import ModelCase, model_case
from vkgroup.conformance.compute_model.exchange_table import CONTROLS, HASH, PATTERNS, TYPES
from vkgroup.conformance.compute_model.shapes import LOCAL_SIZES, Shape, exceeded, local_size
from vkgroup.conformance.compute_model.work import compare, run
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableFamily
from vkgroup.conformance.poison import poisoned
from vkgroup.device import Capabilities

Words = NDArray[np.uint32]

ROUNDS = 8
"""Exchanges of a case, each with other values."""

GROUPS = 4
"""Workgroups, each with different values."""

_PLAIN = ("rotate", "uint", "main", "8x8x1")


def _cases() -> Iterator[ModelCase]:
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
        yield model_case("shared", "exchange", variant, sentence)
    yield from sizes.cases()


def _shape(case: ModelCase, capabilities: Capabilities) -> Shape:
    return Shape(local_size(case.axes.variant[3], capabilities.limits), (GROUPS, 1, 1))


def _missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    if case.axes.test != "exchange":
        return sizes.missing(case, capabilities)
    shape = _shape(case, capabilities)
    return exceeded(shape.local, shape.groups, capabilities.limits)


def _judge(executor: Executor, cases: list[ModelCase]) -> list[Verdict]:
    return [
        _judge_exchange(executor, case) if case.axes.test == "exchange" else sizes.judge(executor, case)
        for case in cases
    ]


def source(variant: tuple[str, ...], shape: Shape) -> str:
    """Return the GLSL of an exchange; `variant` is pattern, type, control and local size."""
    pattern, type_, control, _ = variant
    cell = TYPES[type_]
    x, y, z = shape.local
    words = len(cell.words)
    write = [f"uint h = {HASH};", f"cells[index] = {cell.make};"]
    place = f"((group * {ROUNDS}u + number) * COUNT + index) * {words}u"
    read = [f"{cell.name} v = cells[{PATTERNS[pattern].glsl}];"]
    read += [f"found[{place} + {k}u] = {word};" for k, word in enumerate(cell.words)]
    body = CONTROLS[control][1].format(write="{ " + " ".join(write) + " }", read="{ " + " ".join(read) + " }")
    lines = [
        "#version 430",
        f"// After a barrier each invocation reads {PATTERNS[pattern].sentence}.",
        f"layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;",
        "layout(std430, binding = 0) readonly buffer Settings { uint settings[]; };",
        "layout(std430, binding = 1) writeonly buffer Found { uint found[]; };",
        f"const uint COUNT = {shape.in_group}u, ROWS = max(COUNT / 8u, 1u);",
        cell.declaration,
        f"shared {cell.name} cells[COUNT];",
        "void meet() { barrier(); }",
        "void meet_again() { meet(); }",
        "void main() {",
        "    uint index = gl_LocalInvocationIndex, group = gl_WorkGroupID.x;",
        f"    for (uint number = 0u; number < {ROUNDS}u; ++number) {{",
        body,
        "        barrier();",
        "    }",
        "}",
    ]
    return "\n".join(lines)


def _judge_exchange(executor: Executor, case: ModelCase) -> Verdict:
    pattern, type_, _, _ = case.axes.variant
    shape = _shape(case, executor.capabilities)
    words = len(TYPES[type_].words)
    bindings = {
        "Settings": np.array([2, 1], np.uint32),
        "Found": poisoned(GROUPS * ROUNDS * shape.in_group * words),
    }
    recorded = run(executor, source(case.axes.variant, shape), GROUPS, bindings)["Found"]
    group, number, index = np.indices((GROUPS, ROUNDS, shape.in_group), dtype=np.uint32)
    cell = PATTERNS[pattern].source(index, number, shape.in_group).astype(np.uint32)
    expected = np.stack(TYPES[type_].expected(exchange_table.hashed(cell, number, group)), axis=-1)
    axes = ("workgroup", "round", "invocation", "word")
    return compare(recorded.reshape(expected.shape), expected, "what was read after the barrier", axes)


SHARED_TOPIC = TableFamily("shared", _cases, _missing, _judge)
