"""Built-in variables and constants of compute shaders (ARB_compute_shader, sections 7.1 and 7.3).

Each invocation takes a ticket from an atomic counter of the dispatch and writes all its built-in variables
to the record with that number. So a wrong variable does not change the position of its record.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial

import numpy as np

from vkgroup.conformance import marks
from vkgroup.conformance.arrays import poisoned
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model import work
from vkgroup.conformance.compute_model.work import (
    DISPATCHES,
    DispatchShape,
    ModelCase,
    Words,
    exceeded,
    local_size,
)
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family
from vkgroup.device import Capabilities
from vkgroup.device.gl_limits import gl_limits
from vkgroup.record.record import Status

# --- variables ----------------------------------------------------------------------------------------

SENTENCES = {
    "every_invocation_once": "Each invocation of each workgroup is executed exactly once",
    "gl_NumWorkGroups": "gl_NumWorkGroups holds the numbers of workgroups of the dispatch",
    "gl_WorkGroupSize": "gl_WorkGroupSize holds the local size of the shader",
    "gl_WorkGroupID": "gl_WorkGroupID ranges over all workgroups, the same in all invocations of one",
    "gl_LocalInvocationID": "gl_LocalInvocationID ranges over the local size in every workgroup",
    "gl_GlobalInvocationID": "gl_GlobalInvocationID is gl_WorkGroupID * gl_WorkGroupSize + the local id",
    "gl_LocalInvocationIndex": "gl_LocalInvocationIndex numbers a workgroup's invocations by x, y, z",
}
"""Subject of each test's sentence."""

_INDIRECT = (
    ("1x1x1", "1_group"),
    ("31x3x1", "5x7_groups"),
    ("3x5x7", "3x4x5_groups"),
    ("max_all", "13_groups"),
    ("1x1x1", "65535_groups"),
)
"""Shapes that are dispatched indirectly too."""

COLUMNS = {
    "gl_WorkGroupID": slice(0, 3),
    "gl_LocalInvocationIndex": slice(3, 4),
    "gl_LocalInvocationID": slice(4, 7),
    "gl_GlobalInvocationID": slice(7, 10),
    "gl_NumWorkGroups": slice(10, 13),
    "gl_WorkGroupSize": slice(13, 16),
}
"""Position of each variable in a record."""

_WORDS = 16

_SOURCE = """#version 430
// Each invocation writes its built-in variables to the record of its ticket.
layout(local_size_x = {x}, local_size_y = {y}, local_size_z = {z}) in;
layout(std430, binding = 0) buffer Tickets {{ uint taken; }};
layout(std430, binding = 1) writeonly buffer Records {{ uint records[]; }};
// Stores a word combined with its mark.
void keep(uint place, uint word) {{ records[place] = word ^ {mark}; }}
void main() {{
    uint at = atomicAdd(taken, 1u) * {words}u;
    if (at + {words}u > uint(records.length())) return;
    for (int i = 0; i < 3; ++i) {{
        keep(at + uint(i), gl_WorkGroupID[i]);
        keep(at + 4u + uint(i), gl_LocalInvocationID[i]);
        keep(at + 7u + uint(i), gl_GlobalInvocationID[i]);
        keep(at + 10u + uint(i), gl_NumWorkGroups[i]);
        keep(at + 13u + uint(i), gl_WorkGroupSize[i]);
    }}
    keep(at + 3u, gl_LocalInvocationIndex);
}}
"""


def _variable_cases() -> Iterator[ModelCase]:
    for groups, (counts, locals_) in DISPATCHES.items():
        shape = "x".join(map(str, counts))
        for local in locals_:
            size = f"a local size of {local}" if "x" in local else f"the largest local size ({local})"
            size = size.replace("_", " ")
            for name, words in SENTENCES.items():
                sentence = f"{words}: {shape} workgroups with {size}."
                yield work.model_case("builtins", name, (local, groups), sentence)
                if (local, groups) in _INDIRECT:
                    sentence = f"{words}: {shape} workgroups from a buffer, with {size}."
                    yield work.model_case("builtins", name, (local, groups, "indirect"), sentence)


def _shape(case: ModelCase, capabilities: Capabilities) -> DispatchShape:
    local, groups = case.axes.variant[:2]
    return DispatchShape(local_size(local, capabilities.limits), DISPATCHES[groups][0])


def _variables_missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    return exceeded(_shape(case, capabilities), capabilities.limits)


def _batch_key(case: ModelCase) -> Hashable:
    """Run one dispatch for all variables; return the verdicts."""
    return case.axes.variant


def _judge_variables(executor: Executor, cases: list[ModelCase]) -> list[Verdict]:
    shape = _shape(cases[0], executor.capabilities)
    x, y, z = shape.local
    salt = marks.salt_of(*cases[0].axes.variant)
    source = _SOURCE.format(x=x, y=y, z=z, words=_WORDS, mark=marks.glsl("place", salt))
    bindings = {"Tickets": np.zeros(1, np.uint32), "Records": poisoned(shape.total * _WORDS)}
    with (
        work.pipeline_of(executor, source) as pipeline,
        pipeline.bind(bindings) as bound,
    ):
        if "indirect" in cases[0].axes.variant:
            with executor.device.buffer(np.array([0, *shape.groups], np.uint32)) as commands:
                bound.dispatch_indirect(commands, 4, timeout=executor.timeout)
        else:
            bound.dispatch(shape.groups, timeout=executor.timeout)
        recorded = bound.results()
    records = (recorded["Records"] ^ marks.marks(np.arange(shape.total * _WORDS), salt)).reshape(-1, _WORDS)
    taken = int(recorded["Tickets"][0])
    return judge_records([case.axes.test for case in cases], shape, taken, records)


