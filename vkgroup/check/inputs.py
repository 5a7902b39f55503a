"""Inputs of the shader under test: arrays, their numbers by offset, type and name, and generated numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.formats import FORMATS, TexelFormat, fitting
from vkgroup.base.numbers import shortest
from vkgroup.base.sampler import Sampler
from vkgroup.check.contents import words_of
from vkgroup.check.fields import Field, fields_of, member_names
from vkgroup.reference.interpreter.operations.images import ImageMemory
from vkgroup.reference.interpreter.operations.images import image_of as make_image
from vkgroup.reference.interpreter.operations.images.memory import AXES
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.values.value import BEFORE_HARD
from vkgroup.spirv import (
    Binding,
    ImageType,
    SampledImageType,
    StructType,
)

Extent = tuple[int, int, int, int]
"""Layers, width, height and depth of an image."""

Key = str | int | tuple[int, int]
GIVEN, UNDEFINED = "given", "undefined contents"
"""Origins of inputs that are not generated."""


@dataclass(frozen=True)
class Input:
    """The input of one binding."""

    binding: Binding  # the binding from reflection
    # one array for each descriptor: bytes of a buffer or texels of an image; none for a sampler
    arrays: tuple[npt.NDArray[Any], ...]
    defined: bool  # whether the contents are defined before the run
    origin: str  # description of the origin of the contents
    format: TexelFormat | None = None  # texel format of an image
    fields: tuple[Field, ...] = ()  # the numbers of a buffer
    elements: int = 0  # elements of a generated runtime array
    extent: Extent | None = None  # extent of a generated image that grows with the accesses
    has_levels: bool = False  # whether a sampled image has all levels
    given: frozenset[int] = frozenset()  # the indices of the members that are given singly

    @property
    def place(self) -> tuple[int, int]:
        """Set and binding."""
        return self.binding.place

    @property
    def name(self) -> str:
        """The binding's name in messages."""
        if is_globals(self.binding):
            return "global variables"
        block = self.binding.block_name
        return self.binding.name or block or f"set {self.binding.set}, binding {self.binding.binding}"

    def label(self, number: int) -> str:
        """Return the name of one descriptor: of an array of descriptors, with its index."""
        return self.name if self.binding.count == 1 else f"{self.name}[{number}]"

    def fields_at(self, number: int) -> Sequence[Field]:
        """Return the numbers of one descriptor's buffer, whose length may differ from the others."""
        nbytes, block = len(self.arrays[number]), self.binding.type
        if nbytes == len(self.arrays[0]) or not isinstance(block, StructType):
            return self.fields
        return fields_of(block, nbytes, self.binding.name)

    @property
    def generated(self) -> bool:
        """Whether some of its contents were generated."""
        return self.origin not in (GIVEN, UNDEFINED) and self.binding.kind != "sampler"

    @property
    def grows(self) -> bool:
        """Whether a runtime array, if there is one, has a generated length."""
        return self.generated and self.elements > 0

    @property
    def sampler(self) -> Sampler:
        """The sampler of the binding: nearest filtering; with a comparison for a shadow sampler."""
        kind = self.binding.type
        shadow = isinstance(kind, SampledImageType) and kind.image.depth
        return Sampler(compare="less_or_equal" if shadow else None)

    def levels(self, texels: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Return the levels of an image: each has every second texel of the one before."""
        if not self.has_levels:
            return [texels]
        kind = image_type(self.binding)
        first = int(kind.arrayed or kind.dimension == "Cube")
        extent = texels.shape[first : first + AXES[kind.dimension]]
        levels = []
        for level in range(max(extent).bit_length()):
            chosen = np.ix_(*(np.arange(max(1, length >> level)) << level for length in extent))
            levels.append(texels[(slice(None),) * first + chosen])
        return levels

    def resources(self) -> list[Any]:
        """Return new resources for the reference device; each run writes to its own."""
        if self.binding.kind == "sampler":
            return [self.sampler] * (self.binding.count or 1)
        resources: list[Any] = []
        for number, array in enumerate(self.arrays):
            if self.format is None:
                memory = Memory(array.copy(), self.name, defined=self.defined)
            else:
                kind = image_type(self.binding)
                memory = make_image(
                    self.levels(array), self.name, self.format, dimension=kind.dimension, arrayed=kind.arrayed
                )
                if not self.defined:
                    memory.causes = np.full(memory.granules, BEFORE_HARD, np.uint16)
            memory.label = self.label(number)
            combined = self.binding.kind == "combined_image_sampler"
            resources.append((memory, self.sampler) if combined else memory)
        return resources


NumberKey = tuple[tuple[int, int] | None, str]
"""A single number of the inputs: its place and its name.

The place is set and binding, None for the push constants, or `SPECIALIZED` and the id of a specialization
constant.
"""

Numbers = Mapping[NumberKey, int]
"""Values of single numbers."""

SPECIALIZED = -1

CONTENTS = "[]"
"""End of the name of a buffer's contents. Its value is the step between integers; 0: random; -1: zeros."""


def constant_id(key: NumberKey) -> int | None:
    """Return the specialization id of a number that is a specialization constant, else None."""
    place = key[0]
    return place[1] if place is not None and place[0] == SPECIALIZED else None


@dataclass(frozen=True)
class GeneratedNumber:
    """A single integer of a push constant or a buffer that was generated."""

    key: NumberKey
    value: int
    dtype: np.dtype[Any]
    member: int  # index of the block member that contains it; of a constant, its result id
    option: str  # the option that sets it, such as ``--push n=V``
    is_default: bool = False  # whether it is a specialization constant with a default in the source

    @property
    def name(self) -> str:
        """Its name in the shader, such as ``n`` or ``strides[1]``."""
        return self.key[1]

    @property
    def is_contents(self) -> bool:
        """Whether it is the step between the integers of a buffer's arrays."""
        return self.name.endswith(CONTENTS)

    def shown(self, value: int) -> int | str:
        """Return a value as a question shows it."""
        if not self.is_contents:
            return value
        step = max(0, value)
        return f"0, {step}, {2 * step}, …" if value else "random numbers"

    @property
    def constant_id(self) -> int | None:
        """The specialization id of a specialization constant; None for another number."""
        return constant_id(self.key)

    @property
    def words(self) -> frozenset[str]:
        """The words of its name in lower case."""
        return words_of(self.name.split("[")[0].rsplit(".", 1)[-1])


@dataclass(frozen=True)
class DispatchInputs:
    """All inputs of a dispatch."""

    bindings: tuple[Input, ...]  # inputs in the order of the bindings
    push: bytes  # bytes of the push constants
    origins: tuple[str, ...]  # descriptions of all inputs, one line each
    numbers: tuple[GeneratedNumber, ...] = ()  # the generated single integers
    # least extents of generated images, as in `vkgroup.check.images.Extents`
    extents: Mapping[tuple[str, bool], Extent] = field(default_factory=dict)
    generated_push: frozenset[int] = frozenset()  # the indices of the generated push constants

    @property
    def are_given(self) -> bool:
        """Whether all inputs are given, and there are some."""
        return bool(self.bindings) and not (
            self.numbers or self.generated_push or any(entry.generated for entry in self.bindings)
        )

    def resources(self) -> dict[tuple[int, int], list[Any]]:
        """Return new resources for the reference device by (set, binding)."""
        return {entry.place: entry.resources() for entry in self.bindings}

    def label(self, name: str, offset: int) -> str:
        """Return the name of the number at a byte offset of a buffer; empty if it has no name."""
        for entry in self.bindings:
            for numbers in entry.fields if entry.name == name else ():
                inside = (numbers.offsets <= offset) & (offset < numbers.offsets + numbers.dtype.itemsize)
                if inside.any():
                    return numbers.label(int(np.argmax(inside.reshape(-1))))
        return ""

    def made_up_length(self, name: str) -> str:
        """Return a remark that the size of a buffer or image was guessed; empty if it was not."""
        for entry in self.bindings:
            block = entry.binding.type
            if entry.name != name or not entry.generated:
                continue
            if entry.format is not None:
                kind, shape = image_type(entry.binding), entry.arrays[0].shape
                first = int(kind.arrayed or kind.dimension == "Cube")
                extent = "×".join(map(str, reversed(shape[first : first + AXES[kind.dimension]])))
                layers = f" and {shape[0]} layers" if first else ""
                return (
                    f"{name} was generated with {extent} texels{layers}; if that is wrong, give the real"
                    " image with --in"
                )
            if isinstance(block, StructType) and block.runtime_array is not None and entry.grows:
                many = "one element" if entry.elements == 1 else f"{entry.elements} elements"
                array = member_names(block, entry.binding.name)[-1]
                return f"{array} was generated with {many}; if that is wrong, give the real array with --in"
        return ""


@dataclass(frozen=True, slots=True)
class SpecializationValue:
    """The value of the specialization constants with one id in a check."""

    id: int  # the specialization id
    name: str  # name of a constant with this id; empty without one
    value: bool | int | float  # the given value, or the default

    def __str__(self) -> str:
        value = shortest(self.value).lower()
        return f"{self.name} (id {self.id}) = {value}" if self.name else f"id {self.id} = {value}"


def is_globals(binding: Binding) -> bool:
    """Whether a uniform buffer holds the global variables of an HLSL or Slang file."""
    is_slang = binding.name == "globalParams" and binding.block_name.startswith("GlobalParams_std")
    return is_slang or binding.name in ("$Global", "$Globals")


def image_of(binding: Binding) -> ImageType | None:
    """Return the type of an image; None for other bindings."""
    kind = binding.type
    kind = kind.image if isinstance(kind, SampledImageType) else kind
    return kind if isinstance(kind, ImageType) else None


def image_type(binding: Binding) -> ImageType:
    """Return the type of the image of a descriptor with an image."""
    kind = image_of(binding)
    assert kind is not None
    return kind


def texel_format(kind: ImageType, dtype: np.dtype[Any] | None, components: int) -> TexelFormat | None:
    """Return the declared format of an image, or one that fits a type and components; None without one."""
    wanted = kind.sampled_type.kind if kind.sampled_type is not None else "float"
    if dtype is None:
        dtype = np.dtype({"uint": np.uint32, "int": np.int32}.get(wanted, np.float32))
    return FORMATS.get(kind.format) or fitting(dtype, components, wanted, depth=kind.depth)


def memory_of(resource: Any) -> Memory | ImageMemory | None:
    """Return the memory of a resource from `Input.resources`; None for a sampler."""
    memory = resource[0] if isinstance(resource, tuple) else resource
    return memory if isinstance(memory, Memory) else None
