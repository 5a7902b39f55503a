"""Arrangement: subgroup and lane of each invocation of a dispatch or of a stage of a draw."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.reference.events import Invocation
from vkgroup.spec.limits import QUAD_SIZE

Groups = tuple[int, int, int]


def linear(local_size: Groups) -> npt.NDArray[np.int64]:
    """Return the assignment in the order of gl_LocalInvocationIndex: (1, invocations)."""
    x, y, z = local_size
    return np.arange(x * y * z, dtype=np.int64)[None, :]


def in_quads(local_size: Groups) -> npt.NDArray[np.int64]:
    """Return the assignment in which each 2 × 2 block of local ids is a quad: (1, invocations).

    Vulkan 1.4, "Quad": with DerivativeGroupQuadsKHR. Local sizes in x and y are even.
    """
    x, y, z = local_size
    index = np.arange(x * y * z, dtype=np.int64)
    at_x, at_y, at_z = index % x, index // x % y, index // (x * y)
    quad = (at_z * (y // 2) + at_y // 2) * (x // 2) + at_x // 2
    return np.asarray(quad * 4 + at_y % 2 * 2 + at_x % 2)[None, :]


def shuffled(
    local_size: Groups, workgroups: int, seed: int, quads: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.int64]:
    """Return a random assignment of each workgroup's invocations to its lanes: (workgroups, invocations).

    Only the last subgroup may be partial, as in the linear assignment.

    `quads`: an assignment (1, invocations) whose quads stay together; None for single invocations.
    """
    x, y, z = local_size
    rng = np.random.default_rng(seed)
    if quads is None:
        return rng.permuted(np.tile(np.arange(x * y * z, dtype=np.int64), (workgroups, 1)), axis=1)
    order = rng.permuted(np.tile(np.arange(x * y * z // 4, dtype=np.int64), (workgroups, 1)), axis=1)
    return np.asarray(order[:, quads[0] // 4] * 4 + quads % 4)


def spread(
    assignment: npt.NDArray[np.int64], size: int, sparse: str, seed: int = 0, *, in_quads: bool = False
) -> npt.NDArray[np.int64]:
    """Return an assignment with the same order in which subgroups are not full.

    `size`: lanes of a subgroup.
    `sparse`: the lanes that hold invocations: the first ``"half"``, the first ``"quarter"``, or ``"seeded"``
    ones, which differ between subgroups.
    `in_quads`: whether four consecutive lanes stay together, in a quad.
    """
    together = QUAD_SIZE if in_quads else 1
    places = size // together
    if places <= 1:
        return assignment
    count = int(assignment.max()) // together + 1
    if sparse != "seeded":
        filled = max(1, places // {"half": 2, "quarter": 4}[sparse])
        place = np.arange(count) // filled * places + np.arange(count) % filled
    else:
        rng = np.random.default_rng(seed)
        # On average half of the lanes; no subgroup is empty or full.
        number = rng.integers(1, places, count)
        rows = [np.sort(rng.permutation(places)[:filled]) + row * places for row, filled in enumerate(number)]
        place = np.concatenate(rows)[:count]
    return np.asarray(place[assignment // together] * together + assignment % together)


@dataclass(frozen=True, slots=True)
class ArrangementPart:
    """Invocations that advance together, in the order of workgroup, subgroup and lane."""

    first: int  # number of the first of them among all
    #: `first_workgroup`, `workgroups`: the first of their workgroups, and the number of them.
    first_workgroup: int
    workgroups: int
    local_index: npt.NDArray[np.int64]  # gl_LocalInvocationIndex of each, (n,)
    #: `workgroup`, `row`: workgroup and subgroup of each, both counted in the part.
    workgroup: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    lane: npt.NDArray[np.int64]  # lane of each in its subgroup


def check_size(subgroup_size: int) -> None:
    """Raise `InvalidDispatch` for an invalid subgroup size."""
    if not 1 <= subgroup_size <= 128 or subgroup_size & (subgroup_size - 1):
        raise InvalidDispatch(f"The subgroup size must be a power of two from 1 to 128, not {subgroup_size}.")


class Arrangement:
    """Subgroups and lanes of the invocations of a dispatch.

    `groups`: workgroups in x, y, z.
    `local_size`: invocations of a workgroup in x, y, z.
    `subgroup_size`: lanes of a subgroup.
    `assignment`: (workgroups, invocations) or (1, invocations): for each gl_LocalInvocationIndex subgroup
    times `subgroup_size` plus lane.

    Attributes: `workgroups`, `per_workgroup`: the number of workgroups, and of invocations in each.
    `subgroups`: subgroups of a workgroup.
    """

    def __init__(
        self,
        groups: Groups,
        local_size: Groups,
        subgroup_size: int,
        assignment: npt.NDArray[np.int64] | None = None,
    ) -> None:
        check_size(subgroup_size)
        self.groups, self.local_size, self.subgroup_size = groups, local_size, subgroup_size
        self.workgroups = groups[0] * groups[1] * groups[2]
        given = linear(local_size) if assignment is None else np.atleast_2d(assignment)
        self.per_workgroup = local_size[0] * local_size[1] * local_size[2]
        if given.shape not in ((1, self.per_workgroup), (self.workgroups, self.per_workgroup)):
            raise InvalidDispatch(
                f"An assignment needs one number for each of the {self.per_workgroup} invocations of a"
                f" workgroup; the given one has the shape {given.shape}."
            )
        #: (workgroups or 1, invocations), ascending by subgroup and lane: the local index of each invocation,
        #: and its subgroup times `subgroup_size` plus its lane.
        self._order = np.argsort(given, axis=1, kind="stable")
        self._lanes = np.take_along_axis(given, self._order, axis=1)
        if self.per_workgroup > 1 and (np.diff(self._lanes, axis=1) <= 0).any():
            raise InvalidDispatch("The assignment puts two invocations into one lane.")
        self.subgroups = int(self._lanes.max()) // subgroup_size + 1

    @cached_property
    def subgroup_numbers(self) -> npt.NDArray[np.int64]:
        """The subgroup of each invocation of the dispatch, counted through all workgroups."""
        inside = np.broadcast_to(self._lanes // self.subgroup_size, (self.workgroups, self.per_workgroup))
        return (inside + np.arange(self.workgroups)[:, None] * self.subgroups).reshape(-1)

    @property
    def invocations(self) -> int:
        """The number of invocations."""
        return self.workgroups * self.per_workgroup

    def parts(self, most: int) -> Iterator[ArrangementPart]:
        """Yield the dispatch in parts of whole workgroups, of at most `most` invocations or one workgroup."""
        step = max(1, most // self.per_workgroup)
        for first in range(0, self.workgroups, step):
            count = min(step, self.workgroups - first)
            if len(self._order) == 1:
                index, lanes = np.tile(self._order[0], count), np.tile(self._lanes[0], count)
            else:
                chosen = slice(first, first + count)
                index, lanes = self._order[chosen].reshape(-1), self._lanes[chosen].reshape(-1)
            workgroup = np.repeat(np.arange(count), self.per_workgroup)
            row = workgroup * self.subgroups + lanes // self.subgroup_size
            lane = lanes % self.subgroup_size
            yield ArrangementPart(first * self.per_workgroup, first, count, index, workgroup, row, lane)

    def invocation(self, number: int) -> Invocation:
        """Return the invocation with a number in the dispatch; numbers follow the order of execution."""
        workgroup, inside = divmod(number, self.per_workgroup)
        row = 0 if len(self._order) == 1 else workgroup
        subgroup, lane = divmod(int(self._lanes[row, inside]), self.subgroup_size)
        return Invocation(
            _three(workgroup, self.groups),
            _three(int(self._order[row, inside]), self.local_size),
            subgroup,
            lane,
        )

    def number(self, workgroup: Groups, local: Groups) -> int:
        """Return the number of an invocation: the reverse of `invocation`; -1 where there is none."""
        if any(
            not 0 <= a < b
            for a, b in zip((*workgroup, *local), (*self.groups, *self.local_size), strict=True)
        ):
            return -1
        flat = workgroup[0] + self.groups[0] * (workgroup[1] + self.groups[1] * workgroup[2])
        index = local[0] + self.local_size[0] * (local[1] + self.local_size[1] * local[2])
        row = 0 if len(self._order) == 1 else flat
        return flat * self.per_workgroup + int(np.flatnonzero(self._order[row] == index)[0])


def _three(number: int, extent: Groups) -> Groups:
    return number % extent[0], number // extent[0] % extent[1], number // (extent[0] * extent[1])


class StagePlacement:
    """Subgroups and lanes of the invocations of a stage of a draw.

    `subgroup_size`: lanes of a subgroup.
    `row`, `lane`: subgroup and lane of each invocation, in ascending order; subgroups start at 0, and none is
    empty.
    `first`, `first_subgroup`: the numbers of invocations and subgroups of the same stage before them.
    """

    groups: Groups = (1, 1, 1)

    def __init__(
        self,
        subgroup_size: int,
        row: npt.NDArray[np.int64],
        lane: npt.NDArray[np.int64],
        *,
        first: int = 0,
        first_subgroup: int = 0,
    ) -> None:
        check_size(subgroup_size)
        self.subgroup_size = subgroup_size
        self.invocations = len(row)
        self.subgroups = int(row[-1]) + 1
        self.local_size: Groups = (self.invocations, 1, 1)
        self.subgroup_numbers = row + first_subgroup
        workgroup = np.zeros(self.invocations, np.int64)
        self.part = ArrangementPart(first, 0, 1, np.arange(self.invocations), workgroup, row, lane)


Arranged = Arrangement | StagePlacement