def judge_records(tests: list[str], shape: DispatchShape, taken: int, records: Words) -> list[Verdict]:
    """Return the verdict of each test (key of `SENTENCES`) on the invocations' records, (invocations, 16).

    A record holds the workgroup, index, local and global id, number of workgroups, and local size.
    """
    if taken != shape.total:
        detail = f"{taken} invocations were executed, must be {shape.total}"
        return [Verdict(Status.FAIL, shape.total, 0, detail) for _ in tests]
    # Sorted by workgroup and index, so that failures name the same records in every run.
    group, index = records[:, 0:3].astype(np.int64), records[:, 3].astype(np.int64)
    order = np.lexsort((index, group[:, 0], group[:, 1], group[:, 2]))
    return [_judge_variable(test, shape, records[order]) for test in tests]


def _judge_variable(test: str, shape: DispatchShape, records: Words) -> Verdict:
    """Return the verdict on one variable; the records are sorted by workgroup and index."""
    expected = expected_records(shape)
    if test == "every_invocation_once":
        pairs = [0, 1, 2, 4, 5, 6]
        recorded = np.unique(records[:, pairs], axis=0)
        if len(recorded) < shape.total:
            detail = f"only {len(recorded)} of {shape.total} pairs of workgroup and local id are different"
            return Verdict(Status.FAIL, shape.total, 0, detail)
        must = np.unique(expected[:, pairs], axis=0)
        return work.compare(
            recorded, must, "the pairs of workgroup and local id, sorted", ("pair", "component")
        )
    if test == "gl_GlobalInvocationID":
        # First compare with the formula on the recorded variables, then with the expected value.
        formula = records[:, 0:3] * records[:, 13:16] + records[:, 4:7]
        what = "not the formula's value of the other variables"
        by_formula = work.compare(records[:, 7:10], formula, what, ("record", "component"))
        if by_formula.status == Status.FAIL:
            return by_formula
    columns = COLUMNS[test]
    return work.compare(records[:, columns], expected[:, columns], test, ("record", "component"))


def expected_records(shape: DispatchShape) -> Words:
    """Return the record of every invocation, by workgroup and index."""
    gx, gy, gz = shape.groups
    lx, ly, lz = shape.local
    z, y, x, c, b, a = (part.reshape(-1) for part in np.indices((gz, gy, gx, lz, ly, lx)))
    group, local = np.stack([x, y, z], axis=1), np.stack([a, b, c], axis=1)
    index = c * lx * ly + b * lx + a
    counts = np.broadcast_to(shape.groups, group.shape)
    size = np.broadcast_to(shape.local, group.shape)
    parts = [group, index[:, None], local, group * size + local, counts, size]
    return np.concatenate(parts, axis=1).astype(np.uint32)


BUILTINS_TOPIC = Family(
    "compute_model.builtins", _variable_cases, _variables_missing, _judge_variables, _batch_key
)

# --- constants ----------------------------------------------------------------------------------------

_SIZES = ("1x1x1", "64x1x1", "31x3x1", "3x5x7", "max_all")

_VECTORS = ("gl_MaxComputeWorkGroupCount", "gl_MaxComputeWorkGroupSize")

_LIMITS = (
    *_VECTORS,
    "gl_MaxComputeUniformComponents",
    "gl_MaxComputeTextureImageUnits",
    "gl_MaxComputeImageUniforms",
    "gl_MaxComputeAtomicCounters",
    "gl_MaxComputeAtomicCounterBuffers",
)


def _constant_cases() -> Iterator[ModelCase]:
    for size in _SIZES:
        sentence = (
            "gl_WorkGroupSize: it sizes shared and private arrays, stands in constant expressions"
            f" and has the shader's local size, {size.replace('_', ' ')}."
        )
        yield work.model_case("constants", "gl_WorkGroupSize", (size,), sentence)
    for name in _LIMITS:
        yield work.model_case(
            "constants", name, (), f"{name} is the device's limit, and a constant expression."
        )


def _constants_missing(case: ModelCase, capabilities: Capabilities) -> list[str]:
    if not case.axes.variant:
        return []
    local = local_size(case.axes.variant[0], capabilities.limits)
    return exceeded(DispatchShape(local, (1, 1, 1)), capabilities.limits)


def _judge_size(executor: Executor, size: str) -> Verdict:
    x, y, z = local_size(size, executor.capabilities.limits)
    source = f"""#version 430
// The local size as a constant: in array sizes and in other constant expressions.
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
    recorded = work.run(executor, source, 1, {"Found": poisoned(len(expected))})["Found"]
    what = "lengths of three arrays, their sums, the size plus one, the size in a label"
    return work.compare(recorded, np.array(expected, np.uint32), what)


def _judge_limit(name: str, executor: Executor) -> Verdict:
    width = 3 if name in _VECTORS else 1
    parts = [f"{name}.{axis}" for axis in "xyz"] if width == 3 else [name]
    lines = [
        f"const int PART_{k} = {part} / 2; found[{2 * k}] = {part}; found[{2 * k + 1}] = PART_{k};"
        for k, part in enumerate(parts)
    ]
    source = "\n".join(
        [
            "#version 430",
            f"// {name}, and a constant expression of it.",
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
    recorded = work.run(executor, source, 1, {"Found": poisoned(2 * width).view(np.int32)})["Found"]
    return work.compare(recorded, expected, f"{name} and its half")


CONSTANTS_TOPIC = work.topic(
    "constants",
    _constant_cases,
    {"gl_WorkGroupSize": _judge_size, **{name: partial(_judge_limit, name) for name in _LIMITS}},
    _constants_missing,
)
