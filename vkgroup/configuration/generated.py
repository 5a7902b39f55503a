"""Generated values in a configuration: which of them are as they were written, and which were edited."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from vkgroup.base.errors import InvalidInput
from vkgroup.base.suggestions import nearest
from vkgroup.configuration.fields import Configuration

SECTIONS = ("inputs", "push", "specialization")
"""The fields that may have generated values."""


def digest_of(value: Any, path: Callable[[str], Path]) -> str:
    """Return the digest of a value, and of the files that it names.

    `path`: returns the path for a name in the configuration.
    """
    state = hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=8)
    for name in _names(value):
        try:
            state.update(path(name).read_bytes())
        except OSError:
            state.update(b"missing")
    return state.hexdigest()


def _names(value: Any) -> Iterator[str]:
    """Yield the texts in a value, which name files or bindings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _names(part)


def marks_of(
    fields: Configuration, names: dict[str, list[str]], path: Callable[[str], Path]
) -> dict[str, str]:
    """Return the field ``generated`` for values of a configuration.

    `names`: the names of the generated values by field, one of `SECTIONS`.
    """
    return {
        f"{section}.{name}": digest_of(holder[word], path)
        for section, given in names.items()
        for name in given
        for holder, word in _holders(getattr(fields, section), name)
    }


def _holders(values: dict[str, Any], name: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the object and the word in it of a name: a value, or a member such as ``u.width``; or nothing."""
    if name in values:
        yield values, name
        return
    for key, value in values.items():
        if name.startswith(f"{key}.") and isinstance(value, dict):
            yield from _holders(value, name.removeprefix(f"{key}."))
            return


def without_generated(fields: Configuration, path: Callable[[str], Path], where: str) -> Configuration:
    """Return a configuration without the generated values that are as they were written.

    Raises InvalidInput: a name in ``generated`` is not ``FIELD.NAME`` with a field of `SECTIONS`.
    """
    values = {section: copy.deepcopy(getattr(fields, section)) for section in SECTIONS}
    for mark, digest in fields.generated.items():
        section, _, name = mark.partition(".")
        if section not in SECTIONS:
            raise InvalidInput(
                f"{where}, generated: {mark!r} does not begin with {', '.join(SECTIONS)}."
                f"{nearest(section, SECTIONS)}"
            )
        for holder, word in list(_holders(values[section], name)):
            if digest_of(holder[word], path) == digest:
                del holder[word]
    return msgspec.structs.replace(fields, **values)
