"""The invocations of a batch by stage: of workgroups, pixels, vertices, patches, primitives or rays."""

from __future__ import annotations

from collections.abc import Callable

from vkgroup.conformance.patterns import SHAPES
from vkgroup.conformance.stages.base import (
    GROUP_CELLS,
    LANES,
    BatchStage,
    PipelineRest,
    Recorded,
    WorkgroupStage,
)
from vkgroup.conformance.stages.interfaces import INTERFACES, RAY_INTERFACES, SCENE, TICKETS, TicketStage
from vkgroup.conformance.stages.pixels import (
    FRAMEBUFFER,
    FRAMEBUFFER_STAGES,
    HEIGHT,
    WIDTH,
    FramebufferStage,
    TriangleStage,
)
from vkgroup.spec.stages import WORKGROUP_STAGES

__all__ = [
    "CLASSES",
    "FRAMEBUFFER",
    "FRAMEBUFFER_STAGES",
    "GROUP_CELLS",
    "HEIGHT",
    "LANES",
    "RAY_INTERFACES",
    "SCENE",
    "TICKETED",
    "TICKETS",
    "WIDTH",
    "BatchStage",
    "FramebufferStage",
    "PipelineRest",
    "Recorded",
    "TicketStage",
    "TriangleStage",
    "WorkgroupStage",
    "stage_of",
]


TICKETED = INTERFACES | RAY_INTERFACES
"""The stages whose invocations are numbered by tickets, with their interfaces, whole or partial."""


CLASSES: dict[str, Callable[[str, str, bool], BatchStage]] = {
    **dict.fromkeys(
        WORKGROUP_STAGES, lambda name, shape, partial: WorkgroupStage(SHAPES[shape].local_size(partial), name)
    ),
    "fragment": lambda name, shape, partial: TriangleStage(WIDTH - partial, HEIGHT - partial),
    **dict.fromkeys(TICKETED, lambda name, shape, partial: TicketStage(name, TICKETED[name](partial))),
}
"""Every stage of the suite: ``(name, shape, partial)`` → the invocations of a batch."""


def stage_of(name: str, shape: str, partial: bool) -> BatchStage:
    """Return the stage object of a batch for its cases' stage and shape, whole or partial."""
    return FramebufferStage(name) if shape == FRAMEBUFFER else CLASSES[name](name, shape, partial)
