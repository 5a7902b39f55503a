"""The family of loads: what helper invocations load, seen by their neighbours.

Vulkan 1.4, Helper Invocations: a helper invocation executes loads, and only its stores and atomics have no
effect. So a derivative or a quad swap of a loaded value must be that of the values of all four pixels.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from vkgroup.base.sampler import Sampler
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, table
from vkgroup.conformance.fragment import family
from vkgroup.conformance.fragment.derivatives import f_of
from vkgroup.conformance.fragment.drawn import FragmentProbe, Legal, PixelRecord, verdicts
from vkgroup.conformance.fragment.probes import derivative
from vkgroup.conformance.fragment.scenes import GRID, SCENES
from vkgroup.conformance.patterns import LEAVES
from vkgroup.conformance.support import lacking_features, lacking_operations, lacking_stages
from vkgroup.device import Capabilities

_TEXELS = GRID * GRID

MEMORIES = {
    "buffer": (
        "a storage buffer",
        "layout(std430, binding = 1) readonly buffer Values { float values[]; };",
        "values[y * GRID + x]",
    ),
    "uniform": (
        "a uniform buffer",
        f"layout(std140, binding = 1) uniform Values {{ vec4 values[{_TEXELS // 4}]; }};",
        "values[(y * GRID + x) / 4u][(y * GRID + x) % 4u]",
    ),
    "image": (
        "a storage image",
        "layout(r32f, binding = 1) readonly uniform image2D values;",
        "imageLoad(values, ivec2(x, y)).x",
    ),
    "texture": (
        "a texture",
        "layout(binding = 1) uniform sampler2D values;",
        "texelFetch(values, ivec2(x, y), 0).x",
    ),
    "address": (
        "a buffer that is accessed by its address",
        "layout(buffer_reference, std430) readonly buffer Values { float x[]; };\n"
        "layout(std430, binding = 1) readonly buffer Addresses { Values values; };",
        "values.x[y * GRID + x]",
    ),
}
"""Memories: a phrase, the declaration, and the GLSL of the value of pixel (x, y)."""

_RULE = "Vulkan 1.4, Helper Invocations"
_SIDES = {"Horizontal": 1, "Vertical": 2, "Diagonal": 3}


def _neighbour(bits: int, drawn: PixelRecord) -> Legal:
    """Return the value of another pixel of the quad, covered or not."""
    return f_of(*drawn.of_lane(drawn.lane & 3 ^ bits))


def _probe(code: str, expect: Any) -> FragmentProbe:
    return FragmentProbe(code, "", (), expect, f"{code}(loaded(x, y))", "float", needs=("quad",))


PROBES = {
    "fwidth": _probe("fwidth", partial(derivative, "fwidth")),
    **{
        f"swap{side}": _probe(f"subgroupQuadSwap{side}", partial(_neighbour, bits))
        for side, bits in _SIDES.items()
    },
}
"""What neighbours see of a loaded value."""

_SCENES = ("odd", "triangle", "dots", "strip", "overlap", "demote")


class LoadAxes(NamedTuple):
    """The axes: ``"load"``, and keys of `MEMORIES`, `PROBES` and `SCENES`."""

    kind: str
    memory: str
    probe: str
    scene: str


LoadCase = TableCase[LoadAxes]


_CASES = table(
    "fragment",
    LoadAxes,
    lambda axes: (
        f"In {SCENES[axes.scene].sentence}, {axes.probe} of a value that all pixels of the quad load from "
        f"{MEMORIES[axes.memory][0]} has what helper invocations load: {_RULE}."
    ),
    kind=("load",),
    memory=MEMORIES,
    scene=_SCENES,
    probe=PROBES,
)


def _missing(case: LoadCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements that the device lacks."""
    features = ["fragmentStoresAndAtomics", *LEAVES[SCENES[case.axes.scene].leaves].features]
    if case.axes.memory == "address":
        features.append("bufferDeviceAddress")
    needs = lacking_features(features, capabilities)
    return [
        *needs,
        *lacking_stages(("fragment",), capabilities),
        *lacking_operations(("quad",), capabilities),
    ]


def _batch_key(case: LoadCase) -> Hashable:
    return case.axes.memory, case.axes.scene


def declarations_of(memory: str) -> str:
    """Return the GLSL of a memory and of ``loaded(x, y)``, the value of a pixel."""
    _, declaration, value = MEMORIES[memory]
    # In a pixel outside of the target, a helper invocation loads a value too: the grid has room for it.
    return f"{declaration}\nfloat loaded(uint x, uint y) {{ return {value}; }}"


def _verdicts(executor: Executor, cases: list[LoadCase]) -> list[Verdict]:
    memory, scene = cases[0].axes.memory, SCENES[cases[0].axes.scene]
    # Other names have other marks, so that the results of another memory are no right ones.
    probes = [replace(PROBES[case.axes.probe], name=case.name) for case in cases]
    extensions = ("GL_EXT_buffer_reference",) if memory == "address" else ()
    source = family.source_of(scene, probes, declarations_of(memory), extensions)
    module = executor.compile(source, stage="fragment")
    y, x = np.indices((GRID, GRID))
    values = f_of(x, y)
    if memory == "texture":
        with executor.device.image(values, sampled=True) as image:
            return verdicts(executor, module, scene, probes, {1: (image, Sampler())})
    binding: Any = values
    if memory == "buffer":
        binding = values.ravel()
    elif memory == "uniform":
        binding = values.reshape(-1, 4)
    elif memory == "address":
        buffer = executor.filled("loaded values", values.view(np.uint32))
        address = np.array([buffer.address], np.uint64)
        binding = executor.filled("address of the values", address.view(np.uint32))
    return verdicts(executor, module, scene, probes, {1: binding})


LOADS = Family("fragment.load", _CASES, _missing, _verdicts, _batch_key)
"""Loads of helper invocations from every kind of memory."""
