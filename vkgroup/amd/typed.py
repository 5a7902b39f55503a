"""Typed buffer instructions, which convert between the texels of a format and registers."""

from __future__ import annotations

import re

import numpy as np

from vkgroup.amd.access import buffer_places, buffer_registers
from vkgroup.amd.arrays import Array
from vkgroup.amd.errors import MissingPart
from vkgroup.amd.formats import Format, decoded, encoded, format_named, format_numbered
from vkgroup.amd.memory import GpuMemory
from vkgroup.amd.operands import registers_of
from vkgroup.amd.steps import Step
from vkgroup.amd.text import MachineInstruction
from vkgroup.amd.waves import Waves


def one_of(form: Format) -> np.uint32:
    """Return the bits of the number one in a register, an integer or 1.0."""
    return np.uint32(1) if form.kind in ("UINT", "SINT") else np.float32(1).view(np.uint32)


def compile_typed(instruction: MachineInstruction, generation: float) -> Step | None:
    """Return the step of a load or store with a format; None for other instructions."""
    match = re.fullmatch(
        r"t?buffer_(load|store)_(?:format_)?(d16_)?(?:format_)?(d16_)?(x|xy|xyz|xyzw)", instruction.name
    )
    if match is None or "format" not in instruction.name or "tfe" in instruction.modifiers:
        return None
    data, address, descriptor, offset = instruction.operands
    places = buffer_places(instruction, address, descriptor, offset, generation)
    used = buffer_registers(instruction, address, descriptor, offset)
    count, halves = len(match[4]), bool(match[2] or match[3])
    given = _format_of(instruction) if instruction.name.startswith("t") else None
    words = -(-count // 2) if halves else count
    moved = registers_of(data, 32 * words)

    def run(waves: Waves) -> None:
        lanes = waves.active_lanes
        fourth = np.broadcast_to(waves.s[descriptor.index + 3][:, None], lanes.shape)
        for word in np.unique(fourth[lanes]) if lanes.any() else ():
            chosen = lanes & (fourth == word)
            form = given or format_numbered(int(word), generation)
            selection = None if given else [int(word) >> 3 * place & 7 for place in range(4)]
            where, left = places(waves, form.nbytes)
            if match[1] == "load":
                components = _loaded(
                    waves.memory, where, chosen & (left >= form.nbytes), form, selection, count
                )
                write_components(waves, data.index, components, halves, form, chosen)
            else:
                sources = read_components(waves, data.index, count, halves, form)
                inside = chosen & (left >= form.nbytes)
                store_texels(
                    waves.memory, where[inside], encoded([source[inside] for source in sources], form)
                )

    if match[1] == "load":
        return Step(instruction, run, frozenset(used), frozenset(moved), counter="vector")
    return Step(instruction, run, frozenset([*used, *moved]), counter="store")


def _format_of(instruction: MachineInstruction) -> Format:
    """Return the format in the text of an instruction: RDNA's one word, or two before."""
    words = instruction.modifiers.get("format", "").strip("[]").split(",")
    names = {
        word.partition("_FORMAT_")[0]: word.partition("_FORMAT_")[2] for word in words if "_FORMAT_" in word
    }
    if names or not words[0]:
        return format_named(f"{names.get('BUF_DATA', '8')}_{names.get('BUF_NUM', 'UNORM')}")
    if not words[0].startswith("BUF_FMT_"):
        raise MissingPart(f"the format {words[0]}")
    return format_named(words[0].removeprefix("BUF_FMT_"))


def load_texels(memory: GpuMemory, places: Array, size: int) -> Array:
    """Return the bytes of texels, (texels, size)."""
    unit = next(unit for unit in (4, 2, 1) if size % unit == 0)
    parts = [memory.load(places + np.uint64(at), unit) for at in range(0, size, unit)]
    return np.ascontiguousarray(np.stack(parts, axis=-1)).view(np.uint8).reshape(len(places), size)


def store_texels(memory: GpuMemory, places: Array, texels: Array) -> None:
    """Write the bytes of texels, (texels, size)."""
    size = texels.shape[-1]
    unit = next(unit for unit in (4, 2, 1) if size % unit == 0)
    parts = np.ascontiguousarray(texels).view(f"u{unit}")
    for number in range(size // unit):
        memory.store(places + np.uint64(number * unit), parts[..., number], unit)


def _loaded(
    memory: GpuMemory, where: Array, inside: Array, form: Format, selection: list[int] | None, count: int
) -> list[Array]:
    """Return components of texels for all lanes; outside of the buffer, the texel is 0."""
    texels = np.zeros((*where.shape, form.nbytes), np.uint8)
    texels[inside] = load_texels(memory, where[inside], form.nbytes)
    components = decoded(texels, form)
    if selection is None:
        selection = [4, 5, 6, 7][: len(components)] + [0, 0, 0, 1][len(components) :]
    return selected_components(components, selection, form)[:count]


def selected_components(components: list[Array], selection: list[int], form: Format) -> list[Array]:
    """Return what a descriptor selects for each component: 0, 1, or a component of the texel."""
    results = []
    for choice in selection:
        if choice >= 4 and choice - 4 < len(components):
            results.append(components[choice - 4])
        else:
            constant = one_of(form) if choice == 1 else np.uint32(0)
            results.append(np.full(components[0].shape, constant))
    return results


def write_components(
    waves: Waves, register: int, components: list[Array], halves: bool, form: Format, lanes: Array
) -> None:
    """Write components to registers, two in one if they have 16 bits."""
    if not halves:
        for place, component in enumerate(components):
            waves.set_vector(register + place, component, lanes)
        return
    if form.kind not in ("UINT", "SINT"):
        narrow = [part.view(np.float32).astype(np.float16).view(np.uint16) for part in components]
    else:
        narrow = [part.astype(np.uint16) for part in components]
    for place in range(0, len(narrow), 2):
        low = narrow[place].astype(np.uint32)
        last = place + 1 == len(narrow)
        high = (
            waves.v[register + place // 2] >> np.uint32(16) if last else narrow[place + 1].astype(np.uint32)
        )
        waves.set_vector(register + place // 2, low | high << np.uint32(16), lanes)


def read_components(waves: Waves, register: int, count: int, halves: bool, form: Format) -> list[Array]:
    """Return the components that are stored, as 32 bits each."""
    if not halves:
        return [waves.v[register + place] for place in range(count)]
    parts = [
        waves.v[register + place // 2] >> np.uint32(16 * (place % 2)) & np.uint32(0xFFFF)
        for place in range(count)
    ]
    if form.kind == "UINT":
        return parts
    if form.kind == "SINT":
        return [(part ^ np.uint32(0x8000)) - np.uint32(0x8000) for part in parts]
    return [part.astype(np.uint16).view(np.float16).astype(np.float32).view(np.uint32) for part in parts]
