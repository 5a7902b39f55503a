"""Arguments of the form ``NAME=VALUE``: bindings with files, constants with numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import read_array
from vkgroup.configuration import key_of as key
from vkgroup.configuration.fields import Key

__all__ = ["Key", "are_numbers", "arrays", "constant", "key", "member", "once", "read", "value", "values"]


def arrays(inputs: list[tuple[str, str]]) -> dict[Key, npt.NDArray[Any]]:
    """Return the arrays of ``--in`` by binding."""
    bindings: dict[Key, npt.NDArray[Any]] = {}
    for name, file in inputs:
        if key(name) in bindings:
            raise InvalidInput(f"--in {name}={file}: {name} is given twice; give one file for each binding.")
        bindings[key(name)] = read(Path(file))
    return bindings


def once(given: list[tuple[str, str]], option: str) -> dict[str, str]:
    """Return the values of an option by name."""
    by_name: dict[str, str] = {}
    for name, value in given:
        if name in by_name:
            raise InvalidInput(
                f"{option} {name}={value}: {name} is given twice; give one value for each name."
            )
        by_name[name] = value
    return by_name


def constant(name: str) -> int | str:
    """Return the key of a specialization constant: its id or its name."""
    return int(name) if name.isdecimal() else name


def value(text: str) -> bool | int | float:
    """Return the number or Boolean of a text."""
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text, 0) if re.fullmatch(r"[+-]?(\d+|0x[0-9a-fA-F]+)", text) else float(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is neither a number nor true or false.") from None


def values(text: str) -> Any:
    """Return one value, or a list of values separated by commas."""
    numbers = [value(word) for word in text.split(",")]
    return numbers[0] if len(numbers) == 1 else numbers


def are_numbers(text: str) -> bool:
    """Return whether a text is a list of numbers, and no name of a file."""
    try:
        values(text)
    except InvalidInput:
        return False
    return True


def member(text: str) -> Any:
    """Return the value of a member of a block: the array of an .npy file, or numbers separated by commas."""
    return read(Path(text)) if text.endswith(".npy") else values(text)


def read(file: Path) -> npt.NDArray[Any]:
    """Return the array of an .npy file."""
    try:
        array = read_array(file)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror or error}.") from error
    except Exception as error:
        # NumPy parses the header as Python and allocates the size in it, so a wrong header can raise any
        # error.
        raise InvalidInput(f"{file} cannot be read as an .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise InvalidInput(f"{file} contains several arrays; give an .npy file with one array.")
    return array
