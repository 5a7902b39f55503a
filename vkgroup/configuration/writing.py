"""Writing of configurations: arrays as rules, as lists, or in .npy files beside the file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import write_array, write_whole
from vkgroup.configuration.fields import Configuration
from vkgroup.configuration.reading import LIST

MOST_INLINE = 64
"""Maximum count of numbers that are written as a list."""

_EXACT = 1 << 62
"""Limit of the numbers of a sequence, so that 64-bit integers hold all of them."""


class Arrays:
    """Writes the arrays of a configuration; `file` is the file of the configuration.

    A name is used for one .npy file, so arrays of several configurations do not replace each other.
    """

    def __init__(self, file: Path) -> None:
        if file.is_dir() or not file.parent.is_dir():
            why = "it is a folder" if file.is_dir() else f"there is no folder {file.parent}"
            raise InvalidInput(f"{file} cannot be written: {why}.")
        # An existing file is replaced. It must not be a shader that was given by mistake.
        if file.suffix != ".json":
            raise InvalidInput(f"{file}: configurations are written as JSON; give a name that ends in .json.")
        self._file = file
        self._used: set[str] = set()

    def value(self, array: npt.NDArray[Any], name: str, *, is_runtime: bool = False) -> Any:
        """Return what gives the numbers of an array: a number, a rule, lists, or an .npy file's name.

        `is_runtime`: whether the first axis is that of a runtime array, whose length a rule must give.
        """
        if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
            return self.save(array, name)
        if not array.ndim:
            return _plain(array)
        rule = _rule(array)
        if rule is not None:
            return {**rule, "length": array.shape[0]} if is_runtime and "fill" in rule else rule
        return _plain(array) if array.size <= MOST_INLINE else self.save(array, name)

    def texels(self, array: npt.NDArray[Any], name: str) -> Any:
        """Return what gives the texels of an image; a rule has the shape."""
        value = self.value(array, name)
        if not isinstance(value, dict):
            return value
        return {**value, "shape": list(array.shape)} if "fill" in value else self.save(array, name)

    def save(self, array: npt.NDArray[Any], name: str) -> str:
        """Write an array beside the file, and return the name of its file."""
        stem = f"{self._file.stem}-{re.sub(r'[^A-Za-z0-9_.-]+', '_', name).strip('_') or 'array'}"
        names = [f"{stem}.npy", *(f"{stem}-{number}.npy" for number in range(2, len(self._used) + 3))]
        free = next(entry for entry in names if entry not in self._used)
        self._used.add(free)
        path = self._file.with_name(free)
        try:
            write_array(path, array)
        except OSError as error:
            raise InvalidInput(f"{path} cannot be written: {error.strerror or error}") from error
        return free


def _rule(array: npt.NDArray[Any]) -> dict[str, Any] | None:
    """Return the rule that makes exactly an array: equal numbers, or whole numbers with equal steps."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.size < 2:
        return None
    bits = flat.view(np.uint8).reshape(flat.size, -1)
    if (bits == bits[0]).all():
        return {"fill": _plain(flat[:1])[0]}
    if flat.dtype.kind == "b" or flat.size < 3:
        return None
    start, step, last = int(flat[0]), int(flat[1]) - int(flat[0]), int(flat[-1])
    stop = start + step * flat.size
    if step == 0 or last != stop - step or max(abs(start), abs(stop)) >= _EXACT:
        return None
    if np.arange(start, stop, step).astype(flat.dtype).tobytes() != flat.tobytes():
        return None
    return {"arange": flat.size} if (start, step) == (0, 1) else {"arange": [start, stop, step]}


def _plain(array: npt.NDArray[Any]) -> Any:
    """Return a number or nested lists; floats have the fewest digits that give the same number again."""
    if array.dtype.kind != "f" or array.dtype.itemsize >= 8:
        return array.tolist()
    short = np.array([float(str(number)) for number in array.reshape(-1)], np.float64)
    return short.reshape(array.shape).tolist()


def write(file: Path, configurations: Sequence[Configuration]) -> None:
    """Write one configuration, or the list of several, as JSON; an existing file is replaced.

    Raises InvalidInput: the file cannot be written.
    """
    fields = [msgspec.to_builtins(entry) for entry in configurations]
    data = fields[0] if len(fields) == 1 else {LIST: fields}
    try:
        write_whole(file, text_of(data) + "\n")
    except OSError as error:
        raise InvalidInput(f"{file} cannot be written: {error.strerror or error}") from error


def text_of(data: Any, indent: str = "") -> str:
    """Return JSON with each field on its own line, and lists of numbers on one line."""
    if isinstance(data, dict) and data and not _is_short(data):
        inner = indent + "  "
        parts = [f"{inner}{json.dumps(name)}: {text_of(value, inner)}" for name, value in data.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(data, list) and any(isinstance(entry, dict) for entry in data):
        inner = indent + "  "
        return "[\n" + ",\n".join(inner + text_of(entry, inner) for entry in data) + f"\n{indent}]"
    return json.dumps(data, ensure_ascii=False)


def _is_short(data: dict[str, Any]) -> bool:
    """Return whether an object fits on one line: few plain values."""
    return (
        len(data) <= 3
        and not any(isinstance(value, dict) for value in data.values())
        and (len(json.dumps(data)) <= 60)
    )
