"""Stages: workgroups, pixels, vertices, patches, primitives and rays as the invocations of a batch."""

from __future__ import annotations

from vkgroup.conformance.shapes import SHAPES
from vkgroup.conformance.stages.base import GROUP_CELLS, LANES, TICKETS, Around, Recorded, Stage
from vkgroup.conformance.stages.fragment import HEIGHT, WIDTH, FragmentStage
from vkgroup.conformance.stages.framebuffer import FRAMEBUFFER, FRAMEBUFFER_STAGES, FramebufferStage
from vkgroup.conformance.stages.graphics import INTERFACES
from vkgroup.conformance.stages.rays import RAY_INTERFACES, RAY_STAGES, SCENE
from vkgroup.conformance.stages.ticketed import TicketStage
from vkgroup.conformance.stages.workgroups import WorkgroupStage

__all__ = [
    "FRAMEBUFFER",
    "FRAMEBUFFER_STAGES",
    "GROUP_CELLS",
    "HEIGHT",
    "LANES",
    "RAY_STAGES",
    "SCENE",
    "TICKETED",
    "TICKETS",
    "WIDTH",
    "Around",
    "FragmentStage",
    "FramebufferStage",
    "Recorded",
    "Stage",
    "TicketStage",
    "WorkgroupStage",
    "stage_of",
]


TICKETED = INTERFACES | RAY_INTERFACES
"""The stages whose invocations are numbered by tickets, with their interfaces, whole or partial."""


def stage_of(name: str, shape: str, partial: bool) -> Stage:
    """Return the invocations of a batch by its cases' stage, shape and whether they are partial."""
    if shape == FRAMEBUFFER:
        return FramebufferStage(name)
    if name == "fragment":
        return FragmentStage(WIDTH - partial, HEIGHT - partial)
    if name in TICKETED:
        return TicketStage(name, TICKETED[name](partial))
    return WorkgroupStage(SHAPES[shape].local_size(partial), name)
