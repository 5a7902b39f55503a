"""Host work on large arrays, in blocks on all cores: random data, expected results, verification.

NumPy releases the GIL in its loops. Blocks have a fixed size, and each random block has its own generator, so
results depend only on the data and the seed, not on the number of cores. An array that fits into one block is
processed without threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from vkgroup.bench.definition import Arrays, Data

Array = npt.NDArray[Any]
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

BLOCK = 1 << 18
"""Elements of a block: NumPy's temporary arrays fit into a core's cache."""

_MOST_THREADS = 32
"""Maximum number of threads; more threads would only wait for memory."""

_RUN, _MOST_PIVOTS, _SAMPLES = 4 * BLOCK, 128, 256
"""Sorting: elements of a run, number of pivots, and samples per run from which pivots are chosen."""


def spans(count: int, step: int = BLOCK) -> list[slice]:
    """Return the blocks of an array as slices of `step` elements; the last may be shorter."""
    return [slice(start, min(start + step, count)) for start in range(0, count, step)]


def row_spans(x: Array) -> list[slice]:
    """Return slices of whole rows (along the first axis), each of about the size of a block."""
    return spans(len(x), max(1, BLOCK * len(x) // max(x.size, 1)))


def each(function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
    """Return a function's results for all items, in order; several items are processed at once."""
    todo = list(items)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = min(cores, _MOST_THREADS, len(todo))
    if threads <= 1:
        return [function(item) for item in todo]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, todo))


def made(count: int, dtype: npt.DTypeLike, make: Callable[[slice], npt.ArrayLike]) -> Array:
    """Return an array that `make` fills slice by slice, with elements or one number for all of them."""
    array = np.empty(count, dtype)

    def fill(span: slice) -> None:
        array[span] = make(span)

    each(fill, spans(count))
    return array


def drawn(
    rng: np.random.Generator,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    draw: Callable[[np.random.Generator, int], npt.ArrayLike],
) -> Array:
    """Return random elements.

    `rng`: generator that seeds the generators of the blocks.
    `shape`, `dtype`: shape and dtype of the result.
    `draw`: function that returns a number of elements from a generator, of any dtype that can be converted to
    `dtype`.
    """
    array = np.empty(shape, dtype)
    flat = array.reshape(-1)

    def fill(part: tuple[slice, np.random.Generator]) -> None:
        span, generator = part
        flat[span] = draw(generator, span.stop - span.start)

    blocks = spans(flat.size)
    each(fill, zip(blocks, rng.spawn(len(blocks)), strict=True))
    return array


def selected(x: Array, keep: Callable[[slice], npt.NDArray[np.bool_]], out: Array | None = None) -> Array:
    """Return the elements of a vector that `keep` selects, in order; `keep` is called with slices.

    `out`: array for the result, which becomes its first elements; None allocates an array.
    """
    blocks = spans(x.size)
    ends = np.cumsum([0, *each(lambda span: np.count_nonzero(keep(span)), blocks)]).tolist()
    array = np.empty(ends[-1], x.dtype) if out is None else out[: ends[-1]]

    def fill(number: int) -> None:
        span = blocks[number]
        array[ends[number] : ends[number + 1]] = x[span][keep(span)]

    each(fill, range(len(blocks)))
    return array


def by_rows(function: Callable[[Array], Array], x: Array) -> Array:
    """Return a function's results for blocks of whole rows: one row or one element per row."""
    first, *others = row_spans(x)
    part = function(x[first])
    if not others:
        return part
    result = np.empty((len(x), *part.shape[1:]), part.dtype)
    result[first] = part

    def fill(rows: slice) -> None:
        result[rows] = function(x[rows])

    each(fill, others)
    return result


def accumulated(operation: np.ufunc, x: Array, out: Array | None = None) -> Array:
    """Return ``operation.accumulate(x)`` of a vector, in the dtype of `out` or, without `out`, of `x`.

    The operation must give the same result in any order, so sums of floats must be exact.
    """
    result = np.empty_like(x) if out is None else out
    blocks = spans(x.size)
    each(lambda span: operation.accumulate(x[span], dtype=result.dtype, out=result[span]), blocks)
    before = operation.accumulate([result[span.stop - 1] for span in blocks], dtype=result.dtype)

    def carry(number: int) -> None:
        part = result[blocks[number]]
        operation(part, before[number - 1], out=part)

    each(carry, range(1, len(blocks)))
    return result


