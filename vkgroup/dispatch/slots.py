"""Descriptor slots of a module, and looking them up by name, by number, or by set and number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.base.suggestions import suggestion
from vkgroup.spirv import Binding, ImageType, SampledImageType, StructType

Key = str | int | tuple[int, int]

#: VkDescriptorType of the kinds that can be bound.
DESCRIPTOR_TYPES = {
    "acceleration_structure": "VK_DESCRIPTOR_TYPE_ACCELERATION_STRUCTURE_KHR",
    "combined_image_sampler": "VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER",
    "input_attachment": "VK_DESCRIPTOR_TYPE_INPUT_ATTACHMENT",
    "sampled_image": "VK_DESCRIPTOR_TYPE_SAMPLED_IMAGE",
    "sampler": "VK_DESCRIPTOR_TYPE_SAMPLER",
    "storage_buffer": "VK_DESCRIPTOR_TYPE_STORAGE_BUFFER",
    "storage_image": "VK_DESCRIPTOR_TYPE_STORAGE_IMAGE",
    "storage_texel_buffer": "VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER",
    "uniform_buffer": "VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER",
    "uniform_texel_buffer": "VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER",
}


@dataclass(frozen=True)
class Slot:
    """A set and a binding with `count` descriptors of one kind; several variables may share them."""

    set: int
    binding: int
    kind: str
    count: int
    variables: tuple[Binding, ...]

    @property
    def key(self) -> Key:
        """How results are keyed: by name; without one, by number in set 0, else by (set, number)."""
        named = next((entry.name for entry in self.variables if entry.name), None)
        if named is not None:
            return named
        return self.binding if self.set == 0 else (self.set, self.binding)

    @property
    def names(self) -> list[str]:
        """All names of the slot: of its variable, its block, and the block's only member."""
        names = []
        for entry in self.variables:
            names += [entry.name, entry.block_name]
            block = entry.type
            if isinstance(block, StructType) and len(block.members) == 1:
                names.append(block.members[0].name)
        return [name for name in names if name]

    @property
    def texels(self) -> ImageType | None:
        """The type of what has texels: an image, with a sampler or without, or a texel buffer; else None."""
        kind = self.variables[0].type
        if isinstance(kind, SampledImageType):
            return kind.image
        return kind if isinstance(kind, ImageType) else None

    @property
    def image(self) -> ImageType | None:
        """The type of an image (2D for an input attachment), with a sampler or not; None for all else."""
        if self.texels is None or self.texels.dimension == "Buffer":
            return None
        return replace(self.texels, dimension="2D") if self.kind == "input_attachment" else self.texels

    @property
    def writable(self) -> bool:
        """Whether a shader may write there, by the declaration."""
        return any(entry.writable for entry in self.variables)

    @property
    def label(self) -> str:
        """The slot in words, for messages."""
        name = self.names[0] if self.names else None
        numbers = f"set {self.set}, binding {self.binding}"
        return f"The binding {name!r} ({numbers})" if name else f"The binding at {numbers}"

    def __hash__(self) -> int:
        return hash((self.set, self.binding))

    def matches(self, key: Any) -> bool:
        """Whether `key` is a name or the number of this slot."""
        if isinstance(key, str):
            return key in self.names
        if isinstance(key, tuple):
            return key == (self.set, self.binding)
        return (self.set, self.binding) == (0, key)


def slots_of(bindings: Iterable[Binding]) -> tuple[Slot, ...]:
    """Return the slots of the modules of a pipeline; `Unsupported` for kinds that cannot be bound."""
    declared: dict[tuple[int, int], list[Binding]] = {}
    keys = ("name", "kind", "type", "count", "readable", "writable", "block_name")
    for binding in bindings:
        variables_there = declared.setdefault((binding.set, binding.binding), [])
        # Declared alike, apart from the accesses to them.
        if all(
            any(getattr(binding, key) != getattr(entry, key) for key in keys) for entry in variables_there
        ):
            variables_there.append(binding)
    slots = []
    for (set_, number), variables in sorted(declared.items()):
        first = variables[0]
        # Stages may declare arrays of different lengths; the longest has them all.
        count = max(entry.count or 0 for entry in variables)
        slot = Slot(set_, number, first.kind, count, tuple(variables))
        _check_kind(slot)
        _check_images(slot)
        if any(entry.count is None for entry in variables):
            raise Unsupported(
                f"{slot.label} is an array without length; give it one in the shader.",
                ["runtimeDescriptorArray"],
            )
        slots.append(slot)
    return tuple(slots)


def check_kinds(bindings: Iterable[Binding]) -> None:
    """Raise `Unsupported` if variables of several kinds have one binding, as `slots_of` does."""
    declared: dict[tuple[int, int], list[Binding]] = {}
    for binding in bindings:
        declared.setdefault((binding.set, binding.binding), []).append(binding)
    for (set_, number), variables in sorted(declared.items()):
        if len({entry.kind for entry in variables}) > 1:
            _check_kind(Slot(set_, number, variables[0].kind, variables[0].count or 0, tuple(variables)))


def _check_kind(slot: Slot) -> None:
    """Refuse variables of several kinds at one slot, and kinds that cannot be bound."""
    kinds = {entry.kind for entry in slot.variables}
    if len(kinds) > 1 or slot.kind not in DESCRIPTOR_TYPES:
        what = " and ".join(sorted(kinds)).replace("_", " ")
        advice = " Give each variable its own binding (HLSL: --register-shift)." if len(kinds) > 1 else ""
        raise Unsupported(f"{slot.label} is a {what}, which cannot be bound.{advice}", sorted(kinds))


def _check_images(slot: Slot) -> None:
    """Refuse images of several dimensions at one slot: no image fits all of them."""
    kinds = [entry.type for entry in slot.variables]
    images = [kind.image if isinstance(kind, SampledImageType) else kind for kind in kinds]
    kinds_by_name = {
        kind.glsl: (kind.dimension, kind.arrayed, kind.multisampled)
        for kind in images
        if isinstance(kind, ImageType)
    }
    if len(set(kinds_by_name.values())) > 1:
        names = " and ".join(sorted(kinds_by_name))
        raise Unsupported(f"{slot.label} is a {names}, which cannot be bound.", sorted(kinds_by_name))


def assign(slots: tuple[Slot, ...], bindings: Mapping[Key, Any]) -> dict[Slot, Any]:
    """Return the value of each slot; each key fits exactly one slot, and every slot has a value."""
    assigned: dict[Slot, Any] = {}
    valid = [slot.names[0] if slot.names else str(slot.key) for slot in slots]
    if not isinstance(bindings, Mapping):
        raise InvalidDispatch(f"bindings are a mapping from names to arrays; {bindings!r} was given.")
    for key, value in bindings.items():
        # HLSL's buffers of one type share the name of their block.
        own = [slot for slot in slots if slot.key == key]
        matching = own or [slot for slot in slots if slot.matches(key)]
        if not matching:
            raise InvalidDispatch(f"The module has no binding {key!r}.{suggestion(key, valid)}")
        if len(matching) > 1:
            numbers = ", ".join(f"({slot.set}, {slot.binding})" for slot in matching)
            raise InvalidDispatch(
                f"Several bindings are called {key!r}; choose by (set, binding): {numbers}."
            )
        if matching[0] in assigned:
            raise InvalidDispatch(f"{matching[0].label} is given twice.")
        assigned[matching[0]] = value
    lacking = [name for slot, name in zip(slots, valid, strict=True) if slot not in assigned]
    if lacking:
        raise InvalidDispatch(f"No array or buffer is given for: {', '.join(lacking)}.")
    return assigned
