"""Arguments of calls (arrays, buffers, images, scenes, numbers) as files and `recipe.Value`, and back."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import is_inside, read_array, write_array, writing
from vkgroup.base.sampler import Sampler
from vkgroup.dispatch import (
    AccelerationStructure,
    Boxes,
    Buffer,
    Device,
    HitGroup,
    Image,
    Instance,
    Triangles,
)
from vkgroup.dispatch.slots import Slot, slots_of
from vkgroup.outputs.reproduction import recipe
from vkgroup.spirv import Module


def modules_of(given: Any) -> Iterator[Module]:
    """Yield the shaders in arguments."""
    if isinstance(given, Module):
        yield given
    elif isinstance(given, HitGroup):
        yield from modules_of([source for _, source in given.sources()])
    elif isinstance(given, Mapping):
        yield from modules_of(list(given.values()))
    elif isinstance(given, list | tuple):
        for part in given:
            yield from modules_of(part)


def slot_of(key: Any, modules: Iterable[Module]) -> Slot | None:
    """Return the slot of a binding's key."""
    slots = slots_of([binding for module in modules for binding in module.reflection.bindings])
    return next((slot for slot in slots if slot.matches(key)), None)


def word(key: Any) -> str:
    """Return a key as part of a file name."""
    text = "-".join(map(str, key)) if isinstance(key, tuple) else str(key)
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in text)[:60]


def name_of(key: Any, modules: Iterable[Module]) -> str:
    """Return the name of a binding in file names: its name in the shader, if it has one."""
    slot = slot_of(key, modules)
    return word(key if slot is None else slot.key)


def parts_of(value: Any) -> list[Any]:
    """Return the parts of a binding's value, with nested lists flattened."""
    return [part for one in value for part in parts_of(one)] if isinstance(value, list | tuple) else [value]


def has_memory(value: Any) -> bool:
    """Return whether a value is or contains memory of the device."""
    return any(isinstance(part, Buffer | Image) for part in parts_of(value))


def written(given: Mapping[str, Any]) -> dict[str, Buffer | Image]:
    """Return the memory in arguments that commands may write, by its name in file names.

    `given`: ``bindings``, the shaders, and for draws ``colors`` and ``depth``.
    """
    modules = list(modules_of({name: value for name, value in given.items() if name != "bindings"}))
    named: dict[str, Any] = {}
    for key, value in (given.get("bindings") or {}).items():
        slot = slot_of(key, modules)
        if slot is not None and slot.writable:
            named[word(slot.key)] = value
    named.update({word(key): value for key, value in (given.get("colors") or {}).items()})
    named["depth"] = given.get("depth")
    found: dict[str, Buffer | Image] = {}
    for name, value in named.items():
        parts = [part for part in parts_of(value) if isinstance(part, Buffer | Image)]
        for n, memory in enumerate(parts):
            # A multisampled image cannot be read.
            if not (isinstance(memory, Image) and memory.samples > 1):
                found[name if len(parts) == 1 else f"{name}-{n}"] = memory
    return found


Array = npt.NDArray[Any]
Json = Any


