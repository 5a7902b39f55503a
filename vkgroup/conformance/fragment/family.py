"""The family of fragment cases: each a probe on a scene."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, table
from vkgroup.conformance.fragment.derivatives import F
from vkgroup.conformance.fragment.drawn import FragmentProbe, stored, verdicts
from vkgroup.conformance.fragment.probes import PROBES, SELF, G, V
from vkgroup.conformance.fragment.scenes import GONE, GRID, SCENES, TriangleScene
from vkgroup.conformance.patterns import LEAVES
from vkgroup.conformance.support import lacking_features, lacking_operations, lacking_stages
from vkgroup.device import Capabilities
from vkgroup.spec.categories import Category

_TEMPLATE = """#version 460
// {count} probes of fragment conformance in {scene}.
// binding 0: planes of {layers} x {grid} x {grid} words: how often each pixel was shaded, and how often up to
// where fragments leave; lane; active mask; then each probe's results,
// combined with marks.
// id: the number of the triangle; color: the pixel in a number, plus 1.
{extensions}
layout(location = 0) flat in uint id;
layout(location = 0) out float color;
layout(std430, binding = 0) buffer Outputs {{ uint outputs[]; }};
const uint GRID = {grid}u;
const uint PIXELS = {pixels}u;{declarations}

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


class FragmentAxes(NamedTuple):
    """The axes: keys of `PROBES` and `SCENES`."""

    probe: str
    scene: str


FragmentCase = TableCase[FragmentAxes]


_CASES = table(
    "fragment",
    FragmentAxes,
    lambda axes: f"In {SCENES[axes.scene].sentence}, {PROBES[axes.probe].sentence}.",
    probe=PROBES,
    scene=lambda probe: PROBES[probe].scenes,
)


def _missing(case: FragmentCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements that the device lacks."""
    probe, scene = PROBES[case.axes.probe], SCENES[case.axes.scene]
    features = ["fragmentStoresAndAtomics"]
    if scene.sample_shading:
        features.append("sampleRateShading")
    features += LEAVES[scene.leaves].features
    needs = lacking_features(features, capabilities)
    if not int(capabilities.limits.get("framebufferColorSampleCounts", 1)) & scene.samples:
        needs.append(f"framebufferColorSampleCounts with {scene.samples}")
    if probe.needs:
        needs += lacking_stages(("fragment",), capabilities)
    return needs + lacking_operations(probe.needs, capabilities)


def _batch_key(case: FragmentCase) -> Hashable:
    """Return the batch key: the scene, and whether the case needs subgroups."""
    return case.axes.scene, bool(PROBES[case.axes.probe].needs)


def source_of(
    scene: TriangleScene,
    probes: Sequence[FragmentProbe],
    declarations: str = "",
    extensions: Sequence[str] = (),
) -> str:
    """Return the GLSL of a scene's probes, with further declarations and extensions."""
    used = {category for probe in probes for category in probe.needs}
    names = [Category(name).extension for name in sorted(used)]
    if used:
        names.append(Category.BASIC.extension)
    leave = LEAVES[scene.leaves]
    if leave.extension:
        names.append(leave.extension)
    names += extensions
    mask = [f"outputs[index + {3 + word}u * PIXELS] = mask.{'xyzw'[word]};" for word in range(4)]
    results = []
    for number, probe in enumerate(probes):
        if probe.code:
            word = f"floatBitsToUint({probe.code})" if probe.result == "float" else probe.code
            results.append(stored(scene, probe, number, word))
    return _TEMPLATE.format(
        count=len(probes),
        scene=scene.sentence,
        layers=scene.layers,
        grid=GRID,
        pixels=scene.layers * GRID * GRID,
        declarations=f"\n{declarations}" if declarations else "",
        extensions="\n".join(f"#extension {name} : require" for name in names),
        layer=scene.layer,
        self=SELF,
        f=F,
        g=G,
        v=V,
        lane="gl_SubgroupInvocationID" if used else "0u",
        leave=f"if ({GONE}) {leave.statement};" if leave.statement else "",
        mask="\n    ".join(["uvec4 mask = subgroupBallot(true);", *mask]) if "ballot" in used else "",
        results="\n    ".join(results),
    )


def _verdicts(executor: Executor, cases: list[FragmentCase]) -> list[Verdict]:
    """Draw the scene once, and return the verdict of every probe."""
    scene, probes = SCENES[cases[0].axes.scene], [PROBES[case.axes.probe] for case in cases]
    return verdicts(executor, executor.compile(source_of(scene, probes), stage="fragment"), scene, probes)


FRAGMENT = Family("fragment", _CASES, _missing, _verdicts, _batch_key)
"""Properties that only fragment shaders have."""
