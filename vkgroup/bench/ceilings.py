"""Ceilings: limits of the device, measured in the same rounds as the results compared with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from vkgroup.bench.caches import Cache
from vkgroup.bench.catalogue import CEILING
from vkgroup.bench.definition import Case, Definition
from vkgroup.bench.entrants import Entrants
from vkgroup.bench.sizes import climb, largest_in_memory, time_once
from vkgroup.bench.timing import Lane, race
from vkgroup.closing import Closing
from vkgroup.dispatch import Device
from vkgroup.errors import Unsupported

_CPU_SECONDS = 0.02
"""Approximate duration of a ceiling's run on a CPU device; longer if memory must be filled."""

_CHOICE_SECONDS = 0.2


@dataclass(frozen=True)
class Ceiling:
    """A ceiling that is ready to be timed.

    Attributes
    ----------
    name : without ``"ceiling."``.
    amount : bytes or operations of one run; `counts` is the unit.
    lane : the contender to time, which has its own data.
    """

    name: str
    amount: float
    counts: str
    size: int
    lane: Lane


class Ceilings(Closing):
    """The ceilings of a run, each prepared when a row first needs it, and then kept until the end.

    Attributes
    ----------
    notes : omitted ceilings, with the reasons.
    """

    def __init__(
        self, device: Device, definitions: Iterable[Definition], cache: Cache, rng: np.random.Generator
    ) -> None:
        self._device, self._cache, self._rng = device, cache, rng
        self._definitions = {
            one.name.removeprefix(CEILING): one for one in definitions if one.name.startswith(CEILING)
        }
        self._ready: dict[str, Ceiling | None] = {}
        self._open: list[Entrants] = []
        self.notes: list[str] = []

    def get(self, name: str) -> Ceiling | None:
        """Return a ceiling, or None if it cannot be measured; a note then explains the reason once."""
        if name not in self._ready:
            self._ready[name] = self._prepare(name)
        return self._ready[name]

    def close(self) -> None:
        """Free everything."""
        self._ready.clear()
        for entrants in self._open:
            entrants.close()
        self._open.clear()

    def _prepare(self, name: str) -> Ceiling | None:
        definition = self._definitions.get(name)
        if definition is None:
            self.notes.append(
                f"There is no benchmark {CEILING}{name}; results have no share of this ceiling."
            )
            return None
        try:
            size = self._size(definition)
            case = definition.make(self._device, size, {})
        except Unsupported as error:
            self.notes.append(f"{CEILING}{name}: {error}")
            return None
        entrants = Entrants(self._device, case, self._rng, {})
        self._open.append(entrants)
        entrants.enter()
        self.notes += [f"{CEILING}{name}: {note}" for note in entrants.notes]
        self.notes += [
            f"{CEILING}{name}: {entrant} is wrong: {what}" for entrant, what in entrants.wrong.items()
        ]
        fastest = _fastest(entrants)
        if fastest is None:
            return None
        lane = Lane(f"{CEILING}{name}", fastest.clock, fastest.prepared, fastest.data, rotating=False)
        return Ceiling(name, case.amount, case.rate, size, lane)

    def _size(self, definition: Definition) -> int:
        """Return the largest size on a GPU; on a CPU a size that runs briefly and exceeds the cache."""
        if self._device.capabilities.is_gpu:
            return largest_in_memory(definition, self._device)

        def spent(size: int) -> float:
            entrants = Entrants(self._device, definition.make(self._device, size, {}), self._rng, {})
            try:
                entrants.enter()
                lanes = list(entrants.lanes.values())
                return time_once(lanes[0].prepared[0].time) if lanes else _CPU_SECONDS
            finally:
                entrants.close()

        size = climb(definition.sizes, _CPU_SECONDS, spent)
        large = [one for one in definition.sizes if self._past_cache(definition.make(self._device, one, {}))]
        return max(size, min(large, default=definition.sizes[-1]))

    def _past_cache(self, case: Case) -> bool:
        return case.rate != "bytes" or case.bytes >= self._cache.past


def _fastest(entrants: Entrants) -> Lane | None:
    lanes = list(entrants.lanes.values())
    if len(lanes) > 1:
        samples = race(lanes, _CHOICE_SECONDS).samples
        return min(lanes, key=lambda lane: float(np.median(samples[lane.name])))
    return lanes[0] if lanes else None
