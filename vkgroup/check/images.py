"""Extents of generated images: a texel for each invocation, or as many as the accesses of a trial need.

An image of which a shader asks the size does not grow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.formats import TexelFormat
from vkgroup.check.flow import ModuleCode
from vkgroup.check.inputs import Extent, Input, image_of, image_type
from vkgroup.reference.interpreter.operations.images.memory import AXES
from vkgroup.reference.interpreter.program.site import sort_operands
from vkgroup.spirv import Binding, ImageType, Instruction, Module, call_of

Extents = Mapping[tuple[str, bool], Extent]
"""Least extents of generated images by dimension and whether they have layers."""

MOST_BYTES = 1 << 25
"""Maximum size in bytes to which all generated images grow (32 MiB)."""

_MISSING = 4
"""Most texels by which an image, whose size a shader compares, is smaller than the dispatch on an axis."""

_NEAR, _NEARER = 4, 8
"""Accesses beyond an end are errors if they exceed it by up to this part of the extent."""


def kind_of(kind: ImageType) -> tuple[str, bool]:
    """Return what the images that grow together have in common: dimension, and whether there are layers."""
    return kind.dimension, kind.arrayed


def first_extent(
    kind: ImageType, size: tuple[int, int, int], local_size: tuple[int, int, int], partial: bool
) -> Extent:
    """Return the extent of an image with one texel for each invocation of a dispatch of `size` invocations.

    `partial`: whether the last workgroup has fewer texels, which shows where a comparison is missing.
    """
    axes = AXES[kind.dimension]
    if axes == 1:
        size, local_size = (math.prod(size), 1, 1), (math.prod(local_size), 1, 1)
    if partial:
        smaller = [max(1, n - min(_MISSING, own // 2)) for n, own in zip(size, local_size, strict=True)]
        size = (smaller[0], smaller[1], smaller[2])
    x, y, z = size
    if kind.dimension == "Cube":
        edge = max(x, y) if min(x, y) > 1 else math.isqrt(x * y - 1) + 1
        return 6 * max(2, -(-z // 6)) if kind.arrayed else 6, edge, edge, 1
    return max(2, z) if kind.arrayed else 1, x, y if axes > 1 else 1, z if axes > 2 else 1


def shape_of(kind: ImageType, extent: Extent, components: int) -> tuple[int, ...]:
    """Return the shape of an image's array."""
    layers, *sizes = extent
    first = (layers,) if kind.arrayed or kind.dimension == "Cube" else ()
    return (*first, *reversed(sizes[: AXES[kind.dimension]]), *((components,) if components > 1 else ()))


