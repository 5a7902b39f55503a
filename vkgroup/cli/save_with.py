"""``--save-with``: the configuration that a check assumed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vkgroup import choices
from vkgroup.check.assumed import inputs_of, name_at, push_of
from vkgroup.check.host import undeclared_size
from vkgroup.check.inputs import GIVEN, UNDEFINED
from vkgroup.cli import shaders
from vkgroup.cli.check_one import Checked
from vkgroup.cli.with_file import Settings
from vkgroup.configuration import Arrays, Configuration
from vkgroup.device import DeviceInfo
from vkgroup.dispatch.specialization import constant_of, notes_of
from vkgroup.spirv import Module


def assumed(
    settings: Settings, checked: Checked, devices: Sequence[DeviceInfo], file: Path, arrays: Arrays
) -> Configuration:
    """Return the configuration that repeats a check; arrays that are not short are written beside `file`."""
    options, module, report = settings.options, checked.module, checked.report
    sizes = options.subgroup_size or {*choices.CHECK_SIZES, *(device.subgroup_size for device in devices)}
    bound = {place: report.bindings[place] for place, origin in report.origins.items() if origin != UNDEFINED}
    generated = {
        name_at(module, place): report.origins[place] for place in bound if report.origins[place] != GIVEN
    }
    push = {**push_of(module.reflection.push_constants, report.push), **settings.push()}
    return Configuration(
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
        specialization=_specialization(settings, checked),
        inputs=inputs_of(module, bound, arrays),
        generated={**generated, **report.generated_push},
        outputs=list(options.outputs),
        seed=options.seed,
        subgroup_sizes=sorted(sizes),
        full_subgroups=options.full_subgroups,
        lanes=options.lanes,
        size_control=options.size_control,
        timeout=options.timeout,
        step_limit=options.step_limit,
    )


def _relative(path: Path, file: Path) -> str:
    """Return a path relative to the folder of a file."""
    return os.path.relpath(path, file.parent)


def _number(text: str) -> int | str:
    """Return the value of a macro, as a number if that is written in the same way."""
    return int(text) if text.isdecimal() and str(int(text)) == text else text


def _specialization(settings: Settings, checked: Checked) -> dict[str, bool | int | float]:
    """Return the values of the specialization constants by name or id.

    Constants with defaults are included for editing, unless their defaults explain a note of the report.
    """
    module, given = checked.module, settings.specialization()
    constants = module.reflection.specialization_constants
    names = [entry.name for entry in constants]
    every: dict[int | str, Any] = {entry.id: entry.value for entry in checked.report.covered.specialization}
    for key, value in given.items():
        constant = constant_of(key, constants)
        every[key if constant is None else constant.id] = value
    values = every if _notes(module, every) == _notes(module, given) else given
    named = {entry.id: entry.name for entry in constants if entry.name and names.count(entry.name) == 1}
    return {
        key if isinstance(key, str) else named.get(key) or str(key): value for key, value in values.items()
    }


def _notes(module: Module, given: Mapping[int | str, Any]) -> list[str]:
    """Return the notes of a check that depend on which constants are given."""
    entries = module.reflection.entry_points
    sizes = [note for entry in entries for note in undeclared_size(entry, module, given)]
    return [*notes_of([module], given), *sizes]
