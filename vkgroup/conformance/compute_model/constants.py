"""Built-in constants: gl_WorkGroupSize where GLSL wants a constant, and limits that shaders can ask for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model.case import ModelCase, model_case
from vkgroup.conformance.compute_model.shapes import exceeded, local_size
from vkgroup.conformance.compute_model.work import compare, run
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableFamily
from vkgroup.conformance.poison import poisoned
from vkgroup.device import Capabilities
from vkgroup.device.gl_limits import gl_limits

_SIZES = ("1x1x1", "64x1x1", "31x3x1", "3x5x7", "max_all")

_VECTORS = ("gl_MaxComputeWorkGroupCount", "gl_MaxComputeWorkGroupSize")

LIMITS = (
    *_VECTORS,
    "gl_MaxComputeUniformComponents",
    "gl_MaxComputeTextureImageUnits",
    "gl_MaxComputeImageUniforms",
    "gl_MaxComputeAtomicCounters",
    "gl_MaxComputeAtomicCounterBuffers",
)
"""The constants of ARB_compute_shader, section 7.3."""


def _cases() -> Iterator[ModelCase]:
    for size in _SIZES:
        sentence = (
            "gl_WorkGroupSize: it sizes shared and private arrays, stands in constant expressions"
            f" and has the shader's local size, {size.replace('_', ' ')}."
        )
        yield model_case("constants", "gl_WorkGroupSize", (size,), sentence)
    for name in LIMITS:
        yield model_case("constants", name, (), f"{name} is the device's limit, and a constant expression.")


def _missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    if not case.axes.variant:
        return []
    return exceeded(local_size(case.axes.variant[0], capabilities.limits), (1, 1, 1), capabilities.limits)


def _judge(executor: Executor, cases: list[ModelCase]) -> list[Verdict]:
    return [
        _judge_size(executor, axes.variant[0]) if axes.variant else _judge_limit(executor, axes.test)
        for axes in (case.axes for case in cases)
    ]


def _judge_size(executor: Executor, size: str) -> Verdict:
    x, y, z = local_size(size, executor.capabilities.limits)
    source = f"""#version 430
// The local size as a constant: arrays sized by it, and what else takes constant expressions only.
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
layout(std430, binding = 0) writeonly buffer Found {{ uint found[]; }};
const uint COUNT = gl_WorkGroupSize.x * gl_WorkGroupSize.y * gl_WorkGroupSize.z;
const uvec3 NEXT = gl_WorkGroupSize + 1u;
shared uint cells[COUNT];
shared uint rows[gl_WorkGroupSize.y];
void main() {{
    uint own[gl_WorkGroupSize.z];
    for (uint k = 0u; k < gl_WorkGroupSize.z; ++k) own[k] = k;
    cells[gl_LocalInvocationIndex] = gl_LocalInvocationIndex;
    if (gl_LocalInvocationID.x == 0u && gl_LocalInvocationID.z == 0u) rows[gl_LocalInvocationID.y] = 1u;
    barrier();
    if (gl_LocalInvocationIndex != 0u) return;
    uint sum = 0u, height = 0u;
    for (uint k = 0u; k < COUNT; ++k) sum += cells[k];
    for (uint k = 0u; k < gl_WorkGroupSize.y; ++k) height += rows[k];
    found[0] = uint(cells.length());
    found[1] = uint(rows.length());
    found[2] = uint(own.length());
    found[3] = own[gl_WorkGroupSize.z - 1u];
    found[4] = sum;
    found[5] = height;
    for (int k = 0; k < 3; ++k) found[6 + k] = NEXT[k];
    switch (gl_WorkGroupID.x) {{
    case gl_WorkGroupSize.x - gl_WorkGroupSize.x: found[9] = gl_WorkGroupSize.x; break;
    }}
}}
"""
    count = x * y * z
    expected = [count, y, z, z - 1, count * (count - 1) // 2, y, x + 1, y + 1, z + 1, x]
    recorded = run(executor, source, 1, {"Found": poisoned(len(expected))})["Found"]
    what = "lengths of three arrays, their sums, the size plus one, the size in a label"
    return compare(recorded, np.array(expected, np.uint32), what)


def _judge_limit(executor: Executor, name: str) -> Verdict:
    width = 3 if name in _VECTORS else 1
    parts = [f"{name}.{axis}" for axis in "xyz"] if width == 3 else [name]
    lines = [
        f"const int PART_{k} = {part} / 2; found[{2 * k}] = {part}; found[{2 * k + 1}] = PART_{k};"
        for k, part in enumerate(parts)
    ]
    source = "\n".join(
        [
            "#version 430",
            f"// {name}, and what a constant expression makes of it.",
            "layout(local_size_x = 1) in;",
            "layout(std430, binding = 0) writeonly buffer Found { int found[]; };",
            "void main() {",
            *lines,
            "}",
        ]
    )
    limits = gl_limits(executor.capabilities).values()
    value = next(limit.value for limit in limits if limit.constant == name)
    values = np.array(value if isinstance(value, tuple) else [value], np.int32)
    expected = np.stack([values, values // 2], axis=1).reshape(-1)
    recorded = run(executor, source, 1, {"Found": poisoned(2 * width).view(np.int32)})["Found"]
    return compare(recorded, expected, f"{name} and its half")


CONSTANTS_TOPIC = TableFamily("constants", _cases, _missing, _judge)
