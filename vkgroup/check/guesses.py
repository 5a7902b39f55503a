"""Alternative values of generated integers, guessed from their names: sizes, strides, counts, offsets.

Names follow common practice: ``ne01`` or ``n1`` is the size of dimension 1, ``nb01`` or ``stride1`` its
stride; ``w``, ``h`` and ``c`` are sizes; ``cstep`` is the stride of a channel.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from vkgroup.check.contents import COUNTS, NAMED, SIZES, STARTS, partial_count
from vkgroup.check.inputs import GeneratedNumber, NumberKey

Numbers = Mapping[NumberKey, int]

_STRIDE = re.compile(r"stride|step|pitch|^nb\d|_nb\d|^s[a-z]{0,2}\d$|_s\d$|jump")
_SIZE = re.compile(
    r"^n[ekrc]?\d|^n[a-z]+$|^n_|^num_|dim|rows|cols|width|height|^[whdc]$|^[A-Z]{1,2}$|size|out[whdc]$|head"
)
_OFFSET = re.compile(r"^s_off|offset|^off")
_OUTER = re.compile(r"batch|channel|cstep|plane|slice")
_DIGIT = re.compile(r"(\d)\]?$")
_DIVISION = re.compile(r"_?(\d+)_?(mp|magic|L|shift)$")
"""Multiplier and shift of a division by the product of the sizes with these numbers, as in ``ne0_12mp``."""

_FAMILIES = ((16, 64, 0), (4, 64, 1 << 18), (4, 16, 0), (64, 128, 0), (2, 32, 0), (1, 64, 0))
"""Size of dimensions 0 and 1, ratio of the strides of consecutive dimensions, offsets; powers of two."""

_MOST_PACKED = 6
"""Maximum number of values that are also tried in the upper bits of an integer."""

_FEW = 128
"""Number of invocations for which a shader is given a count if it runs too long with more."""

_FURTHER = 2
"""Size of dimensions 2 and 3."""


def guesses(numbers: Sequence[GeneratedNumber], invocations: int, *, fewer: bool) -> Iterator[Numbers]:
    """Yield alternative values for all generated integers, the most likely ones first.

    `fewer`: begin with small counts, because the shader runs too long with the default ones.
    """
    small = {number.key: 2 for number in numbers if number.words & COUNTS}
    if fewer:
        few = partial_count(min(invocations, _FEW))
        yield {number.key: few for number in numbers if number.words & COUNTS}
        yield {**_by_dimension(numbers, 4, 16, 0), **small}
        yield {number.key: 1 for number in numbers}
    first, *others = _FAMILIES
    yield _by_dimension(numbers, *first)
    yield {number.key: 1 for number in numbers if not number.words & NAMED}
    yield {number.key: 1 for number in numbers if not number.words & (COUNTS | STARTS)}
    for family in others:
        yield _by_dimension(numbers, *family)
    yield {number.key: 0 for number in numbers if not number.words & COUNTS}
    yield {number.key: 1 for number in numbers}
    yield {number.key: limited(number, invocations) for number in numbers if not number.words & STARTS}


def _by_dimension(numbers: Sequence[GeneratedNumber], size: int, ratio: int, offset: int) -> Numbers:
    """Return sizes of `size`, strides with room for `ratio` elements of the dimension before, and offsets."""
    values: dict[NumberKey, int] = {}
    for number in numbers:
        name = number.name
        digit = _DIGIT.search(name)
        dimension = int(digit[1]) if digit is not None else 2 if _OUTER.search(name) else 1
        division = _DIVISION.search(name)
        if division is not None:
            bits = sum(_size(int(entry), size).bit_length() - 1 for entry in division[1])
            values[number.key] = 0 if division[2] in ("mp", "magic") else bits
        elif _STRIDE.search(name):
            values[number.key] = limited(number, ratio**dimension if dimension < 4 else 1)
        elif _SIZE.search(name) or number.words & SIZES:
            values[number.key] = limited(number, _size(dimension, size))
        elif _OFFSET.search(name):
            values[number.key] = limited(number, offset)
        elif number.words & STARTS:
            values[number.key] = 0
        elif not number.words & COUNTS:
            values[number.key] = 1
    return values


def _size(dimension: int, size: int) -> int:
    """Return the size of a dimension."""
    return size if dimension < 2 else _FURTHER


def candidates(number: GeneratedNumber, size: tuple[int, int, int]) -> Iterator[int]:
    """Yield other values for one integer: small ones, powers of two, and the sizes of the dispatch."""
    powers = (2, 4, 64, 16, 256, 1024, 8, 32, 4096, 128, 512, 1 << 16)
    for value in dict.fromkeys((1, 0, *powers, *size, math.prod(size))):
        if value != number.value and value == limited(number, value):
            yield value


def branch_values(number: GeneratedNumber, literals: Sequence[int]) -> Iterator[int]:
    """Yield values for an integer that decides a branch: near the module's constants, also in upper bits."""
    near = [value + step for step in (0, 1, -1) for value in (0, *literals) if value + step >= 0]
    values = [*near, *(value << shift for shift in (16, 8, 24) for value in near[:_MOST_PACKED])]
    for value in dict.fromkeys(values):
        if value != number.value and value == limited(number, value):
            yield value


def limited(number: GeneratedNumber, value: int) -> int:
    """Return a value, or the largest one of the integer's type if that is smaller."""
    if number.dtype.kind == "f":
        return value
    return min(value, int(np.iinfo(number.dtype).max))
