"""Compute pipelines: a module made ready to run on a device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vkgroup.device import limits
from vkgroup.device.owner import Owner
from vkgroup.dispatch.base_pipeline import BasePipeline, Shader, check_size_choice, require
from vkgroup.dispatch.slots import slots_of
from vkgroup.errors import DriverError, InvalidDispatch, InvalidModule
from vkgroup.spirv import EntryPoint, Module

if TYPE_CHECKING:
    from vkgroup.dispatch.bound import Bound


class Pipeline(BasePipeline):
    """A compute pipeline; `Device.pipeline` makes it.

    Attributes
    ----------
    shader : the stage with its specialization.
    module, entry_point : what it runs.
    local_size : invocations of a workgroup in x, y, z.
    full_subgroups : whether every subgroup must be full.
    varying_subgroup_size : whether the subgroup size may vary.
    """

    _kind_of_bound: type[Bound]

    def __init__(
        self,
        device: Owner,
        module: Module,
        *,
        entry_point: str | None = None,
        specialization: Mapping[int | str, Any] | None = None,
        subgroup_size: int | None = None,
        full_subgroups: bool = False,
        varying_subgroup_size: bool = False,
    ) -> None:
        self.device, self.module = device, module
        self.subgroup_size, self.full_subgroups = subgroup_size, full_subgroups
        self.varying_subgroup_size = varying_subgroup_size
        check_size_choice(subgroup_size, varying_subgroup_size)
        device.require_open()
        reflection = module.reflection
        self.entry_point = _compute_entry(module, entry_point)
        self.shader = Shader(module, self.entry_point, specialization)
        values, capabilities = self.shader.specialization, device.capabilities
        self.local_size = _local_size(self.entry_point, values)
        over = limits.exceeded(reflection, self.entry_point, values, capabilities)
        over += limits.subgroup_size_problems(
            subgroup_size, full_subgroups, self.local_size, capabilities, varying=varying_subgroup_size
        )
        require(device, self.shader.missing(device, subgroup_size) + over)
        self.slots = slots_of(reflection.bindings)
        self.push_constants = reflection.push_constants
        self.shader.validate(device)
        self._make()

    def statistics(self) -> dict[str, float | int | bool]:
        """Return what the driver's compiler tells of the pipeline: registers, spilled memory and the like.

        Names and values are the driver's own (VK_KHR_pipeline_executable_properties); empty where the
        device does not tell.
        """
        self.device.require_open()
        if self.closed:
            raise DriverError("The pipeline is closed; make a new one.")
        found = self._statistics()
        self.device.raise_validation_errors()
        return found

    def _statistics(self) -> dict[str, float | int | bool]:
        return {}

    def bind(self, bindings: Mapping[Any, Any]) -> Bound:
        """Bind arrays, buffers and images, ready for any number of dispatches.

        Parameters
        ----------
        bindings : by name, by number in set 0, or by (set, number): NumPy arrays, which are copied to
            the device, `Buffer`s, `Image`s and `Sampler`s, which are used as they are; a list of them where
            the shader has an array of descriptors.

        Raises
        ------
        InvalidDispatch
            A binding is missing, surplus, or of a wrong type, shape or size.
        Unsupported
            An array is larger than the device can bind.
        """
        return self._kind_of_bound(self, bindings)


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
