"""The host's work on large arrays, in blocks on all cores: making data, what is right for it, comparing.

NumPy lets other threads run while it is in its loops. Blocks have a fixed size, and each that is drawn has a
generator of its own; so results depend on the data and the seed alone, not on how many cores there are. What
fits into one block is handled at once, without threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

BLOCK = 1 << 18
"""Elements of a block: what NumPy makes on the way fits into a core's own cache."""

_MOST_THREADS = 32
"""More only wait for memory."""

_RUN, _MOST_PIVOTS, _SAMPLES = 4 * BLOCK, 128, 256
"""Sorting: elements of a run, numbers that part the runs, and how many of each run these are chosen from."""


def spans(count: int, step: int = BLOCK) -> list[slice]:
    """Return the blocks of so many elements, as slices of `step` elements or what is left."""
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def row_spans(x: Array) -> list[slice]:
    """Return slices of whole rows (along the first axis) that are about a block each."""
    return spans(len(x), max(1, BLOCK * len(x) // max(x.size, 1)))


def each(function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Return what a function gives for each item, in their order; several items are handled at once."""
    todo = list(items)
    threads = min(_cores(), _MOST_THREADS, len(todo))
    if threads <= 1:
        return [function(item) for item in todo]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, todo))


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def made(count: int, dtype: npt.DTypeLike, make: Callable[[slice], npt.ArrayLike]) -> Array:
    """Return an array of which `make` gives the elements of a slice, or one number for all of them."""
    found = np.empty(count, dtype)

    def fill(span: slice) -> None:
        found[span] = make(span)

    each(fill, spans(count))
    return found


def drawn(
    rng: np.random.Generator,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    draw: Callable[[np.random.Generator, int], npt.ArrayLike],
) -> Array:
    """Return random elements.

    Parameters
    ----------
    rng : begins the generators of the blocks.
    shape, dtype : of the result.
    draw : gives so many elements from a generator, of any dtype that the result's can hold.
    """
    found = np.empty(shape, dtype)
    flat = found.reshape(-1)

    def fill(part: tuple[slice, np.random.Generator]) -> None:
        span, generator = part
        flat[span] = draw(generator, span.stop - span.start)

    blocks = spans(flat.size)
    each(fill, zip(blocks, rng.spawn(len(blocks)), strict=True))
    return found


def selected(x: Array, keep: Callable[[slice], npt.NDArray[np.bool_]], out: Array | None = None) -> Array:
    """Return the elements of a vector of which `keep`, called with slices, says so, in their order.

    Parameters
    ----------
    out : gets them as its first elements; None makes an array.
    """
    blocks = spans(x.size)
    ends = np.cumsum([0, *each(lambda span: np.count_nonzero(keep(span)), blocks)]).tolist()
    found = np.empty(ends[-1], x.dtype) if out is None else out[: ends[-1]]

    def fill(number: int) -> None:
        span = blocks[number]
        found[ends[number] : ends[number + 1]] = x[span][keep(span)]

    each(fill, range(len(blocks)))
    return found


def by_rows(function: Callable[[Array], Array], x: Array) -> Array:
    """Return what a function gives for blocks of whole rows, which is a row or an element for each row."""
    first, *others = row_spans(x)
    part = function(x[first])
    if not others:
        return part
    found = np.empty((len(x), *part.shape[1:]), part.dtype)
    found[first] = part

    def fill(rows: slice) -> None:
        found[rows] = function(x[rows])

    each(fill, others)
    return found


def accumulated(operation: np.ufunc, x: Array, out: Array | None = None) -> Array:
    """Return ``operation.accumulate(x)`` of a vector, in the dtype of `x`, or of `out` where that is given.

    The operation must give the same in any order: sums of floats have to be exact.
    """
    found = np.empty_like(x) if out is None else out
    blocks = spans(x.size)
    each(lambda span: operation.accumulate(x[span], dtype=found.dtype, out=found[span]), blocks)
    before = operation.accumulate([found[span.stop - 1] for span in blocks], dtype=found.dtype)

    def carry(number: int) -> None:
        part = found[blocks[number]]
        operation(part, before[number - 1], out=part)

    each(carry, range(1, len(blocks)))
    return found


def counted(keys: Array, bins: int) -> Array:
    """Return how often each number below `bins` is among the keys, as `numpy.bincount` does."""
    counts = np.zeros(bins, np.int64)
    # Beside the counts, which are added up as often, blocks are large.
    blocks = spans(keys.size, BLOCK + 4 * bins)
    for part in each(lambda span: np.bincount(keys[span], minlength=bins), blocks):
        counts += part
    return counts


def ordered(x: Array) -> Array:
    """Return a vector sorted, as `numpy.sort` does; it has no NaN.

    Sorts runs of it, cuts them at the same numbers, chosen from samples, and sorts the pieces that belong
    together. A number at which is cut has a part of its own, which is in order as it stands: so numbers that
    are there very often keep no core longer than others.
    """
    if x.size <= _RUN:
        return np.sort(x)
    copy = np.empty_like(x)
    runs = [copy[span] for span in spans(x.size, _RUN)]

    def sort(number: int) -> None:
        runs[number][:] = x[number * _RUN : (number + 1) * _RUN]
        runs[number].sort()

    each(sort, range(len(runs)))
    samples = np.sort(np.concatenate([run[:: max(1, run.size // _SAMPLES)] for run in runs]))
    pivots = np.unique(samples[:: max(1, samples.size // _MOST_PIVOTS)])

    def cut(run: Array) -> list[int]:
        ends = np.searchsorted(run, pivots, "left"), np.searchsorted(run, pivots, "right")
        return [0, *np.stack(ends, 1).reshape(-1).tolist(), run.size]

    cuts = each(cut, runs)
    places = np.sum(cuts, axis=0).tolist()
    found = np.empty_like(x)

    def fill(number: int) -> None:
        part = found[places[number] : places[number + 1]]
        if number % 2:
            part[:] = pivots[number // 2]
        else:
            np.concatenate(
                [run[ends[number] : ends[number + 1]] for run, ends in zip(runs, cuts, strict=True)], out=part
            )
            part.sort()

    each(fill, range(len(places) - 1))
    return found


def first_difference(x: Array, y: Array) -> int | None:
    """Return the first place at which two vectors of the same length differ; None where they do not."""

    def within(span: slice) -> int | None:
        same = x[span] == y[span]
        return None if same.all() else span.start + int(np.argmin(same))

    return next((place for place in each(within, spans(x.size)) if place is not None), None)
