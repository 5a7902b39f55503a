"""Image instructions: loads, stores, atomics and sizes of images of any type.

Texels lie in rows, one level after the other, in place of the tiles of the hardware: all texels that the
driver reads or writes go through these instructions, and no tiled layout is smaller.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from vkgroup.amd import atomics
from vkgroup.amd.access import lane_data, returns_old, set_lane_data
from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.formats import Format, decoded, encoded, image_format, unified_format
from vkgroup.amd.operands import registers_of
from vkgroup.amd.steps import Step
from vkgroup.amd.text import MachineInstruction
from vkgroup.amd.typed import (
    load_texels,
    read_components,
    selected_components,
    store_texels,
    write_components,
)
from vkgroup.amd.waves import Waves

_TYPES = {
    8: "1D", 9: "2D", 10: "3D", 11: "CUBE", 12: "1D_ARRAY", 13: "2D_ARRAY", 14: "2D_MSAA",
    15: "2D_MSAA_ARRAY",
}  # fmt: skip
_COORDINATES = {
    "1D": 1, "2D": 2, "3D": 3, "CUBE": 3, "1D_ARRAY": 2, "2D_ARRAY": 3, "2D_MSAA": 3, "2D_MSAA_ARRAY": 4,
}  # fmt: skip
_WITHOUT_LAYERS = {"1D_ARRAY": "1D", "2D_ARRAY": "2D", "CUBE": "2D"}


@dataclass(frozen=True)
class ImageDescriptor:
    """An image as its descriptor has it: sizes of level 0 in texels, the levels and layers of the view."""

    address: int
    form: Format
    selection: tuple[int, ...]
    kind: str
    width: int
    height: int
    depth: int  # of a 3D image; 1 of others
    base_level: int
    last_level: int
    levels: int  # of the whole image
    base_layer: int
    last_layer: int
    pitch: int  # texels from row to row of level 0; 0 if the rows lie together
    levels_follow: bool  # in each layer; on GCN 3 layers follow in each level, which the driver places

    def size(self, level: int) -> tuple[int, int, int]:
        """Return width, height and depth of a level of the whole image."""
        return max(1, self.width >> level), max(1, self.height >> level), max(1, self.depth >> level)

    def level_offset(self, level: int) -> int:
        """Return texels before a level, of one layer."""
        return sum(w * h * d for w, h, d in map(self.size, range(level)))

    @property
    def layer_size(self) -> int:
        """Texels from a layer to the next."""
        return self.level_offset(self.levels if self.levels_follow else 1)


@cache
def image_of(words: tuple[int, ...], generation: float) -> ImageDescriptor:
    """Return the image of a descriptor of 8 words."""

    def bits(word: int, first: int, count: int) -> int:
        return words[word] >> first & (1 << count) - 1

    kind = _TYPES.get(bits(3, 28, 4))
    if kind is None:
        raise MissingPart(f"an image of type {bits(3, 28, 4)}")
    if "MSAA" in kind:
        raise MissingPart("an image with several samples")
    selection = tuple(bits(3, 3 * place, 3) for place in range(4))
    base, last, mode = bits(3, 12, 4), bits(3, 16, 4), bits(3, 20, 5)
    pitch = 0
    if generation < 10:
        form = image_format(bits(1, 20, 6), bits(1, 26, 4))
        width, height = bits(2, 0, 14) + 1, bits(2, 14, 14) + 1
        depth, first_layer = bits(4, 0, 13), bits(5, 0, 13)
        if generation < 9:
            last_layer, levels = bits(5, 13, 13), last + 1
        else:
            last_layer, levels = depth, bits(5, 28, 4) + 1
            pitch = bits(4, 13, 16) + 1 if mode == 0 else 0
        depth = depth + 1 if kind == "3D" else 1
    else:
        if generation >= 12:
            form = unified_format(bits(1, 17, 8), generation)
            base, last, levels = bits(1, 25, 5), bits(3, 15, 5), bits(1, 12, 5) + 1
            width = (bits(2, 0, 14) << 2 | bits(1, 30, 2)) + 1
            height, last_layer = bits(2, 14, 16) + 1, bits(4, 0, 14)
        else:
            form = unified_format(bits(1, 20, 8 if generation >= 11 else 9), generation)
            levels = (bits(1, 16, 4) if generation >= 11 else bits(5, 4, 4)) + 1
            width = (bits(2, 0, 12) << 2 | bits(1, 30, 2)) + 1
            height, last_layer = bits(2, 14, 14) + 1, bits(4, 0, 13)
        first_layer = bits(4, 16, 13)
        depth = last_layer + 1 if kind == "3D" else 1
        if mode == 0 and kind in ("1D", "2D"):
            unit = 256 // form.nbytes
            pitch = last_layer + 1 if last_layer else -(-width // unit) * unit
            last_layer = 0
    if kind in ("1D", "1D_ARRAY"):
        height = 1
    # The low bits of a tiled image's address shift its banks.
    address = (words[0] & ~_swizzle_bits(mode, generation)) << 8 | bits(1, 0, 8) << 40
    return ImageDescriptor(
        address, form, selection, kind, width, height, depth, base, last, max(levels, last + 1), first_layer,
        last_layer, pitch, levels_follow=generation >= 9,
    )  # fmt: skip


def _swizzle_bits(mode: int, generation: float) -> int:
    """Return the bits of an address in units of 256 bytes that are no address: those of a tile."""
    if generation < 9:
        return 0
    if generation >= 12:
        return {2: 0xF, 5: 0xF, 3: 0xFF, 6: 0xFF, 4: 0x3FF, 7: 0x3FF}.get(mode, 0)
    if mode < 4:
        return 0
    return 0xF if mode in (4, 5, 6, 7, 20, 21, 22, 23) else 0x3FF if mode >= 28 else 0xFF


def compile_image(instruction: MachineInstruction, generation: float) -> Step | None:
    """Return the step of an image instruction; None for others."""
    match = re.fullmatch(r"image_(load|store|atomic|get_resinfo)(?:_(\w+))?", instruction.name)
    if match is None or {"tfe", "lwe", "r128"} & set(instruction.modifiers):
        return None
    kind, rest = match[1], match[2] or ""
    if kind in ("load", "store") and rest not in ("", "mip"):
        return None
    data, address, descriptor = instruction.operands[:3]
    d = descriptor.index
    mask = instruction.number("dmask", 1)
    places = [place for place in range(4) if mask >> place & 1]
    halves = "d16" in instruction.modifiers
    coordinates = _coordinates(instruction)
    has_level = rest == "mip"

    def for_each_image(waves: Waves, work: Callable[[ImageDescriptor, Array], None]) -> None:
        each_image(waves, d, generation, work)

    def load(waves: Waves) -> None:
        results: list[tuple[list[Array], Array, Format]] = []

        def work(image: ImageDescriptor, lanes: Array) -> None:
            where, inside = texel_places(image, coordinates(waves, image, has_level), lanes, has_level)
            texels = np.zeros((*where.shape, image.form.nbytes), np.uint8)
            texels[inside] = load_texels(waves.memory, where[inside], image.form.nbytes)
            found = selected_components(decoded(texels, image.form), list(image.selection), image.form)
            results.append(([found[place] for place in places], lanes, image.form))

        for_each_image(waves, work)
        for components, lanes, form in results:
            write_components(waves, data.index, components, halves, form, lanes)

    def store(waves: Waves) -> None:
        def work(image: ImageDescriptor, lanes: Array) -> None:
            where, inside = texel_places(image, coordinates(waves, image, has_level), lanes, has_level)
            sources = read_components(waves, data.index, len(places), halves, image.form)
            # From RDNA 4 on, components that are not stored get the value of the first one.
            components = [sources[0] if generation >= 12 else np.zeros(where.shape, np.uint32)] * 4
            for place, source in zip(places, sources, strict=True):
                components[place] = source
            components = _stored(components, image)
            store_texels(
                waves.memory, where[inside], encoded([part[inside] for part in components], image.form)
            )

        for_each_image(waves, work)

    if kind == "atomic":
        return _atomic(instruction, rest, for_each_image, coordinates)
    if kind == "get_resinfo":
        return _resinfo(instruction, for_each_image, places)
    words = -(-len(places) // 2) if halves else len(places)
    moved = registers_of(data, 32 * words)
    used = [*registers_of(address, 32), *registers_of(descriptor, 256)]
    if kind == "load":
        return Step(instruction, load, frozenset(used), frozenset(moved), counter="vector")
    return Step(instruction, store, frozenset([*used, *moved]), counter="store")


def each_image(
    waves: Waves, descriptor: int, generation: float, work: Callable[[ImageDescriptor, Array], None]
) -> None:
    """Call a function for each image of the active lanes, with the lanes that have it."""
    lanes = waves.active_lanes
    words = waves.s[descriptor : descriptor + 8].T
    for wave in np.flatnonzero(lanes.any(axis=1)):
        if lanes[wave].any():
            same = (words == words[wave]).all(axis=1)
            work(image_of(tuple(int(word) for word in words[wave]), generation), lanes & same[:, None])
            lanes = lanes & ~same[:, None]


def _stored(components: list[Array], image: ImageDescriptor) -> list[Array]:
    """Return the components of a texel from what is stored, which the descriptor's selection permutes."""
    results = list(components)
    for place, choice in enumerate(image.selection):
        if choice >= 4:
            results[choice - 4] = components[place]
    return results


