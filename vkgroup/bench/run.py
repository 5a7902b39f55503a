"""Benchmark runs: all selected benchmarks at their sizes, on one device, with one seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.base import choices
from vkgroup.base.errors import InvalidInput, OutOfMemory, Unsupported
from vkgroup.base.suggestions import suggestion
from vkgroup.bench import catalogue
from vkgroup.bench.definition import Definition, Peer
from vkgroup.bench.interrupts import away_from_interrupts
from vkgroup.bench.machine import Cache, eviction, last_level_cache
from vkgroup.bench.measure import (
    BenchmarkSession,
    Ceilings,
    largest_in_memory,
    largest_within,
    measure,
    variant_seconds,
)
from vkgroup.bench.row import BenchmarkRow
from vkgroup.bench.timing import gpu_load
from vkgroup.dispatch import Device

_RUNS = 40
"""Number of runs of its first variant that must fit into a row's duration on a CPU device."""


@dataclass(frozen=True)
class BenchmarkOptions:
    """Options of a run."""

    seed: int  # seed of all data
    #: Duration of the timed rounds of one row; the warm-up takes up to half as long in addition.
    seconds: float = choices.BENCH_SECONDS
    sizes: tuple[int, ...] = ()  # sizes that replace each definition's own; empty: no replacement
    sweep: str | None = None  # ``"size"`` or a tuning parameter, for one row per value; None: no sweep
    smoke: bool = False  # whether to verify at the smallest sizes without timing
    peers: tuple[str, ...] | None = None  # names of the peers to run; None: all available peers


@dataclass(frozen=True)
class BenchmarkResult:
    """Results of a run: its rows, versions of peers that were run, and reasons why others were not."""

    rows: tuple[BenchmarkRow, ...]
    cache: Cache
    peers: Mapping[str, str]
    absent: Mapping[str, str]
    notes: tuple[str, ...]

    @property
    def wrong(self) -> bool:
        """Whether any result is wrong."""
        return any(row.wrong for row in self.rows)


def run(
    device: Device,
    definitions: Sequence[Definition],
    options: BenchmarkOptions,
    *,
    ceilings: Sequence[Definition] | None = None,
    peers: Mapping[str, Peer] | None = None,
    on_row: Callable[[BenchmarkResult, int], None] = lambda result, total: None,
) -> BenchmarkResult:
    """Run benchmarks.

    `ceilings`, `peers`: definitions of ceilings, and peers by name; None means vkgroup's own.
    `on_row`: function that is called after each row with all results so far and the maximum number of rows.

    Raises
    ------
    InvalidInput
        No definition has the parameter to sweep, or a peer does not exist.
    DeviceLost, DispatchTimeout
        The device can no longer be used; `on_row` received all earlier results.
    """
    ceiling_definitions = catalogue.definitions() if ceilings is None else ceilings
    cache = last_level_cache(device.capabilities)
    available, absent = _available(device, options, catalogue.peers() if peers is None else peers)
    versions = {name: peer.version() for name, peer in available.items()}
    swept, notes = _swept(definitions, options.sweep)
    rows: list[BenchmarkRow] = []
    with ExitStack() as stack:
        if not options.smoke and (away := stack.enter_context(away_from_interrupts(device))):
            notes = (*notes, away)
        rng = np.random.default_rng(options.seed)
        prepared_ceilings = stack.enter_context(Ceilings(device, ceiling_definitions, cache, rng))
        evict = None if options.smoke else stack.enter_context(eviction(device, cache))
        load = None if options.smoke else gpu_load(device)
        if load is not None:
            stack.enter_context(load)
        session = BenchmarkSession(
            device,
            cache,
            evict,
            load,
            prepared_ceilings,
            available,
            options.seed,
            options.seconds,
            options.smoke,
        )

        def result() -> BenchmarkResult:
            return BenchmarkResult(tuple(rows), cache, versions, absent, (*notes, *prepared_ceilings.notes))

        for number, definition in enumerate(swept):
            sizes = _sizes(device, definition, options)
            for size, tuning in _points(definition, sizes, options.sweep):
                rows.append(measure(session, definition, size, tuning))
                rows_left = (len(swept) - number - 1) * len(sizes)
                on_row(result(), len(rows) + rows_left)
        return result()


def _available(
    device: Device, options: BenchmarkOptions, known: Mapping[str, Peer]
) -> tuple[dict[str, Peer], dict[str, str]]:
    """Return the available peers, and the reasons why others are not available."""
    wanted = tuple(known) if options.peers is None else options.peers
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InvalidInput(f"There is no peer {unknown[0]!r}.{suggestion(unknown[0], known)}")
    reasons = {name: known[name].available(device) for name in wanted}
    available = {name: known[name] for name, reason in reasons.items() if reason is None}
    return available, {name: reason for name, reason in reasons.items() if reason is not None}


def _swept(
    definitions: Sequence[Definition], sweep: str | None
) -> tuple[Sequence[Definition], tuple[str, ...]]:
    """Return the definitions that can be swept over a parameter, and a note on the others."""
    if sweep in (None, "size"):
        return definitions, ()
    swept = [definition for definition in definitions if sweep in definition.tuning]
    if not swept:
        known = sorted({name for definition in definitions for name in definition.tuning})
        raise InvalidInput(
            f"None of these benchmarks can be swept over {sweep!r}; they can be swept over"
            f" {', '.join(['size', *known])}."
        )
    omitted = [definition.name for definition in definitions if sweep not in definition.tuning]
    note = f"Omitted, since they have no {sweep} to sweep over: {', '.join(omitted)}."
    return swept, (note,) if omitted else ()


def _sizes(device: Device, definition: Definition, options: BenchmarkOptions) -> tuple[int, ...]:
    if options.sizes and options.sweep != "size":
        return options.sizes
    if options.smoke:
        return definition.smoke
    most = max(options.sizes) if options.sizes else _default_size(device, definition, options)
    if options.sweep == "size":
        return tuple(size for size in definition.sizes if size <= most) or (most,)
    return (most,)


def _default_size(device: Device, definition: Definition, options: BenchmarkOptions) -> int:
    """Return the largest size that fits into memory and, on a CPU device, into the available time."""
    try:
        if device.capabilities.is_gpu:
            return largest_in_memory(definition, device)
        rng = np.random.default_rng(options.seed)

        def spent(size: int) -> float:
            return max(variant_seconds(device, definition, size, rng), default=0.0)

        return largest_within(definition.sizes, options.seconds / _RUNS, spent)
    except (Unsupported, OutOfMemory):
        # The row will report the error.
        return definition.sizes[0]


def _points(
    definition: Definition, sizes: Sequence[int], sweep: str | None
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the size and the tuning of each row."""
    for size in sizes:
        if sweep is None or sweep == "size":
            yield size, {}
        else:
            yield from ((size, {sweep: value}) for value in definition.tuning[sweep])
