"""Stages that may not write to buffers: each invocation's results go to a pixel of its own.

Vulkan leaves stores and atomics outside of compute shaders to two features, `vertexPipelineStoresAndAtomics`
and `fragmentStoresAndAtomics`. Without them a shader still has outputs. Each invocation collects its record
in a variable, which travels by flat outputs to the fragment shader, and from there to the attachments, four
words to each. That no stage runs twice is not promised: whose pixel has been drawn over is then missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.conformance.poison import POISON
from vkgroup.conformance.stages.base import (
    GROUP_OF_BLOCK,
    LANES,
    Around,
    Indices,
    Recorded,
    Words,
    group_of_block,
    places_of_block,
)
from vkgroup.conformance.stages.fragment import HEIGHT, QUAD, WIDTH, quad_of
from vkgroup.conformance.stages.graphics import GRID, INTERFACES, PIXEL, Interface
from vkgroup.conformance.stages.ticketed import BLOCK

FRAMEBUFFER = "framebuffer"
"""The shape of cases whose results go to the framebuffer."""

FRAMEBUFFER_STAGES = (*INTERFACES, "fragment")
"""The stages that have such cases."""

RECORD_PLANES = 3
"""Lane, subgroup and size."""

WORDS = 4
"""Words of an attachment."""

_HEAD = "#version 460\n"


def _blocks(planes: int) -> range:
    return range(-(-planes // WORDS))


def _declared(planes: int, direction: str, suffix: str = "", name: str = "record") -> str:
    """Return the declarations of the words that travel, (planes + 3) // 4 variables of four."""
    return "\n".join(f"layout(location = {k}) {direction} uvec4 {name}_{k}{suffix};" for k in _blocks(planes))


def _copied(planes: int, to: str, source: str) -> str:
    return " ".join(f"{to.format(k)} = {source.format(k)};" for k in _blocks(planes))


def _fragment(planes: int) -> str:
    """Return the fragment shader that writes what comes."""
    return (
        f"{_HEAD}{_declared(planes, 'flat in')}\n{_declared(planes, 'out', name='color')}\n"
        f"void main() {{ {_copied(planes, 'color_{}', 'record_{}')} }}"
    )


