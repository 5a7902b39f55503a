"""Where a batch's invocations come from: workgroups, pixels, vertices, patches, primitives."""

from __future__ import annotations

from vkgroup.conformance.shapes import SHAPES
from vkgroup.conformance.stages.base import GROUP_CELLS, LANES, TICKETS, Around, Found, Stage
from vkgroup.conformance.stages.fragment import HEIGHT, WIDTH, FragmentStage
from vkgroup.conformance.stages.framebuffer import FRAMEBUFFER, FRAMEBUFFER_STAGES, FramebufferStage
from vkgroup.conformance.stages.graphics import INTERFACES
from vkgroup.conformance.stages.ticketed import TicketStage
from vkgroup.conformance.stages.workgroups import WorkgroupStage

__all__ = [
    "FRAMEBUFFER",
    "FRAMEBUFFER_STAGES",
    "GROUP_CELLS",
    "HEIGHT",
    "LANES",
    "TICKETS",
    "WIDTH",
    "Around",
    "Found",
    "FragmentStage",
    "FramebufferStage",
    "Stage",
    "TicketStage",
    "WorkgroupStage",
    "stage_of",
]


def stage_of(name: str, shape: str, partial: bool) -> Stage:
    """Return the invocations of a batch by its cases' stage, shape and whether they are partial."""
    if shape == FRAMEBUFFER:
        return FramebufferStage(name)
    if name == "fragment":
        return FragmentStage(WIDTH - partial, HEIGHT - partial)
    if name in INTERFACES:
        interface = INTERFACES[name](partial)
        return TicketStage(
            name,
            interface.thing,
            interface.least,
            interface.own,
            interface.least,
            interface.layout,
            interface.opening,
            interface.around,
        )
    return WorkgroupStage(SHAPES[shape].local_size(partial), name)