def dimensions_of(instruction: MachineInstruction, image: ImageDescriptor) -> str:
    """Return the dimensions of an instruction; on GCN those of the image, with a layer if ``da`` is there."""
    if "dim" in instruction.modifiers:
        return instruction.modifiers["dim"].removeprefix("SQ_RSRC_IMG_")
    return image.kind if "da" in instruction.modifiers else _WITHOUT_LAYERS.get(image.kind, image.kind)


def coordinates_of(
    waves: Waves, instruction: MachineInstruction, image: ImageDescriptor, has_level: bool
) -> list[Array]:
    """Return the bits of an image's coordinates, and at last of the level if there is one.

    They are uint32 of shape (waves, lanes), or uint16 if the instruction packs two in a register (``a16``).
    """
    address = instruction.operands[1]
    words = instruction.modifiers.get("vaddr", "").strip("[]").split(",")
    listed = [int(word.strip().lstrip("v")) for word in words if word]
    if address.kind == "list":
        listed = [operand.index + place for operand in address.parts for place in range(operand.count)]
    count = _COORDINATES[dimensions_of(instruction, image)] + has_level
    packed = "a16" in instruction.modifiers
    used = (listed or [address.index + place for place in range(5)])[: -(-count // 2) if packed else count]
    parts: list[Array] = [waves.v[register] for register in used]
    if packed:
        parts = [(part >> np.uint32(16 * half)).astype(np.uint16) for part in parts for half in (0, 1)]
    return parts[:count]


def _coordinates(instruction: MachineInstruction) -> Callable[[Waves, ImageDescriptor, bool], list[Array]]:
    """Return what reads the coordinates of an image's texels, and at last the level if there is one."""

    def read(waves: Waves, image: ImageDescriptor, has_level: bool) -> list[Array]:
        parts = coordinates_of(waves, instruction, image, has_level)
        return [(part if part.itemsize == 2 else part.view(np.int32)).astype(np.int64) for part in parts]

    return read


def texel_places(
    image: ImageDescriptor, at: list[Array], lanes: Array, has_level: bool
) -> tuple[Array, Array]:
    """Return the addresses of texels, and which lanes have one inside of the image."""
    levels = at.pop() if has_level else np.zeros(lanes.shape, np.int64)
    where, inside = np.zeros(lanes.shape, np.int64), np.zeros(lanes.shape, np.bool_)
    for level in np.unique(levels[lanes]) if lanes.any() else ():
        number = int(level) + image.base_level
        if not image.base_level <= number <= image.last_level:
            continue
        if number and not image.levels_follow:
            raise MissingPart("an image with levels on GCN 3", "its driver computes their tiled places")
        width, height, depth = image.size(number)
        x, y, z = _xyz(image, at)
        low, high = (0, depth - 1) if image.kind == "3D" else (0, image.last_layer - image.base_layer)
        valid = lanes & (levels == level) & (x >= 0) & (x < width) & (y >= 0) & (y < height)
        valid &= (z >= low) & (z <= high)
        pitch = image.pitch or width
        if image.kind == "3D":
            place = image.level_offset(number) + (z * height + y) * pitch + x
        else:
            place = (z + image.base_layer) * image.layer_size + image.level_offset(number) + y * pitch + x
        where = np.where(valid, image.address + place * image.form.nbytes, where)
        inside |= valid
    return where.astype(np.uint64), inside


def _xyz(image: ImageDescriptor, at: list[Array]) -> tuple[Array, Array, Array]:
    zero = np.zeros_like(at[0])
    if image.kind == "1D" or len(at) == 1:
        return at[0], zero, zero
    if image.kind == "1D_ARRAY":
        return at[0], zero, at[1]
    return at[0], at[1], at[2] if len(at) > 2 else zero


def _atomic(
    instruction: MachineInstruction,
    rest: str,
    for_each_image: Callable[[Waves, Callable[[ImageDescriptor, Array], None]], None],
    coordinates: Callable[[Waves, ImageDescriptor, bool], list[Array]],
) -> Step:
    name = re.sub(
        r"_(uint|int|flt)$", lambda found: {"uint": "_u32", "int": "_i32", "flt": "_f32"}[found[1]], rest
    )
    operation, _ = atomics.named(name)
    mask = instruction.number("dmask", 1)
    size = 8 if mask == (0xF if operation.compares else 3) else 4
    data, address, descriptor = instruction.operands[:3]
    returns = returns_old(instruction)
    words = size // 4

    def run(waves: Waves) -> None:
        values = lane_data(waves, data.index, size)
        compared = lane_data(waves, data.index + words, size) if operation.compares else None
        found = np.zeros(values.shape, values.dtype)

        def work(image: ImageDescriptor, lanes: Array) -> None:
            where, inside = texel_places(image, coordinates(waves, image, False), lanes, False)
            memory = waves.memory
            its = atomics.perform(operation, memory.load, memory.store, inside, where, values, compared)
            found[inside] = its[inside]

        for_each_image(waves, work)
        if returns:
            set_lane_data(waves, data.index, found)

    moved = registers_of(data, 32 * words * (2 if operation.compares else 1))
    used = [*moved, *registers_of(address, 32), *registers_of(descriptor, 256)]
    written = registers_of(data, 32 * words) if returns else []
    counter = "vector" if returns else "store"
    return Step(instruction, run, frozenset(used), frozenset(written), counter=counter)


def _resinfo(
    instruction: MachineInstruction,
    for_each_image: Callable[[Waves, Callable[[ImageDescriptor, Array], None]], None],
    places: list[int],
) -> Step:
    """Compile image_get_resinfo: the size of a level, the number of layers, and that of levels."""
    data, address, descriptor = instruction.operands[:3]

    def run(waves: Waves) -> None:
        def work(image: ImageDescriptor, lanes: Array) -> None:
            levels = waves.v[address.index].astype(np.int64) + image.base_level
            layers = image.last_layer - image.base_layer + 1
            sizes = np.array([image.size(level) for level in range(16)], np.int64)
            width, height, depth = sizes[np.minimum(levels, 15)].transpose(2, 0, 1)
            if image.kind != "3D":
                depth = np.full_like(width, layers)
            if image.kind == "1D_ARRAY":
                height = np.full_like(width, layers)
            count = np.full_like(width, image.last_level - image.base_level + 1)
            found = [width, height, depth, count]
            outside = (levels > image.last_level) | (levels < image.base_level)
            for number, place in enumerate(places):
                value = np.where(outside & (place < 3), 0, found[place]).astype(np.uint32)
                waves.set_vector(data.index + number, value, lanes)

        for_each_image(waves, work)

    used = [*registers_of(address, 32), *registers_of(descriptor, 256)]
    return Step(
        instruction, run, frozenset(used), frozenset(registers_of(data, 32 * len(places))), counter="vector"
    )
