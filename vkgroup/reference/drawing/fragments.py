"""Fragments: quads arranged as subgroups, and the built-in inputs of each fragment.

A quad is four invocations, lanes 4q to 4q+3 of a subgroup, for the pixels (x, y), (x+1, y), (x, y+1) and
(x+1, y+1) with even x and y; with sample shading, for one sample of each. Invocations that the primitive does
not cover are helper invocations. The quads of a primitive fill subgroup after subgroup, row by row (with
sample shading, sample by sample first). The last subgroup of a primitive may be partial, unless quads of
several primitives share subgroups.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from vkgroup.reference.drawing.coverage import covered_quads
from vkgroup.reference.drawing.interpolation import At, Interpolation, Shapes
from vkgroup.reference.drawing.shapes import ScreenShape
from vkgroup.reference.events import FragmentInvocation
from vkgroup.reference.interpreter.execution.execute import SLICE
from vkgroup.reference.interpreter.values.arrangement import StagePlacement
from vkgroup.reference.interpreter.values.value import (
    Causes,
    Data,
    Value,
    combine,
    marked,
    reduce_cause,
    single,
)
from vkgroup.spec.limits import QUAD_SIZE

Integers = npt.NDArray[np.int64]
Masks = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]

NO_SAMPLE = -1


@dataclass(frozen=True)
class Fragments:
    """Invocations of the fragment stage, quad by quad, each an array (n,)."""

    shape: Integers  # number of the primitive, in the order of drawing
    #: `x`, `y`: the pixel.
    x: Integers
    y: Integers
    sample: Integers  # the sample that is shaded; `NO_SAMPLE` where all are shaded together
    mask: Masks  # the samples that it covers and shades; 0 for helper invocations

    def __len__(self) -> int:
        return len(self.shape)

    def chosen(self, index: Integers | Flags) -> Fragments:
        """Return the invocations at an index."""
        return Fragments(*(getattr(self, field.name)[index] for field in fields(self)))


def samples_of(masks: Masks) -> tuple[Integers, Integers]:
    """Return the fragment and the sample of every set bit in sample masks, fragment by fragment."""
    count = int(masks.max(initial=0)).bit_length()
    bits = (masks[:, None] >> np.arange(count, dtype=np.uint32)) & np.uint32(1)
    fragment, sample = np.nonzero(bits)
    return fragment, sample


def batches(
    shapes: Sequence[ScreenShape], size: tuple[int, int], locations: npt.NDArray[np.float64], per_sample: bool
) -> Iterator[Fragments]:
    """Yield the fragments of all shapes, in order, `SLICE` or slightly more at a time."""
    pieces: list[Fragments] = []
    count = 0
    for number, shape in enumerate(shapes):
        for quads in covered_quads(shape.polygon, size, locations):
            for sample in range(len(locations)) if per_sample else (NO_SAMPLE,):
                masks = quads.masks if sample == NO_SAMPLE else quads.masks & np.uint32(1 << sample)
                covered = masks.any(axis=1)
                x, y = (
                    quads.x[covered, None] + np.array([0, 1, 0, 1]),
                    quads.y[covered, None] + np.array([0, 0, 1, 1]),
                )
                piece = Fragments(
                    np.full(x.size, number, np.int64),
                    x.reshape(-1),
                    y.reshape(-1),
                    np.full(x.size, sample, np.int64),
                    masks[covered].reshape(-1).astype(np.uint32),
                )
                count += len(piece)
                pieces.append(piece)
            if count >= SLICE:
                yield _joined(pieces)
                pieces, count = [], 0
    if count:
        yield _joined(pieces)


def _joined(pieces: list[Fragments]) -> Fragments:
    columns = [field.name for field in fields(Fragments)]
    return Fragments(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in columns))


class Arranger:
    """Puts the quads of a draw into subgroups, batch after batch, and records the lane of each.

    `subgroup_size`: lanes of a subgroup.
    `mix`: whether quads of several primitives may share a subgroup.
    `rng`: for a random order of the quads of each primitive, or with `mix` of all; None for their own order.

    Attributes: `fragments`, `helpers`: numbers of fragments and of helper invocations so far.
    """

    def __init__(self, subgroup_size: int, mix: bool, rng: np.random.Generator | None) -> None:
        self._size, self._mix, self._rng = subgroup_size, mix, rng
        self._batches: list[tuple[Fragments, StagePlacement]] = []
        self._firsts: list[int] = []
        self._numbers: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._subgroups = 0
        self.fragments = self.helpers = 0

    def ordered(self, fragments: Fragments) -> Fragments:
        """Return the quads in the order in which they fill subgroups."""
        if self._rng is None:
            return fragments
        first = fragments.shape[::QUAD_SIZE]
        order = self._rng.permutation(len(first))
        if not self._mix:
            order = order[np.argsort(first[order], kind="stable")]
        return fragments.chosen((order[:, None] * QUAD_SIZE + np.arange(QUAD_SIZE)).reshape(-1))

    def place(self, fragments: Fragments, numbers: npt.NDArray[np.int32]) -> StagePlacement:
        """Put quads into subgroups; `numbers` has gl_PrimitiveID of every shape."""
        per_subgroup = self._size // QUAD_SIZE
        quad = np.arange(len(fragments) // QUAD_SIZE)
        starts = np.zeros(len(quad), np.bool_)
        starts[0] = True
        if not self._mix:
            shape = fragments.shape[::QUAD_SIZE]
            starts[1:] = shape[1:] != shape[:-1]
        inside = quad - np.maximum.accumulate(np.where(starts, quad, 0))
        row = np.cumsum(inside % per_subgroup == 0) - 1
        lane = inside % per_subgroup * QUAD_SIZE
        placement = StagePlacement(
            self._size,
            np.repeat(row, QUAD_SIZE),
            (lane[:, None] + np.arange(QUAD_SIZE)).reshape(-1),
            first=self.fragments + self.helpers,
            first_subgroup=self._subgroups,
        )
        self._batches.append((fragments, placement))
        self._firsts.append(placement.part.first)
        self._numbers = numbers
        self._subgroups += placement.subgroups
        covered = int(np.count_nonzero(fragments.mask))
        self.fragments += covered
        self.helpers += len(fragments) - covered
        return placement

    def invocation(self, number: int) -> FragmentInvocation:
        """Return the fragment of an invocation of the stage."""
        batch = bisect_right(self._firsts, number) - 1
        fragments, placement = self._batches[batch]
        inside = number - self._firsts[batch]
        x, y = int(fragments.x[inside]), int(fragments.y[inside])
        return FragmentInvocation(
            (0, 0, 0),
            (x, y, 0),
            int(placement.subgroup_numbers[inside]),
            int(placement.part.lane[inside]),
            int(self._numbers[fragments.shape[inside]]),
            x,
            y,
            int(fragments.sample[inside]),
            not fragments.mask[inside],
        )


class Positions:
    """Positions of the fragments of a batch, and the input values at these positions."""

    def __init__(self, shapes: Shapes, fragments: Fragments, locations: npt.NDArray[np.float64]) -> None:
        self._shapes, self._fragments, self._locations = shapes, fragments, locations
        corner = np.stack([fragments.x, fragments.y]).astype(np.float64)
        offset = np.where(fragments.sample == NO_SAMPLE, 0.5, locations[fragments.sample].T)
        #: Framebuffer coordinates, (2, n).
        self.center = corner + offset
        self.at: At = shapes.at(fragments.shape, self.center)
        self._centroid = corner + np.where(self._is_partial(), locations[self._first_sample()].T, offset)

    def _is_partial(self) -> Flags:
        """Return whether each fragment is shaded for all samples but covers only some of them."""
        fragments, whole = self._fragments, np.uint32((1 << len(self._locations)) - 1)
        together: Flags = fragments.sample == NO_SAMPLE
        partial: Flags = together & (fragments.mask != 0) & (fragments.mask != whole)
        return partial

    def _first_sample(self) -> Integers:
        mask = self._fragments.mask
        lowest = mask & (~mask + np.uint32(1))
        return np.where(mask == 0, 0, np.frexp(lowest.astype(np.float64))[1] - 1).astype(np.int64)

    @property
    def interpolation(self) -> Interpolation:
        """The interpolation of the inputs."""
        fragments = self._fragments
        return Interpolation(
            self._shapes.vertices[fragments.shape].T,
            self.at,
            self._shapes.at(fragments.shape, self._centroid),
        )

    def interpolation_at(
        self, point: str, operand: Value | None, lanes: Integers, no_sample: int
    ) -> tuple[Interpolation, Causes | None]:
        """Return the interpolation of some fragments at other points of their pixels, and its causes.

        `point`, `operand`: ``"Centroid"``; ``"Sample"`` and its number; ``"Offset"`` from the pixel's center.
        `no_sample`: the cause for a sample number that does not exist.
        """
        fragments, cause = self._fragments, None
        corner = np.stack([fragments.x[lanes], fragments.y[lanes]]).astype(np.float64)
        position = self._centroid[:, lanes]
        if point == "Sample" and len(self._locations) == 1:
            # GLSL 4.60, 8.13.2: without multisampling, the center of the pixel is used.
            position = corner + 0.5
        elif point == "Sample" and operand is not None:
            number = operand.data.astype(np.int64)
            outside = (number < 0) | (number >= len(self._locations))
            cause = combine(operand.cause, marked(outside, no_sample) if outside.any() else None)
            position = corner + self._locations[np.where(outside, 0, number)].T
        elif operand is not None:
            cause = reduce_cause(operand.cause)
            position = corner + 0.5 + operand.data
        shape = fragments.shape[lanes]
        at = self._shapes.at(shape, position)
        return Interpolation(self._shapes.vertices[shape].T, at, at), cause

    def depth(self, fragment: Integers, sample: Integers) -> npt.NDArray[np.float64]:
        """Return the depth of some samples of fragments, at the locations of the samples."""
        fragments = self._fragments
        corner = np.stack([fragments.x[fragment], fragments.y[fragment]]).astype(np.float64)
        position = corner + self._locations[sample].T
        return self._shapes.at(fragments.shape[fragment], position).depth

    def built_ins(self, mask: Masks) -> dict[str, Value]:
        """Return the built-in inputs; `mask` is gl_SampleMaskIn."""
        fragments, shapes = self._fragments, self._shapes
        shape = fragments.shape
        coordinates = np.stack([*self.center, self.at.depth, self.at.inverse_w]).astype(np.float32)
        sample = np.maximum(fragments.sample, 0)
        point = 0.5 + (self.center - shapes.center[shape].T) / shapes.size[shape]
        zero: Data = np.zeros(1, np.int32)
        return {
            "FragCoord": single(coordinates),
            "FrontFacing": single(shapes.front[shape]),
            "HelperInvocation": single(fragments.mask == 0),
            "SampleId": single(sample.astype(np.int32)),
            "SamplePosition": single(self._locations[sample].T.astype(np.float32)),
            "SampleMask": single(mask.view(np.int32)[None]),
            "PrimitiveId": single(shapes.number[shape]),
            "PointCoord": single(point.astype(np.float32)),
            "Layer": single(zero),
            "ViewportIndex": single(zero),
        }
