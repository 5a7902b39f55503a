"""The invocations of a batch by stage: of workgroups, pixels, vertices, patches, primitives or rays."""

from __future__ import annotations

from collections.abc import Callable

from vkgroup.conformance.shapes import SHAPES
from vkgroup.conformance.stages.base import GROUP_CELLS, LANES, TICKETS, Around, Recorded, Stage
from vkgroup.conformance.stages.fragment import HEIGHT, WIDTH, FragmentStage
from vkgroup.conformance.stages.framebuffer import FRAMEBUFFER, FRAMEBUFFER_STAGES, FramebufferStage
from vkgroup.conformance.stages.graphics import INTERFACES
from vkgroup.conformance.stages.rays import RAY_INTERFACES, SCENE
from vkgroup.conformance.stages.ticketed import TicketStage
from vkgroup.conformance.stages.workgroups import WorkgroupStage
from vkgroup.spec.stages import WORKGROUP_STAGES

__all__ = [
    "CLASSES",
    "FRAMEBUFFER",
    "FRAMEBUFFER_STAGES",
    "GROUP_CELLS",
    "HEIGHT",
    "LANES",
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


MakeStage = Callable[[str, str, bool], Stage]
"""``(name, shape, partial)`` → the invocations of a batch, partial or whole."""


def _fragments(name: str, shape: str, partial: bool) -> Stage:
    return FragmentStage(WIDTH - partial, HEIGHT - partial)


def _ticketed(name: str, shape: str, partial: bool) -> Stage:
    return TicketStage(name, TICKETED[name](partial))


def _workgroups(name: str, shape: str, partial: bool) -> Stage:
    return WorkgroupStage(SHAPES[shape].local_size(partial), name)


CLASSES: dict[str, MakeStage] = {
    **dict.fromkeys(WORKGROUP_STAGES, _workgroups),
    "fragment": _fragments,
    **dict.fromkeys(TICKETED, _ticketed),
}
"""Every stage that the suite judges, with the function that makes its class."""


def stage_of(name: str, shape: str, partial: bool) -> Stage:
    """Return the invocations of a batch by its cases' stage, shape and whether they are partial."""
    return FramebufferStage(name) if shape == FRAMEBUFFER else CLASSES[name](name, shape, partial)
