"""Inputs of the shader under test: arrays given by the user, and generated arrays for the rest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.fields import Field, Generator, fields_of, put, take
from vkgroup.check.flow import WHOLE, atomic_members
from vkgroup.dispatch.blocks import check_array, pack_push, suggestion
from vkgroup.dispatch.buffer import checked_array
from vkgroup.errors import InvalidDispatch, InvalidInput, Unsupported
from vkgroup.formats import FORMATS, Format, fitting
from vkgroup.reference.interpreter.operations.images import ImageMemory, image_of
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.values.value import BEFORE_HARD
from vkgroup.sampler import Sampler
from vkgroup.spirv import Binding, ImageType, Module, SampledImageType, StructType

Key = str | int | tuple[int, int]
_AXES = {"1D": 1, "2D": 2, "3D": 3, "Cube": 2, "Buffer": 1}
_MAX_LISTED = 6
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
    format: Format | None = None  # texel format of an image
    fields: tuple[Field, ...] = ()  # the numbers of a buffer
    each: int = 1  # elements for each invocation in a generated runtime array

    @property
    def place(self) -> tuple[int, int]:
        """Set and binding."""
        return self.binding.set, self.binding.binding

    @property
    def name(self) -> str:
        """The binding's name in messages."""
        block = self.binding.block_name
        return self.binding.name or block or f"set {self.binding.set}, binding {self.binding.binding}"

    @property
    def generated(self) -> bool:
        """Whether some of its contents were generated."""
        return self.origin not in (GIVEN, UNDEFINED) and self.binding.kind != "sampler"

    @property
    def sampler(self) -> Sampler:
        """The sampler of the binding: nearest filtering; with a comparison for a shadow sampler."""
        kind = self.binding.type
        shadow = isinstance(kind, SampledImageType) and kind.image.depth
        return Sampler(compare="less_or_equal" if shadow else None)

    def resources(self) -> list[Any]:
        """Return new resources for the reference device; each run writes to its own."""
        if self.binding.kind == "sampler":
            return [self.sampler] * (self.binding.count or 1)
        resources: list[Any] = []
        for array in self.arrays:
            if self.format is None:
                resources.append(Memory(array.copy(), self.name, defined=self.defined))
                continue
            kind = _image_type(self.binding)
            image = image_of([array], self.name, self.format, dimension=kind.dimension, arrayed=kind.arrayed)
            if not self.defined:
                image.causes = np.full(image.granules, BEFORE_HARD, np.uint16)
            resources.append(
                (image, self.sampler) if self.binding.kind == "combined_image_sampler" else image
            )
        return resources


@dataclass(frozen=True)
class Inputs:
    """All inputs of a dispatch."""

    bindings: tuple[Input, ...]  # inputs in the order of the bindings
    push: bytes  # bytes of the push constants
    origins: tuple[str, ...]  # descriptions of all inputs, one line each

    def resources(self) -> dict[tuple[int, int], list[Any]]:
        """Return new resources for the reference device by (set, binding)."""
        return {entry.place: entry.resources() for entry in self.bindings}

    @property
    def are_made_up(self) -> bool:
        """Whether some contents were generated."""
        return bool(self.push) or any(entry.generated for entry in self.bindings)

    def label(self, name: str, offset: int) -> str:
        """Return the name of the number at a byte offset of a buffer; empty if it has no name."""
        for entry in self.bindings:
            for field in entry.fields if entry.name == name else ():
                inside = (field.offsets <= offset) & (offset < field.offsets + field.dtype.itemsize)
                if inside.any():
                    return field.label(int(np.argmax(inside.reshape(-1))))
        return ""

    def made_up_length(self, name: str) -> str:
        """Return a remark that the size of a buffer or image was guessed; empty if it was not."""
        for entry in self.bindings:
            block = entry.binding.type
            if entry.name != name or not entry.generated:
                continue
            if entry.format is not None:
                return (
                    f"{name} was generated with one texel for each invocation; if that is wrong, give the"
                    " real image with --in"
                )
            if isinstance(block, StructType) and block.runtime_array is not None:
                many = "one element" if entry.each == 1 else f"{entry.each} elements"
                return (
                    f"{block.runtime_array.name} was generated with {many} for each invocation; if that is"
                    " wrong, give the real array with --in"
                )
        return ""


