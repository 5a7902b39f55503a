"""Results of a run: arrays by binding, time, definedness and events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vkgroup.dispatch.events import Event


class ByBinding(Mapping[Any, Any]):
    """A mapping whose keys are bindings: by name, by number in set 0, or by (set, number)."""

    def __init__(self, values: Mapping[Any, Any], places: Mapping[Any, Any]) -> None:
        self._values = dict(values)
        self._places = dict(places)

    def __getitem__(self, key: Any) -> Any:
        """Return what is there for the binding's name, its number in set 0, or (set, number)."""
        return self._values[key if key in self._values else self._places[key]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


class RunResult(ByBinding):
    """Arrays that a run wrote: a mapping from a binding's name to its array.

    Where a binding has no name, its key is its number in set 0, or (set, number).

    Attributes
    ----------
    seconds : GPU time of one dispatch, on average; None where the device has no timestamps.
    defined : for each array, under the same keys, a bool array of its shape: which elements the
        specifications define. None where the device cannot tell: only the reference device can.
    ordered : the same, without elements that depend on the order in which atomics ran.
    events : accesses out of bounds, races and others; only the reference device reports them.
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
        super().__init__(arrays, places)
        self.seconds = seconds
        self.defined = None if defined is None else ByBinding(defined, places)
        self.ordered = None if ordered is None else ByBinding(ordered, places)
        self.events = tuple(events)

    def __repr__(self) -> str:
        return f"RunResult({self._values!r}, seconds={self.seconds!r})"