@dataclass(frozen=True)
class FramebufferStage:
    """Invocations that each have a pixel.

    Attributes
    ----------
    name : one of `FRAMEBUFFER_STAGES`.
    """

    name: str
    extensions: tuple[str, ...] = ()
    record_planes: int = RECORD_PLANES
    stride: int = 1
    group_places: int = LANES
    cell_stride: int = 0

    @property
    def _interface(self) -> Interface:
        return INTERFACES[self.name](self.name == "tessellation_control")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return (WIDTH, HEIGHT) if self.name == "fragment" else GRID

    @property
    def invocations(self) -> int:
        """As many as pixels."""
        return self.size[0] * self.size[1]

    @property
    def own_numbers(self) -> int:
        """The same."""
        return self.invocations

    @property
    def declarations(self) -> str:
        """The interface of the stage."""
        if self.name == "fragment":
            return f"const uint WIDTH = {WIDTH}u;\nconst uint LANES = {LANES}u;"
        return f"const uint LANES = {LANES}u;\n{self._interface.layout}\n{PIXEL}"

    def storage(self, planes: int) -> str:
        """Return a variable, and the outputs that it leaves by."""
        if self.name == "fragment":
            leaving = _declared(planes, "out", name="color")
        elif self.name == "tessellation_control":
            leaving = _declared(planes, "flat out", "[]")
        else:
            leaving = _declared(planes, "flat out")
        return f"uint outputs[{len(_blocks(planes)) * WORDS}];\n{leaving}"

    @property
    def start(self) -> str:
        """Numbers from the own number of the first active lane, which is that of a pixel."""
        if self.name == "fragment":
            own = "uint(gl_FragCoord.y) * WIDTH + uint(gl_FragCoord.x)"
            block, opening = QUAD, ""
        else:
            interface = self._interface
            own, block, opening = interface.own, f"uint block = subgroup / {BLOCK}u;", interface.opening
        return f"""for (uint i = 0u; i < outputs.length(); ++i) outputs[i] = 0u;
    {opening}
    uint own = {own};
    uint index = 0u;
    uint subgroup = subgroupBroadcastFirst(own);
    {block}
    {GROUP_OF_BLOCK}"""

    def finish(self, planes: int) -> str:
        """Return the code that lets the record leave."""
        words = [
            f"uvec4({', '.join(f'outputs[{WORDS * k + i}]' for i in range(WORDS))})" for k in _blocks(planes)
        ]
        target = {"fragment": "color_{}", "tessellation_control": "record_{}[gl_InvocationID]"}
        lines = [f"{target.get(self.name, 'record_{}').format(k)} = {word};" for k, word in enumerate(words)]
        if self.name == "tessellation_control":
            lines.append("gl_TessLevelOuter = float[](1.0, 1.0, 1.0, 1.0);")
            lines.append("gl_TessLevelInner = float[](1.0, 1.0);")
        elif self.name != "fragment":
            lines.append("gl_Position = pixel_of(own);")
        if self.name == "geometry":
            lines.append("EmitVertex();")
        return "\n    ".join(lines)

    def recorded(self, record: Words) -> Recorded:
        """Return the pixels that were drawn."""
        index = np.arange(self.invocations)
        if self.name != "fragment":
            index = index[: self._interface.least]
        lane, subgroup, size = record[:3, index].astype(np.int64)
        group = group_of_block(self._block(subgroup))
        unseen = np.full((len(index), 4), 0 if self.name == "fragment" else 0xFFFFFFFF, np.uint32)
        return Recorded(index, lane, subgroup, size, group, subgroup, unseen)

    def _block(self, number: Indices) -> Indices:
        return quad_of(number) if self.name == "fragment" else number // BLOCK

    def places(self, group: Indices, number: Indices, member: Indices) -> Indices:
        """Return places by lane."""
        return places_of_block(group, self._block(number), member.shape[1])

    def cells(self, size: int) -> int:
        """Return none: barriers have no memory here."""
        return 0

    def subgroup_name(self, group: int, number: int) -> str:
        """Name what the first active lane runs for."""
        if self.name == "fragment":
            return f"subgroup from pixel ({number % WIDTH}, {number // WIDTH})"
        return f"subgroup from {self._interface.thing} number {number}"

    def around(self, planes: int) -> Around:
        """Return the pipeline that takes the records to the attachments."""
        arguments = {"size": self.size}
        if self.name == "fragment":
            return Around({}, arguments)
        around = self._interface.around
        sources = dict(around.sources, fragment=_fragment(planes))
        if self.name == "tessellation_control":
            sources["tessellation_evaluation"] = _passing_evaluation(planes)
        return Around(sources, {**around.arguments, **arguments})

    def words(self, found: Mapping[Any, Any], planes: int) -> Words:
        """Return the outputs as a buffer would hold them, (planes × invocations,), of attachments (h, w, 4).

        Pixels without a record are poisoned; what they say of slots stays zero: not executed.
        """
        colors = [np.asarray(found[f"color_{k}"]).reshape(self.invocations, WORDS) for k in _blocks(planes)]
        words = np.ascontiguousarray(np.concatenate(colors, axis=1).T[:planes])
        words[:RECORD_PLANES, words[2] == 0] = POISON
        return words.ravel()


def _passing_evaluation(planes: int) -> str:
    """Return an evaluation shader that draws a point for each vertex of a patch of three."""
    return f"""{_HEAD}layout(triangles, equal_spacing, point_mode) in;
{_declared(planes, "flat in", "[]", "given")}
{_declared(planes, "flat out")}
{PIXEL}
void main() {{
    uint corner = gl_TessCoord.x > 0.5 ? 0u : gl_TessCoord.y > 0.5 ? 1u : 2u;
    {_copied(planes, "record_{}", "given_{}[corner]")}
    gl_Position = pixel_of(uint(gl_PrimitiveID) * 3u + corner);
    gl_PointSize = 1.0;
}}"""
