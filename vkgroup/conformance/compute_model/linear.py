"""Whether results of atomics can have come about one after the other.

Each function takes what the invocations gave to an atomic operation on one location, what it returned to
them, and the location's value before and after, as equal-length 1-D arrays of one integer type. It returns
the empty string where an order of the operations exists that explains all of it, else what contradicts it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]
Apply = Callable[[Values, Values], Values]


def _chain(given: Values, returned: Values, before: Values, after: Values, apply: Apply, key: Values) -> str:
    """Check that the operations, sorted by `key`, follow from each other."""
    order = np.argsort(key, kind="stable")
    state = np.concatenate([before, apply(returned[order], given[order])])
    wrong = np.flatnonzero(state[:-1] != returned[order])
    if wrong.size:
        at = int(wrong[0])
        return (
            f"in the only possible order operation {at} had to find {state[at]}, and an invocation was given"
            f" {returned[order][at]}"
        )
    return "" if state[-1] == after[0] else f"the last value is {after[0]}, must be {state[-1]}"


def add(given: Values, returned: Values, before: Values, after: Values) -> str:
    """Additions of positive numbers: what was returned rises from the first value on, modulo 2**32."""
    with np.errstate(over="ignore"):
        rise = (returned - before).view(np.uint32)
        return _chain(given, returned, before, after, lambda a, b: a + b, rise)


def exchange(given: Values, returned: Values, before: Values, after: Values) -> str:
    """Exchanges of distinct values: each value but the last is returned once, in one chain from the first."""
    place = {int(value): index for index, value in enumerate(returned)}
    if len(place) < len(returned):
        return "a value was returned to two invocations"
    at, steps = int(before[0]), 0
    while at in place and steps <= len(given):
        at = int(given[place[at]])
        steps += 1
    if steps != len(given):
        return f"the chain of values ends after {steps} of {len(given)} exchanges"
    return "" if at == int(after[0]) else f"the last value is {after[0]}, must be {at}"


def _monotone(
    given: Values, returned: Values, before: Values, after: Values, apply: Apply, key: Values
) -> str:
    """Check operations each of which changes the value for good, or leaves it.

    Parameters
    ----------
    key : of each returned value, rising with each change.
    """
    changes = apply(returned, given) != returned
    recorded = _chain(given[changes], returned[changes], before, after, apply, key[changes])
    if recorded:
        return recorded
    states = np.concatenate([before, returned[changes], after])
    strange = ~np.isin(returned, states)
    return f"{returned[strange][0]} was returned, a value that was never there" if strange.any() else ""


def minimum(given: Values, returned: Values, before: Values, after: Values) -> str:
    """Minima: the value falls."""
    return _monotone(given, returned, before, after, np.minimum, -returned.astype(np.int64))


def maximum(given: Values, returned: Values, before: Values, after: Values) -> str:
    """Maxima: the value rises."""
    return _monotone(given, returned, before, after, np.maximum, returned.astype(np.int64))


def _bits(values: Values) -> NDArray[np.int64]:
    unsigned = np.ascontiguousarray(values).view(np.uint32)
    return np.array([int(value).bit_count() for value in unsigned], np.int64)


def conjunction(given: Values, returned: Values, before: Values, after: Values) -> str:
    """Ands: the value loses bits."""
    return _monotone(given, returned, before, after, np.bitwise_and, -_bits(returned))


def disjunction(given: Values, returned: Values, before: Values, after: Values) -> str:
    """Ors: the value gains bits."""
    return _monotone(given, returned, before, after, np.bitwise_or, _bits(returned))


def exclusive(given: Values, returned: Values, before: Values, after: Values) -> str:
    """Exclusive ors, each with a different bit: the value gathers changed bits."""
    return _monotone(given, returned, before, after, np.bitwise_xor, _bits(returned ^ before))


def first_wins(given: Values, returned: Values, before: Values, after: Values) -> str:
    """Compare-and-swaps of the first value against distinct others: one succeeds, all others are told its."""
    winners = np.flatnonzero(returned == before)
    if len(winners) != 1:
        return f"{len(winners)} invocations found the first value and replaced it, must be 1"
    value = given[winners[0]]
    wrong = np.flatnonzero(np.delete(returned, winners[0]) != value)
    if wrong.size:
        return f"{wrong.size} invocations were not told the winner's {value}"
    return "" if after[0] == value else f"the last value is {after[0]}, must be the winner's {value}"
