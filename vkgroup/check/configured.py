"""Inputs of a configuration as arrays for the bindings of a module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidInput
from vkgroup.base.suggestions import nearest
from vkgroup.check.fields import Field, fields_of, member_names, put, take
from vkgroup.check.inputs import image_of, is_globals, texel_format
from vkgroup.configuration.fields import Key, key_of
from vkgroup.configuration.rules import Source, elements, is_rule, load, make, numbers, parse
from vkgroup.spirv import Binding, ImageType, Module, PushConstants, StructType


def names_of(binding: Binding) -> list[str]:
    """Return the names of a binding: of the variable, of its block, and of the block's only member."""
    names = [binding.name, binding.block_name]
    if isinstance(binding.type, StructType) and len(binding.type.members) == 1:
        names.append(binding.type.members[0].name)
    return [name for name in dict.fromkeys(names) if name]


def keys_of(binding: Binding) -> set[Key]:
    """Return the keys that stand for a binding: set and number, a number in set 0, and its names."""
    number: set[Key] = {binding.binding} if binding.set == 0 else set()
    return {binding.place, *names_of(binding), *number}


def members_of(block: StructType, binding: Binding) -> list[str]:
    """Return the names of a block's members as they are in the source."""
    return member_names(block, binding.name)


def find_binding(module: Module, name: Key, where: str) -> Binding:
    """Return the binding of a name, of a number in set 0, or of set and number.

    Raises InvalidInput: there is none; the message begins with `where`.
    """
    key = key_of(name) if isinstance(name, str) else name
    bindings = module.reflection.bindings
    for binding in bindings:
        if key in keys_of(binding):
            return binding
    known = [name for binding in bindings for name in names_of(binding)]
    listed = ", ".join(
        name
        for binding in bindings
        for name in (
            members_of(binding.type, binding)
            if is_globals(binding) and isinstance(binding.type, StructType)
            else names_of(binding)[:1]
        )
    )
    raise InvalidInput(
        f"{where}: the shader has no binding {name!r}.{nearest(str(name), known)}"
        f" There are: {listed or 'none'}."
    )


