"""Fields of a configuration, and the checks of their values."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from vkgroup.base import choices
from vkgroup.base.errors import InvalidInput
from vkgroup.base.suggestions import nearest, suggestion
from vkgroup.spec.stages import STAGE_NAMES

Key = str | int | tuple[int, int]
"""A binding: its name, its number in set 0, or (set, number)."""


class AllowedLine(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A finding that is allowed: its kind, its line (the number, or the text), and the reason.

    `file`: the file of the line, relative to the configuration, or the end of its path; empty for every file.
    """

    kind: str
    line: int | str
    reason: str
    file: str = ""


class Configuration(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How a shader is compiled, run and checked.

    ``docs/shaders/configuration.md`` has each field. None, or an empty collection: the value is not given.
    """

    name: str = ""
    # the shader and its compilation
    shader: str | None = None
    stage: str | None = None
    dialect: str | None = None
    compiler: str | None = None
    target: str | None = None
    entry_point: str | None = None
    optimize: str | None = None
    lower_legacy: bool | None = None
    robustness: str | None = None
    workgroup_zeros: str | None = None
    register_shift: dict[str, int] | None = None
    defines: dict[str, bool | int | float | str] = {}
    include: list[str] = []
    # the dispatch
    groups: int | list[int] | None = None
    local_size: int | list[int] | None = None
    push: dict[str, Any] = {}
    specialization: dict[str, bool | int | float] = {}
    inputs: dict[str, Any] = {}
    generated: dict[str, str] = {}
    outputs: list[str] = []
    seed: int | None = None
    # guarantees of the host, and limits
    subgroup_sizes: int | list[int] | None = None
    full_subgroups: bool | None = None
    lanes: str | None = None
    reconvergence: str | None = None
    progress: str | None = None
    size_control: bool | None = None
    timeout: float | None = None
    step_limit: int | None = None
    allow: list[AllowedLine] = []


FIELDS = tuple(field.name for field in msgspec.structs.fields(Configuration))
"""The names of all fields."""

_CHOICES: dict[str, Collection[str]] = {
    "stage": tuple(STAGE_NAMES),
    "dialect": choices.DIALECTS,
    "compiler": choices.COMPILERS,
    "target": choices.VULKAN_VERSIONS,
    "optimize": choices.OPTIMIZATIONS,
    "robustness": choices.SWITCH,
    "workgroup_zeros": choices.SWITCH,
    "lanes": choices.CHECK_LANES,
    "reconvergence": choices.CHECK_RECONVERGENCE,
    "progress": choices.CHECK_PROGRESS,
}
"""The fields that have one of several words."""

NUMBERS = ("groups", "local_size", "subgroup_sizes")
"""The fields with a number or a list of numbers; see `triple`."""

_MAX_SIZE = 128

_WORDS = {
    "int": "an integer",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
"""Types of JSON in words, by the names that msgspec uses."""


def key_of(name: str) -> Key:
    """Return the key of a binding: its name, its number, or (set, number) for ``SET.NUMBER``."""
    match = re.fullmatch(r"(\d+)(?:\.(\d+))?", name)
    if match is None:
        return name
    return (int(match[1]), int(match[2])) if match[2] else int(match[1])


def triple(numbers: int | list[int] | None) -> tuple[int, ...] | None:
    """Return the numbers of a field in `NUMBERS`; None if they are not given."""
    return None if numbers is None else (numbers,) if isinstance(numbers, int) else tuple(numbers)


def from_data(data: dict[str, Any], where: str) -> Configuration:
    """Return the configuration in an object of JSON or TOML.

    Raises InvalidInput: a field is unknown, or its value has a wrong type or is not allowed. The message
    begins with `where`.
    """
    for name in data:
        if name not in FIELDS:
            known = ", ".join(FIELDS)
            raise InvalidInput(
                f"{where}: unknown field {name!r}.{nearest(name, FIELDS) or f' There are: {known}.'}"
            )
    try:
        configuration = msgspec.convert(data, Configuration)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{where}: {_sentence(str(error))}") from None
    except UnicodeEncodeError:
        raise InvalidInput(f"{where}: a text has half of a surrogate pair (\\ud800 to \\udfff).") from None
    for problem in _problems(configuration):
        raise InvalidInput(f"{where}: {problem}")
    return configuration


def _sentence(message: str) -> str:
    """Return msgspec's message with the field first: ``groups[0]: expected an integer, not text``."""
    if (of_field := re.fullmatch(r"Object (.+?) field `(\w+)`(?: - at `\$\.?(.*)`)?", message)) is not None:
        known = suggestion(of_field[2], AllowedLine.__struct_fields__)
        problem = f"is unknown.{known}" if "unknown" in of_field[1] else "is missing."
        return f"{of_field[3]}: the field {of_field[2]!r} {problem}"
    match = re.fullmatch(r"Expected `(.+?)`, got `(.+?)`(?: - at `(?:key in )?\$\.?(.*)`)?", message)
    if match is None:
        return message
    wanted, given, field = match.groups()
    words = [_WORDS.get(word, word) for word in wanted.split(" | ") if word != "null"]
    field = field.replace("[...]", "")
    return f"{field}: expected {' or '.join(words)}, not {_WORDS.get(given, given)}."


def _problems(configuration: Configuration) -> Iterator[str]:
    """Yield a sentence for each value that is not allowed."""
    for field, words in _CHOICES.items():
        value = getattr(configuration, field)
        if value is not None and value not in words:
            yield f"{field}: {value!r} is not one of {', '.join(words)}.{nearest(value, words)}"
    for field in ("groups", "local_size"):
        numbers = triple(getattr(configuration, field))
        if numbers is not None and not (1 <= len(numbers) <= 3 and min(numbers) >= 1):
            yield f"{field}: expected one to three positive integers, not {list(numbers)}."
    for size in triple(configuration.subgroup_sizes) or ():
        if not 1 <= size <= _MAX_SIZE or size & (size - 1):
            yield f"subgroup_sizes: {size} is not a power of two from 1 to {_MAX_SIZE}."
    if configuration.subgroup_sizes == []:
        yield "subgroup_sizes: expected at least one size."
    if configuration.timeout is not None and not 0 < configuration.timeout < 86400:
        yield "timeout: expected a positive number of seconds, less than a day."
    if configuration.step_limit is not None and configuration.step_limit < 1:
        yield "step_limit: expected a positive integer."
    for number, entry in enumerate(configuration.allow):
        if not entry.reason.strip():
            yield f"allow[{number}]: the reason is empty: say why the finding is intended."
        if entry.line == "" or (isinstance(entry.line, int) and entry.line < 1):
            yield f"allow[{number}]: expected the number of a line, or its text."
    if configuration.seed is not None and configuration.seed < 0:
        yield "seed: expected an integer that is not negative."
    for name, shift in (configuration.register_shift or {}).items():
        if name not in ("b", "t", "s", "u") or shift < 0:
            yield f"register_shift: {name!r}: {shift} is not a class (b, t, s, u) with its shift."


def define_text(value: bool | int | float | str) -> str:
    """Return the text of a macro: 1 and 0 for true and false."""
    return str(int(value)) if isinstance(value, bool) else str(value)


def ends_with(file: str | Path, name: str) -> bool:
    """Return whether the path of a file ends with a relative path."""
    parts = Path(name).parts
    return bool(parts) and Path(file).parts[-len(parts) :] == parts


def resolved(folder: Path, name: str) -> Path:
    """Return a path of a configuration, which is relative to the folder of its file."""
    path = folder / Path(name).expanduser()
    # "folder/../x.comp" is shown as "x.comp"; with symbolic links these may be two files.
    short = Path(os.path.normpath(path))
    return short if short.exists() else path
