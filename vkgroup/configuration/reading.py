"""Reading of configurations from a JSON or TOML file."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import read_text
from vkgroup.base.suggestions import nearest
from vkgroup.configuration.fields import Configuration, ends_with, from_data, resolved

LIST = "configurations"
"""The field of a file that lists several configurations."""

_MERGED = ("defines", "push", "specialization", "inputs", "generated", "register_shift")
"""Fields of which a configuration replaces single entries of the file's defaults, not all."""


@dataclass(frozen=True)
class FileConfiguration:
    """A configuration of a file."""

    file: Path
    name: str  # the name, unique in its file; empty if the file is one configuration without a name
    fields: Configuration

    @property
    def where(self) -> str:
        """The file and the configuration, for messages."""
        return f"{self.file}, configuration {self.name!r}" if self.name else str(self.file)

    def path(self, name: str) -> Path:
        """Return a path in the configuration, which is relative to the file."""
        return resolved(self.file.parent, name)

    def has_shader(self, shader: Path) -> bool:
        """Return whether the configuration names a shader, or the end of its path, or none."""
        name, file = self.fields.shader, shader.resolve()
        if name is None or not (path := self.path(name)).exists():
            return name is None or ends_with(file, name)
        return path.resolve() == file


def read(file: Path) -> list[FileConfiguration]:
    """Return the configurations of a file: one, or those of its list, with its other fields as defaults.

    Raises InvalidInput: the file cannot be read, or something in it is invalid.
    """
    data = read_data(file)
    if LIST not in data:
        fields = from_data(data, str(file))
        return [FileConfiguration(file, fields.name, fields)]
    defaults = {name: value for name, value in data.items() if name != LIST}
    from_data(defaults, str(file))
    entries = data[LIST]
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidInput(f"{file}: {LIST}: expected a list of objects.")
    if not entries:
        raise InvalidInput(f"{file}: {LIST}: the list is empty.")
    names = _names(entries, file)
    configurations = []
    for name, entry in zip(names, entries, strict=True):
        where = f"{file}, configuration {name!r}"
        from_data(entry, where)
        fields = from_data(_merged(defaults, entry), where)
        configurations.append(FileConfiguration(file, name, fields))
    return configurations


def read_data(file: Path) -> dict[str, Any]:
    """Return the object in a file."""
    try:
        text = read_text(file, encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{file} is not a text file in UTF-8: {error}.") from error
    try:
        if file.suffix == ".toml":
            return tomllib.loads(text)
        data = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        language = "TOML" if file.suffix == ".toml" else "JSON"
        raise InvalidInput(f"{file} is not valid {language}: {error}.") from error
    if not isinstance(data, dict):
        raise InvalidInput(f"{file}: expected an object with the fields of a configuration.")
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; raise ValueError if a name is given twice."""
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise ValueError(f"{name!r} is given twice in one object")
    return dict(pairs)


def _names(entries: list[dict[str, Any]], file: Path) -> list[str]:
    """Return the name of each configuration: the given one, else its shader or its number."""
    unnamed = Counter(str(entry.get("shader", "")) for entry in entries if "name" not in entry)
    names = []
    for number, entry in enumerate(entries, 1):
        shader = str(entry.get("shader", ""))
        default = str(number) if not shader else shader if unnamed[shader] == 1 else f"{shader} #{number}"
        names.append(str(entry.get("name") or default))
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidInput(f"{file}: {count} configurations have the name {name!r}.")
    return names


def _merged(defaults: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a configuration with the defaults of its file."""
    merged = {**defaults, **entry}
    for field in _MERGED:
        if isinstance(defaults.get(field), dict) and isinstance(entry.get(field), dict):
            merged[field] = {**defaults[field], **entry[field]}
    return merged


def chosen(configurations: list[FileConfiguration], name: str | None) -> list[FileConfiguration]:
    """Return the configuration with a name, those that match a pattern (``*``), or all if the name is None.

    Raises InvalidInput: there is no configuration of that name.
    """
    if name is None:
        return configurations
    found = [entry for entry in configurations if entry.name == name]
    found = found or [entry for entry in configurations if fnmatchcase(entry.name, name)]
    if not found:
        names = [entry.name for entry in configurations]
        listed = ", ".join(filter(None, names[:20])) or "none with a name"
        raise InvalidInput(
            f"{configurations[0].file} has no configuration {name!r}.{nearest(name, names)}"
            f" There are: {listed}{', …' * (len(names) > 20)}."
        )
    return found
