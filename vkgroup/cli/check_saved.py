"""``--save-with``: the configuration that a check assumed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from vkgroup.base import choices
from vkgroup.check import CheckRequest, Report
from vkgroup.check.configured import find_binding
from vkgroup.check.members import by_place, inputs_of, missing_members, name_at, push_of
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.options.shaders import COMPILATION
from vkgroup.cli.options.table import changed
from vkgroup.cli.settings import Settings
from vkgroup.configuration import Arrays, Configuration
from vkgroup.configuration.fields import Key
from vkgroup.configuration.generated import marks_of
from vkgroup.dispatch.stages import constant_of
from vkgroup.spirv import Module


def assumed(
    settings: Settings, request: CheckRequest, report: Report, file: Path, arrays: Arrays
) -> Configuration:
    """Return the configuration that repeats a check; arrays that are not short are written beside `file`."""
    options, module = settings.options, request.module
    sizes = request.sizes or {*choices.CHECK_SIZES, *(device.subgroup_size for device in request.devices)}
    by_key = by_place(module, request.inputs or {})
    given = by_key.keys()
    undefined = {_place(module, key) for key in request.outputs} - given
    bound = {place: value for place, value in report.bindings.items() if place not in undefined}
    specialization, chosen = _specialization(request, report)
    push = {**push_of(module.reflection.push_constants, report.push), **(request.push or {})}
    values: dict[str, Any] = {
        "shader": _relative(options.shader, file),
        "defines": {name: _number(str(value)) for name, value in request.defines.items()},
        "include": [_relative(Path(folder), file) for folder in options.include_paths],
        "groups": list(report.covered.groups),
        "local_size": None if options.local_size is None else list(options.local_size),
        "push": push,
        "specialization": specialization,
        "inputs": inputs_of(module, bound, arrays),
        "subgroup_sizes": sorted(sizes),
    }
    for option in OPTIONS["check"].options:
        # Options of the compilation are written if they do not have their default.
        if option.field and (option not in COMPILATION or changed([option], options)):
            values.setdefault(option.field, getattr(options, option.key))
    fields = Configuration(name=settings.name, **values)
    generated = {
        "inputs": [*_generated_inputs(module, bound, by_key)],
        "push": [name for name in push if name not in (request.push or {})],
        "specialization": chosen,
    }
    return msgspec.structs.replace(
        fields, generated=marks_of(fields, generated, lambda name: file.parent / name)
    )


def _generated_inputs(
    module: Module, bound: Iterable[tuple[int, int]], given: Mapping[tuple[int, int], Any]
) -> Iterator[str]:
    """Yield the names of the bindings, and of the members of a block, that are not given."""
    bindings = {(entry.set, entry.binding): entry for entry in module.reflection.bindings}
    for place in bound:
        name, value = name_at(module, place), given.get(place)
        if value is None:
            yield name
        elif isinstance(value, Mapping):
            yield from (f"{name}.{path}" for path in missing_members(bindings[place], value))


def _place(module: Module, key: Key) -> tuple[int, int]:
    """Return the (set, binding) of a key."""
    binding = find_binding(module, key, "--save-with")
    return binding.set, binding.binding


def _relative(path: Path, file: Path) -> str:
    """Return a path relative to the folder of a file."""
    return os.path.relpath(path, file.parent)


def _number(text: str) -> int | str:
    """Return the value of a macro, as a number if that is written in the same way."""
    return int(text) if text.isdecimal() and str(int(text)) == text else text


def _specialization(request: CheckRequest, report: Report) -> tuple[dict[str, bool | int | float], list[str]]:
    """Return the values of the specialization constants by name or id, and the names of those not given."""
    constants = request.module.reflection.specialization_constants
    names = [entry.name for entry in constants]
    named = {entry.id: entry.name for entry in constants if entry.name and names.count(entry.name) == 1}
    values: dict[str, bool | int | float] = {}
    for key, value in request.specialization.items():
        constant = constant_of(key, constants)
        number = key if constant is None else constant.id
        values[named.get(number, str(number)) if isinstance(number, int) else number] = value
    every = report.covered.specialization
    others = {named.get(entry.id, str(entry.id)): entry.value for entry in every}
    return {**others, **values}, [name for name in others if name not in values]