class Files:
    """The arrays of a folder; arrays with equal content share a file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[bytes, str] = {}
        self._taken: set[str] = set()

    def save(self, name: str, array: Array) -> str:
        """Write an array as ``NAME.npy`` and return the file; a file with the same content is reused."""
        array = np.asarray(array, order="C")
        # Expected values have different meanings, so equal ones do not share a file.
        apart = name if name.startswith("expected/") else name.partition("/")[0]
        head = f"{array.dtype.str} {array.shape} {apart}".encode()
        key = hashlib.sha256(head + np.ascontiguousarray(array).tobytes()).digest()
        if key not in self._known:
            numbered = (name if n == 1 else f"{name}-{n}" for n in count(1))
            file = next(one for one in numbered if one not in self._taken)
            self._taken.add(file)
            path = self.folder / f"{file}.npy"
            with writing(path):
                path.parent.mkdir(parents=True, exist_ok=True)
                write_array(path, array)
            self._known[key] = f"{file}.npy"
        return self._known[key]


def inside(folder: Path, file: str) -> Path:
    """Return the path of a file of a folder.

    Raises InvalidInput: it lies outside of the folder, also by a symbolic link.
    """
    path = folder / file
    if not is_inside(path, folder):
        raise InvalidInput(f"{folder}: {file} lies outside of the folder; make the folder again.")
    return path


def load(folder: Path, file: str) -> Array:
    """Read an array of a folder."""
    path = inside(folder, file)
    try:
        found = read_array(path)
    except Exception as error:
        # NumPy parses the header as Python and allocates its size: a wrong header can raise almost any error.
        raise InvalidInput(f"{path} cannot be read as an .npy file: {error}") from error
    if not isinstance(found, np.ndarray):
        raise InvalidInput(f"{path} contains several arrays; an .npy file must contain one.")
    return found


def contents(buffer: Buffer) -> Array:
    """Return the content of a buffer, with the type of its original array or as 32-bit words."""
    if buffer.dtype == np.uint8 and buffer.nbytes % 4 == 0 and len(buffer.shape) == 1:
        return buffer.read(np.uint32, buffer.nbytes // 4)
    return buffer.read()


class Encoder:
    """Encodes values as `recipe.Value` and files.

    `scenes`: acceleration structures and their parts by id; the caller adds them.
    `memory`: buffers and images by their numbers.
    """

    def __init__(self, files: Files, module: Callable[[Module], str]) -> None:
        self.files, self._module = files, module
        self.scenes: dict[int, tuple[AccelerationStructure, Any]] = {}
        self.memory: dict[int, Buffer | Image] = {}
        self._numbers: dict[int, int] = {}

    def number(self, memory: Buffer | Image) -> int:
        """Return the number of a buffer or image; it does not change."""
        number = self._numbers.setdefault(id(memory), len(self._numbers))
        self.memory[number] = memory
        return number

    def encode(self, value: Any, name: str) -> Json:
        """Return a value as JSON; its arrays are written to files whose names begin with `name`."""
        return msgspec.to_builtins(self._encode(value, name))

    def encode_pairs(self, pairs: Mapping[Any, Any], names: Mapping[Any, str]) -> Json:
        """Return a mapping as JSON, with the names of files by its keys."""
        values = [
            (self._encode(key, names[key]), self._encode(part, names[key])) for key, part in pairs.items()
        ]
        return msgspec.to_builtins(recipe.MappingValue(values))

    def _encode(self, value: Any, name: str) -> recipe.Value:
        match value:
            case None | bool() | int() | float() | str():
                return value
            case np.generic():
                return value.item()  # type: ignore[no-any-return]
            case bytes() | bytearray():
                return recipe.BytesValue(value.hex())
            case Module():
                return recipe.ModuleFile(self._module(value))
            case HitGroup():
                modules = {stage: self._encode(part, name) for stage, part in value.sources()}
                return recipe.HitGroupModules(cast(Any, modules))
            case Sampler():
                return recipe.SamplerState(asdict(value))
            case Buffer():
                return recipe.BufferFile(self.number(value), self.files.save(name, contents(value)))
            case Image():
                return self._image(value, name)
            case AccelerationStructure() | Triangles() | Boxes() | Instance():
                return self._scene(value, name)
            case Mapping():
                names = {key: f"{name}-{word(key)}" for key in value}
                return recipe.MappingValue([(self._encode(key, name), self._encode(part, names[key]))
                                     for key, part in value.items()])  # fmt: skip
            case tuple() | list():
                parts = [self._encode(part, f"{name}-{n}" if len(value) > 1 else name)
                         for n, part in enumerate(value)]  # fmt: skip
                return recipe.TupleValue(parts) if isinstance(value, tuple) else recipe.ListValue(parts)
        return recipe.ArrayFile(self.files.save(name, np.asarray(value)))

    def _image(self, image: Image, name: str) -> recipe.ImageFiles:
        levels = range(image.levels) if image.samples == 1 else ()
        files = [
            self.files.save(f"{name}-level{level}" if level else name, image.read(level)) for level in levels
        ]
        form = image.format.name, image.dimension, image.arrayed, image._sampled
        return recipe.ImageFiles(self.number(image), files, *form)

    def _scene(self, value: Any, name: str) -> recipe.ScenePart:
        if isinstance(value, AccelerationStructure):
            parts = self.scenes[id(value)][1]
            listed = parts if isinstance(parts, list | tuple) else [parts]
            return recipe.StructureValue([self._scene(part, f"{name}-{n}") for n, part in enumerate(listed)])
        if isinstance(value, Instance):
            bottom = self._scene(value.bottom, name)
            assert isinstance(bottom, recipe.StructureValue)
            transform = self.files.save(f"{name}-transform", value.transform)
            return recipe.InstancePart(bottom, transform, (value.custom_index, value.mask, value.sbt_offset))
        flags = value.opaque, value.no_duplicate_any_hit
        if isinstance(value, Boxes):
            return recipe.BoxesPart(self.files.save(f"{name}-boxes", value.bounds), *flags)
        indices = None if value.indices is None else self.files.save(f"{name}-indices", value.indices)
        return recipe.TrianglesPart(self.files.save(f"{name}-triangles", value.vertices), indices, *flags)


class Decoder:
    """Restores encoded values on a device."""

    def __init__(
        self,
        folder: Path,
        device: Device,
        module: Callable[[str], Module],
        stack: ExitStack,
        *,
        as_arrays: bool = False,
    ) -> None:
        self._folder, self._device, self._module = folder, device, module
        self._stack, self._as_arrays = stack, as_arrays
        self.memory: dict[int, Buffer | Image] = {}

    def decode(self, value: recipe.Value) -> Any:
        """Return the value on the device."""
        match value:
            case recipe.ArrayFile():
                return load(self._folder, value.file)
            case recipe.BufferFile():
                return self._buffer(value)
            case recipe.ImageFiles():
                return self._image(value)
            case recipe.BytesValue():
                return bytes.fromhex(value.digits)
            case recipe.ModuleFile():
                return self._module(value.file)
            case recipe.SamplerState():
                return value.sampler()
            case recipe.HitGroupModules():
                return HitGroup(**{stage: self.decode(part) for stage, part in value.stages.items()})
            case recipe.MappingValue():
                return {self.decode(key): self.decode(part) for key, part in value.pairs}
            case recipe.TupleValue():
                return tuple(self.decode(part) for part in value.parts)
            case recipe.ListValue():
                return [self.decode(part) for part in value.parts]
            case (
                recipe.StructureValue() | recipe.InstancePart() | recipe.TrianglesPart() | recipe.BoxesPart()
            ):
                return self._scene(value)
        return value

    def arguments(self, arguments: Struct) -> dict[str, Any]:
        """Return the arguments that are given, by name."""
        values = ((name, getattr(arguments, name)) for name in arguments.__struct_fields__)
        return {name: self.decode(value) for name, value in values if value is not None}

    def _buffer(self, value: recipe.BufferFile) -> Any:
        array = load(self._folder, value.file)
        if self._as_arrays:
            return array
        if value.number not in self.memory:
            self.memory[value.number] = self._stack.enter_context(self._device.buffer(array))
        return self.memory[value.number]

    def _image(self, value: recipe.ImageFiles) -> Image:
        if value.number not in self.memory:
            if not value.files:
                raise InvalidInput(f"{self._folder} has a multisampled image, which cannot be created.")
            first, *smaller = (load(self._folder, file) for file in value.files)
            image = self._device.image(
                first,
                format=value.format,
                dimension=value.dimension,
                layers=value.layers,
                levels=smaller,
                sampled=value.sampled,
            )
            self.memory[value.number] = self._stack.enter_context(image)
        found = self.memory[value.number]
        assert isinstance(found, Image)
        return found

    def _scene(self, value: recipe.ScenePart) -> Any:
        if isinstance(value, recipe.StructureValue):
            parts = [self._scene(part) for part in value.parts]
            return self._stack.enter_context(self._device.acceleration_structure(parts))
        if isinstance(value, recipe.InstancePart):
            transform = load(self._folder, value.transform)
            return Instance(self._scene(value.bottom), transform, *value.numbers)
        flags = {"opaque": value.opaque, "no_duplicate_any_hit": value.no_duplicate_any_hit}
        if isinstance(value, recipe.BoxesPart):
            return Boxes(load(self._folder, value.bounds), **flags)
        indices = None if value.indices is None else load(self._folder, value.indices)
        return Triangles(load(self._folder, value.vertices), indices, **flags)
