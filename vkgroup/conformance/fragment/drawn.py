"""Draws of scenes: the record of a draw, and the verdict on each probe of its fragments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence, marks
from vkgroup.conformance.arrays import POISON, Array, Flags, Indices, Words
from vkgroup.conformance.comparison import Description, Expected, Index, Verdict, legal, verdict_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.fragment.scenes import GRID, TriangleScene
from vkgroup.conformance.instances import hex_of, lane_faults, unpack
from vkgroup.conformance.recording import Recorder
from vkgroup.dispatch import DrawState
from vkgroup.record.record import Status
from vkgroup.spirv import Module

RECORD = 7
"""Planes of the record: count, before, lane, the active mask's four words."""

_PLACES = np.arange(4)


@dataclass(frozen=True)
class PixelRecord:
    """The record of a draw, by pixel; axes (layers, GRID, GRID)."""

    scene: TriangleScene
    count: Words  # number of times that each pixel was shaded to the end
    before: Words  # number of times that it was shaded up to the point where fragments may leave
    lane: Indices  # gl_SubgroupInvocationID; 0 if fragment shaders have no subgroups
    mask: Words  # (layers, GRID, GRID, 4) subgroupBallot(true); 0 without subgroups
    color: NDArray[Any]  # (size, size[, samples]) contents of the color attachment
    size: int  # subgroup size

    @property
    def y(self) -> Indices:
        """Row of each pixel."""
        return np.asarray(np.indices(self.count.shape)[1])

    @property
    def x(self) -> Indices:
        """Column of each pixel."""
        return np.asarray(np.indices(self.count.shape)[2])

    @property
    def layer(self) -> Indices:
        """Layer of each pixel: the triangle's number or the sample's."""
        return np.asarray(np.indices(self.count.shape)[0])

    @property
    def shaded(self) -> Flags:
        """The pixels that the triangles cover."""
        return self.scene.covered

    @property
    def gone(self) -> Flags:
        """The pixels of fragments that are discarded, demoted or terminated, if they are shaded."""
        return np.broadcast_to(self.scene.gone, self.count.shape)

    @property
    def present(self) -> Flags:
        """The pixels that are shaded to the end and so record a result."""
        return self.shaded & ~self.gone

    def of_lane(self, lane: Indices) -> tuple[Indices, Indices]:
        """Return the pixel (x, y) of another lane, 0 to 3, of each pixel's quad.

        KHR_shader_subgroup, section 3.8: lanes 0, 1, 2, 3 of a quad are the pixels (x, y), (x + 1, y),
        (x, y + 1), (x + 1, y + 1).
        """
        x = self.x - (self.lane & 1) + (lane & 1)
        y = self.y - (self.lane >> 1 & 1) + (lane >> 1 & 1)
        return x, y

    def at(self, flags: Flags, x: Indices, y: Indices) -> Flags:
        """Return the flags of other pixels of the same layer; False beyond the record."""
        beyond = (x < 0) | (y < 0) | (x >= GRID) | (y >= GRID)
        values = flags[self.layer, np.where(beyond, 0, y), np.where(beyond, 0, x)]
        return np.asarray(values & ~beyond)


Legal = Array | tuple[Array, ...]
"""The legal value or values of each pixel with a result, (layers, GRID, GRID)."""

Expect = Callable[[PixelRecord], Legal | Expected]
"""The legal values, or the expectation for each pixel, also for those without a result."""


@dataclass(frozen=True)
class FragmentProbe:
    """A computation of every fragment of a scene, and the expected result."""

    name: str  # its part of a case name
    sentence: str  # the expected result, with the section of the specification
    scenes: tuple[str, ...]  # names of its scenes
    expect: Expect  # see `Expect`
    code: str = ""  # GLSL expression of the result; "" if the record is compared
    result: str = "uint"  # "uint" or "float"
    #: The compared part of the draw: "" for the result, "count" or "before" for these, or "color" for the
    #: attachment, as (samples, GRID, GRID).
    source: str = ""
    needs: tuple[str, ...] = ()  # categories of subgroup operations
    leaves: str = ""  # how some fragments leave before it, if the scene does not say; see `TriangleScene`


def stored(scene: TriangleScene, probe: FragmentProbe, number: int, word: str) -> str:
    """Return the GLSL that stores the result of a probe, the one of this number, combined with its mark."""
    mark = marks.glsl("index", _salt(scene, probe))
    return f"outputs[index + {RECORD + number}u * PIXELS] = ({word}) ^ {mark};"


def _salt(scene: TriangleScene, probe: FragmentProbe) -> int:
    return marks.salt_of(probe.name, scene.name)


