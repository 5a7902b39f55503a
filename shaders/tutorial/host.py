"""What the tutorial's hosts share: the shaders' folder, checks of answers, lanes sorted into subgroups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FOLDER = Path(__file__).resolve().parent

#: Invocations of the workgroup that the tutorial's compute shaders have.
LOCAL = 128

#: What one float32 operation may be wrong by, relative to its result: Vulkan leaves the direction of rounding
#: open (1.4, "Precision of Individual Operations").
UNIT = 2.0**-23


class Wrong(Exception):
    """An answer that is not what the shader's author meant it to be."""


def check(what: str, found: npt.ArrayLike, wanted: npt.ArrayLike, bound: Any = 0, where: Any = True) -> None:
    """Raise `Wrong` unless `found` is `wanted`.

    Parameters
    ----------
    bound : the greatest absolute error that the specification allows, of a shape that fits.
    where : for which elements anything is defined.
    """
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape:
        raise Wrong(f"{what} has the shape {found.shape}, not {wanted.shape}")
    error = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
    wrong = np.argwhere(~(error <= bound) & np.broadcast_to(where, found.shape))
    if len(wrong):
        at = tuple(int(number) for number in wrong[0])
        raise Wrong(
            f"{what}: {len(wrong)} of {found.size} wrong, at {at} it is {found[at]}, not {wanted[at]}"
        )


def rng() -> np.random.Generator:
    """Return random numbers, the same in each run."""
    return np.random.default_rng(2018)


def foo_and_bar() -> tuple[Array, Array]:
    """Return the ints of four workgroups: all want x, none does, half of them do, a quarter does."""
    random = rng()
    foo = random.integers(-100, 100, 4 * LOCAL)
    share = np.repeat([1.0, 0.0, 0.5, 0.25], LOCAL)
    bar = foo + np.where(random.random(4 * LOCAL) < share, 1, -1) * random.integers(1, 50, 4 * LOCAL)
    return foo.astype(np.int32), bar.astype(np.int32)


def lanes() -> Array:
    """Return room for what four workgroups say of their lanes."""
    return np.full((4 * LOCAL, 2), 0xFFFFFFFF, np.uint32)


def workgroup_subgroups(lane: Array) -> Iterator[tuple[Array, Array]]:
    """Yield each subgroup of workgroups of `LOCAL`: its invocations, and their lanes.

    Parameters
    ----------
    lane : (invocations, 2): gl_SubgroupID and gl_SubgroupInvocationID.
    """
    identity = np.arange(len(lane)) // LOCAL * 2**16 + lane[:, 0]
    yield from subgroups(np.column_stack([identity, lane[:, 1]]))


def subgroups(lane: Array) -> Iterator[tuple[Array, Array]]:
    """Yield each subgroup: its invocations in the order of their lanes, and these.

    Parameters
    ----------
    lane : (invocations, 2): a number that is the same in a whole subgroup, and gl_SubgroupInvocationID.
    """
    for identity in np.unique(lane[:, 0]):
        members = np.flatnonzero(lane[:, 0] == identity)
        members = members[np.argsort(lane[members, 1])]
        yield members, lane[members, 1].astype(np.int64)


class Fragments:
    """The values of one subgroup of fragments by lane, what they may be wrong by, and which are defined.

    Attributes
    ----------
    value : (size, 4) float64.
    error : (size, 4) the most that rounding may have put in, relative.
    defined : (size,) False for inactive lanes, and for what came of them.
    """

    def __init__(self, size: int, lanes: Array, values: Array) -> None:
        self.value = np.ones((size, 4))
        self.error = np.zeros((size, 4))
        self.defined = np.zeros(size, np.bool_)
        self.value[lanes] = values
        self.defined[lanes] = True

    def multiply(self, source: Array, where: Array, add: Array | float = 0.0) -> None:
        """Multiply with the values of other lanes, and add something positive, where `where` holds.

        Errors of factors add up, and each operation rounds once more.

        Parameters
        ----------
        source : (size,) the lane whose value each lane takes; where that is none, the value is undefined.
        """
        known = (source >= 0) & (source < len(source))
        source = np.where(known, source, 0)
        product = self.value * self.value[source] + add
        error = (1 + self.error) * (1 + self.error[source]) * (1 + UNIT) ** 2 - 1
        self.value = np.where(where[:, None], product, self.value)
        self.error = np.where(where[:, None], error, self.error)
        self.defined = np.where(where, self.defined & known & self.defined[source], self.defined)


def check_products(
    found: Mapping[str, Array],
    size: int,
    first: int,
    multiply: Callable[[Fragments, int, Array, Array], None],
) -> int:
    """Repeat what the fragments of a draw multiplied in doubling steps, and check `data`.

    Parameters
    ----------
    found : a draw's outputs: `data`, what came out; `given`, what went in; `lane`, as for `subgroups`.
    size : the subgroup's size, which steps stay below.
    first : the first step.
    multiply : does one step of a subgroup: its values by lane, the step, its invocations, their lanes.

    Returns
    -------
    The number of fragments with a defined result.
    """
    data, given = (found[name].reshape(-1, 4) for name in ("data", "given"))
    wanted, bound = np.zeros(data.shape), np.zeros(data.shape)
    defined = np.zeros(len(data), np.bool_)
    for members, lanes in subgroups(found["lane"].reshape(-1, 2)):
        fragments = Fragments(size, lanes, given[members])
        step = first
        while step < size:
            multiply(fragments, step, members, lanes)
            step *= 2
        wanted[members] = fragments.value[lanes]
        bound[members] = (fragments.value * fragments.error)[lanes]
        defined[members] = fragments.defined[lanes]
    check("data", data, wanted, bound, defined[:, None])
    return int(defined.sum())