def extents_for(
    inputs: Sequence[Input],
    needed: Mapping[tuple[int, int], npt.NDArray[np.int64]],
    extents: Extents,
    groups: tuple[int, int, int],
) -> Extents:
    """Return the extents of generated images that also contain the texels that a run has accessed.

    All images of one dimension have the same extent, except those whose size the shader asks for.

    `inputs`: those with one texel for each invocation.
    `needed`: layers, width, height and depth that the accesses outside of images need, by (set, binding).
    `extents`: the extents so far.
    `groups`: the workgroup counts.
    """
    grown, total = dict(extents), 0
    by_kind: dict[tuple[str, bool], list[Input]] = {}
    for entry in inputs:
        if entry.extent is not None:
            by_kind.setdefault(kind_of(image_type(entry.binding)), []).append(entry)
    for (dimension, arrayed), entries in by_kind.items():
        needs = [
            (entry.binding.writable, needed[entry.place].tolist())
            for entry in entries
            if entry.place in needed
        ]
        first = np.array([entry.extent for entry in entries]).max(axis=0).tolist()
        before = extents.get((dimension, arrayed), first)
        counts = (1, *groups) if AXES[dimension] > 1 else (1, math.prod(groups), 1, 1)
        sizes = [
            _size(axis, first, before[axis], {(need[axis], written) for written, need in needs}, count)
            for axis, count in enumerate(counts)
        ]
        if dimension == "Cube":
            sizes[1] = sizes[2] = max(sizes[1:3])
            sizes[0] = -(-sizes[0] // 6) * 6
        after = (sizes[0] if arrayed else before[0], sizes[1], sizes[2], sizes[3])
        texel = sum(len(entry.arrays) * entry.format.nbytes for entry in entries if entry.format is not None)
        if after != tuple(before) and total + math.prod(after) * texel <= MOST_BYTES:
            grown[dimension, arrayed] = after
        total += math.prod(grown.get((dimension, arrayed), first)) * texel
    return grown


def _size(axis: int, extent: Sequence[int], least: int, needs: Set[tuple[int, bool]], groups: int) -> int:
    """Return the size of an axis that contains what images need, except accesses just beyond an end.

    An end is the first size or a multiple of it, or, for an axis that is distributed over workgroups, what
    an image needs that is written. A need that is a multiple of the first size is met, since each invocation
    has several texels; so is the size of another axis, since axes may be exchanged.

    `extent`: the first extent. `least`: the size so far.
    `needs`: for each image, what it needs, and whether it is written.
    """
    first = extent[axis]
    further = {need for need, _ in needs if need > least}
    written = {least, *(need for need, is_written in needs if is_written)}

    def is_met(need: int, end: int) -> bool:
        if need <= end or need % first == 0 or need in extent:
            return need <= end
        if end == first:
            return need - end <= first // _NEAR
        if end in written and end % groups == 0:
            return need - end <= end // _NEARER
        return end % first == 0 and need - end <= first // _NEARER

    ends = {least, *further, *(need // first * first for need in further)}
    return min(end for end in ends if end >= least and all(is_met(need, end) for need in further))


def require_texels(
    binding: Binding,
    kind: ImageType,
    given: npt.NDArray[Any],
    format_: TexelFormat,
    shape: tuple[int, ...],
) -> None:
    """Raise InvalidDispatch where an array has not the texels of an image; `shape` is a generated one."""
    if given.dtype != format_.dtype or given.ndim != len(shape):
        raise InvalidDispatch(
            f"{binding.name} has the format {format_.name}: give an array of {format_.dtype.name}"
            f" with {len(shape)} axes instead of {given.dtype.name} with {given.ndim}."
        )
    components = given.shape[-1] if format_.components > 1 else 1
    if components != format_.components:
        raise InvalidDispatch(
            f"{binding.name} has the format {format_.name}: the last axis must have"
            f" {format_.components} components, not {components}."
        )
    if kind.dimension == "Cube" and (given.shape[0] % 6 or (given.shape[0] > 6 and not kind.arrayed)):
        count = "6 faces for each cube" if kind.arrayed else "6 faces"
        raise InvalidDispatch(f"{binding.name}: the first axis must have {count}, not {given.shape[0]}.")


_KEPT = frozenset(
    {
        *("OpAccessChain", "OpInBoundsAccessChain", "OpLoad", "OpCopyObject", "OpImage", "OpSampledImage"),
        *("OpCompositeExtract", "OpCompositeConstruct", "OpCompositeInsert", "OpVectorShuffle"),
        *("OpVectorExtractDynamic", "OpVectorInsertDynamic", "OpSelect", "OpPhi", "OpBitcast"),
        *("OpIAdd", "OpISub", "OpIMul", "OpUDiv", "OpSDiv", "OpUMod", "OpSMod", "OpSRem", "OpFAdd", "OpFSub"),
        *("OpShiftRightLogical", "OpShiftRightArithmetic", "OpShiftLeftLogical"),
        *("OpConvertSToF", "OpConvertUToF", "OpConvertFToS", "OpConvertFToU", "OpUConvert", "OpSConvert"),
    }
)
"""Instructions whose result is an image or a size if an operand is one.

A quotient or product of floats is no size: it is a coordinate from 0 to 1, or its step.
"""

_QUERIES = ("OpImageQuerySize", "OpImageQuerySizeLod")
_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain")
_ACCESSES = ("OpImageRead", "OpImageWrite", "OpImageFetch", "OpImageTexelPointer")
_LOD = 2
"""The bit of the level among the image operands."""

_LIMITS = frozenset(range(37, 46))
"""FMin, UMin, SMin, FMax, UMax, SMax, FClamp, UClamp and SClamp of GLSL.std.450."""


class AskedImages(NamedTuple):
    """Variables of images whose size a shader asks for."""

    limiting: frozenset[int]  # the size limits or is a part of coordinates: accesses beyond it are errors
    compared: frozenset[int]  # the size is compared with something else: the dispatch may be larger


@lru_cache(maxsize=8)  # each trial of a shader asks
def asked_images(module: Module) -> AskedImages:
    """Return the images whose size a shader asks for; control flow is ignored."""
    if not any(entry.name in _QUERIES for entry in module.instructions):
        return AskedImages(frozenset(), frozenset())
    flow = _Flow(module)
    limiting: set[int] = set()
    compared: set[int] = set()
    for entry in module.instructions:
        words = entry.operands
        if entry.name.startswith(_ACCESSES):
            limiting |= flow.sizes.get(words[1], set())
        elif entry.name == "OpExtInst" and words[1] in _LIMITS:
            limiting |= flow.of(flow.sizes, words[2:])
        elif "LessThan" in entry.name or "GreaterThan" in entry.name:
            for size, other in (words, reversed(words)):
                compared |= set() if other in flow.sizes else flow.alone.get(size, set())
    return AskedImages(frozenset(limiting | compared), frozenset(compared))


def reads_levels(module: Module) -> bool:
    """Whether a shader may read levels of sampled images other than the first, or ask for their number."""
    constants = module.declarations.constants
    for entry in module.instructions:
        if "ImplicitLod" in entry.name or entry.name in ("OpImageQueryLod", "OpImageQueryLevels"):
            return True
        if entry.name == "OpImageQuerySizeLod":
            level = entry.operands[1]
        elif entry.name == "OpImageFetch" and entry.operands[2:] and entry.operands[2] & _LOD:
            level = entry.operands[3]
        elif "ExplicitLod" in entry.name:
            level = entry.operands[4 if "Dref" in entry.name else 3]
        else:
            continue
        constant = constants.get(level)
        if constant is None or constant.specialization is not None or constant.value != 0:
            return True
    return False


class _Flow(ModuleCode):
    """The variables of images behind values and pointers, and those whose size is in a value or variable.

    `images`, `sizes`: by id. `alone`: as `sizes`, for values that depend on nothing else but constants.
    """

    def __init__(self, module: Module) -> None:
        super().__init__(module)
        bindings = module.reflection.bindings
        self.images = {binding.id: {binding.id} for binding in bindings}
        self.sizes: dict[int, set[int]] = {}
        self.alone: dict[int, set[int]] = {}
        self._fixed = {entry.result_id for entry in module.instructions if "Constant" in entry.name}
        self._bases: dict[int, int] = {}
        self._function = 0
        kinds = {each.id: image_type(each) for each in bindings if image_of(each) is not None}
        #: The axes of images that have layers; their size has the number of layers as another component.
        self._layered = {image: AXES.get(kind.dimension, 3) for image, kind in kinds.items() if kind.arrayed}
        before, tables = -1, (self.images, self.sizes, self.alone)
        while before != (before := sum(len(found) for values in tables for found in values.values())):
            for entry in self.body:
                self._follow(entry)

    @staticmethod
    def of(values: dict[int, set[int]], ids: tuple[int, ...]) -> set[int]:
        """Return the variables of some ids."""
        return set[int]().union(*(values.get(one, ()) for one in ids))

    def _follow(self, entry: Instruction) -> None:
        words = entry.operands
        if entry.name == "OpFunction":
            self._function = entry.result_id
        elif entry.name in _CHAINS:
            self._bases[entry.result_id] = self._bases.get(words[0], words[0])
        elif entry.name in _QUERIES:
            for values in (self.sizes, self.alone):
                self._add(values, entry.result_id, self.images.get(words[0], set()))
        for values in (self.images, self.sizes, self.alone):
            if entry.name in _KEPT:
                # An index into a variable is not in what is read there.
                used = words[:1] if entry.name in _CHAINS else tuple(sort_operands(entry).values)
                if values is not self.alone or all(one in self._fixed | values.keys() for one in used):
                    without = set() if values is self.images else self._with_layers(entry)
                    self._add(values, entry.result_id, self.of(values, used) - without)
            elif entry.name == "OpStore":
                self._add(values, self._bases.get(words[0], words[0]), values.get(words[1], set()))
            elif call := call_of(entry):
                parameters = self.parameters.get(call.function, ())
                for parameter, argument in zip(parameters, call.arguments, strict=False):
                    self._add(values, parameter, values.get(argument, set()))
                self._add(values, entry.result_id, values.get(call.function, set()))
            elif entry.name == "OpReturnValue":
                self._add(values, self._function, values.get(words[0], set()))

    def _with_layers(self, entry: Instruction) -> set[int]:
        """Return the images of which an instruction takes the number of layers out of their size."""
        words = entry.operands
        if len(words) != 2 or entry.name not in (*_CHAINS, "OpCompositeExtract"):
            return set()
        index = words[1] if entry.name == "OpCompositeExtract" else self.constants.get(words[1], 0)
        return {image for image, axes in self._layered.items() if index >= axes}

    @staticmethod
    def _add(values: dict[int, set[int]], identifier: int, found: set[int]) -> None:
        if found:
            values.setdefault(identifier, set()).update(found)
