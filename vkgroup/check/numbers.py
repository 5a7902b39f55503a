"""Generated numbers in place of a user's data: small values whose sums are exact.

Floats are multiples of 1/64 in (0, 1]: their logarithms and roots are defined, and sums of some thousands of
them are the same in every order, so rounding does not look like an error. Integers are 0 to 63 and can serve
as counts, indices and keys. The value of a single integer in a block is chosen by its name.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import numpy.typing as npt

_WIDTHS = frozenset({"width", "w", "cols", "columns", "nx", "pitch", "stride"})
_HEIGHTS = frozenset({"height", "h", "rows", "ny"})
_DEPTHS = frozenset({"depth", "nz"})
_GROUPS = frozenset({"groups", "blocks", "workgroups", "tiles"})
_STARTS = frozenset(
    {
        "offset",
        "base",
        "start",
        "first",
        "begin",
        "level",
        "pass",
        "index",
        "layer",
        "mip",
        "lod",
    }
)
_ROUNDS = frozenset({"iterations", "iters", "steps", "rounds"})
_COUNTS = frozenset(
    {
        "n",
        "count",
        "size",
        "length",
        "len",
        "num",
        "number",
        "total",
        "elements",
        "limit",
        "end",
        "max",
        "items",
    }
)

_MISSING = 3
"""Difference between the number of invocations and a generated count: the last workgroup is not full."""


class Generator:
    """Generator of the numbers of one dispatch.

    Parameters
    ----------
    seed : seed of the random numbers.
    size : invocations of the dispatch in x, y and z.
    groups : workgroup counts in x, y and z.
    """

    def __init__(self, seed: int, size: tuple[int, int, int], groups: tuple[int, int, int]) -> None:
        self._random = np.random.default_rng(seed)
        self._size, self._groups = size, groups

    def array(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
        """Return random numbers of a type."""
        if dtype.kind == "f":
            return (self._random.integers(1, 65, shape) / 64).astype(dtype)
        return self._random.integers(0, 64, shape).astype(dtype)

    def single(self, name: str, dtype: np.dtype[Any]) -> Any:
        """Return the value of a single number with the identifier `name`."""
        if dtype.kind == "f":
            return float(self._random.integers(1, 65)) / 64
        words = set(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_"))
        x, y, z = self._size
        total = math.prod(self._size)
        for names, value in (
            (_STARTS, 0),
            (_ROUNDS, 4),
            (_GROUPS, math.prod(self._groups)),
            (_WIDTHS, x),
            (_HEIGHTS, y),
            (_DEPTHS, z),
            (_COUNTS, max(1, total - _MISSING)),
        ):
            if words & names:
                return min(value, int(np.iinfo(dtype).max))
        return int(self._random.integers(1, 9))
