"""Values of inputs in a configuration: numbers, lists, .npy files, and rules that make arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidInput
from vkgroup.base.files import read_array
from vkgroup.base.masks import refuse_mask
from vkgroup.base.numbers import as_numbers, rounded_floats
from vkgroup.base.suggestions import nearest

RULES = ("random", "arange", "fill", "zeros", "indices_of", "from")
"""The rules; an object with one of these names is a rule."""

_SIZES = ("length", "shape")

_MOST = 1 << 28
"""Maximum length of an array that a rule makes, which limits time and memory."""


@dataclass(frozen=True)
class ArrayRule:
    """A rule that makes the numbers of an array."""

    kind: str  # one of `RULES`
    value: Any
    shape: tuple[int, ...] | None  # the shape, or the length alone; None if the rule does not give it

    @property
    def numbers(self) -> int | None:
        """The count of numbers that the rule itself gives; None if it fits any shape."""
        return len(self.arange()) if self.kind == "arange" else None

    def arange(self) -> range:
        """Return the numbers of ``arange``."""
        return range(*self.value) if isinstance(self.value, list) else range(self.value)


@dataclass(frozen=True)
class Source:
    """What rules need beside themselves."""

    where: str  # the file and the field, for messages
    path: Callable[[str], Path]  # the path for a name in the configuration
    seed: int  # seed of random numbers
    length_of: Callable[[str], int]  # the number of elements of a binding, for ``indices_of``

    def random(self) -> np.random.Generator:
        """Return the generator of an input; the other inputs do not change its numbers."""
        return np.random.default_rng([self.seed, *self.where.rpartition(", ")[2].encode()])


def is_rule(value: object, members: Collection[str] = ()) -> bool:
    """Return whether a value is a rule. An object that has only names of `members` is not a rule."""
    return isinstance(value, dict) and not value.keys().isdisjoint(RULES) and not value.keys() <= set(members)


def parse(value: dict[str, Any], where: str) -> ArrayRule:
    """Return the rule of an object; raise InvalidInput if it is invalid."""
    kinds = [name for name in value if name in RULES]
    others = [name for name in value if name not in (*RULES, *_SIZES)]
    if len(kinds) != 1:
        raise InvalidInput(f"{where}: give one of the rules {' and '.join(map(repr, kinds))}.")
    if others:
        known = (*RULES, *_SIZES)
        raise InvalidInput(f"{where}: a rule has no field {others[0]!r}.{nearest(others[0], known)}")
    kind, shape = kinds[0], _shape(value, where)
    argument = value[kind]
    if kind in ("arange", "from", "zeros") and shape is not None:
        size = next(name for name in _SIZES if name in value)
        raise InvalidInput(f"{where}: {kind!r} gives the length itself; leave out {size!r}.")
    if kind == "zeros":
        if not _is_count(argument):
            raise InvalidInput(f"{where}: 'zeros' takes an integer from 1 to {_MOST}, not {argument!r}.")
        return ArrayRule("fill", 0, (argument,))
    if not _ALLOWED[kind][0](argument):
        raise InvalidInput(f"{where}: {kind!r} takes {_ALLOWED[kind][1]}, not {argument!r}.")
    return ArrayRule(kind, argument, shape)


def _shape(value: dict[str, Any], where: str) -> tuple[int, ...] | None:
    """Return the shape of a rule; of a length, one number."""
    if "length" in value and "shape" in value:
        raise InvalidInput(f"{where}: give 'length' or 'shape', not both.")
    if "length" in value:
        if not _is_count(value["length"]):
            raise InvalidInput(
                f"{where}: 'length' takes an integer from 1 to {_MOST}, not {value['length']!r}."
            )
        return (value["length"],)
    if "shape" not in value:
        return None
    shape = value["shape"]
    counts = isinstance(shape, list) and shape and all(map(_is_count, shape))
    if not counts or math.prod(shape) > _MOST:
        raise InvalidInput(
            f"{where}: 'shape' takes a list of positive integers with a product of at most {_MOST}, not"
            f" {shape!r}."
        )
    return tuple(shape)


def _is_count(value: object) -> bool:
    return _is_integer(value) and isinstance(value, int) and 0 < value <= _MOST


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float)


def _is_range(value: object) -> bool:
    """Return whether a value is the argument of ``random``: two numbers, the lower one first."""
    return (
        isinstance(value, list) and len(value) == 2 and all(map(_is_number, value)) and value[0] <= value[1]
    )


def _is_arange(value: object) -> bool:
    """Return whether a value is the argument of ``arange``: a number, or one to three of them."""
    if not isinstance(value, list):
        return _is_count(value)
    if not (1 <= len(value) <= 3 and all(map(_is_integer, value))) or (len(value) == 3 and value[2] == 0):
        return False
    return 0 < len(range(*value)) <= _MOST


_ALLOWED: dict[str, tuple[Callable[[object], bool], str]] = {
    "random": (_is_range, "[LOW, HIGH]"),
    "arange": (_is_arange, "N, [START, STOP] or [START, STOP, STEP] with integers, for at least one number"),
    "fill": (_is_number, "a number, true or false"),
    "indices_of": (lambda value: isinstance(value, str), "the name of a binding"),
    "from": (lambda value: isinstance(value, str), "the name of an .npy file"),
}
"""The check of each rule's argument, and the argument in words."""


def numbers(value: Any, dtype: np.dtype[Any], where: str) -> npt.NDArray[Any]:
    """Return a number or nested lists of numbers as an array of a type.

    Raises InvalidInput: the value has something else than numbers, or a number does not fit the type.
    """
    refuse_mask(value, where, InvalidInput)
    try:
        given = as_numbers(value)
    except (ValueError, OverflowError):
        raise InvalidInput(f"{where}: the rows of the list differ in length.") from None
    if given.dtype.kind not in "biuf" and given.size:
        raise InvalidInput(f"{where}: expected numbers of type {dtype.name}, not {_short(value)}.")
    return converted(given, dtype, where)