def counted(keys: Array, bins: int) -> Array:
    """Return the number of occurrences of each number below `bins` in the keys, as `numpy.bincount`."""
    counts = np.zeros(bins, np.int64)
    # Blocks are large compared with the counts, which are added once per block.
    blocks = spans(keys.size, BLOCK + 4 * bins)
    for part in each(lambda span: np.bincount(keys[span], minlength=bins), blocks):
        counts += part
    return counts


def ordered(x: Array) -> Array:
    """Return a sorted copy of a vector without NaN, as `numpy.sort`.

    The function sorts runs, splits them at the same pivots, which are chosen from samples, and sorts the
    pieces between two pivots together. Elements that equal a pivot form a separate piece, which needs no
    sorting. A number that occurs very often therefore does not keep one core busy longer than the others.
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
    starts = np.sum(cuts, axis=0).tolist()
    result = np.empty_like(x)

    def fill(number: int) -> None:
        part = result[starts[number] : starts[number + 1]]
        if number % 2:
            part[:] = pivots[number // 2]
        else:
            np.concatenate(
                [run[ends[number] : ends[number + 1]] for run, ends in zip(runs, cuts, strict=True)], out=part
            )
            part.sort()

    each(fill, range(len(starts) - 1))
    return result


def first_difference(x: Array, y: Array) -> int | None:
    """Return the first index at which two vectors of the same length differ, or None if they are equal."""

    def within(span: slice) -> int | None:
        same = x[span] == y[span]
        return None if same.all() else span.start + int(np.argmin(same))

    return next((index for index in each(within, spans(x.size)) if index is not None), None)


def first_error(data: Data, outputs: Arrays) -> str | None:
    """Return the first error in the outputs of a run, in one line, or None if they are as `data` expects."""
    for name, expected in data.expected.items():
        if name not in outputs:
            return f"there is no output {name}"
        message = _difference(np.asarray(expected), np.asarray(outputs[name]), data.bounds.get(name, 0))
        if message is not None:
            return f"{name}{message}"
    return data.verify(outputs) if data.verify is not None else None


def _difference(expected: Array, output: Array, bound: npt.ArrayLike) -> str | None:
    """Compare one output; integers of another width or signedness must be equal modulo 2^bits."""
    if output.size != expected.size:
        return f" has {output.size} elements instead of {expected.size}"
    wanted, actual, limits = expected.reshape(-1), output.reshape(-1), np.asarray(bound)
    if limits.ndim:
        limits = np.broadcast_to(limits, expected.shape).reshape(-1)

    def count_errors(span: slice) -> tuple[int, int]:
        """Return the number of wrong elements of a block, and the index of the first one."""
        correct = _correct(wanted[span], actual[span], limits[span] if limits.ndim else limits)
        return int(correct.size - np.count_nonzero(correct)), span.start + int(np.argmin(correct))

    errors = [(count, first) for count, first in each(count_errors, spans(expected.size)) if count]
    if not errors:
        return None
    count, first = sum(count for count, _ in errors), errors[0][1]
    index = f"[{', '.join(map(str, np.unravel_index(first, expected.shape)))}]" if expected.ndim else ""
    total = f" ({count} of {expected.size} elements are wrong)" if expected.size > 1 else ""
    value = actual[first : first + 1].astype(expected.dtype)[0]
    return f"{index} is {value} instead of {wanted[first]}{total}"


def _correct(expected: Array, output: Array, bound: Array) -> npt.NDArray[np.bool_]:
    """Return a mask of elements that are equal, both NaN, or floats that differ by at most the bound."""
    output = output.astype(expected.dtype, copy=False)
    same = np.asarray(output == expected)
    if expected.dtype.kind not in "fc" or same.all():
        return same
    same |= np.isnan(expected) & np.isnan(output)
    limits = bound.astype(np.float64)
    if not limits.any():
        return same
    with np.errstate(invalid="ignore", over="ignore"):
        # Compute the difference at least in double, so that it is not rounded in the type of the result.
        distance = np.abs(output.astype(np.result_type(output, np.float64)) - expected)
    return np.asarray(same | (distance <= limits))
