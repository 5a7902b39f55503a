"""Image instructions with a sampler: samples at a level, and the four texels of a filter (gather)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.formats import decoded
from vkgroup.amd.images import ImageDescriptor, coordinates_of, each_image, texel_places
from vkgroup.amd.operands import registers_of
from vkgroup.amd.steps import Step
from vkgroup.amd.text import MachineInstruction
from vkgroup.amd.typed import load_texels, one_of, selected_components, write_components
from vkgroup.amd.waves import Waves

_WRAP, _MIRROR, _EDGE, _BORDER = 0, 1, 2, 6
_LINEAR = 1
_DIMENSIONS = {"1D": 1, "2D": 2, "3D": 3, "1D_ARRAY": 1, "2D_ARRAY": 2}


@dataclass(frozen=True)
class SamplerDescriptor:
    """A sampler as its descriptor has it; filters are 0 for the nearest texel and 1 for a linear mean."""

    clamps: tuple[int, int, int]
    unnormalized: bool
    magnifying: int
    minifying: int
    border: int  # 0: transparent black, 1: opaque black, 2: opaque white
    levels: tuple[float, float]  # the least and the greatest, from the view's first one


@cache
def sampler_of(words: tuple[int, ...], generation: float) -> SamplerDescriptor:
    """Return the sampler of a descriptor of 4 words."""
    bits = 13 if generation >= 12 else 12  # of a level, 8 of them after the point
    least, greatest = (words[1] >> at & (1 << bits) - 1 for at in (0, bits))
    clamps = tuple(words[0] >> 3 * axis & 7 for axis in range(3))
    border = words[3] >> 30
    if words[0] >> 29 & 3 or words[2] & 0x3FFF or words[2] >> 26 & 3 == 2:
        raise MissingPart("a sampler with a bias, a reduction, or means of levels")
    if border == 3:
        raise MissingPart("a sampler with a border of its own")
    filters = [words[2] >> place & 3 for place in (20, 22)]
    if max(filters) > _LINEAR:
        raise MissingPart("an anisotropic sampler")
    unnormalized = bool(words[0] >> 15 & 1)
    return SamplerDescriptor(
        (clamps[0], clamps[1], clamps[2]), unnormalized, filters[0], filters[1], border,
        (least / 256, greatest / 256),
    )  # fmt: skip


def compile_sample(instruction: MachineInstruction, generation: float) -> Step | None:
    """Return the step of a sample or a gather; None for other instructions."""
    match = re.fullmatch(r"image_(sample|gather4)(?:_(lz|l))?", instruction.name)
    if match is None or {"tfe", "lwe", "unorm"} & set(instruction.modifiers):
        return None
    kind, level_kind = match[1], match[2] or ""
    data, address, descriptor, sampler = instruction.operands[:4]
    mask = instruction.number("dmask", 1)
    places = [place for place in range(4) if mask >> place & 1]
    gathers = kind == "gather4"
    halves = "d16" in instruction.modifiers

    def run(waves: Waves) -> None:
        results: list[tuple[list[Array], Array, ImageDescriptor]] = []

        def work(image: ImageDescriptor, lanes: Array) -> None:
            if not level_kind and image.last_level > image.base_level:
                raise MissingPart(f"{instruction.name} of an image with several levels")
            parts = coordinates_of(waves, instruction, image, level_kind == "l")
            at = [part.view(f"f{part.itemsize}").astype(np.float64) for part in parts]
            words = waves.s[sampler.index : sampler.index + 4].T
            for chosen in set(map(tuple, words[lanes.any(axis=1)].tolist())):
                its = lanes & (words == chosen).all(axis=1)[:, None]
                component = places[0] if gathers else -1
                found = _sampled(
                    waves, image, sampler_of(chosen, generation), list(at), its, level_kind == "l", component
                )
                results.append(([found[place] for place in (range(4) if gathers else places)], its, image))

        each_image(waves, descriptor.index, generation, work)
        for components, lanes, image in results:
            write_components(waves, data.index, components, halves, image.form, lanes)

    count = 4 if gathers else len(places)
    used = [*registers_of(address, 32), *registers_of(descriptor, 256), *registers_of(sampler, 128)]
    moved = registers_of(data, 32 * (-(-count // 2) if halves else count))
    return Step(instruction, run, frozenset(used), frozenset(moved), counter="sample")


def _sampled(
    waves: Waves,
    image: ImageDescriptor,
    sampler: SamplerDescriptor,
    at: list[Array],
    lanes: Array,
    has_level: bool,
    gathered: int,
) -> list[Array]:
    """Return the four components of a sample; with `gathered`, one component of the four texels."""
    if image.kind not in _DIMENSIONS:
        raise MissingPart(f"samples of an image of type {image.kind}")
    # Vulkan leaves open which texel a NaN takes; lanes that take part in nothing may hold any bits.
    at = [np.clip(np.where(lanes, np.nan_to_num(part), 0), -1e30, 1e30) for part in at]
    levels = np.clip(at.pop() if has_level else np.zeros(lanes.shape), *sampler.levels)
    level = np.clip(np.rint(levels), 0, image.last_level - image.base_level).astype(np.int64)
    filters = np.where(levels > 0, sampler.minifying, sampler.magnifying)
    count = _DIMENSIONS[image.kind]
    sizes = np.array([image.size(number) for number in range(image.last_level + 1)], np.float64)
    extents = [sizes[np.minimum(level + image.base_level, image.last_level), axis] for axis in range(count)]
    layers = image.last_layer - image.base_layer
    layer = [np.clip(np.rint(part), 0, layers) for part in at[count : count + 1]]
    scaled = [part if sampler.unnormalized else part * size for part, size in zip(at, extents, strict=False)]
    linear = (filters == _LINEAR) | (gathered >= 0)
    bases = [np.floor(np.where(linear, part - 0.5, part)) for part in scaled]
    weights = [np.where(linear, part - 0.5 - base, 0.0) for part, base in zip(scaled, bases, strict=True)]
    texels: dict[tuple[int, ...], list[Array]] = {}
    for corner in np.ndindex(*(2,) * count):
        places, outside = [], np.zeros(lanes.shape, np.bool_)
        for axis in range(count):
            place, beyond = _wrapped(bases[axis] + corner[axis], extents[axis], sampler.clamps[axis])
            places.append(place.astype(np.int64))
            outside |= beyond
        parts = [*places, *(part.astype(np.int64) for part in layer), level]
        where, inside = texel_places(image, parts, lanes & ~outside, True)
        raw = np.zeros((*where.shape, image.form.nbytes), np.uint8)
        raw[inside] = load_texels(waves.memory, where[inside], image.form.nbytes)
        ones = (sampler.border == 2, sampler.border == 2, sampler.border == 2, sampler.border > 0)
        parts = [
            np.where(outside, one_of(image.form) if one else np.uint32(0), part)
            for part, one in zip(decoded(raw, image.form), ones, strict=False)
        ]
        texels[corner] = selected_components(parts, list(image.selection), image.form)
    if gathered >= 0:
        return [texels[corner][gathered] for corner in ((0, 1), (1, 1), (1, 0), (0, 0))]
    if image.form.kind in ("UINT", "SINT") or not linear.any():
        return texels[(0,) * count]
    return _mean(texels, weights)


def _mean(texels: dict[tuple[int, ...], list[Array]], weights: list[Array]) -> list[Array]:
    results = []
    for place in range(4):
        total: Array = 0.0
        for corner, components in texels.items():
            share: Array = 1.0
            for axis, side in enumerate(corner):
                share = share * (weights[axis] if side else 1 - weights[axis])
            value = components[place].view(np.float32).astype(np.float64)
            total = total + np.where(share == 0, 0, share * value)
        results.append(np.asarray(total).astype(np.float32).view(np.uint32))
    return results


def _wrapped(place: Array, size: Array, clamp: int) -> tuple[Array, Array]:
    """Return texel numbers inside of an image, and which of them are border."""
    inside = np.zeros(place.shape, np.bool_)
    if clamp == _WRAP:
        return np.mod(place, size), inside
    if clamp == _MIRROR:
        folded = np.mod(place, 2 * size)
        return np.where(folded >= size, 2 * size - 1 - folded, folded), inside
    if clamp == _EDGE:
        return np.clip(place, 0, size - 1), inside
    if clamp == _BORDER:
        return np.clip(place, 0, size - 1), (place < 0) | (place >= size)
    raise MissingPart(f"a sampler that clamps by {clamp}")
