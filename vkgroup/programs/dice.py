"""Random choices from a seed, the same on every version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Random choices based on `random.Random.random` alone, whose sequence Python guarantees."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._random.random() < probability

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to `limit` − 1."""
        return int(self._random.random() * limit)

    def between(self, first: int, last: int) -> int:
        """Return a whole number from `first` to `last`."""
        return first + self.below(last - first + 1)

    def choose(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[tuple[T, float]]) -> T:
        """Return one of the options, drawn with its weight."""
        at = self._random.random() * sum(weight for _, weight in options)
        for option, weight in options:
            at -= weight
            if at < 0:
                return option
        return options[-1][0]
