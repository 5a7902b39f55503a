"""OpImageSample…, OpImage…Gather and OpImageQueryLod: Vulkan 1.4, "Sampling Operations"."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vkgroup.base.sampler import Sampler
from vkgroup.reference.interpreter.operations.derivatives import (
    COLUMNS,
    ROWS,
    choice_cause,
    difference,
    partial,
    partial_cause,
)
from vkgroup.reference.interpreter.operations.images.filtering import (
    Integers,
    Lookup,
    Texels,
    scale_factor,
    to_face,
)
from vkgroup.reference.interpreter.operations.images.memory import ImageMemory, rows, texel_result
from vkgroup.reference.interpreter.operations.images.operands import (
    ImageOperands,
    gather,
    on_each,
    optional_operands,
)
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import (
    Causes,
    Data,
    Value,
    combine,
    filled,
    overall_cause,
    reduce_cause,
    single,
)


class ImplicitGradient:
    """The derivatives of an instruction's coordinates, which may be coarse or fine.

    `divide`: whether the other coordinates are first divided by the last one.
    """

    def __init__(self, site: Site, divide: bool) -> None:
        self._partial, self._choice = partial_cause(site), choice_cause(site)
        self._divide = divide

    def values(self, frame: Frame, coordinate: Value) -> tuple[Value, Value]:
        """Return the changes in x and in y of all coordinates, (components, n), with their causes."""
        data, cause = np.atleast_2d(coordinate.data), reduce_cause(coordinate.cause)
        if self._divide:
            with np.errstate(all="ignore"):
                data = data / data[-1]
        subgroups = frame.subgroups
        given = single(data, cause)
        missing = partial(subgroups, self._partial)
        changes = []
        for pairs in (ROWS, COLUMNS):
            change = difference(subgroups, given, pairs, fine=False, choice=self._choice)
            changes.append(single(change.data, combine(reduce_cause(change.cause), missing)))
        return changes[0], changes[1]

    @staticmethod
    def of(image: ImageMemory, changes: tuple[Value, ...]) -> tuple[tuple[Data, Data], Causes | None]:
        """Return the gradient on an image, and its causes."""
        axes = 3 if image.dimension == "Cube" else image.axes
        first, second = changes
        return (first.data[:axes], second.data[:axes]), combine(first.cause, second.cause)


def with_gradient(
    implicit: ImplicitGradient | None, frame: Frame, operands: tuple[Value, ...]
) -> tuple[Value, ...]:
    """Return an instruction's operands, followed by the derivatives of the coordinates if there are quads."""
    if implicit is None or not frame.machine.has_derivatives:
        return operands
    return (*operands, *implicit.values(frame, operands[1]))


_DEFAULT = Sampler()


class _Coordinates:
    """Coordinates of a sample: the point in a level, the layer or cube, and their causes."""

    def __init__(self, image: ImageMemory, coordinate: Value, divide: bool) -> None:
        given, self.cause = rows(coordinate)
        axes = 3 if image.dimension == "Cube" else image.axes
        self.point = given[:axes]
        self.divisor = given[axes] if divide else None
        if self.divisor is not None:
            with np.errstate(all="ignore"):
                self.point = (self.point / self.divisor).astype(given.dtype)
        self.layer = np.zeros(1, np.int64)
        if image.arrayed:
            rounded = np.rint(np.nan_to_num(given[axes]))
            self.layer = np.clip(rounded, 0, image.cubes - 1).astype(np.int64)
        if image.dimension == "Cube":
            self.layer = self.layer * 6


