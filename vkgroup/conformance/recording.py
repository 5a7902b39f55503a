"""Shaders of several stages in which every invocation records some words, each stage a row of a table.

The first planes say who recorded: `RECORD`. What a family observes comes behind them, by
``record(plane, word)`` in GLSL. Invocations that leave no record (helper invocations) are left out of what is
returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.comparison import Description, Flags
from vkgroup.conformance.declared import lacking_operations, lacking_stages
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.poison import poisoned
from vkgroup.device import Capabilities
from vkgroup.spirv import Module

Words = NDArray[np.uint32]
Indices = NDArray[np.int64]
Rows = Mapping[str, Iterable[str | None]]

RECORD = ("recorded", "lane", "subgroup")
"""The first planes: 1, gl_SubgroupInvocationID, and a number that the invocations of a subgroup share."""

WORKGROUPS, LOCAL_SIZE = 64, 128
_WIDTH, _HEIGHT, _VERTICES = 64, 32, 1024
_QUAD = 4


@dataclass(frozen=True)
class RecordingStage:
    """A stage in which invocations record.

    Attributes
    ----------
    name : Vulkan's.
    invocations : words of a plane.
    declarations : GLSL outside of `main`.
    index : GLSL of the invocation's place in a plane.
    subgroup : GLSL of the number of its subgroup.
    end : GLSL at the end of `main`.
    feature : what the device must have to write from it; empty if nothing.
    least_size : of the subgroup.
    """

    name: str
    invocations: int
    declarations: str
    index: str
    subgroup: str
    end: str = ""
    feature: str = ""
    least_size: int = 1


_FIRST = "subgroupBroadcastFirst(index)"

_TABLE = (
    RecordingStage(
        "compute",
        WORKGROUPS * LOCAL_SIZE,
        f"layout(local_size_x = {LOCAL_SIZE}) in;",
        "gl_GlobalInvocationID.x",
        "gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID",
    ),
    RecordingStage(
        "vertex",
        _VERTICES,
        "",
        "uint(gl_VertexIndex)",
        _FIRST,
        "gl_Position = vec4(0.0, 0.0, 0.0, 1.0);\n    gl_PointSize = 1.0;",
        "vertexPipelineStoresAndAtomics",
        _QUAD,
    ),
    RecordingStage(
        "fragment",
        _WIDTH * _HEIGHT,
        "layout(location = 0) out uint color;",
        f"uint(gl_FragCoord.y) * {_WIDTH}u + uint(gl_FragCoord.x)",
        _FIRST,
        "color = 1u;",
        "fragmentStoresAndAtomics",
        _QUAD,
    ),
)

STAGES: dict[str, RecordingStage] = {stage.name: stage for stage in _TABLE}
"""All by name."""

_PLAIN_FRAGMENT = """#version 460
// Of points whose vertices are what is recorded.
layout(location = 0) out uint color;
void main() { color = 1u; }
"""


def missing(stage: str, capabilities: Capabilities) -> list[str]:
    """Return what a device lacks to record from a stage, by Vulkan's names."""
    row, subgroup = STAGES[stage], capabilities.subgroup
    needs = lacking_stages((stage,), capabilities)
    needs += lacking_operations(("basic",) if stage == "compute" else ("ballot", "basic"), capabilities)
    if row.feature and row.feature not in capabilities.features:
        needs.append(row.feature)
    if subgroup.size < row.least_size:
        needs.append(f"subgroups of at least {row.least_size} invocations, to draw")
    return needs


def source(stage: str, title: str, extensions: tuple[str, ...], declarations: str, body: str) -> str:
    """Return the GLSL of a shader that records.

    Parameters
    ----------
    title : what it observes, for its first line.
    body : statements of `main`; they may use `index`, the invocation's place, and ``record(plane, word)``.
    """
    row = STAGES[stage]
    ballot = () if stage == "compute" else ("GL_KHR_shader_subgroup_ballot",)
    names = ("GL_KHR_shader_subgroup_basic", *ballot, *extensions)
    return f"""#version 460
// {title}
// Binding 0: planes of {row.invocations} words, one for each invocation.
{chr(10).join(f"#extension {name} : require" for name in names)}
{row.declarations}
layout(std430, binding = 0) buffer Outputs {{ uint outputs[]; }};
uint index;
void record(uint plane, uint word) {{ outputs[plane * {row.invocations}u + index] = word; }}
{declarations}

void main() {{
    index = {row.index};
    uint subgroup = {row.subgroup};
    record(0u, 1u);
    record(1u, gl_SubgroupInvocationID);
    record(2u, subgroup);
    {body}
    {row.end}
}}
"""


def run(executor: Executor, stage: str, module: Module, planes: int) -> Words:
    """Run a shader of a stage.

    Returns
    -------
    (len(RECORD) + planes, invocations that left a record)
    """
    row, device = STAGES[stage], executor.device
    words = poisoned(len(RECORD) + planes, row.invocations)
    words[0] = 0
    bindings = {"Outputs": words.reshape(-1)}
    if stage == "compute":
        found = device.run(module, WORKGROUPS, bindings, timeout=executor.timeout)
    elif stage == "vertex":
        found = device.draw(
            executor.plain(_PLAIN_FRAGMENT, "fragment"),
            (1, 1),
            bindings,
            vertex=module,
            count=row.invocations,
            topology="points",
            timeout=executor.timeout,
        )
    else:
        found = device.draw(module, (_WIDTH, _HEIGHT), bindings, timeout=executor.timeout)
    recorded = np.asarray(found["Outputs"]).reshape(words.shape)
    return np.ascontiguousarray(recorded[:, recorded[0] == 1])


def description(
    words: Words, line: Callable[[int], str], rows: Callable[[Indices], Rows], code: str
) -> Description:
    """Return how to describe invocations that recorded something wrong.

    Parameters
    ----------
    words : (planes, invocations) what was recorded.
    line : says what is wrong with an invocation.
    rows : the rows of the evidence for some invocations.
    code : what the shader's line contains that makes the values.
    """
    lane, subgroup = (words[RECORD.index(name)].astype(np.int64) for name in ("lane", "subgroup"))

    def one(index: tuple[int, ...]) -> str:
        return f"subgroup {subgroup[index]} lane {lane[index]}: {line(index[0])}"

    def shown(wrong: Flags) -> dict[str, Any]:
        same = evidence.together(wrong, subgroup)
        size, where = int(lane[same].max()) + 1, f"subgroup {subgroup[same[0]]}"
        return evidence.of_lanes(where, lane[same], wrong[same], rows(same), size=size, code=code)

    return Description("invocations", one, shown, shown=1)
