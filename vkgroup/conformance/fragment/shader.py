"""The fragment shader of a scene's probes, and the record that it leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.fragment.drawn import Drawn, Probe
from vkgroup.conformance.fragment.probes import SELF, F, G, V
from vkgroup.conformance.fragment.scenes import GONE, GRID, Scene
from vkgroup.conformance.poison import POISON
from vkgroup.conformance.recording import Recorder
from vkgroup.spec.categories import Category
from vkgroup.spirv import Module

Words = NDArray[np.uint32]

RECORD = 7
"""Planes of the record: count, before, lane, the active mask's four words."""

_TEMPLATE = """#version 460
// {count} probes of fragment conformance in {scene}.
// binding 0: planes of {layers} x {grid} x {grid} words: how often each pixel was shaded, and how often up to
// where fragments leave; lane; active mask; then each probe's results.
// id: the number of the triangle; color: the pixel in a number, plus 1.
{extensions}
layout(location = 0) flat in uint id;
layout(location = 0) out float color;
layout(std430, binding = 0) buffer Outputs {{ uint outputs[]; }};
const uint GRID = {grid}u;
const uint PIXELS = {pixels}u;

void main() {{
    uint x = uint(gl_FragCoord.x);
    uint y = uint(gl_FragCoord.y);
    uint layer = {layer};
    uint self = {self};
    float f = {f};
    float g = {g};
    uint lane = {lane};
    uint v = {v};
    uint index = (layer * GRID + y) * GRID + x;
    atomicAdd(outputs[index + PIXELS], 1u);
    {leave}
    atomicAdd(outputs[index], 1u);
    color = float(self + 1u);
    outputs[index + 2u * PIXELS] = lane;
    {mask}
    {results}
}}
"""


# What lets a fragment leave, and the extension that brings it.
_LEAVES = {
    "": ("", ""),
    "discard": ("discard", ""),
    "demote": ("demote", "GL_EXT_demote_to_helper_invocation"),
    "terminate": ("terminateInvocation", "GL_EXT_terminate_invocation"),
}


def categories(probes: Sequence[Probe]) -> set[str]:
    """Return the categories of subgroup operations that probes use."""
    return {category for probe in probes for category in probe.needs}


def source_of(scene: Scene, probes: Sequence[Probe]) -> str:
    """Return the GLSL of a scene's probes."""
    used = categories(probes)
    names = [Category(name).extension for name in sorted(used)]
    if used:
        names.append(Category.BASIC.extension)
    statement, extension = _LEAVES[scene.leaves]
    if extension:
        names.append(extension)
    mask = [f"outputs[index + {3 + word}u * PIXELS] = mask.{'xyzw'[word]};" for word in range(4)]
    results = []
    for number, probe in enumerate(probes):
        if probe.code:
            word = f"floatBitsToUint({probe.code})" if probe.result == "float" else probe.code
            results.append(f"outputs[index + {RECORD + number}u * PIXELS] = {word};")
    return _TEMPLATE.format(
        count=len(probes),
        scene=scene.sentence,
        layers=scene.layers,
        grid=GRID,
        pixels=scene.layers * GRID * GRID,
        extensions="\n".join(f"#extension {name} : require" for name in names),
        layer=scene.layer,
        self=SELF,
        f=F,
        g=G,
        v=V,
        lane="gl_SubgroupInvocationID" if used else "0u",
        leave=f"if ({GONE}) {statement};" if statement else "",
        mask="\n    ".join(["uvec4 mask = subgroupBallot(true);", *mask]) if "ballot" in used else "",
        results="\n    ".join(results),
    )


def draw(
    executor: Executor,
    module: Module,
    scene: Scene,
    results: int,
    bindings: Mapping[int, Any] | None = None,
    **control: Any,
) -> tuple[Drawn, Words]:
    """Draw a scene with a shader that records.

    Returns the record, and the results as (results, layers, GRID, GRID).

    Parameters
    ----------
    results : planes behind the record.
    bindings : further bindings.
    **control : further arguments of `Device.draw`.
    """
    shape, size = (scene.layers, GRID, GRID), (scene.size, scene.size)
    recorder = Recorder("fragment", RECORD + results, shape, zeroed=(0, 1), size=size)
    planes, attachments = recorder.run(
        executor, module, bindings, vertices=scene.vertices(), colors={"color": "r32f"}, **control
    )
    lane = np.where(planes[2] == POISON, 0, planes[2]).astype(np.int64)
    drawn = Drawn(
        scene=scene, count=planes[0], before=planes[1], lane=lane, color=attachments["color"],
        size=executor.capabilities.subgroup.size,
        mask=np.ascontiguousarray(planes[3:7].transpose(1, 2, 3, 0)),
    )  # fmt: skip
    return drawn, planes[RECORD:]
