"""Atomic operations of several lanes, one after the other, on memory or local data."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vkgroup.amd import floats
from vkgroup.amd.arrays import Array, Mask
from vkgroup.amd.errors import MissingPart


@dataclass(frozen=True)
class Atomic:
    """An operation: the new value from the old one and the data; `kind` is the type, ``f`` for floats.

    `associative`: whether f(f(x, a), b) is f(x, f(a, b)).
    """

    function: Callable[..., Array]
    kind: str = "u"
    associative: bool = True
    compares: bool = False  # two data: the new value and the one to compare with


def _increment(old: Array, limit: Array) -> Array:
    return np.where(old >= limit, old.dtype.type(0), old + old.dtype.type(1))


def _decrement(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - old.dtype.type(1))


def _clamped_subtraction(old: Array, data: Array) -> Array:
    return np.where(old >= data, old - data, old.dtype.type(0))


def _exchanged_if_equal(old: Array, data: Array, compared: Array) -> Array:
    return np.where(old == compared, data, old)


_FLOAT_MODE = 0xF0
OPERATIONS = {
    "swap": Atomic(lambda old, data: data),
    "cmpswap": Atomic(_exchanged_if_equal, associative=False, compares=True),
    "fcmpswap": Atomic(_exchanged_if_equal, "f", associative=False, compares=True),
    "add": Atomic(np.add), "and": Atomic(np.bitwise_and), "or": Atomic(np.bitwise_or),
    "xor": Atomic(np.bitwise_xor), "smin": Atomic(np.minimum, "i"), "smax": Atomic(np.maximum, "i"),
    "umin": Atomic(np.minimum), "umax": Atomic(np.maximum),
    "sub": Atomic(lambda old, data: old - data, associative=False),
    "rsub": Atomic(lambda old, data: data - old, associative=False),
    "csub": Atomic(_clamped_subtraction, associative=False),
    "inc": Atomic(_increment, associative=False), "dec": Atomic(_decrement, associative=False),
    "fadd": Atomic(lambda old, data: floats.add(_FLOAT_MODE, old, data), "f", associative=False),
    "fmin": Atomic(floats.minimum, "f"), "fmax": Atomic(floats.maximum, "f"),
}  # fmt: skip


def named(name: str) -> tuple[Atomic, int]:
    """Return an operation and its size in bytes from the end of a mnemonic: ``add_u32``, ``add_x2``."""
    name = name.replace("sub_clamp", "csub")
    word, _, kind = name.partition("_")
    if not re.fullmatch(r"((num_)?[buif](32|64)|x2)?", kind):
        raise MissingPart(f"atomic {name}")
    if kind in ("f32", "f64", "num_f32", "num_f64") and not word.startswith("f"):
        word = f"f{word}"
    if kind.startswith("i") and word in ("min", "max"):
        word = f"s{word}"
    if kind.startswith("u") and word in ("min", "max"):
        word = f"u{word}"
    if word in ("min", "max"):
        raise MissingPart(f"atomic {name}")
    operation = OPERATIONS.get(word)
    if operation is None:
        raise MissingPart(f"atomic {name}")
    return operation, 8 if "64" in kind or kind == "x2" else 4


def perform(
    operation: Atomic,
    load: Callable[[Array, int], Array],
    store: Callable[[Array, Array, int], None],
    lanes: Mask,
    addresses: Array,
    data: Array,
    compared: Array | None,
) -> Array:
    """Execute an operation for some lanes in their order; return what each of them found, 0 for others.

    `load` and `store` take addresses, values and the size of one in bytes. `addresses`, `data`, `compared`:
    unsigned integers of the shape of `lanes`.
    """
    size = data.dtype.itemsize
    found = np.zeros(lanes.shape, data.dtype)
    if lanes.any():
        found[lanes] = _performed(
            operation,
            lambda where: load(where, size),
            lambda where, values: store(where, values, size),
            addresses[lanes],
            data[lanes],
            None if compared is None else compared[lanes],
        )
    return found


def _performed(
    operation: Atomic,
    load: Callable[[Array], Array],
    store: Callable[[Array, Array], None],
    addresses: Array,
    data: Array,
    compared: Array | None,
) -> Array:
    """Execute an operation for lanes in their order; all arrays are (lanes,)."""
    dtype = np.dtype(f"{operation.kind}{data.dtype.itemsize}")
    values = data.view(dtype)
    order = np.argsort(addresses, kind="stable")
    places = addresses[order]
    first = np.ones(len(places), np.bool_)
    first[1:] = places[1:] != places[:-1]
    found = np.empty(len(places), dtype)
    if first.all():
        found[order] = load(places).view(dtype)
        more = () if compared is None else (compared.view(dtype),)
        store(places, np.asarray(operation.function(found, values, *more))[order].view(data.dtype))
        return found.view(data.dtype)
    if operation.associative:
        return _scanned(operation, load, store, order, places, first, values).view(data.dtype)
    turn = np.arange(len(places)) - np.maximum.accumulate(np.where(first, np.arange(len(places)), 0))
    for number in range(int(turn.max()) + 1):
        lanes = order[turn == number]
        old = load(addresses[lanes]).view(dtype)
        more = () if compared is None else (compared[lanes].view(dtype),)
        store(addresses[lanes], np.asarray(operation.function(old, values[lanes], *more)).view(data.dtype))
        found[lanes] = old
    return found.view(data.dtype)


def _scanned(
    operation: Atomic,
    load: Callable[[Array], Array],
    store: Callable[[Array, Array], None],
    order: Array,
    places: Array,
    first: Array,
    values: Array,
) -> Array:
    """Execute an associative operation as a scan over the lanes of each address."""
    total = values[order].copy()
    start = np.maximum.accumulate(np.where(first, np.arange(len(places)), 0))
    position = np.arange(len(places)) - start
    step = 1
    while step <= position.max():
        later = position >= step
        total[later] = operation.function(total[:-step][later[step:]], total[later])
        step *= 2
    old = load(places).view(total.dtype)
    after = np.asarray(operation.function(old, total))
    before = np.empty_like(after)
    before[1:] = after[:-1]
    before[first] = old[first]
    last = np.ones(len(places), np.bool_)
    last[:-1] = first[1:]
    store(places[last], after[last].view(f"u{total.dtype.itemsize}"))
    found = np.empty_like(before)
    found[order] = before
    return found