def converted(given: npt.NDArray[Any], dtype: np.dtype[Any], where: str) -> npt.NDArray[Any]:
    """Return numbers in another type; raise InvalidInput if one of them is out of its range."""
    if dtype.kind == "V":
        raise InvalidInput(f"{where}: numbers of this type cannot be given in a list; give an .npy file.")
    if dtype.kind == "f":
        rounded, beyond = rounded_floats(given, dtype)
        if beyond.any():
            wrong = given[beyond].reshape(-1)[0]
            raise InvalidInput(f"{where}: {wrong} is over the largest number of type {dtype.name}.")
        return rounded
    with np.errstate(invalid="ignore", over="ignore"):
        result = given.astype(dtype)
    if dtype.kind in "iu" and not np.array_equal(result, given):
        wrong = given[result != given].reshape(-1)[0]
        raise InvalidInput(f"{where}: {wrong} is not a number of type {dtype.name}.")
    return result


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def load(file: Path, where: str) -> npt.NDArray[Any]:
    """Return the array of an .npy file."""
    try:
        array = read_array(file)
    except OSError as error:
        raise InvalidInput(f"{where}: {file} cannot be read: {error.strerror or error}.") from error
    except Exception as error:
        # NumPy parses the header as Python and allocates the size in it, so a wrong header can raise any
        # error.
        raise InvalidInput(f"{where}: {file} cannot be read as an .npy file: {error}") from error
    if not isinstance(array, np.ndarray):
        raise InvalidInput(f"{where}: {file} contains several arrays; give an .npy file with one array.")
    return array


def elements(value: Any, inner: tuple[int, ...], source: Source) -> int | None:
    """Return the number of elements of a runtime array that a value gives; None if it fits any number.

    `inner`: the shape of one element, for example ``(4,)`` for a vector.
    """
    if isinstance(value, str):
        value = {"from": value}
    each = math.prod(inner)
    if is_rule(value):
        rule = parse(value, source.where)
        if rule.kind == "from":
            return _count(load(source.path(rule.value), source.where).shape, inner, source.where)
        if rule.shape is not None:
            return rule.shape[0] if len(rule.shape) == 1 else _count(rule.shape, inner, source.where)
        return None if rule.numbers is None else _count((rule.numbers,), inner, source.where)
    if isinstance(value, list):
        flat = each == 1 or not value or isinstance(value[0], list | dict)
        return len(value) if flat else _count((len(value),), inner, source.where)
    return None


def _count(shape: tuple[int, ...], inner: tuple[int, ...], where: str) -> int:
    """Return the elements of an array whose last axes are those of one element, or of a flat array."""
    if shape[1:] == inner:
        return shape[0]
    total, each = math.prod(shape), math.prod(inner)
    if total % each:
        raise InvalidInput(f"{where}: {total} numbers are no whole number of elements of {each} numbers.")
    return total // each


def make(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any], source: Source) -> npt.NDArray[Any]:
    """Return the array of a value: a number, lists, the name of an .npy file, or a rule.

    Raises InvalidInput: the value does not fit the shape or the type.
    """
    if isinstance(value, str):
        value = {"from": value}
    if not isinstance(value, dict):
        return _fitted(numbers(value, dtype, source.where), shape, source.where)
    if not is_rule(value):
        raise InvalidInput(
            f"{source.where}: expected numbers or a rule ({', '.join(RULES)}), not an object with"
            f" {', '.join(map(repr, value)) or 'nothing'}.{nearest(next(iter(value), ''), RULES)}"
        )
    rule = parse(value, source.where)
    if (
        rule.shape is not None
        and rule.shape not in (shape, shape[:1])
        and math.prod(rule.shape) != math.prod(shape)
    ):
        raise InvalidInput(f"{source.where}: expected the shape {list(shape)}, not {list(rule.shape)}.")
    if rule.kind == "from":
        array = converted(load(source.path(rule.value), source.where), dtype, source.where)
        return _fitted(array, shape, source.where)
    if rule.kind == "arange":
        return _fitted(numbers(list(rule.arange()), dtype, source.where), shape, source.where)
    if rule.kind == "fill":
        return np.full(shape, numbers(rule.value, dtype, source.where), dtype)
    return _random(rule, shape, dtype, source)


def _random(
    rule: ArrayRule, shape: tuple[int, ...], dtype: np.dtype[Any], source: Source
) -> npt.NDArray[Any]:
    """Return the numbers of ``random`` and ``indices_of``."""
    if rule.kind == "random":
        low, high = rule.value
        if dtype.kind == "f":
            return source.random().uniform(low, high, shape).astype(dtype)
        numbers([low, high], dtype, source.where)
        return source.random().integers(low, high, shape, np.dtype(dtype), endpoint=True)
    if dtype.kind not in "iu":
        raise InvalidInput(f"{source.where}: 'indices_of' needs integers; the binding has {dtype.name}.")
    count = source.length_of(rule.value)
    return converted(source.random().integers(0, count, shape), dtype, source.where)


def _fitted(array: npt.NDArray[Any], shape: tuple[int, ...], where: str) -> npt.NDArray[Any]:
    """Return an array in a shape; a flat array with as many numbers fits, too."""
    if array.shape == shape or (array.ndim == 1 and array.size == math.prod(shape)):
        return array.reshape(shape)
    wanted = f"numbers of the shape {list(shape)}" if shape else "one number"
    given = f"the shape {list(array.shape)}" if array.ndim else "one number"
    raise InvalidInput(f"{where}: expected {wanted}, not {given}.")
