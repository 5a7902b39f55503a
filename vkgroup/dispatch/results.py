"""Results of a run: arrays by binding, time, definedness and events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vkgroup.base.errors import InvalidDispatch
from vkgroup.reference.events import Event

if TYPE_CHECKING:
    from vkgroup.dispatch.exported import RunConfiguration


class ByBinding(Mapping[Any, Any]):
    """A mapping whose keys are bindings: by name, by number in set 0, or by (set, number)."""

    def __init__(self, values: Mapping[Any, Any], places: Mapping[Any, Any]) -> None:
        self._values, self._places = values, places

    def __getitem__(self, key: Any) -> Any:
        """Return the value of a binding by its name, its number in set 0, or (set, number)."""
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
    seconds : GPU time of one dispatch, on average; None if it was not measured, or the device has no
        timestamps.
    defined : for each array, under the same keys, a bool array of its shape: which elements the
        specifications define. None where the device cannot tell: only the reference device can.
    ordered : the same, without elements that depend on the order in which atomics ran.
    events : accesses out of bounds, races and others; only the reference device reports them.
    """

    _arguments: tuple[Any, ...] | None = None

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

    def of(self, *arguments: Any) -> RunResult:
        """Keep the arguments of `Device.run`, in the order of `RunConfiguration`, and return the result."""
        self._arguments = arguments
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the arguments: they may hold buffers of a device."""
        return {**self.__dict__, "_arguments": None}

    @property
    def configuration(self) -> RunConfiguration:
        """The shader, groups, constants and inputs of a `Device.run`; its method `save` writes them as JSON.

        The result keeps the arrays that the run was given, so their memory is freed with the result.

        Raises InvalidDispatch: the result is not of `Device.run`.
        """
        # Imported here, because most results are never asked for it.
        from vkgroup.dispatch.exported import RunConfiguration

        if self._arguments is None:
            raise InvalidDispatch(
                "Only a result of Device.run has a configuration. Arrays given to Device.submit may change"
                " after the call; use Device.run to save them."
            )
        return RunConfiguration(*self._arguments)

    def __repr__(self) -> str:
        return f"RunResult({self._values!r}, seconds={self.seconds!r})"
