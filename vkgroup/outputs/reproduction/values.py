"""Arguments of device work (arrays, buffers, images, scenes, shaders, numbers) as JSON and files, and back.

The JSON of a value is the value itself if JSON has its type, otherwise an object with a key ``array``,
``buffer``, ``image``, ``sampler``, ``scene``, ``module``, ``hit_group``, ``bytes``, ``tuple``, ``list`` or
``mapping``. Each memory of a device has a number, so that values that share memory share it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import write_array, writing
from vkgroup.base.reading import read_array
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
from vkgroup.outputs.reproduction.confinement import inside
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
    """Encodes values as JSON and files.

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
        """Return the JSON of a value; its arrays are written to files whose names begin with `name`."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, bytes | bytearray):
            return {"bytes": bytes(value).hex()}
        if isinstance(value, Module):
            return {"module": self._module(value)}
        if isinstance(value, HitGroup):
            return {"hit_group": {stage: self.encode(part, name) for stage, part in value.sources()}}
        if isinstance(value, Sampler):
            return {"sampler": asdict(value)}
        if isinstance(value, Buffer):
            return {"buffer": self.number(value), "file": self.files.save(name, contents(value))}
        if isinstance(value, Image):
            return self._image(value, name)
        if isinstance(value, AccelerationStructure | Triangles | Boxes | Instance):
            return {"scene": self._scene(value, name)}
        if isinstance(value, Mapping):
            pairs = [[self.encode(key, name), self.encode(part, f"{name}-{word(key)}")]
                     for key, part in value.items()]  # fmt: skip
            return {"mapping": pairs}
        if isinstance(value, tuple | list):
            names = [f"{name}-{n}" for n in range(len(value))] if len(value) > 1 else [name]
            parts = [self.encode(part, one) for part, one in zip(value, names, strict=False)]
            return {"tuple" if isinstance(value, tuple) else "list": parts}
        return {"array": self.files.save(name, np.asarray(value))}

    def _image(self, image: Image, name: str) -> Json:
        levels = range(image.levels) if image.samples == 1 else ()
        return {
            "image": self.number(image),
            "files": [
                self.files.save(f"{name}-level{level}" if level else name, image.read(level))
                for level in levels
            ],
            "format": image.format.name,
            "dimension": image.dimension,
            "layers": image.arrayed,
            "sampled": image._sampled,
        }

    def _scene(self, value: Any, name: str) -> Json:
        if isinstance(value, AccelerationStructure):
            parts = self.scenes[id(value)][1]
            listed = parts if isinstance(parts, list | tuple) else [parts]
            return [self._scene(part, f"{name}-{n}") for n, part in enumerate(listed)]
        if isinstance(value, Instance):
            return {
                "instance": self._scene(value.bottom, name),
                "transform": self.files.save(f"{name}-transform", value.transform),
                "numbers": [value.custom_index, value.mask, value.sbt_offset],
            }
        flags = {"opaque": value.opaque, "no_duplicate_any_hit": value.no_duplicate_any_hit}
        if isinstance(value, Boxes):
            return {"boxes": self.files.save(f"{name}-boxes", value.bounds), **flags}
        indices = None if value.indices is None else self.files.save(f"{name}-indices", value.indices)
        return {"triangles": self.files.save(f"{name}-triangles", value.vertices), "indices": indices,
                **flags}  # fmt: skip


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

    def decode(self, value: Json) -> Any:
        """Return the value encoded by JSON data."""
        if not isinstance(value, dict):
            if value is None or isinstance(value, bool | int | float | str):
                return value
            raise InvalidInput(f"{self._folder}: {value!r} is not a valid value; make the folder again.")
        makers: dict[str, Callable[[Any], Any]] = {
            "array": lambda _: load(self._folder, value["array"]),
            "buffer": lambda _: self._buffer(value),
            "image": lambda _: self._image(value),
            "scene": self._scene,
            "module": self._module,
            "bytes": bytes.fromhex,
            "sampler": lambda state: Sampler(**{name: _tuple(part) for name, part in state.items()}),
            "hit_group": lambda stages: HitGroup(**{k: self.decode(part) for k, part in stages.items()}),
            "mapping": lambda pairs: {self.decode(key): self.decode(part) for key, part in pairs},
            "tuple": lambda parts: tuple(self.decode(part) for part in parts),
            "list": lambda parts: [self.decode(part) for part in parts],
        }
        kind = next((name for name in makers if name in value), None)
        if kind is None:
            raise InvalidInput(f"{self._folder}: {value!r} is not a valid value; make the folder again.")
        return makers[kind](value[kind])

    def _buffer(self, value: Json) -> Any:
        array = load(self._folder, value["file"])
        if self._as_arrays:
            return array
        number = value["buffer"]
        if number not in self.memory:
            self.memory[number] = self._stack.enter_context(self._device.buffer(array))
        return self.memory[number]

    def _image(self, value: Json) -> Image:
        number = value["image"]
        if number not in self.memory:
            if not value["files"]:
                raise InvalidInput(f"{self._folder} has a multisampled image, which cannot be created.")
            first, *smaller = (load(self._folder, file) for file in value["files"])
            image = self._device.image(
                first,
                format=value["format"],
                dimension=value["dimension"],
                layers=value["layers"],
                levels=smaller,
                sampled=value["sampled"],
            )
            self.memory[number] = self._stack.enter_context(image)
        found = self.memory[number]
        assert isinstance(found, Image)
        return found

    def _scene(self, value: Json) -> Any:
        if isinstance(value, list):
            parts = [self._scene(part) for part in value]
            return self._stack.enter_context(self._device.acceleration_structure(parts))
        if "instance" in value:
            index, mask, offset = value["numbers"]
            transform = load(self._folder, value["transform"])
            return Instance(self._scene(value["instance"]), transform, index, mask, offset)
        flags = {"opaque": value["opaque"], "no_duplicate_any_hit": value["no_duplicate_any_hit"]}
        if "boxes" in value:
            return Boxes(load(self._folder, value["boxes"]), **flags)
        indices = None if value["indices"] is None else load(self._folder, value["indices"])
        return Triangles(load(self._folder, value["triangles"]), indices, **flags)


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
