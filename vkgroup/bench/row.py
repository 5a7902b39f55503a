"""Results of a benchmark as data: one row for each definition, size and tuning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vkgroup.bench.statistics import Estimate, Samples

TIMESTAMPS = "GPU timestamps"
"""The clock of what a device measures itself."""


@dataclass(frozen=True)
class Timed:
    """One contender of a row: its times, and what follows from them.

    Attributes
    ----------
    name : of the variant, peer or ceiling.
    clock : what it was measured with.
    samples : one a round, in the row's unit.
    time : their median.
    rate : bytes or operations a second, at the median; 0 where the row counts none or has no seconds.
    counts : which of the two: ``"bytes"`` or ``"operations"``.
    """

    name: str
    clock: str
    samples: Samples
    time: Estimate
    rate: float
    counts: str = "bytes"


@dataclass(frozen=True)
class Share:
    """How near a contender comes to the ceiling that holds it.

    Attributes
    ----------
    ceiling : its name, such as ``"copy"``.
    part : 1 is the ceiling; of paired rounds.
    """

    ceiling: str
    part: Estimate


@dataclass(frozen=True)
class Row:
    """One definition at one size.

    Attributes
    ----------
    name, title : of the definition.
    size : as the definition counts it.
    tuning : what a sweep chose; empty elsewhere.
    unit : of all times: ``"s"`` or ``"cycles"``.
    bytes, items, operations : counted by definition, for one run.
    counts : which of them the rates count: ``"bytes"`` or ``"operations"``.
    pair : the two variants whose ratio the row states.
    variants, peers, ceilings : what has a time, by name.
    ratios : time of every other contender divided by that of the pair's first, of paired rounds.
    shares : of each variant and peer.
    right : names of the contenders whose results were right.
    wrong : contender to what is wrong with its results: it has no time.
    notes : what was left out and why, and what was not as it should be.
    rounds, warm_up, steady : as in `vkgroup.bench.timing.Race`; rounds is 0 where nothing was timed.
    sets : sets of data that the runs went round.
    evicted : whether the cache was emptied before each run.
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
        """Time of the pair's second divided by that of its first; None where one has no time."""
        return self.ratios.get(self.pair[1])

    @property
    def timed(self) -> Mapping[str, Timed]:
        """Variants and peers that have a time."""
        return {**self.variants, **self.peers}
