"""The fragment stage, and stages that may not write to buffers: each invocation has a pixel.

Stores and atomics outside of compute shaders need one of two features, `vertexPipelineStoresAndAtomics`
and `fragmentStoresAndAtomics`. Without them, each invocation collects its record in a variable,
which is passed through flat outputs to the fragment shader, and from there to the attachments, four words
each. A stage may run more than once, so the record of an overwritten pixel is missing. Helper invocations
have no pixel. `stage_of` returns the invocations of a batch of any stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import POISON, Indices, Words
from vkgroup.conformance.patterns import SHAPES
from vkgroup.conformance.stages.base import (
    GROUP_OF_BLOCK,
    LANES,
    BatchStage,
    PipelineRest,
    Recorded,
    WorkgroupStage,
    group_of_block,
    turn_of_block,
)
from vkgroup.conformance.stages.interfaces import (
    BLOCK,
    GRID,
    INTERFACES,
    PIXEL,
    RAY_INTERFACES,
    StageInterface,
    TicketStage,
)
from vkgroup.spec.stages import WORKGROUP_STAGES

WIDTH, HEIGHT = 32, 16
"""Pixels of a whole target of fragment cases; partial ones lack a column and a row."""

FRAMEBUFFER = "framebuffer"
"""The shape of cases whose results go to the framebuffer."""

FRAMEBUFFER_STAGES = (*INTERFACES, "fragment")
"""The stages that have cases of this shape."""

_WORDS = 4
"""Words of an attachment."""

_HEAD = "#version 460\n"

_QUAD = "uint block = subgroup / (2u * WIDTH) * (WIDTH / 2u) + subgroup % WIDTH / 2u;"
"""GLSL of `quad_of`."""

_OWN = "uint(gl_FragCoord.y) * WIDTH + uint(gl_FragCoord.x)"

_DECLARATIONS = f"const uint WIDTH = {WIDTH}u;\nconst uint LANES = {LANES}u;"
"""The width of the grid in which pixels are counted, which has room for helper invocations."""


def quad_of(pixel: Indices) -> Indices:
    """Return the number of a pixel's quad, counted along the rows of quads."""
    return np.asarray(pixel // (2 * WIDTH) * (WIDTH // 2) + pixel % WIDTH // 2)


def _helpers(lane: Indices, subgroup: Indices) -> Words:
    """Return the lanes of each pixel's subgroup that can be helper invocations, (pixels, 4) words.

    A driver may draw the triangle in parts. Where a quad is at the edge of two parts, each part shades its
    own pixels and has helper invocations for those of the other. A quad has four lanes in order, beginning at
    a multiple of four (SPIR-V, "Quad Index").
    """
    subgroups = subgroup.reshape(HEIGHT // 2, 2, WIDTH // 2, 2)
    helpers = np.zeros((len(lane), LANES), np.bool_)
    for other_lane, axes in ((1, (3,)), (2, (1,)), (3, (1, 3))):
        neighbor = np.flip(subgroups, axes).ravel()
        elsewhere = (neighbor != subgroup) & (subgroup < len(lane)) & (lane < LANES)
        helpers[subgroup[elsewhere], lane[elsewhere] ^ other_lane] = True
    words = np.packbits(helpers, axis=1, bitorder="little").view(np.uint32)
    return words[np.minimum(subgroup, len(lane) - 1)]


def _name_of(pixel: int) -> str:
    return f"subgroup from pixel ({pixel % WIDTH}, {pixel // WIDTH})"


@dataclass(frozen=True)
class TriangleStage(BatchStage):
    """Pixels of one triangle that covers the whole target.

    A subgroup is identified by the pixel of its first active lane, which all its invocations read at the
    start. Subgroups use the groups of the data in turn, and begin at every fourth place of a group.
    """

    #: `width`, `height`: the target's; the pixels of a partial one make incomplete quads at its right and
    #: lower edge, whose missing pixels are helper invocations (KHR_shader_subgroup: "If the neighbors of a
    #: fragment are not covered by the primitive, fragment shader invocations will still be generated").
    width: int
    height: int

    name = "fragment"
    record_planes = 7
    invocations = WIDTH * HEIGHT
    declarations = _DECLARATIONS

    @property
    def extent(self) -> str:
        """The size of the target."""
        return f"{self.width} × {self.height} pixels"

    @property
    def start(self) -> str:
        """GLSL that derives the numbers from the pixel, and records which lanes are helper invocations."""
        return f"""uint index = {_OWN};
    uint own = index;
    uint subgroup = subgroupBroadcastFirst(index);
    {_QUAD}
    {GROUP_OF_BLOCK}
    uvec4 helpers = subgroupBallot(gl_HelperInvocation);
    for (uint word = 0u; word < 4u; ++word) outputs[index + (3u + word) * INVOCATIONS] = helpers[word];"""

    def recorded(self, record: Words) -> Recorded:
        """Return the pixels of the target."""
        y, x = np.divmod(np.arange(self.invocations), WIDTH)
        index = np.flatnonzero((x < self.width) & (y < self.height))
        lane, subgroup, size = record[:3, index].astype(np.int64)
        group, turn = group_of_block(quad_of(subgroup)), turn_of_block(quad_of(subgroup))
        return Recorded(index, lane, subgroup, size, group, subgroup, record[3:7, index].T, turn=turn)

    def block(self, number: Indices) -> Indices:
        """Return the quads."""
        return quad_of(number)

    def subgroup_name(self, group: int, number: int) -> str:
        """Return a phrase with the pixel of the first active lane."""
        return _name_of(number)

    def around(self, planes: int) -> PipelineRest:
        """Return a draw of one triangle."""
        return PipelineRest({}, {"size": (self.width, self.height)})


def _blocks(planes: int) -> range:
    return range(-(-planes // _WORDS))


def _declared(planes: int, direction: str, suffix: str = "", name: str = "record") -> str:
    """Return the declarations of the passed words, (planes + 3) // 4 variables of four."""
    return "\n".join(f"layout(location = {k}) {direction} uvec4 {name}_{k}{suffix};" for k in _blocks(planes))


def _copied(planes: int, to: str, source: str) -> str:
    return " ".join(f"{to.format(k)} = {source.format(k)};" for k in _blocks(planes))


@dataclass(frozen=True)
class FramebufferStage(BatchStage):
    """Invocations of one of `FRAMEBUFFER_STAGES` that record in a pixel each."""

    name: str

    stride = 1

    @property
    def _interface(self) -> StageInterface:
        return INTERFACES[self.name](self.name == "tessellation_control")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels."""
        return (WIDTH, HEIGHT) if self.name == "fragment" else GRID

    @property
    def invocations(self) -> int:
        """The number of pixels."""
        return self.size[0] * self.size[1]

    @property
    def declarations(self) -> str:
        """The interface of the stage."""
        if self.name == "fragment":
            return _DECLARATIONS
        return f"const uint LANES = {LANES}u;\n{self._interface.layout}\n{PIXEL}"

    def storage(self, planes: int) -> str:
        """Return the declarations of the record's variable and of the stage's outputs."""
        direction, suffix, name = {
            "fragment": ("out", "", "color"),
            "tessellation_control": ("flat out", "[]", "record"),
        }.get(self.name, ("flat out", "", "record"))
        leaving = _declared(planes, direction, suffix, name)
        return f"uint outputs[{len(_blocks(planes)) * _WORDS}];\n{leaving}"

    @property
    def start(self) -> str:
        """GLSL that derives the numbers from the first active lane's own number, a pixel."""
        own, block, opening = _OWN, _QUAD, ""
        if self.name != "fragment":
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
        """Return the GLSL that writes the record to the stage's outputs."""
        words = [
            f"uvec4({', '.join(f'outputs[{_WORDS * k + i}]' for i in range(_WORDS))})"
            for k in _blocks(planes)
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
        block = self.block(subgroup)
        group, turn = group_of_block(block), turn_of_block(block)
        unseen = np.full((len(index), 4), 0xFFFFFFFF, np.uint32)
        if self.name == "fragment":
            unseen = _helpers(lane, subgroup)
        return Recorded(index, lane, subgroup, size, group, subgroup, unseen, turn=turn)

    def block(self, number: Indices) -> Indices:
        """Return the quads of pixels, or blocks of own numbers."""
        return quad_of(number) if self.name == "fragment" else number // BLOCK

    def cells(self, size: int) -> int:
        """Return 0, because barrier cases have no memory here."""
        return 0

    def subgroup_name(self, group: int, number: int) -> str:
        """Return a phrase with the vertex, patch or primitive of the first active lane."""
        return _name_of(number) if self.name == "fragment" else self._interface.subgroup_name(number)

    def around(self, planes: int) -> PipelineRest:
        """Return the pipeline that writes the records to the attachments."""
        arguments = {"size": self.size}
        if self.name == "fragment":
            return PipelineRest({}, arguments)
        around = self._interface.around
        fragment = (
            f"{_HEAD}{_declared(planes, 'flat in')}\n{_declared(planes, 'out', name='color')}\n"
            f"void main() {{ {_copied(planes, 'color_{}', 'record_{}')} }}"
        )
        sources = dict(around.sources, fragment=fragment)
        if self.name == "tessellation_control":
            sources["tessellation_evaluation"] = _passing_evaluation(planes)
        return PipelineRest(sources, {**around.arguments, **arguments})

    def words(self, attachments: Mapping[Any, Any], planes: int) -> Words:
        """Return the outputs of attachments (h, w, 4) in the layout of a buffer, (planes × invocations,).

        Pixels without a record are poisoned, except their slots: zero there means not executed.
        """
        colors = [
            np.asarray(attachments[f"color_{k}"]).reshape(self.invocations, _WORDS) for k in _blocks(planes)
        ]
        words = np.ascontiguousarray(np.concatenate(colors, axis=1).T[:planes])
        words[: self.record_planes, words[2] == 0] = POISON
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


TICKETED = INTERFACES | RAY_INTERFACES
"""The stages whose invocations are numbered by tickets, with their interfaces, whole or partial."""


CLASSES: dict[str, Callable[[str, str, bool], BatchStage]] = {
    **dict.fromkeys(
        WORKGROUP_STAGES, lambda name, shape, partial: WorkgroupStage(SHAPES[shape].local_size(partial), name)
    ),
    "fragment": lambda name, shape, partial: TriangleStage(WIDTH - partial, HEIGHT - partial),
    **dict.fromkeys(TICKETED, lambda name, shape, partial: TicketStage(name, TICKETED[name](partial))),
}
"""Every stage of the suite: ``(name, shape, partial)`` → the invocations of a batch."""


def stage_of(name: str, shape: str, partial: bool) -> BatchStage:
    """Return the stage object of a batch for its cases' stage and shape, whole or partial."""
    return FramebufferStage(name) if shape == FRAMEBUFFER else CLASSES[name](name, shape, partial)
