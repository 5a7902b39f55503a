"""The inputs that a check assumed, as fields of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.configured import members_of, names_of, typed
from vkgroup.check.fields import Field, fields_of, put, take
from vkgroup.configuration import Arrays
from vkgroup.spirv import Binding, Module, PushConstants, StructType


def inputs_of(module: Module, bindings: Mapping[tuple[int, int], Any], arrays: Arrays) -> dict[str, Any]:
    """Return the field ``inputs`` that gives the same bytes as the bindings; samplers are left out.

    `bindings`: arrays of bytes, or of texels, by (set, binding), as in `vkgroup.check.report.Report`.
    """
    values: dict[str, Any] = {}
    for binding in module.reflection.bindings:
        name = name_at(module, binding.place)
        if binding.place not in bindings or binding.kind == "sampler" or name in values:
            continue
        given = bindings[binding.place]
        parts = [_without_sampler(part) for part in (given if isinstance(given, list) else [given])]
        if all(np.array_equal(part, parts[0]) for part in parts[1:]):
            values[name] = _described(binding, parts[0], name, arrays)
        else:
            values[name] = {"each": [_described(binding, part, name, arrays) for part in parts]}
    return values


def push_of(push: PushConstants | None, data: bytes) -> dict[str, Any]:
    """Return the field ``push`` that gives the same bytes; members that are structures are left out."""
    if push is None:
        return {}
    numbers = np.frombuffer(data, np.uint8)
    fields = fields_of(push.type, push.size)
    names = [member.name for member in push.members]
    return {
        names[field.member]: take(numbers, field).tolist()
        for field in fields
        if field.path == names[field.member]
    }


def name_at(module: Module, place: tuple[int, int]) -> str:
    """Return the name of a binding in a configuration; its numbers if no name is its own."""
    names: list[str] = []
    others = set[str]()
    for entry in module.reflection.bindings:
        if entry.place == place:
            names += names_of(entry)
        else:
            others.update(names_of(entry))
    own = [name for name in names if name not in others and not name[0].isdigit()]
    return own[0] if own else ".".join(map(str, place))


def _without_sampler(value: Any) -> npt.NDArray[Any]:
    """Return the texels of an image, which a combined image sampler has with its sampler."""
    return np.asarray(value[0] if isinstance(value, tuple) else value)


def _described(binding: Binding, array: npt.NDArray[Any], name: str, arrays: Arrays) -> Any:
    """Return the value of a binding."""
    if not isinstance(binding.type, StructType):
        return arrays.texels(array, name)
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    fields = fields_of(binding.type, len(data), binding.name)
    if not _has_all(fields, data, members_of(binding.type, binding)):
        return arrays.save(typed(fields, data), name)
    return _by_member(binding, binding.type, fields, data, name, arrays)


def _has_all(fields: list[Field], data: npt.NDArray[np.uint8], names: list[str]) -> bool:
    """Return whether fields have all bytes of a buffer, except zeros, and each member has its own name."""
    unknown = any(field.is_pointer or field.dtype.kind == "V" for field in fields)
    if "" in names or len(set(names)) != len(names) or unknown:
        return False
    again = np.zeros_like(data)
    for field in fields:
        put(again, field, take(data, field))
    return all(field.offsets.size for field in fields) and np.array_equal(again, data)


def _by_member(
    binding: Binding,
    block: StructType,
    fields: list[Field],
    data: npt.NDArray[np.uint8],
    name: str,
    arrays: Arrays,
) -> Any:
    """Return an object with the values of a buffer's members; of a buffer with one member, its value."""
    names = members_of(block, binding)
    if len(fields) == 1 and take(data, fields[0]).nbytes == len(data):
        # Without padding, the file of the only member is the file of the whole binding.
        return arrays.value(take(data, fields[0]), name, is_runtime=block.runtime_array is not None)
    values: dict[str, Any] = {}
    for field in fields:
        words = [names[field.member], *field.path.split(".")[1:]]
        at = values
        for word in words[:-1]:
            at = at.setdefault(word, {})
        is_runtime = block.runtime_array is not None and field.member == len(names) - 1
        at[words[-1]] = arrays.value(take(data, field), ".".join([name, *words]), is_runtime=is_runtime)
    return values
