"""Inputs by the members of blocks: given singly (``{"u.width": 29}``), and those that a check assumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, InvalidInput
from vkgroup.base.suggestions import nearest
from vkgroup.check.configured import find_binding, keys_of, members_of, names_of, typed
from vkgroup.check.fields import Field, fields_of, member_names, put, take
from vkgroup.check.inputs import is_globals
from vkgroup.configuration import Arrays
from vkgroup.configuration.fields import Key, key_of
from vkgroup.dispatch.blocks import check_array
from vkgroup.spirv import Binding, Module, PushConstants, StructType


def require_fit(module: Module, binding: Binding, given: npt.NDArray[Any]) -> None:
    """Raise InvalidDispatch where an array fits none of the blocks of its place: several may view it."""
    refusals = []
    for one in module.reflection.bindings:
        if one.place == binding.place and isinstance(one.type, StructType):
            try:
                check_array(given, one.type, f"The binding {binding.name or binding.block_name!r}")
            except InvalidDispatch as error:
                refusals.append(error)
            else:
                return
    raise refusals[0]


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of nested mappings by path: ``{"a": {"b": 1}}`` as ``{"a.b": 1}``."""
    result: dict[str, Any] = {}
    for name, value in values.items():
        inner = flat(value) if isinstance(value, Mapping) else {"": value}
        result |= {f"{name}.{part}" if part else name: entry for part, entry in inner.items()}
    return result


def with_member(values: Mapping[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return nested mappings in which one member has another value."""
    name, _, rest = path.partition(".")
    inner = values.get(name)
    if rest:
        value = with_member(inner if isinstance(inner, Mapping) else {}, rest, value)
    return {**values, name: value}


def split_member(module: Module, key: Key) -> tuple[Key, str]:
    """Return the key of a binding and the path of a member in it; the path is empty for a whole binding."""
    if not isinstance(key, str):
        return key, ""
    known = set[Key]().union(*map(keys_of, module.reflection.bindings))
    ends = [number for number, letter in enumerate(key) if letter == "."]
    for end in (len(key), *reversed(ends)):
        if key_of(key[:end]) in known:
            return key[:end], key[end + 1 :]
    for binding in filter(is_globals, module.reflection.bindings):
        block = binding.type
        if isinstance(block, StructType) and key.split(".")[0] in members_of(block, binding):
            return binding.name, key
    return key, ""


def by_place(module: Module, inputs: Mapping[Key, Any]) -> dict[tuple[int, int], Any]:
    """Return the inputs by (set, binding), the members of one binding in one mapping by path.

    Raises InvalidInput: there is no such binding, or one is given twice.
    """
    result: dict[tuple[int, int], Any] = {}
    for key, value in inputs.items():
        name, path = split_member(module, key)
        binding = find_binding(module, name, "inputs")
        given = flat({path: value}) if path else flat(value) if isinstance(value, Mapping) else value
        if isinstance(given, dict) and _is_whole(binding):
            given = {f"{binding.name}.{path}": value for path, value in given.items()}
        before = result.get(binding.place)
        if isinstance(before, dict) and isinstance(given, dict) and not before.keys() & given.keys():
            given = {**before, **given}
        elif before is not None:
            raise InvalidInput(f"inputs: {key!r} is given twice.")
        result[binding.place] = given
    return result


def _is_whole(binding: Binding) -> bool:
    """Whether the only member of a block is the variable itself, which is a structure, as in WGSL."""
    block = binding.type
    if not isinstance(block, StructType) or member_names(block, binding.name) != [binding.name]:
        return False
    return isinstance(block.members[0].type, StructType)


def require_members(binding: Binding, values: Mapping[str, Any]) -> StructType:
    """Return the block of a binding; raise InvalidInput if it lacks one of the members."""
    label = binding.name or binding.block_name
    if not isinstance(binding.type, StructType):
        raise InvalidInput(f"{label!r} is no buffer, so it has no members.")
    fields = fields_of(binding.type, binding.type.fixed_size, binding.name)
    paths = [field.path for field in fields]
    known = dict.fromkeys([*members_of(binding.type, binding), *paths])
    for path in values:
        if path not in known:
            raise InvalidInput(
                f"{label!r} has no member {path!r}.{nearest(path, known)} There are: {', '.join(known)}."
            )
    return binding.type


def given_name(field: Field, top: str, values: Mapping[str, Any]) -> str | None:
    """Return the path under which the value of a field is given: its own or its member's; None if neither."""
    return next((name for name in (field.path, top) if name in values), None)


def given_length(values: Mapping[str, Any], last: str) -> int | None:
    """Return the number of elements of a runtime array whose contents are given; None if they are not."""
    shapes = [np.shape(value) for path, value in values.items() if (path + ".").startswith(last + ".")]
    return max((shape[0] if shape else 1 for shape in shapes), default=None)


def missing_members(binding: Binding, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paths of the fields of a block that are not given."""
    block = binding.type
    assert isinstance(block, StructType)
    names = members_of(block, binding)
    for field in fields_of(block, block.fixed_size, binding.name):
        if given_name(field, names[field.member], values) is None:
            yield field.path


def put_given(data: npt.NDArray[np.uint8], field: Field, value: Any, what: str) -> None:
    """Write a given value into a field of a block.

    Raises InvalidDispatch, which begins with `what`, if it does not fit.
    """
    try:
        given = np.broadcast_to(np.asarray(value), field.offsets.shape)
        if field.dtype.kind in "ui" and (given.astype(field.dtype) != given).any():
            raise ValueError
        put(data, field, given)
    except (ValueError, TypeError, OverflowError):
        shape = field.offsets.shape
        wanted = f"numbers of the shape {shape}" if shape else "one number"
        raise InvalidDispatch(f"{what} takes {wanted} ({field.dtype.name}), not {value!r}.") from None


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
        listed = given if isinstance(given, list) else [given]
        # A combined image sampler has its texels with a sampler.
        parts = [np.asarray(part[0] if isinstance(part, tuple) else part) for part in listed]
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


def _described(binding: Binding, array: npt.NDArray[Any], name: str, arrays: Arrays) -> Any:
    """Return the value of a binding; of a buffer an object with its members, or the value of its only one."""
    if not isinstance(binding.type, StructType):
        return arrays.texels(array, name)
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    fields = fields_of(binding.type, len(data), binding.name)
    if not _has_all(fields, data, members_of(binding.type, binding)):
        return arrays.save(typed(fields, data), name)
    names = members_of(binding.type, binding)
    is_open = binding.type.runtime_array is not None
    if len(fields) == 1 and take(data, fields[0]).nbytes == len(data):
        # Without padding, the file of the only member is the file of the whole binding.
        return arrays.value(take(data, fields[0]), name, is_runtime=is_open)
    values: dict[str, Any] = {}
    for field in fields:
        words = [names[field.member], *field.path.split(".")[1:]]
        at = values
        for word in words[:-1]:
            at = at.setdefault(word, {})
        is_runtime = is_open and field.member == len(names) - 1
        at[words[-1]] = arrays.value(take(data, field), ".".join([name, *words]), is_runtime=is_runtime)
    return values


def _has_all(fields: tuple[Field, ...], data: npt.NDArray[np.uint8], names: list[str]) -> bool:
    """Return whether fields have all bytes of a buffer, except zeros, and each member has its own name."""
    unknown = any(field.is_pointer or field.dtype.kind == "V" for field in fields)
    if "" in names or len(set(names)) != len(names) or unknown:
        return False
    again = np.zeros_like(data)
    for field in fields:
        put(again, field, take(data, field))
    return all(field.offsets.size for field in fields) and np.array_equal(again, data)