def sample(site: Site) -> Callable[..., Value | None]:
    """Return the function of OpImageSample[Proj][Dref]{Implicit,Explicit}Lod.

    A shader without quads has no derivatives, so its implicit level of detail is the sum of the biases.
    """
    divide, compare = "Proj" in site.name, "Dref" in site.name
    implicit = ImplicitGradient(site, divide) if "Implicit" in site.name else None
    optional = optional_operands(site, 3 if compare else 2)

    def on_image(
        frame: Frame, image: ImageMemory, sampler: Sampler | None, operands: tuple[Value, ...]
    ) -> Value:
        coordinates = _Coordinates(image, operands[1], divide)
        given = gather(optional, operands)
        cause = combine(coordinates.cause, _causes(given))
        gradient = None
        if given.gradient is not None:
            gradient = (rows(given.gradient[0])[0], rows(given.gradient[1])[0])
        reference = None
        if compare:
            reference = operands[2].data
            cause = combine(cause, operands[2].cause)
            if coordinates.divisor is not None:
                with np.errstate(all="ignore"):
                    reference = (reference / coordinates.divisor).astype(reference.dtype)
        state = sampler or _DEFAULT
        if implicit is not None and len(operands) > fixed:
            gradient, undefined = implicit.of(image, operands[fixed:])
            # Only then the level of detail changes the result.
            varies = image.levels > 1 or len(set(state.filters)) > 1
            cause = combine(cause, undefined if varies else None)
        cause = combine(cause, _mismatch(site, state, compare))
        point, face = coordinates.point, None
        if image.dimension == "Cube":
            on_face = to_face(point, gradient)
            point, face, gradient = on_face.point, on_face.face, on_face.gradient
        lookup = Lookup(frame, site, image, state, coordinates.layer, face, reference)
        lod = level_of_detail(image, state, given, gradient)
        data, undefined = _in_levels(lookup, point, lod, given)
        return texel_result(site.type, data, combine(undefined, cause))

    fixed = len(site.operand_types)
    return lambda frame, *operands: on_each(frame, with_gradient(implicit, frame, operands), on_image)


def level_of_detail(
    image: ImageMemory, sampler: Sampler, given: ImageOperands, gradient: tuple[Data, Data] | None
) -> Data:
    """Return the level of detail before it is clamped, (n,) or (1,) ("LOD Operation")."""
    base: Data = np.zeros(1)
    if given.lod is not None:
        base = given.lod.data.astype(np.float64)
    elif gradient is not None:
        base = scale_factor(gradient, image.extents[0, : image.axes])
    bias = sampler.lod_bias if given.bias is None else sampler.lod_bias + given.bias.data.astype(np.float64)
    return np.nan_to_num(base + bias, nan=0.0, posinf=1e6, neginf=-1e6)


def _in_levels(lookup: Lookup, point: Data, lod: Data, given: ImageOperands) -> Texels:
    """Filter in the level, or between the two levels, that the level of detail selects."""
    sampler, last = lookup.sampler, lookup.image.levels - 1
    least: Data | float = sampler.min_lod
    if given.min_lod is not None:
        least = np.maximum(least, given.min_lod.data.astype(np.float64))
    lod = np.clip(lod, least, sampler.max_lod)
    offset: Data | int = 0 if given.offset is None else rows(given.offset)[0]
    minified = lod > 0
    within = np.clip(lod, 0, last)
    if sampler.mipmap == "nearest":
        level = (np.ceil(within + 0.5) - 1).astype(np.int64)
        return _by_filter(lookup, point, level, minified, offset)
    high = np.floor(within).astype(np.int64)
    fraction = within - high
    data, cause = _by_filter(lookup, point, high, minified, offset)
    if not fraction.any() or lookup.image.format.kind != "float":
        return data, cause
    low, more = _by_filter(lookup, point, np.minimum(high + 1, last), minified, offset)
    with np.errstate(invalid="ignore"):
        mixed = (1 - fraction) * data.astype(np.float64) + fraction * low.astype(np.float64)
    between = fraction > 0
    if more is not None:
        more = np.where(between, more, 0).astype(np.uint16)
    return np.where(between, mixed, data).astype(np.float32), combine(cause, more)


def _by_filter(lookup: Lookup, point: Data, level: Integers, minified: Data, offset: Data | int) -> Texels:
    """Use the magnification or the minification filter in each invocation."""
    magnify, minify = lookup.sampler.filters
    if magnify == minify or minified.all() or not minified.any():
        return lookup.filtered(point, level, minify if minified.all() else magnify, offset)
    larger, first = lookup.filtered(point, level, magnify, offset)
    smaller, second = lookup.filtered(point, level, minify, offset)
    cause = None
    if first is not None or second is not None:
        cause = np.where(minified, filled(second), filled(first))
    return np.where(minified, smaller, larger), cause


