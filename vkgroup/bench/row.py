"""Results of a benchmark as data: one row per definition, size and tuning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vkgroup.bench.statistics import Estimate, Samples

TIMESTAMPS = "GPU timestamps"
"""Name of the clock of times that the device measures."""


@dataclass(frozen=True)
class Timed:
    """One candidate of a row: its times and the values derived from them.

    Attributes
    ----------
    name : name of the variant, peer or ceiling.
    clock : the clock that measured it.
    samples : one time per round, in the row's unit.
    time : the median of the samples, with its interval.
    rate : bytes or operations per second at the median; 0 if the row counts none or its unit is not seconds.
    counts : unit of the rate: ``"bytes"`` or ``"operations"``.
    """

    name: str
    clock: str
    samples: Samples
    time: Estimate
    rate: float
    counts: str = "bytes"


@dataclass(frozen=True)
class Share:
    """A candidate's share of a ceiling such as ``"copy"``, from paired rounds; 1 is the ceiling."""

    ceiling: str
    part: Estimate


@dataclass(frozen=True)
class Row:
    """One definition at one size.

    Attributes
    ----------
    name, title : name and title of the definition.
    size : size in the definition's unit.
    tuning : the tuning values of a sweep; empty without one.
    unit : unit of all times: ``"s"`` or ``"cycles"``.
    bytes, items, operations : amount of work of one run, from the definition.
    counts : unit of the rates: ``"bytes"`` or ``"operations"``.
    pair : the two variants whose ratio the row reports.
    variants, peers, ceilings : candidates with a time, by name.
    ratios : time of every other candidate divided by that of the pair's first, from paired rounds.
    shares : shares of the ceilings, by variant and peer.
    right : names of the candidates with correct results.
    wrong : errors of candidates with wrong results, which have no time.
    notes : omitted candidates with the reasons, and other remarks.
    rounds, warm_up, steady : as in `vkgroup.bench.timing.Timings`; rounds is 0 if nothing was timed.
    sets : number of sets of data that the runs alternate between.
    evicted : whether the cache was evicted before each run.
    """

    name: str
    title: str
    size: int
    tuning: Mapping[str, Any] = field(default_factory=dict)
    unit: str = "s"
    bytes: int = 0
    items: int = 0
    operations: int = 0
    counts: str = "bytes"
    pair: tuple[str, str] = ("subgroup", "shared")
    variants: Mapping[str, Timed] = field(default_factory=dict)
    peers: Mapping[str, Timed] = field(default_factory=dict)
    ceilings: Mapping[str, Timed] = field(default_factory=dict)
    ratios: Mapping[str, Estimate] = field(default_factory=dict)
    shares: Mapping[str, Share] = field(default_factory=dict)
    right: tuple[str, ...] = ()
    wrong: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    rounds: int = 0
    warm_up: int = 0
    steady: bool = True
    sets: int = 0
    evicted: bool = False

    @property
    def label(self) -> str:
        """The row's name with its size and tuning: ``"reduce.sum.float32/1048576/items:4"``."""
        return "/".join(
            (self.name, str(self.size), *(f"{key}:{value}" for key, value in self.tuning.items()))
        )

    @property
    def ratio(self) -> Estimate | None:
        """Time of the pair's second divided by that of its first, or None if one has no time."""
        return self.ratios.get(self.pair[1])

    @property
    def timed(self) -> Mapping[str, Timed]:
        """Variants and peers with a time."""
        return {**self.variants, **self.peers}
