"""Compute pipelines: the checks of one compute shader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.device import limits
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.shader import Shader
from vkgroup.dispatch.stages import Stages
from vkgroup.errors import InvalidDispatch, InvalidModule
from vkgroup.spirv import EntryPoint, Module, PushConstants


class ComputeStages(Stages):
    """A compute shader.

    Attributes
    ----------
    shader : the only stage.
    local_size : invocations of a workgroup in x, y and z.
    """

    kind = "compute"

    def __init__(
        self,
        module: Module,
        *,
        entry_point: str | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
    ) -> None:
        super().__init__(subgroup_size, full_subgroups, varying_subgroup_size)
        entry = _compute_entry(module, entry_point)
        self.shader = Shader(module, entry, specialization)
        self.shaders = (self.shader,)
        self.local_size = _local_size(entry, self.shader.specialization)

    def controls_size(self, shader: Shader) -> bool:
        """Whether the required subgroup size applies: always, also without subgroup operations."""
        return True

    def lacking(self, device: DeviceBase) -> list[str]:
        """List what the shader needs and the device does not have, by Vulkan's names."""
        shader, capabilities = self.shader, device.capabilities
        return [
            *shader.missing(device, self.subgroup_size),
            *limits.exceeded(
                shader.module.reflection, shader.entry_point, shader.specialization, capabilities
            ),
            *limits.subgroup_size_problems(
                self.subgroup_size,
                self.full_subgroups,
                self.local_size,
                capabilities,
                varying=self.varying_subgroup_size,
            ),
        ]

    def push_constants(self) -> tuple[PushConstants | None, str]:
        """Return the shader's block of push constants, which cannot contradict another."""
        return self.shader.module.reflection.push_constants, ""


def _compute_entry(module: Module, name: str | None) -> EntryPoint:
    entry = module.reflection.entry_point(name)
    if entry.stage != "compute":
        how = " Draw it: Device.draw, or `vkgroup run … --size W,H`." if entry.stage == "fragment" else ""
        raise InvalidDispatch(
            f"The entry point {entry.name!r} is a {entry.stage} shader; compute is needed.{how}"
        )
    return entry


def _local_size(entry: EntryPoint, values: Mapping[int, Any]) -> tuple[int, int, int]:
    if entry.local_size is None:
        raise InvalidModule(f"The entry point {entry.name!r} declares no local size.")
    return entry.local_size.resolve(values)
