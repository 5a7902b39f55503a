"""Cases of the subgroup size: the request of a pipeline, and the legal sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from vkgroup.compiler import TargetEnvironment
from vkgroup.conformance.family import TableCase
from vkgroup.device import Capabilities

_FULL = "_full"


@dataclass(frozen=True)
class SizeChoice:
    """A pipeline's request for its subgroup size."""

    sentence: str  # to complete "A pipeline …"
    varying: bool = False  # whether it has the flag for varying sizes
    #: Capabilities → the required size; None requires none.
    required: Callable[[Capabilities], int] | None = None


SIZES: dict[str, SizeChoice] = {
    "default": SizeChoice("that says nothing of the subgroup size"),
    "varying": SizeChoice("that lets the subgroup size vary", varying=True),
    "required_min": SizeChoice(
        "that requires minSubgroupSize", required=lambda capabilities: capabilities.size_control.min_size
    ),
    "required_max": SizeChoice(
        "that requires maxSubgroupSize", required=lambda capabilities: capabilities.size_control.max_size
    ),
}
"""All choices by name."""


class SizeAxes(NamedTuple):
    """The axes of a case that runs pipelines."""

    stage: str  # key of the stages that are observed; see `vkgroup.conformance.size_control.stages`
    mode: str  # key of `SIZES`, followed by ``_full`` if full subgroups are required
    version: str = ""  # ``"spirv16"`` for a module of SPIR-V 1.6, "" for one of 1.5
    output: str = ""  # `FRAMEBUFFER` if records are written to attachments, "" for a buffer

    @property
    def full(self) -> bool:
        """Whether full subgroups are required."""
        return self.mode.endswith(_FULL)

    @property
    def spirv16(self) -> bool:
        """Whether the module has SPIR-V version 1.6."""
        return bool(self.version)

    @property
    def framebuffer(self) -> bool:
        """Whether the records are written to attachments."""
        return bool(self.output)

    @property
    def choice(self) -> SizeChoice:
        """The requested subgroup size of its pipelines."""
        return SIZES[self.mode.removesuffix(_FULL)]

    def sentence(self, several: bool) -> str:
        """Return the description of a case over one or several dispatches."""
        full = " and demands full subgroups" if self.full else ""
        version = "SPIR-V 1.6" if self.spirv16 else "SPIR-V 1.5"
        where = ", seen through its attachments" if self.framebuffer else ""
        dispatches = "over several dispatches " if several else ""
        return (
            f"A pipeline {self.choice.sentence}{full}, of {version}, has the subgroup sizes that it may have "
            f"{dispatches}({self.stage.replace('_', ' ')}{where}): Vulkan 1.4, Varying Subgroup Size, Full"
            " Subgroups."
        )

    @property
    def target(self) -> TargetEnvironment:
        """The compilation target of its modules."""
        return TargetEnvironment.VULKAN_1_3 if self.spirv16 else TargetEnvironment.VULKAN_1_2

    def required(self, capabilities: Capabilities) -> int | None:
        """Return the subgroup size that its pipelines require; None if they require none."""
        return None if self.choice.required is None else self.choice.required(capabilities)

    def legal(self, capabilities: Capabilities) -> tuple[int, ...]:
        """Return the values that gl_SubgroupSize may have.

        Vulkan 1.4, Varying Subgroup Size: only `subgroupSize`, unless the flag or SPIR-V 1.6 lets the
        size vary. Then each power of two from `minSubgroupSize` to `maxSubgroupSize` is legal. Required
        Subgroup Size: only the required size.
        """
        control, required = capabilities.size_control, self.required(capabilities)
        if required is not None:
            return (required,)
        if not (self.choice.varying or self.spirv16):
            return (capabilities.subgroup.size,)
        return tuple(1 << bit for bit in range(8) if control.min_size <= 1 << bit <= control.max_size)

    def control(self, capabilities: Capabilities) -> dict[str, Any]:
        """Return the subgroup size as arguments of pipelines and draws."""
        return {
            "subgroup_size": self.required(capabilities),
            "varying_subgroup_size": self.choice.varying,
            "full_subgroups": self.full,
        }

    def must_be_full(self, local_size: tuple[int, int, int], size: int) -> bool:
        """Whether subgroups of a size must be full (Vulkan 1.4, Full Subgroups)."""
        return (self.full or self.spirv16) and local_size[0] % size == 0


SizeCase = TableCase[SizeAxes]
