"""Stages without workgroups and pixels: vertex, tessellation and geometry shaders, and those of ray tracing.

Vulkan promises that each of these runs at least once for each vertex, patch, primitive or ray, and lets a
device run most of them again. So every invocation draws a ticket from a counter in memory, which says where
it keeps its record. What it computes with depends on its *own* number (of its vertex, patch, primitive or
ray), so that data are the same from run to run, whatever the order of the invocations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkgroup.conformance.arrays import Indices, Words
from vkgroup.conformance.poison import POISON
from vkgroup.conformance.stages.base import GROUP_OF_BLOCK, LANES, Around, Recorded, Stage, group_of_block
from vkgroup.conformance.stages.interfaces import BLOCK, Interface

TICKETS = 8
"""The binding of the counter that numbers invocations."""


@dataclass(frozen=True)
class TicketStage(Stage):
    """Invocations numbered by tickets.

    A subgroup is known by the ticket of its first active lane, and reads the data of that lane's own number.
    """

    name: str  # the stage
    interface: Interface  # how it is run

    record_planes = 4

    @property
    def own_numbers(self) -> int:
        """As many."""
        return self.interface.least

    @property
    def extensions(self) -> tuple[str, ...]:
        """What the interface needs."""
        return self.interface.extensions

    @property
    def invocations(self) -> int:
        """A quarter more than must be: room for those that a device runs again."""
        return self.interface.least * 5 // 4

    @property
    def declarations(self) -> str:
        """The counter of tickets, and the stage's interface."""
        tickets = f"layout(std430, binding = {TICKETS}) buffer Tickets {{ uint tickets; }};"
        return f"const uint LANES = {LANES}u;\n{tickets}\n{self.interface.layout}"

    @property
    def start(self) -> str:
        """Tickets, own numbers, and from those of the first active lane all that subgroups differ in."""
        return f"""{self.interface.opening}
    uint own = {self.interface.own};
    uint index = atomicAdd(tickets, 1u);
    if (index >= INVOCATIONS) return; // No room for its record; the counter tells.
    uint subgroup = subgroupBroadcastFirst(index);
    uint number = subgroupBroadcastFirst(own);
    uint block = number / {BLOCK}u;
    {GROUP_OF_BLOCK}
    outputs[index + 3u * INVOCATIONS] = number;"""

    def recorded(self, record: Words) -> Recorded:
        """Return those that drew a ticket."""
        index = np.flatnonzero(record[2] != POISON)
        lane, subgroup, size, number = record[:4, index].astype(np.int64)
        least = self.interface.least
        wanted = f"{least} {self.interface.thing}"
        faults = []
        if len(index) < least:
            faults.append(f"the stage ran {len(index)} times where it must run for {wanted}")
        if len(index) == self.invocations:
            faults.append(
                f"the stage ran at least {len(index)} times for {wanted}, and there is no room for more "
                "records"
            )
        group = group_of_block(number // BLOCK)
        unseen = np.zeros((len(index), 4), np.uint32)
        return Recorded(index, lane, subgroup, size, group, number, unseen, tuple(faults))

    def block(self, number: Indices) -> Indices:
        """Return the blocks of own numbers."""
        return number // BLOCK

    def subgroup_name(self, group: int, number: int) -> str:
        """Name what the first active lane runs for."""
        return self.interface.subgroup_name(number)

    def around(self, planes: int) -> Around:
        """Return the pipeline."""
        return self.interface.around
