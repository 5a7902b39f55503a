"""What a run gives back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.events import Event


class RunResult(Mapping[Any, npt.NDArray[Any]]):
    """What a run wrote: a mapping from a binding's name to its array.

    Where a binding has no name, its key is its number in set 0, or (set, number).

    Attributes
    ----------
    seconds : GPU time of one dispatch, on average; None where the device has no timestamps.
    defined : for each array, a bool array of its shape: which elements the specifications define. None
        where the device cannot tell: only the reference device can.
    ordered : the same, without elements that depend on the order in which atomics ran.
    events : what went wrong on the way, as far as the device notices: the reference device does.
    """

    def __init__(
        self,
        arrays: Mapping[Any, Any],
        places: Mapping[Any, Any],
        seconds: float | None,
        *,
        defined: Mapping[Any, Any] | None = None,
        ordered: Mapping[Any, Any] | None = None,
        events: Sequence[Event] = (),
    ) -> None:
        self._arrays = dict(arrays)
        self._places = dict(places)
        self.seconds = seconds
        self.defined, self.ordered = defined, ordered
        self.events = tuple(events)

    def __getitem__(self, key: Any) -> Any:
        """Return an array by the binding's name, its number in set 0, or (set, number)."""
        return self._arrays[key if key in self._arrays else self._places[key]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def __repr__(self) -> str:
        return f"RunResult({self._arrays!r}, seconds={self.seconds!r})"