def verdicts(
    executor: Executor,
    module: Module,
    scene: TriangleScene,
    probes: Sequence[FragmentProbe],
    bindings: Mapping[int, Any] | None = None,
    *,
    color: str = "color",
    is_numbered: bool = True,
) -> list[Verdict]:
    """Draw a scene with a shader that records `RECORD` and a plane per probe; return the verdicts.

    `color`, `is_numbered`: the name of its output, and whether its input is ``id``, the triangle's number.
    """
    shape, size = (scene.layers, GRID, GRID), (scene.size, scene.size)
    recorder = Recorder("fragment", RECORD + len(probes), shape, zeroed=(0, 1), size=size)
    vertices = {key: value for key, value in scene.vertices().items() if is_numbered or key != "id"}
    planes, attachments = recorder.run(
        executor,
        module,
        bindings,
        vertices=vertices,
        colors={color: "r32f"},
        state=DrawState(samples=scene.samples, sample_shading=scene.sample_shading, resolve=False),
        repeat=scene.draws,
    )
    subgroup_size = executor.capabilities.subgroup.size
    shaded = (planes[0] != 0) & (planes[2] != POISON)
    if (planes[2][shaded] >= subgroup_size).any():
        fault = lane_faults(planes[2][shaded], np.full(1, subgroup_size), subgroup_size)
        return [Verdict(Status.FAIL, 0, 0, "; ".join(fault))] * len(probes)
    drawn = PixelRecord(
        scene=scene,
        count=planes[0],
        before=planes[1],
        lane=np.where(shaded, planes[2], 0).astype(np.int64),
        mask=np.ascontiguousarray(planes[3:7].transpose(1, 2, 3, 0)),
        color=attachments[color],
        size=subgroup_size,
    )
    places = np.arange(drawn.count.size).reshape(shape)
    results = [
        result ^ marks.marks(places, _salt(scene, probe))
        for probe, result in zip(probes, planes[RECORD:], strict=True)
    ]
    return [_verdict(probe, drawn, result) for probe, result in zip(probes, results, strict=True)]


def _got(probe: FragmentProbe, drawn: PixelRecord, result: NDArray[np.uint32]) -> NDArray[Any]:
    """Return the values that a probe compares, (layers, GRID, GRID)."""
    if probe.source == "color":
        size, samples = drawn.scene.size, drawn.scene.samples
        color = np.zeros((samples, GRID, GRID), np.float32)
        color[:, :size, :size] = np.moveaxis(drawn.color.reshape(size, size, samples), -1, 0)
        return color
    if probe.source:
        return drawn.count if probe.source == "count" else drawn.before
    return result.view(np.float32) if probe.result == "float" else result


def _verdict(probe: FragmentProbe, drawn: PixelRecord, result: Words) -> Verdict:
    expected, got = probe.expect(drawn), _got(probe, drawn, result)
    if not isinstance(expected, Expected):
        values = expected if isinstance(expected, tuple) else (expected,)
        shape = drawn.count.shape
        expected = Expected.one_of([np.broadcast_to(value, shape) for value in values], drawn.present)
    judged = drawn.present if not probe.source else np.ones(got.shape, np.bool_)
    wrong = expected.defined & ~legal(got, expected)
    if not probe.source:
        # Pixels that were not shaded have no result; the probe of the count detects them.
        wrong |= judged & (drawn.count == 0)

    def line(index: Index) -> str:
        layer, y, x = index
        where = f"pixel ({x}, {y})" + (f" of layer {layer}" if len(got) > 1 else "")
        if layer < len(drawn.lane):
            where += f" lane {drawn.lane[index]}"
        return f"{where}: expected {expected.text(index)} got {evidence.text_of(got[index])}"

    return verdict_of(
        wrong,
        Description("pixels", line, lambda wrong: _quad(drawn, got, expected, wrong, probe.code)),
        defined=int(expected.defined.sum()),
        undefined=int((judged & ~expected.defined).sum()),
    )


def _quad(
    drawn: PixelRecord, got: NDArray[Any], expected: Expected, wrong: Flags, code: str
) -> dict[str, Any] | None:
    """Return the evidence for the quad of the first wrong pixel; None if samples are shaded separately."""
    if got.shape != drawn.lane.shape:
        return None
    layer, y, x = np.argwhere(wrong)[0].tolist()
    columns, rows = x // 2 * 2 + (_PLACES & 1), y // 2 * 2 + (_PLACES >> 1)
    inside = (columns < GRID) & (rows < GRID)
    places = zip(rows[inside].tolist(), columns[inside].tolist(), strict=True)
    pixels: list[Index] = [(layer, row, column) for row, column in places]
    shaded = [bool(drawn.count[pixel]) for pixel in pixels]
    mask = drawn.mask[layer, y, x]
    has_mask = bool((mask != 0).any() and (mask != POISON).any() and drawn.count[layer, y, x])
    table: dict[str, list[str | None]] = {"pixel": [f"({pixel[2]}, {pixel[1]})" for pixel in pixels]}
    if has_mask:
        table["lane"] = [
            str(drawn.lane[pixel]) if there else None for pixel, there in zip(pixels, shaded, strict=True)
        ]
    table["covered"] = ["yes" if drawn.shaded[pixel] else "no" for pixel in pixels]
    table["expected"] = [expected.text(pixel) if expected.defined[pixel] else None for pixel in pixels]
    table["got"] = [
        repr(got[pixel].item()) if there or wrong[pixel] else None
        for pixel, there in zip(pixels, shaded, strict=True)
    ]
    first = drawn.lane[layer, y, x] & ~3
    of_mask = f", active mask {hex_of(mask)}" if has_mask else ""
    of_layer = f" of layer {layer}" if len(got) > 1 else ""
    return evidence.of_lanes(
        f"the quad of pixel ({x}, {y}){of_layer}{of_mask}",
        _PLACES[inside],
        np.array([bool(wrong[pixel]) for pixel in pixels]),
        table,
        size=4,
        active=unpack(mask[None], 128)[0, first : first + 4] if has_mask else None,
        unit="place in the quad",
        code=code,
    )