def _image_type(binding: Binding) -> ImageType:
    kind = binding.type
    if isinstance(kind, SampledImageType):
        kind = kind.image
    assert isinstance(kind, ImageType)
    return kind


def memory_of(resource: Any) -> Memory | ImageMemory | None:
    """Return the memory of a resource from `Input.resources`; None for a sampler."""
    memory = resource[0] if isinstance(resource, tuple) else resource
    return memory if isinstance(memory, Memory) else None


class _InputBuilder:
    """Builder of the inputs of one module and one dispatch."""

    def __init__(
        self,
        module: Module,
        size: tuple[int, int, int],
        groups: tuple[int, int, int],
        seed: int,
        each: Mapping[tuple[int, int], int],
    ) -> None:
        self.module = module
        self.size = size
        self.total = math.prod(size)
        self.numbers = Generator(seed, size, groups)
        self.atomic = atomic_members(module)
        self.each = dict(each)
        self.origins: list[str] = []

    def make(self, binding: Binding, given: npt.NDArray[Any] | None, fresh: bool) -> Input:
        """Return the input of a binding: the given array, undefined contents, or generated contents."""
        if binding.kind == "sampler":
            return Input(binding, (), True, "the nearest texel, clamped to the edge")
        if binding.count is None:
            raise Unsupported(
                f"{binding.name} is an array of descriptors without a length, which check does not support;"
                " declare its length in the shader.",
                ["runtimeDescriptorArray"],
            )
        if isinstance(binding.type, StructType):
            return self._buffer(binding, binding.type, given, fresh)
        if isinstance(binding.type, ImageType | SampledImageType):
            return self._image(binding, given, fresh)
        raise Unsupported(
            f"{binding.name} is a {binding.kind.replace('_', ' ')}, which check cannot generate.",
            [binding.kind],
        )

    def _buffer(
        self, binding: Binding, block: StructType, given: npt.NDArray[Any] | None, fresh: bool
    ) -> Input:
        if given is not None:
            check_array(given, block, f"The binding {binding.name or binding.block_name!r}")
            data = np.frombuffer(given.tobytes(), np.uint8).copy()
            fields = fields_of(block, len(data), binding.name)
            return Input(binding, (data,) * (binding.count or 1), True, GIVEN, None, tuple(fields))
        last = block.runtime_array
        nbytes = block.fixed_size
        each = self.each.get((binding.set, binding.binding), 1)
        if last is not None:
            nbytes = (last.offset or 0) + each * self.total * (getattr(last.type, "stride", 0) or 0)
        fields = fields_of(block, nbytes, binding.name)
        arrays = []
        parts: list[str] = []
        for _ in range(binding.count or 1):
            data = np.zeros(nbytes, np.uint8)
            parts = [] if fresh else [self._fill(data, binding.id, field) for field in fields]
            arrays.append(data)
        origin = UNDEFINED if fresh else ", ".join(parts[:_MAX_LISTED])
        if each > 1:
            origin += f", {each} for each invocation"
        return Input(binding, tuple(arrays), not fresh, origin, None, tuple(fields), each)

    def _fill(self, data: npt.NDArray[np.uint8], variable: int, field: Field) -> str:
        if field.is_pointer:
            raise Unsupported(
                f"{field.name} is a buffer reference; check cannot generate the buffer that it points to.",
                ["bufferDeviceAddress"],
            )
        plain = field.name.replace("[{}]", "[]")
        if self.atomic.keys() & {(variable, field.member), (variable, WHOLE)}:
            return f"{plain} = 0"
        if "[{}]" in field.name:
            put(data, field, self.numbers.array(field.dtype, field.offsets.shape))
            return f"{plain} random"
        value = self.numbers.single(field.word, field.dtype)
        put(data, field, np.asarray(value))
        return f"{plain} = {value}"

    def _image(self, binding: Binding, given: npt.NDArray[Any] | None, fresh: bool) -> Input:
        kind = _image_type(binding)
        if kind.dimension not in _AXES or kind.multisampled:
            raise Unsupported(
                f"{binding.name}: check cannot generate images of type {kind.glsl}.", [kind.glsl]
            )
        wanted = kind.sampled_type.kind if kind.sampled_type is not None else "float"
        format_ = FORMATS.get(kind.format)
        if given is not None and format_ is None:
            axes = _AXES[kind.dimension] + (kind.arrayed or kind.dimension == "Cube")
            components = given.shape[-1] if given.ndim == axes + 1 else 1
            format_ = fitting(given.dtype, components, wanted, depth=kind.depth)
        elif format_ is None:
            dtype = {"uint": np.uint32, "int": np.int32}.get(wanted, np.float32)
            format_ = fitting(np.dtype(dtype), 1 if kind.depth else 4, wanted, depth=kind.depth)
        if format_ is None:
            raise InvalidDispatch(f"{binding.name}: no image format fits the array given.")
        shape = self._shape(kind, format_)
        if given is not None:
            if given.dtype != format_.dtype or given.ndim != len(shape):
                raise InvalidDispatch(
                    f"{binding.name} has the format {format_.name}: give an array of {format_.dtype.name}"
                    f" with {len(shape)} axes instead of {given.dtype.name} with {given.ndim}."
                )
            return Input(binding, (given,) * (binding.count or 1), True, GIVEN, format_)
        zero = fresh or (binding.id, WHOLE) in self.atomic
        # Each descriptor has its own texels: equal texels would hide which descriptor a shader reads.
        texels = tuple(
            np.zeros(shape, format_.dtype) if zero else self.numbers.array(format_.dtype, shape)
            for _ in range(binding.count or 1)
        )
        origin = UNDEFINED if fresh else f"{'0' if zero else 'random'} {shape}"
        return Input(binding, texels, not fresh, origin, format_)

    def _shape(self, kind: ImageType, format_: Format) -> tuple[int, ...]:
        """Return an image shape with one texel for each invocation of the dispatch."""
        x, y, z = self.size
        axes: Sequence[int]
        if kind.dimension == "Cube":
            axes = (6, max(x, y), max(x, y))
        elif kind.dimension in ("1D", "Buffer"):
            axes = (self.total,)
        else:
            axes = (z, y, x)[3 - _AXES[kind.dimension] :]
        layers = (max(2, z),) if kind.arrayed else ()
        components = (format_.components,) if format_.components > 1 else ()
        return (*layers, *axes, *components)

    def push(self, values: Mapping[str, Any]) -> bytes:
        """Return the bytes of the push constants: given values by name, and generated values for the rest."""
        block = self.module.reflection.push_constants
        if block is None:
            return pack_push(None, dict(values) or None)
        fields = fields_of(block.type, block.size)
        names = [member.name for member in block.members]
        values = _flat(values)
        known = {*names, *(field.name.replace("[{}]", "") for field in fields)}
        for name in values:
            if name not in known:
                raise InvalidDispatch(f"The push constants have no member {name!r}.{suggestion(name, names)}")
        data = np.zeros(-(-block.size // 4) * 4, np.uint8)
        for field in fields:
            name = field.name.replace("[{}]", "")
            name = name if name in values else names[field.member]
            if name in values:
                try:
                    given = np.broadcast_to(np.asarray(values[name]), field.offsets.shape)
                    if field.dtype.kind in "ui" and (given.astype(field.dtype) != given).any():
                        raise ValueError
                    put(data, field, given)
                except (ValueError, TypeError, OverflowError):
                    shape = field.offsets.shape
                    wanted = f"numbers of the shape {shape}" if shape else "one number"
                    raise InvalidDispatch(
                        f"The push constant {name!r} takes {wanted} ({field.dtype.name}),"
                        f" not {values[name]!r}."
                    ) from None
                part = f"{name} = {values[name]}"
            else:
                part = self._fill(data, WHOLE - 1, field)
            self.origins.append(f"push constant {part}")
        return data.tobytes()


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of nested mappings by path: ``{"a": {"b": 1}}`` as ``{"a.b": 1}``."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        inner = _flat(value) if isinstance(value, Mapping) else {"": value}
        result |= {f"{name}.{part}" if part else name: entry for part, entry in inner.items()}
    return result


def make_inputs(
    module: Module,
    local_size: tuple[int, int, int],
    groups: tuple[int, int, int],
    *,
    given: Mapping[Key, npt.NDArray[Any]] | None = None,
    fresh: Sequence[Key] = (),
    push: Mapping[str, Any] | None = None,
    seed: int = 0,
    each: Mapping[tuple[int, int], int] | None = None,
) -> Inputs:
    """Return all inputs that a dispatch needs.

    `fresh` bindings have undefined contents before the run. Bindings and push constants that are not given
    are generated; a runtime array has `each` elements for each invocation, one if it is not listed. Raises
    InvalidDispatch or InvalidInput if a given input does not fit the module, and Unsupported if an input
    cannot be generated.
    """
    size = (local_size[0] * groups[0], local_size[1] * groups[1], local_size[2] * groups[2])
    builder = _InputBuilder(module, size, groups, seed, each or {})
    bindings = module.reflection.bindings
    arrays = {
        _find(bindings, key): checked_array(array, f"The binding {key!r}")
        for key, array in (given or {}).items()
    }
    undefined = {_find(bindings, key) for key in fresh}
    inputs: dict[tuple[int, int], Input] = {}
    for binding in bindings:
        place = (binding.set, binding.binding)
        if place not in inputs:
            inputs[place] = builder.make(binding, arrays.get(place), place in undefined)
    bytes_ = builder.push(push or {})
    origins = [f"{entry.name}: {entry.origin}" for entry in inputs.values()] + builder.origins
    return Inputs(tuple(inputs.values()), bytes_, tuple(origins))


def _find(bindings: Sequence[Binding], key: Key) -> tuple[int, int]:
    """Return the (set, binding) for a key: the name of a variable, block or only member, or numbers."""
    for binding in bindings:
        names = {binding.name, binding.block_name}
        if isinstance(binding.type, StructType) and len(binding.type.members) == 1:
            names.add(binding.type.members[0].name)
        place = (binding.set, binding.binding)
        if key in (names - {""}) or key == place or (isinstance(key, int) and place == (0, key)):
            return place
    known = [binding.name or binding.block_name for binding in bindings]
    raise InvalidInput(f"The shader has no binding {key!r}.{suggestion(key, known)}")


def numbers_of(entry: Input, data: npt.NDArray[np.uint8]) -> list[tuple[Field, npt.NDArray[Any]]]:
    """Return the numbers in a buffer's or an image's bytes, by field."""
    if entry.format is None:
        return [(field, take(data, field)) for field in entry.fields]
    shape = entry.arrays[0].shape
    offsets = np.arange(math.prod(shape), dtype=np.int64).reshape(shape) * entry.format.dtype.itemsize
    field = Field(entry.name + "[{}]" * len(shape), entry.format.dtype, offsets, 0)
    words = take(data, field)
    if not entry.format.packed:
        return [(field, words)]
    # Channels that share a word are separate numbers, compared as bits, which have the same order.
    channels, lowest = [], 0
    for bits in entry.format.packed:
        channels.append(words >> lowest & (1 << bits) - 1)
        lowest += bits
    places = np.repeat(offsets[..., None], len(channels), axis=-1)
    return [(Field(field.name + "[{}]", field.dtype, places, 0), np.stack(channels, axis=-1))]
