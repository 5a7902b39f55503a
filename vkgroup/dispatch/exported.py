"""The configuration of a run: its shader, groups, constants and arrays, to be written for ``--with``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidInput
from vkgroup.base.sampler import Sampler
from vkgroup.configuration import Arrays, Configuration, write
from vkgroup.dispatch.blocks import pack_push, scalar_places
from vkgroup.spirv import ArrayType, Binding, Module, PushConstants, ScalarType, StructType, VectorType


@dataclass(frozen=True)
class RunConfiguration:
    """The arguments of one `vkgroup.dispatch.Device.run`.

    Attributes
    ----------
    source : the shader as it was given: a module, a file, or source text.
    module : its module.
    groups, bindings, push, entry_point, specialization, subgroup_size, full_subgroups : as they were given.
        Arrays are not copied: if the caller has changed one since the run, its new contents are here.
    """

    source: Module | str | os.PathLike[str]
    module: Module
    groups: Any
    bindings: Mapping[Any, Any]
    push: Any
    entry_point: str | None
    specialization: Mapping[int | str, Any] | None
    subgroup_size: int | None
    full_subgroups: bool

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the configuration as JSON for ``vkgroup check --with`` and ``vkgroup run --with``.

        Arrays that are not short, and a shader that is no file, are written beside it. Buffers and images of
        the device are written with their present contents; samplers are left out.

        Raises InvalidInput: a file cannot be written, or a binding holds no array.

        Examples
        --------
        >>> result = device.run("sum.comp", 4, {"data": np.arange(256, dtype=np.uint32)})
        >>> result.configuration.save("sum.json")
        """
        path = Path(file)
        arrays = Arrays(path)
        groups = [self.groups] if isinstance(self.groups, int | np.integer) else self.groups
        given = self.specialization or {}
        write(
            path,
            [
                Configuration(
                    shader=self._shader(path),
                    entry_point=self.entry_point,
                    groups=[int(count) for count in groups],
                    push=_push(self.module.reflection.push_constants, self.push),
                    specialization={str(key): np.asarray(value).item() for key, value in given.items()},
                    inputs=self._inputs(arrays),
                    subgroup_sizes=None if self.subgroup_size is None else [self.subgroup_size],
                    full_subgroups=self.full_subgroups or None,
                )
            ],
        )

    def _shader(self, path: Path) -> str:
        """Return the name of the shader's file, which is written if the shader was a module or a text."""
        if isinstance(self.source, os.PathLike) or (isinstance(self.source, str) and "\n" not in self.source):
            return os.path.relpath(self.source, path.parent)
        file = path.with_suffix(".spv" if isinstance(self.source, Module) else ".comp")
        try:
            if isinstance(self.source, Module):
                file.write_bytes(self.source.to_bytes())
            else:
                file.write_text(self.source, encoding="utf-8")
        except OSError as error:
            raise InvalidInput(f"{file} cannot be written: {error.strerror or error}") from error
        return file.name

    def _inputs(self, arrays: Arrays) -> dict[str, Any]:
        """Return the values of the bindings, without samplers."""
        inputs: dict[str, Any] = {}
        for key, value in self.bindings.items():
            name = ".".join(map(str, key)) if isinstance(key, tuple) else str(key)
            parts = [_contents(part, name) for part in (value if isinstance(value, list) else [value])]
            described = [
                _described(part, name, self._type(key), arrays) for part in parts if part is not None
            ]
            if described:
                inputs[name] = {"each": described} if isinstance(value, list) else described[0]
        return inputs

    def _type(self, key: Any) -> Any:
        """Return the type of a binding; None if the module has none of that key."""
        for binding in self.module.reflection.bindings:
            place = (binding.set, binding.binding)
            if key in _names(binding) or key == place or (isinstance(key, int) and place == (0, key)):
                return binding.type
        return None


def _names(binding: Binding) -> set[str]:
    names = {binding.name, binding.block_name}
    if isinstance(binding.type, StructType) and len(binding.type.members) == 1:
        names.add(binding.type.members[0].name)
    return names - {""}


def _contents(value: Any, name: str) -> npt.NDArray[Any] | None:
    """Return the array of a binding's value; None for a sampler."""
    if isinstance(value, tuple):
        value = value[0]
    if isinstance(value, Sampler):
        return None
    read = getattr(value, "read", None)
    try:
        array = np.asarray(read() if callable(read) else value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(f"The binding {name!r} cannot be written as an array: {error}") from error
    if array.dtype.kind == "O":
        raise InvalidInput(f"The binding {name!r} holds no array, so it cannot be written.")
    return array


def _described(array: npt.NDArray[Any], name: str, kind: Any, arrays: Arrays) -> Any:
    """Return the value of an array in a configuration."""
    if not isinstance(kind, StructType):
        return arrays.texels(array, name)
    components = _components(kind, array.dtype)
    if not components or array.size % components:
        return arrays.save(array, name)
    rows = array.reshape((-1, components) if components > 1 else -1)
    return arrays.value(rows, name, is_runtime=kind.runtime_array is not None)


def _components(block: StructType, dtype: np.dtype[Any]) -> int:
    """Return the numbers of an element if a block is one array of numbers without padding, else 0."""
    kind = block.members[0].type if len(block.members) == 1 else None
    if not isinstance(kind, ArrayType):
        return 0
    count = kind.element.count if isinstance(kind.element, VectorType) else 1
    scalar = kind.element.component if isinstance(kind.element, VectorType) else kind.element
    is_plain = isinstance(scalar, ScalarType) and scalar.dtype == dtype
    return count if is_plain and kind.stride == count * dtype.itemsize and not block.members[0].offset else 0


def _push(block: PushConstants | None, value: Any) -> dict[str, Any]:
    """Return the push constants by name."""
    if block is None or value is None:
        return {}
    data = pack_push(block, value)
    values: dict[str, Any] = {}
    for member in block.members:
        if isinstance(member.type, StructType):
            raise InvalidInput(f"The push constant {member.name!r} is a structure, which cannot be written.")
        places, dtype, shape = scalar_places(member.type, member)
        start = member.offset or 0
        numbers = [np.frombuffer(data, dtype, 1, start + offset)[0].item() for offset in places]
        values[member.name] = np.reshape(np.array(numbers, object), shape).tolist()
    return values
