"""What a run gives back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy.typing as npt


class RunResult(Mapping[Any, npt.NDArray[Any]]):
    """What a run wrote: a mapping from a binding's name to its array.

    Where a binding has no name, its key is its number in set 0, or (set, number).

    Attributes
    ----------
    seconds : GPU time of one dispatch, on average; None where the device has no timestamps.
    """

    def __init__(self, arrays: Mapping[Any, Any], places: Mapping[Any, Any], seconds: float | None) -> None:
        self._arrays = dict(arrays)
        self._places = dict(places)
        self.seconds = seconds

    def __getitem__(self, key: Any) -> Any:
        """Return an array by the binding's name, its number in set 0, or (set, number)."""
        return self._arrays[key if key in self._arrays else self._places[key]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"RunResult({self._arrays!r}, seconds={self.seconds!r})"