def gather_texels(site: Site) -> Callable[..., Value | None]:
    """Return the function of OpImageGather or OpImageDrefGather: one component of the four texels."""
    compare = "Dref" in site.name
    optional = optional_operands(site, 3)

    def on_image(
        frame: Frame, image: ImageMemory, sampler: Sampler | None, operands: tuple[Value, ...]
    ) -> Value:
        coordinates = _Coordinates(image, operands[1], False)
        given = gather(optional, operands)
        state = sampler or _DEFAULT
        cause = combine(coordinates.cause, _causes(given), _mismatch(site, state, compare), operands[2].cause)
        point, face = coordinates.point, None
        if image.dimension == "Cube":
            on_face = to_face(point)
            point, face = on_face.point, on_face.face
        reference = operands[2].data if compare else None
        lookup = Lookup(frame, site, image, state, coordinates.layer, face, reference)
        offset = 0 if given.offset is None else rows(given.offset)[0]
        offsets = None if given.offsets is None else given.offsets.data.astype(np.int64)
        component = np.zeros(1, np.int64) if compare else operands[2].data.astype(np.int64)
        data, causes = [], []
        for texel, undefined in lookup.four(point, offset, offsets):
            data.append(_component(texel, component))
            own = None if undefined is None else _component(undefined, component)
            causes.append(combine(cause, own))
        return texel_result(site.type, np.stack(np.broadcast_arrays(*data)), _stacked(causes))

    return lambda frame, *operands: on_each(frame, operands, on_image)


def _component(texel: Data, component: Integers) -> Data:
    if component.shape[0] == 1:
        return np.asarray(texel[int(component[0]) & 3])
    whole = np.broadcast_to(texel, (4, component.shape[0]))
    return np.asarray(np.take_along_axis(whole, (component & 3)[None], 0)[0])


def _stacked(causes: list[Causes | None]) -> Causes | None:
    if all(cause is None for cause in causes):
        return None
    return np.stack(np.broadcast_arrays(*(filled(cause) for cause in causes)))


def query_lod(site: Site) -> Callable[..., Value | None]:
    """Return the function of OpImageQueryLod: level and level of detail; 0 where there are no derivatives."""
    implicit = ImplicitGradient(site, False)

    def on_image(
        frame: Frame, image: ImageMemory, sampler: Sampler | None, operands: tuple[Value, ...]
    ) -> Value:
        state = sampler or _DEFAULT
        gradient, cause = None, operands[1].cause
        if len(operands) > fixed:
            gradient, cause = implicit.of(image, operands[fixed:])
            if image.dimension == "Cube":
                gradient = to_face(rows(operands[1])[0], gradient).gradient
        lod = level_of_detail(image, state, ImageOperands(), gradient)
        within = np.clip(np.clip(lod, state.min_lod, state.max_lod), 0, image.levels - 1)
        level = within if state.mipmap == "linear" else np.ceil(within + 0.5) - 1
        return single(np.stack([level, lod]).astype(np.float32), reduce_cause(cause))

    fixed = len(site.operand_types)
    return lambda frame, *operands: on_each(frame, with_gradient(implicit, frame, operands), on_image)


def _causes(given: ImageOperands) -> Causes | None:
    """Return the causes of all optional operands."""
    values = [given.bias, given.lod, given.offset, given.offsets, given.min_lod, *(given.gradient or ())]
    return combine(*(overall_cause(value) for value in values if value is not None))


def _mismatch(site: Site, sampler: Sampler, compare: bool) -> Causes | None:
    """Return the cause where only one of instruction and sampler has a depth comparison; else None."""
    if (sampler.compare is not None) == compare:
        return None
    wanted = "compares depths" if compare else "does not compare depths"
    number = site.cause("conversion", f"the instruction {wanted}, and the sampler does otherwise")
    return np.full(1, number, np.uint16)
