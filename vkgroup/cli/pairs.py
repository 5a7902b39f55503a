"""Arguments of the form ``NAME=VALUE``: bindings with their files, constants with their numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.errors import InvalidInput

Key = str | int | tuple[int, int]


def arrays(inputs: list[tuple[str, str]]) -> dict[Key, npt.NDArray[Any]]:
    """Read the files of ``--in``.

    Raises
    ------
    InvalidInput
        A file cannot be read, or a binding is given twice.
    """
    found: dict[Key, npt.NDArray[Any]] = {}
    for name, file in inputs:
        if key(name) in found:
            raise InvalidInput(f"--in {name}={file}: {name} is given twice; give one file for each binding.")
        found[key(name)] = read(Path(file))
    return found


def once(given: list[tuple[str, str]], option: str) -> dict[str, str]:
    """Return the values of an option by name.

    Raises
    ------
    InvalidInput
        A name is given twice: one of the values would be lost.
    """
    found: dict[str, str] = {}
    for name, value in given:
        if name in found:
            raise InvalidInput(f"{option} {name}={value}: {name} is given twice.")
        found[name] = value
    return found


def key(name: str) -> Key:
    """Return how a binding is called: by name, by number, or by (set, number) for ``SET.NUMBER``."""
    match = re.fullmatch(r"(\d+)(?:\.(\d+))?", name)
    if match is None:
        return name
    return (int(match[1]), int(match[2])) if match[2] else int(match[1])


def constant(name: str) -> int | str:
    """Return how a specialization constant is called: by id or by name."""
    return int(name) if name.isdecimal() else name


def value(text: str) -> bool | int | float:
    """Return the number or truth value that a text stands for.

    Raises
    ------
    InvalidInput
        It stands for none.
    """
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text, 0) if re.fullmatch(r"[+-]?(\d+|0x[0-9a-fA-F]+)", text) else float(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is neither a number nor true or false.") from None


def values(text: str) -> Any:
    """Return one value, or those that commas separate."""
    found = [value(word) for word in text.split(",")]
    return found[0] if len(found) == 1 else found


def read(file: Path) -> npt.NDArray[Any]:
    """Read the array of an .npy file.

    Raises
    ------
    InvalidInput
        It is none.
    """
    try:
        array = np.load(file, allow_pickle=False)
    except Exception as error:
        # NumPy parses a header as Python and allocates what it promises: a wrong one raises nearly anything.
        raise InvalidInput(f"{file} cannot be read as an .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise InvalidInput(f"{file} holds several arrays; an .npy file holds one.")
    return array
