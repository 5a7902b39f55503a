"""The family of helper lanes in HLSL: IsHelperLane (Shader Model 6.6) and WaveOpsIncludeHelperLanes (6.7).

glslang has neither. The scenes are those of the family `fragment`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import numpy as np

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, table
from vkgroup.conformance.fragment.drawn import FragmentProbe, Legal, PixelRecord, stored, verdicts
from vkgroup.conformance.fragment.family import FragmentAxes, FragmentCase
from vkgroup.conformance.fragment.probes import SWAPS, helper_flag
from vkgroup.conformance.fragment.scenes import GONE, GRID, SCENES, TriangleScene
from vkgroup.conformance.languages import compilers_of
from vkgroup.conformance.patterns import LEAVES
from vkgroup.conformance.support import (
    installed_compiler,
    lacking_compiler,
    lacking_features,
    lacking_operations,
    lacking_stages,
)
from vkgroup.device import Capabilities

_TEMPLATE = """// {count} probes of helper lanes in {scene}. The record is that of the family `fragment`.
[[vk::binding(0)]] RWStructuredBuffer<uint> outputs;
static const uint GRID = {grid}u;
static const uint PIXELS = {pixels}u;
{attribute}
float main(float4 at : SV_Position) : SV_Target
{{
    uint x = uint(at.x), y = uint(at.y);
    uint lane = {lane};
    uint index = y * GRID + x;
    uint ignored;
    InterlockedAdd(outputs[index + PIXELS], 1u, ignored);
    {leave}
    InterlockedAdd(outputs[index], 1u, ignored);
    outputs[index + 2u * PIXELS] = lane;
    uint4 mask = WaveActiveBallot(true);
    [unroll] for (uint word = 0u; word < 4u; ++word)
        outputs[index + (3u + word) * PIXELS] = mask[word];
    {results}
    return float((x | y << 8) + 1u);
}}
"""

_COMPILERS = compilers_of("hlsl_fragment")
_WHOLE_QUAD = 15
_DEMOTING = "1.3"
"""The first Vulkan version for which discard is OpDemoteToHelperInvocation."""


def _uncovered(drawn: PixelRecord) -> Legal:
    """Return the bits of the quad's pixels that are not covered: its helper lanes."""
    result = np.zeros(drawn.count.shape, np.uint32)
    for place in range(4):
        x, y = drawn.of_lane(np.full_like(drawn.lane, place))
        result |= (~drawn.at(drawn.shaded, x, y)).astype(np.uint32) << np.uint32(place)
    return result


def _of_quad(condition: str) -> str:
    """Return HLSL of the bits that a quad's lanes have in a ballot.

    Without a quad operation a shader has no helper lanes; the one here adds 0.
    """
    ballot = f"WaveActiveBallot({condition})[lane / 32u]"
    return f"({ballot} >> (lane % 32u & ~3u) & 15u) + (QuadReadAcrossX(x) >> 16)"


_SCENES = ("triangle", "dots")
"""Scenes with helper lanes and one record."""

_AXES = {"Horizontal": "X", "Vertical": "Y", "Diagonal": "Diagonal"}
_MODEL = "HLSL, Shader Model 6"

PROBES: dict[str, FragmentProbe] = {
    probe.name: probe
    for probe in (
        *(
            FragmentProbe(
                f"helper.{name}{side}", what.format(f"IsHelperLane of the {side.lower()} neighbour"),
                scenes, partial(helper_flag, flags, bits),
                f"QuadReadAcross{_AXES[side]}(IsHelperLane() ? 1u : 0u)", needs=("ballot", "quad"),
            )
            for side, bits in SWAPS
            for name, what, scenes, flags in (
                ("flag", f"{{}} is true where that is not covered: {_MODEL}.6", _SCENES, "shaded"),
                ("demoted", f"after discard, {{}} is true if it is gone: {_MODEL}.6", ("demote",), "present"),
            )
        ),
        FragmentProbe(
            "helper.self", f"IsHelperLane is false of a lane whose pixel is covered: {_MODEL}.6",
            (*_SCENES, "whole"), lambda drawn: np.array(0, np.uint32), "IsHelperLane() ? 1u : 0u",
            needs=("ballot",),
        ),
        FragmentProbe(
            "wave.all", f"with WaveOpsIncludeHelperLanes, a ballot has all lanes of each quad: {_MODEL}.7",
            _SCENES, lambda drawn: np.array(_WHOLE_QUAD, np.uint32), _of_quad("true"),
            needs=("ballot", "quad"),
        ),
        FragmentProbe(
            "wave.helpers", f"with WaveOpsIncludeHelperLanes, a ballot of IsHelperLane has the quad's lanes "
            f"that are not covered: {_MODEL}.7", _SCENES, _uncovered, _of_quad("IsHelperLane()"),
            needs=("ballot", "quad"),
        ),
    )
}  # fmt: skip
"""All probes by name."""


def _source(scene: TriangleScene, probes: Sequence[FragmentProbe]) -> str:
    """Return the HLSL of a scene's probes."""
    included = any(probe.name.startswith("wave.") for probe in probes)
    results = [stored(scene, probe, number, probe.code) for number, probe in enumerate(probes)]
    return _TEMPLATE.format(
        count=len(probes),
        scene=scene.sentence,
        grid=GRID,
        pixels=GRID * GRID,
        attribute="[WaveOpsIncludeHelperLanes]" if included else "",
        # Slang's WaveGetLaneIndex is invalid in pixel shaders (slang-flat.toml).
        lane="WaveGetLaneIndex()" if included else "(x & 1u) | (y & 1u) << 1",
        leave=f"if ({GONE}) discard;" if scene.leaves else "",
        results="\n    ".join(results),
    )


def _missing(case: FragmentCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements that the device lacks."""
    probe, scene = PROBES[case.axes.probe], SCENES[case.axes.scene]
    features = ["fragmentStoresAndAtomics", *LEAVES[scene.leaves].features]
    needs = lacking_features(features, capabilities)
    if scene.leaves and capabilities.api_version < (1, 3):
        needs.append("Vulkan 1.3")
    needs += lacking_stages(("fragment",), capabilities)
    needs += lacking_operations(probe.needs, capabilities)
    return needs + lacking_compiler(_COMPILERS)


def _batch_key(case: FragmentCase) -> Hashable:
    return case.axes.scene, case.axes.probe.partition(".")[0]


def _verdicts(executor: Executor, cases: list[FragmentCase]) -> list[Verdict]:
    scene, probes = SCENES[cases[0].axes.scene], [PROBES[case.axes.probe] for case in cases]
    # For earlier versions the compilers make OpKill of discard, whose lanes need not be helpers.
    options = {"target": _DEMOTING} if scene.leaves else {}
    options |= {"dialect": "hlsl", "compiler": installed_compiler(_COMPILERS)}
    module = executor.compile(_source(scene, probes), stage="fragment", **options)
    color = module.reflection.entry_point().variables.outputs[0].name
    return verdicts(executor, module, scene, probes, color=color, is_numbered=False)


HLSL_FRAGMENT = Family(
    "hlsl_fragment",
    table(
        "hlsl_fragment",
        FragmentAxes,
        lambda axes: f"In {SCENES[axes.scene].sentence}, {PROBES[axes.probe].sentence}.",
        probe=PROBES,
        scene=lambda probe: PROBES[probe].scenes,
    ),
    _missing,
    _verdicts,
    _batch_key,
)
"""Helper lanes in HLSL."""
