"""Generated numbers: single ones by the words of their names, contents of arrays by their use in the shader.

Each number depends only on the seed, its name and its index. So a change of one does not change another, and
an array that grows keeps its beginning.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

_WIDTHS = frozenset({"width", "w", "cols", "columns", "nx", "pitch", "stride"})
_HEIGHTS = frozenset({"height", "h", "rows", "ny"})
_DEPTHS = frozenset({"depth", "nz"})
_GROUPS = frozenset({"groups", "blocks", "workgroups", "tiles"})
STARTS = frozenset(
    {"offset", "base", "start", "first", "begin", "level", "pass", "index", "layer", "mip", "lod"}
)
_ROUNDS = frozenset({"iterations", "iters", "steps", "rounds"})
_RANKS = frozenset({"dims", "ndim", "ndims", "rank", "outdims"})
COUNTS = frozenset(
    {
        *("n", "count", "size", "length", "len", "num", "number", "total", "elements", "limit", "end"),
        *("max", "items"),
    }
)
SIZES = _WIDTHS | _HEIGHTS | _DEPTHS
NAMED = STARTS | _ROUNDS | _RANKS | _GROUPS | SIZES | COUNTS
"""Words that decide the value of a generated integer; without one, it is random."""


def words_of(name: str) -> frozenset[str]:
    """Return the words of an identifier in lower case: ``{"base", "offset"}`` for ``baseOffset``."""
    return frozenset(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_"))


_MISSING = 3
"""Difference between the number of invocations and a generated count: the last workgroup is not full."""


def partial_count(invocations: int) -> int:
    """Return a generated count of elements, for which the last workgroup is not full."""
    return max(1, invocations - _MISSING)


_AXES = SIZES | {
    *("size", "resolution", "extent", "extents", "dim", "dims", "screen", "viewport", "grid", "shape")
}
"""Words for vectors that have a component for each dimension of the dispatch."""

_GOLDEN = 0x9E3779B97F4A7C15
_MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
"""Constants of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014)."""

_EXTREME = {"f": 4, "i": 1000}
"""What is added to the extreme elements of contents, by kind: exp() of the difference of floats is not 0."""
_FIRST_BIT, _BITS = 6, 24
"""Bits above the random ones: of contents that a shader combines with Or or And, few elements have each."""


class NumberGenerator:
    """Generator of the numbers of one dispatch of `size` invocations in workgroups of `local` invocations."""

    def __init__(
        self, seed: int, size: tuple[int, int, int], groups: tuple[int, int, int], local: int = 1
    ) -> None:
        self._seed, self._size, self._groups, self._local = seed, size, groups, max(1, local)

    def _random(self, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.uint64]:
        """Return random words; one at the same indices of the same name is always the same."""
        stream = zlib.crc32(name.encode()) + (self._seed << 32)
        words = np.full(shape, stream * _GOLDEN % (1 << 64), np.uint64)
        with np.errstate(over="ignore"):
            for axis, length in enumerate(shape):
                index = np.arange(1, length + 1, dtype=np.uint64) * np.uint64(_GOLDEN)
                words = _mixed(words + index.reshape(-1, *(1,) * (len(shape) - axis - 1)))
            return _mixed(words)

    def array(
        self, name: str, dtype: np.dtype[Any], shape: tuple[int, ...], operations: Iterable[str] = ()
    ) -> npt.NDArray[Any]:
        """Return random numbers of a type.

        `operations`: those of ``"Or"``, ``"And"``, ``"Min"``, ``"Max"`` with which the shader combines them.
        A lost contribution must show in the result: so some elements have a bit that no other element has,
        and each workgroup has one extreme element.
        """
        random = self._random(name, shape)
        if dtype.kind == "f":
            values = (1 + random % np.uint64(64)).astype(np.float64) / 64
        else:
            values = (random % np.uint64(64)).astype(np.int64)
        if operations and values.ndim == 1 and dtype.itemsize >= 4:
            values = self._combined(values, frozenset(operations))
        return values.astype(dtype)

    def _combined(self, values: npt.NDArray[Any], operations: frozenset[str]) -> npt.NDArray[Any]:
        """Return numbers in which a lost contribution to the operations shows."""
        block, inside = np.divmod(np.arange(len(values)), self._local)
        if values.dtype.kind != "f" and operations & {"Or", "And"}:
            bits = _BITS // len(operations & {"Or", "And"})
            every = max(4, -(-self._local // bits))
            own = np.where(inside % every == every - 1, 1 << inside // every, 0)
            if "Or" in operations:
                values = values | own << _FIRST_BIT
            if "And" in operations:
                values = values | ((1 << bits) - 1 & ~own) << (_FIRST_BIT + _BITS - bits)
            return values
        extreme = np.array([self._local - 1, 0, self._local // 2, 3 * self._local // 4])[block % 4]
        other = (extreme + self._local // 3) % self._local
        if "Min" in operations:
            values = np.where(inside == other, values, values + (4 if values.dtype.kind == "f" else 64))
        if "Max" in operations:
            values = np.where(inside == extreme, values + _EXTREME[values.dtype.kind], values)
        return values

    def single(self, name: str, dtype: np.dtype[Any], stream: str) -> Any:
        """Return the value of a single number with the identifier `name`."""
        words = words_of(name)
        random = int(self._random(stream, ()))
        if dtype.kind == "f":
            value = (1 + random % 64) / 64
            # The limits of a range, as of clamp(), must be in order.
            return value - 1 if words & {"min", "minimum", "low"} else value
        x, y, z = self._size
        total = math.prod(self._size)
        for names, value in (
            (STARTS, 0),
            (_ROUNDS, 4),
            (_RANKS, 3),
            (_GROUPS, math.prod(self._groups)),
            (_WIDTHS, x),
            (_HEIGHTS, y),
            (_DEPTHS, z),
            (COUNTS, partial_count(total)),
        ):
            if words & names:
                return min(value, int(np.iinfo(dtype).max))
        return 1 + random % 8

    def vector(self, name: str, count: int) -> list[int] | None:
        """Return the components of an integer vector with the size of the dispatch; None for another name."""
        return [*self._size, 1][:count] if words_of(name) & _AXES and count > 1 else None


def _mixed(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return 64-bit words with their bits mixed, as SplitMix64 does."""
    for shift, multiplier in zip((30, 27), _MULTIPLIERS, strict=True):
        words = (words ^ words >> np.uint64(shift)) * np.uint64(multiplier)
    return words ^ words >> np.uint64(31)


def neutral(operations: Iterable[str], dtype: np.dtype[Any]) -> Any:
    """Return the number with which memory of atomics starts, so that a lost result shows.

    It is the neutral element if all instructions, by SPIR-V's names, are of one operation; else 0.
    """
    limits = (np.finfo if dtype.kind == "f" else np.iinfo)(dtype)
    kinds = {re.sub("^OpAtomic[USF]?(Min|Max)(EXT)?$", r"\1", name) for name in operations}
    kinds -= {"OpAtomicLoad", "OpAtomicStore"}
    if kinds == {"Min"} or (kinds == {"OpAtomicAnd"} and dtype.kind == "u"):
        return limits.max
    if kinds == {"Max"}:
        return limits.min
    return -1 if kinds == {"OpAtomicAnd"} else 0
