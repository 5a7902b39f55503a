"""Parts of stages: fewer workgroups, invocations, pixels or vertices, for the smallest failing shader.

A part reads the same data as the whole stage: the invocations that are left keep their places in the data
and their numbers, and all others are not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vkgroup.conformance.arrays import Indices, Words
from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.patterns import SHAPES, WORKGROUPS, patterns_of
from vkgroup.conformance.stages.base import BatchStage, PipelineRest, Recorded, WorkgroupStage
from vkgroup.conformance.stages.interfaces import TicketStage, vertices
from vkgroup.conformance.stages.pixels import HEIGHT, WIDTH, TriangleStage
from vkgroup.conformance.subgroup.cases import Case

_WHOLE_VERTICES = TicketStage("vertex", vertices(512, 4))

SPOTS = 3
"""Wrong subgroups of a workgroup that are tried alone."""


@dataclass(frozen=True)
class WorkgroupPart(WorkgroupStage):
    """One workgroup of a compute shader, with consecutive invocations of one workgroup of the whole stage."""

    group: int = 0  # the workgroup of the whole stage, which chooses the data
    first: int = 0  # the index in that workgroup of the first invocation, which begins a subgroup
    count: int = 1  # the number of invocations

    @property
    def invocations(self) -> int:
        """Number of invocations that are left."""
        return self.count

    @property
    def extent(self) -> str:
        """The size of the workgroup."""
        return "1 invocation" if self.count == 1 else f"1 workgroup of {self.count} invocations"

    @property
    def own_numbers(self) -> int:
        """Number of invocations of the whole stage."""
        return WORKGROUPS * self.group_places

    @property
    def table_seed(self) -> int:
        """Number of invocations of the whole stage."""
        return self.own_numbers

    @property
    def declarations(self) -> str:
        """GLSL of the local size."""
        return f"layout(local_size_x = {self.count}) in;"

    @property
    def start(self) -> str:
        """GLSL that gives the invocations their numbers in the whole stage."""
        return f"""uint group = {self.group}u;
    uint index = gl_LocalInvocationIndex;
    uint own = index + {self._base}u;
    uint subgroup = gl_SubgroupID;
    uint turn = gl_SubgroupID + {self.first}u / size;
    uint place = own;"""

    def used_inputs(self, words: Words) -> Words:
        """Return a table with zeros at the places of the invocations that are not executed."""
        if words.size % self.own_numbers:
            return words  # a table of the workgroups
        used = np.zeros_like(words).reshape(-1, self.own_numbers)
        mine = slice(self._base, self._base + self.count)
        used[:, mine] = words.reshape(used.shape)[:, mine]
        return used.ravel()

    @property
    def _base(self) -> int:
        return self.group * self.group_places + self.first

    def recorded(self, record: Words) -> Recorded:
        """Return all invocations."""
        index = np.arange(self.count)
        lane, subgroup, size = record[:3].astype(np.int64)
        group = np.full(self.count, self.group)
        unseen = np.zeros((self.count, 4), np.uint32)
        turn = subgroup + self.first // np.maximum(size, 1)
        return Recorded(index, lane, subgroup, size, group, subgroup, unseen, (), turn, index + self._base)

    def places(self, group: Indices, number: Indices, member: Indices) -> Indices:
        """Return the indices of the members in the whole stage."""
        return member + self._base

    def subgroup_name(self, group: int, number: int) -> str:
        """Return the name of the subgroup; there is one workgroup."""
        return f"subgroup {number}"

    def around(self, planes: int) -> PipelineRest:
        """Return a dispatch of one workgroup."""
        return PipelineRest({}, {"groups": 1})


@dataclass(frozen=True)
class VertexPart(TicketStage):
    """A draw of fewer vertices."""

    @property
    def extent(self) -> str:
        """The number of vertices."""
        return f"{self.interface.least} vertices"

    @property
    def own_numbers(self) -> int:
        """Number of vertices of the whole stage."""
        return _WHOLE_VERTICES.own_numbers

    @property
    def table_seed(self) -> int:
        """Number of records of the whole stage."""
        return _WHOLE_VERTICES.table_seed


def parts_of(case: Case, size: int, wrong: Iterable[tuple[int, int]]) -> Iterator[BatchStage]:
    """Yield parts of a case's stage, those with the fewest invocations first; none where parts do not apply.

    Parameters
    ----------
    case : the case; barriers and 2-D and 3-D workgroups have no parts.
    size : the subgroup size.
    wrong : the wrong subgroups of compute shaders: workgroup, and index in it of the first invocation.
    """
    if case.operation in BARRIERS or case.shape != "1d":
        return
    partial = patterns_of(case.stage)[case.pattern].partial
    if case.stage == "compute":
        yield from _workgroup_parts(list(wrong), size, partial)
    elif case.stage == "fragment":
        for width, height in ((2, 2), (4, 2), (4, 4), (8, 4), (8, 8), (16, 8)):
            if width < WIDTH and height < HEIGHT:
                yield TriangleStage(width + partial, height + partial)
    elif case.stage == "vertex":
        for subgroups in (1, 2, 4, 8, 16):
            yield VertexPart("vertex", vertices(subgroups * size - partial, 1))


def _workgroup_parts(wrong: Sequence[tuple[int, int]], size: int, partial: bool) -> Iterator[BatchStage]:
    local_size = SHAPES["1d"].local_size(partial)
    spots = [(group, first // size * size) for group, first in wrong[:SPOTS]]
    count = 1
    while count < size:
        for group, first in spots:
            yield _fitting(local_size, group, first, count)
        count *= 2
    for group, first in spots:
        yield _fitting(local_size, group, first, size)
    for group in dict.fromkeys(group for group, _ in wrong):
        yield WorkgroupPart(local_size, "compute", group, 0, local_size[0])


def _fitting(local_size: tuple[int, int, int], group: int, first: int, count: int) -> WorkgroupPart:
    """Return a part that does not exceed the workgroup."""
    return WorkgroupPart(local_size, "compute", group, first, min(count, local_size[0] - first))


def wrong_subgroups(lanes: Any) -> list[tuple[int, int]]:
    """Return the subgroups with wrong lanes, as `parts_of` takes them, with the fewest active lanes first.

    `lanes` is a `vkgroup.conformance.subgroup.expectation.JudgedLanes` of a compute shader.
    """
    instances, wrong = lanes.instances, lanes.wrong.any(axis=(1, 2))
    places = lanes.program.stage.group_places
    found: dict[tuple[int, int], int] = {}
    for row in np.flatnonzero(wrong):
        members = instances.member[row][instances.recorded[row]]
        key = int(instances.group[row]), int(members.min()) % places
        found[key] = min(found.get(key, 128), len(members))
    return sorted(found, key=lambda key: (found[key], key))