@dataclass(frozen=True)
class ConfiguredInputs:
    """The inputs of a configuration for one module.

    `values`: the values by the name of a binding, as in the configuration's field ``inputs``.
    `where`: the file and the configuration, for messages.
    `path`: returns the path for a name in the configuration.
    `invocations`: returns the number of invocations, which is the length of arrays without one.
    `partial`: whether members of a block may be missing; the value of such a block is a mapping by path.
    """

    module: Module
    values: Mapping[str, Any]
    where: str
    path: Callable[[str], Path]
    seed: int
    invocations: Callable[[], int]
    partial: bool = False

    def arrays(self) -> dict[Key, Any]:
        """Return the arrays by (set, binding), each in the form that `vkgroup.check.inputs` takes.

        A list of arrays is for an array of descriptors.

        Raises InvalidInput: a name or a value does not fit the module, or a file cannot be read.
        """
        arrays: dict[Key, Any] = {}
        given: dict[tuple[int, int], str] = {}
        for name, value in self.values.items():
            binding = find_binding(self.module, name, f"{self.where}, inputs")
            if binding.place in given:
                other = given[binding.place]
                raise InvalidInput(f"{self.where}, inputs: {other} and {name} are the same binding.")
            given[binding.place] = name
            arrays[binding.place] = self._value(binding, value, self._source(name))
        return arrays

    def _source(self, name: str) -> Source:
        return Source(f"{self.where}, inputs.{name}", self.path, self.seed, self._length_of)

    def _value(self, binding: Binding, value: Any, source: Source) -> Any:
        """Return the array of a binding; a list for ``{"each": […]}``, which is an array of descriptors."""
        if isinstance(value, dict) and value.keys() == {"each"}:
            values = value["each"]
            if not isinstance(values, list) or len(values) != binding.count:
                raise InvalidInput(f"{source.where}: 'each' takes a list of {binding.count} values.")
            wheres = [f"{source.where}.each[{number}]" for number in range(len(values))]
            sources = [replace(source, where=where) for where in wheres]
            return [self._value(binding, *pair) for pair in zip(values, sources, strict=True)]
        if (file := _file_of(value, binding)) is not None:
            return load(source.path(file), source.where)
        if isinstance(binding.type, StructType):
            return self._block(binding, binding.type, value, source)
        if (image := image_of(binding)) is not None:
            return self._image(binding, image, value, source)
        raise InvalidInput(f"{source.where}: a {binding.kind.replace('_', ' ')} cannot be given.")

    # --- buffers --------------------------------------------------------------------------------------

    def _block(self, binding: Binding, block: StructType, value: Any, source: Source) -> Any:
        """Return the contents of a buffer, with each number at its offset; see `typed`."""
        by_member = _by_member(binding, block, value, source, partial=self.partial)
        nbytes = block.fixed_size
        at = (members_of(block, binding) or [""])[-1]
        if (last := block.runtime_array) is not None and at in by_member:
            count = self._elements(binding, block, by_member[at], replace(source, where=_part(source, at)))
            nbytes = (last.offset or 0) + count * (getattr(last.type, "stride", 0) or 0)
        data = np.zeros(nbytes, np.uint8)
        fields = fields_of(block, nbytes, binding.name)
        given: dict[str, npt.NDArray[Any]] = {}
        for field in fields:
            name = members_of(block, binding)[field.member]
            path = field.path
            words = path.split(".")
            if self.partial and not _is_given(by_member, [name, *words[1:]]):
                continue
            member, where = _descend(by_member[name], words[1:], _part(source, name))
            if field.is_pointer:
                raise InvalidInput(f"{where}: a buffer reference cannot be given.")
            given[path] = make(member, field.offsets.shape, field.dtype, replace(source, where=where))
            put(data, field, given[path])
        return typed(fields, data) if len(given) == len(fields) else given

    def _elements(self, binding: Binding, block: StructType, value: Any, source: Source) -> int:
        """Return the number of elements of a block's runtime array."""
        member = len(block.members) - 1
        stride = getattr(block.members[-1].type, "stride", 0) or 0
        for field in fields_of(block, (block.members[-1].offset or 0) + stride, binding.name):
            if field.member == member:
                words = field.path.split(".")[1:]
                part, where = _descend(value, words, source.where)
                count = elements(part, field.offsets.shape[1:], replace(source, where=where))
                if count is not None:
                    return count
        return self.invocations()

    def _length_of(self, name: str) -> int:
        """Return the number of elements of a binding: of its runtime array or of its last array."""
        where = f"{self.where}, indices_of"
        binding = find_binding(self.module, name, where)
        block = binding.type
        keys = keys_of(binding)
        value = next((value for name, value in self.values.items() if key_of(name) in keys), None)
        if not isinstance(block, StructType):
            raise InvalidInput(f"{where}: {name!r} is not a buffer.")
        if block.runtime_array is None:
            arrays = [field for field in fields_of(block, block.fixed_size) if field.offsets.ndim]
            if not arrays:
                raise InvalidInput(f"{where}: {name!r} has no array.")
            return int(arrays[-1].offsets.shape[0])
        if value is None:
            return self.invocations()
        source = self._source(name)
        if (file := _file_of(value, binding)) is not None:
            stride = getattr(block.runtime_array.type, "stride", 0) or 1
            nbytes = load(source.path(file), source.where).nbytes
            return max(1, (nbytes - (block.runtime_array.offset or 0)) // stride)
        last = members_of(block, binding)[-1]
        by_member = _by_member(binding, block, value, source, partial=self.partial)
        if last not in by_member:
            return self.invocations()
        return self._elements(binding, block, by_member[last], source)

    # --- images ---------------------------------------------------------------------------------------

    def _image(self, binding: Binding, kind: ImageType, value: Any, source: Source) -> npt.NDArray[Any]:
        """Return the texels of an image."""
        format_ = texel_format(kind, None, 1)
        assert format_ is not None
        if isinstance(value, dict):
            rule = parse(value, source.where) if is_rule(value) else None
            if rule is None or rule.shape is None:
                raise InvalidInput(
                    f"{source.where}: an image takes lists, an .npy file, or a rule with 'shape'."
                )
            return make(value, rule.shape, format_.dtype, source)
        return numbers(value, format_.dtype, source.where)


def _file_of(value: Any, binding: Binding) -> str | None:
    """Return the .npy file of a whole binding; None if the value is something else."""
    block = binding.type
    names = members_of(block, binding) if isinstance(block, StructType) else []
    if isinstance(value, dict) and value.keys() == {"from"} and "from" not in names:
        value = value["from"]
    return value if isinstance(value, str) else None


def _part(source: Source, name: str) -> str:
    return source.where if source.where.endswith(f".{name}") else f"{source.where}.{name}"


def _by_member(
    binding: Binding, block: StructType, value: Any, source: Source, *, partial: bool
) -> dict[str, Any]:
    """Return the values by the names of a block's members; of one member the value alone is enough."""
    names = members_of(block, binding)
    # An object may also have the members of the only member's structures, not that member's name.
    is_element = len(names) == 1 and isinstance(value, dict) and not set(value) <= set(names)
    if isinstance(value, dict) and not is_rule(value, names) and not is_element:
        for name in value:
            if name not in names:
                raise InvalidInput(f"{source.where}: there is no member {name!r}.{nearest(name, names)}")
        lacking = [name for name in names if name not in value]
        if lacking and not partial:
            raise InvalidInput(f"{source.where}: the member {lacking[0]!r} has no value.")
        return value
    if len(names) != 1:
        raise InvalidInput(f"{source.where}: give an object with a value for each of {', '.join(names)}.")
    return {names[0]: value}


def _is_given(value: Any, words: Sequence[str]) -> bool:
    """Return whether a nested member has a value: in an object, or in each object of a list."""
    if not words or is_rule(value, words):
        return True
    if isinstance(value, list):
        return all(_is_given(entry, words) for entry in value)
    return not isinstance(value, dict) or (words[0] in value and _is_given(value[words[0]], words[1:]))


def _descend(value: Any, words: Sequence[str], where: str) -> tuple[Any, str]:
    """Return the value of a nested member: of an object, or of each object of a list; a rule is for all."""
    for word in words:
        where = f"{where}.{word}"
        value = value if is_rule(value, words) else _member(value, word, where)
    return value, where


def _member(value: Any, word: str, where: str) -> Any:
    if isinstance(value, list):
        return [_member(entry, word, where) for entry in value]
    if not isinstance(value, dict):
        raise InvalidInput(f"{where}: expected an object with the members of the structure.")
    if word not in value:
        raise InvalidInput(f"{where}: this member has no value.")
    return value[word]


def typed(fields: Sequence[Field], data: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """Return the bytes of a buffer as numbers if all have one type, else as bytes.

    The numbers of one array without padding have its shape.
    """
    if len(fields) == 1 and (numbers := take(data, fields[0])).nbytes == len(data):
        return numbers
    dtypes = {field.dtype for field in fields}
    if len(dtypes) == 1 and len(data) % next(iter(dtypes)).itemsize == 0:
        return data.view(next(iter(dtypes)))
    return data


def check_push(block: PushConstants | None, values: Mapping[str, Any], where: str) -> None:
    """Raise InvalidInput if push constants by name do not fit their block.

    `where`: the file and the field, for messages.
    """
    names = [] if block is None else [member.name for member in block.members]
    for name in values:
        if name not in names:
            known = ", ".join(names) or "none"
            raise InvalidInput(
                f"{where}: the shader has no push constant {name!r}.{nearest(name, names)}"
                f" There are: {known}."
            )
    for field in () if block is None else fields_of(block.type, block.size):
        name = names[field.member]
        if name in values:
            given = numbers(values[name], field.dtype, f"{where}.{name}")
            if given.shape not in (field.offsets.shape, ()):
                wanted, shape = list(field.offsets.shape), list(given.shape)
                raise InvalidInput(f"{where}.{name}: expected numbers of the shape {wanted}, not {shape}.")
