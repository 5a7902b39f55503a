"""The family of fragment cases: each a probe on a scene."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict, legal, verdict_of
from vkgroup.conformance.declared import lacking_operations, lacking_stages
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableCase, TableFamily
from vkgroup.conformance.fragment.drawn import Drawn, Probe
from vkgroup.conformance.fragment.pixels import description
from vkgroup.conformance.fragment.probes import PROBES
from vkgroup.conformance.fragment.scenes import GRID, SCENES
from vkgroup.conformance.fragment.shader import draw, source_of
from vkgroup.device import Capabilities
from vkgroup.dispatch import DrawState

_LEAVES = {"demote": "shaderDemoteToHelperInvocation", "terminate": "shaderTerminateInvocation"}


class FragmentAxes(NamedTuple):
    """The axes: keys of `PROBES` and `SCENES`."""

    probe: str
    scene: str


FragmentCase = TableCase[FragmentAxes]


def _cases() -> Iterator[FragmentCase]:
    for name, probe in PROBES.items():
        for scene in probe.scenes:
            sentence = f"In {SCENES[scene].sentence}, {probe.sentence}."
            yield TableCase("fragment", FragmentAxes(name, scene), sentence)


def _missing(case: FragmentCase, capabilities: Capabilities) -> list[str]:
    """Return what the device does not declare."""
    probe, scene = PROBES[case.axes.probe], SCENES[case.axes.scene]
    features = ["fragmentStoresAndAtomics"]
    if scene.sample_shading:
        features.append("sampleRateShading")
    if scene.leaves in _LEAVES:
        features.append(_LEAVES[scene.leaves])
    needs = [feature for feature in features if feature not in capabilities.features]
    if not int(capabilities.limits.get("framebufferColorSampleCounts", 1)) & scene.samples:
        needs.append(f"framebufferColorSampleCounts with {scene.samples}")
    if probe.needs:
        needs += lacking_stages(("fragment",), capabilities)
    return needs + lacking_operations(probe.needs, capabilities)


def _batch_key(case: FragmentCase) -> Hashable:
    """Return the scene, and whether a case needs subgroups at all."""
    return case.axes.scene, bool(PROBES[case.axes.probe].needs)


def _judge(executor: Executor, cases: list[FragmentCase]) -> list[Verdict]:
    """Draw the scene once, and judge every probe on the results of its fragments."""
    scene = SCENES[cases[0].axes.scene]
    probes = [PROBES[case.axes.probe] for case in cases]
    module = executor.compile(source_of(scene, probes), stage="fragment")
    drawn, results = draw(
        executor,
        module,
        scene,
        len(probes),
        state=DrawState(samples=scene.samples, sample_shading=scene.sample_shading, resolve=False),
        repeat=scene.draws,
    )
    return [_verdict(probe, drawn, result) for probe, result in zip(probes, results, strict=True)]


def _got(probe: Probe, drawn: Drawn, result: NDArray[np.uint32]) -> NDArray[Any]:
    """Return what a probe judges, (layers, GRID, GRID)."""
    if probe.source == "color":
        size, samples = drawn.scene.size, drawn.scene.samples
        color = np.zeros((samples, GRID, GRID), np.float32)
        color[:, :size, :size] = np.moveaxis(drawn.color.reshape(size, size, samples), -1, 0)
        return color
    if probe.source:
        return drawn.count if probe.source == "count" else drawn.before
    return result.view(np.float32) if probe.result == "float" else result


def _verdict(probe: Probe, drawn: Drawn, result: NDArray[np.uint32]) -> Verdict:
    expected, got = probe.expect(drawn), _got(probe, drawn, result)
    judged = drawn.present if not probe.source else np.ones(got.shape, np.bool_)
    wrong = expected.defined & ~legal(got, expected)
    if not probe.source:
        # Where nothing was shaded there is no result to judge, and the count says so.
        wrong |= judged & (drawn.count == 0)
    return verdict_of(
        wrong,
        description(drawn, got, expected, probe.code),
        defined=int(expected.defined.sum()),
        undefined=int((judged & ~expected.defined).sum()),
    )


FRAGMENT = TableFamily("fragment", _cases, _missing, _judge, _batch_key)
"""Properties of fragment shaders alone."""
