"""``--save-with``: the configuration that a check assumed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from vkgroup.base import choices
from vkgroup.check.assumed import inputs_of, name_at, push_of
from vkgroup.check.configured import find_binding
from vkgroup.cli import pairs, shaders
from vkgroup.cli.check_one import CheckedShader
from vkgroup.cli.with_file import Settings
from vkgroup.configuration import Arrays, Configuration
from vkgroup.configuration.generated import marks_of
from vkgroup.device import DeviceInfo
from vkgroup.dispatch.specialization import constant_of
from vkgroup.spirv import Module


def assumed(
    settings: Settings, checked: CheckedShader, devices: Sequence[DeviceInfo], file: Path, arrays: Arrays
) -> Configuration:
    """Return the configuration that repeats a check; arrays that are not short are written beside `file`."""
    options, module, report = settings.options, checked.module, checked.report
    sizes = options.subgroup_size or {*choices.CHECK_SIZES, *(device.subgroup_size for device in devices)}
    given = {_place(module, key) for key in settings.inputs(module)}
    undefined = {_place(module, pairs.key(name)) for name in options.outputs} - given
    bound = {place: value for place, value in report.bindings.items() if place not in undefined}
    specialization, chosen = _specialization(settings, checked)
    push = {**push_of(module.reflection.push_constants, report.push), **settings.push()}
    fields = Configuration(
        name=settings.name,
        shader=_relative(options.shader, file),
        stage=options.stage,
        dialect=options.dialect,
        compiler=None if options.compiler == choices.COMPILERS[0] else options.compiler,
        target=vars(options).get("target"),
        entry_point=None if options.entry_point == "main" else options.entry_point,
        optimize=options.optimize,
        lower_legacy=options.lower_legacy or None,
        register_shift=options.register_shift,
        defines={name: _number(value) for name, value in map(shaders.define, options.defines)},
        include=[_relative(Path(folder), file) for folder in options.include_paths],
        groups=list(report.covered.groups),
        local_size=None if options.local_size is None else list(options.local_size),
        push=push,
        specialization=specialization,
        inputs=inputs_of(module, bound, arrays),
        outputs=list(options.outputs),
        seed=options.seed,
        subgroup_sizes=sorted(sizes),
        full_subgroups=options.full_subgroups,
        lanes=options.lanes,
        size_control=options.size_control,
        timeout=options.timeout,
        step_limit=options.step_limit,
    )
    generated = {
        "inputs": [name_at(module, place) for place in bound if place not in given],
        "push": [name for name in push if name not in settings.push()],
        "specialization": chosen,
    }
    return msgspec.structs.replace(
        fields, generated=marks_of(fields, generated, lambda name: file.parent / name)
    )


def _place(module: Module, key: pairs.Key) -> tuple[int, int]:
    """Return the (set, binding) of a key."""
    binding = find_binding(module, key, "--save-with")
    return binding.set, binding.binding


def _relative(path: Path, file: Path) -> str:
    """Return a path relative to the folder of a file."""
    return os.path.relpath(path, file.parent)


def _number(text: str) -> int | str:
    """Return the value of a macro, as a number if that is written in the same way."""
    return int(text) if text.isdecimal() and str(int(text)) == text else text


def _specialization(
    settings: Settings, checked: CheckedShader
) -> tuple[dict[str, bool | int | float], list[str]]:
    """Return the values of the specialization constants by name or id, and the names of those not given."""
    given = settings.specialization(checked.module)
    constants = checked.module.reflection.specialization_constants
    names = [entry.name for entry in constants]
    named = {entry.id: entry.name for entry in constants if entry.name and names.count(entry.name) == 1}
    values: dict[str, bool | int | float] = {}
    for key, value in given.items():
        constant = constant_of(key, constants)
        number = key if constant is None else constant.id
        values[named.get(number, str(number)) if isinstance(number, int) else number] = value
    every = checked.report.covered.specialization
    others = {named.get(entry.id, str(entry.id)): entry.value for entry in every}
    return {**others, **values}, [name for name in others if name not in values]
