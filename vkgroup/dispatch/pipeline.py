"""Compute pipelines: a module made ready to run on a device."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vkgroup.closing import Closing
from vkgroup.compiler import Target, validate
from vkgroup.device import limits, requirements
from vkgroup.device.owner import Owner
from vkgroup.dispatch.blocks import pack_specialization
from vkgroup.dispatch.slots import slots_of
from vkgroup.errors import DriverError, InvalidDispatch, InvalidModule, Unsupported
from vkgroup.spirv import EntryPoint, Module, Value

if TYPE_CHECKING:
    from vkgroup.dispatch.bound import Bound


class Pipeline(Closing):
    """A compute pipeline; `Device.pipeline` makes it.

    Attributes
    ----------
    module, entry_point : what it runs.
    local_size : invocations of a workgroup in x, y, z.
    slots : the places that `bind` wants filled.
    subgroup_size : the required subgroup size, None where none was required.
    full_subgroups : whether every subgroup must be full.
    specialization : the values given, by specialization id.
    device : what it was made from.
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
    ) -> None:
        self.device, self.module = device, module
        self.subgroup_size, self.full_subgroups = subgroup_size, full_subgroups
        device.require_open()
        reflection = module.reflection
        self.entry_point = _compute_entry(module, entry_point)
        values, packed = pack_specialization(reflection.specialization_constants, specialization or {})
        self.specialization: Mapping[int, Value] = values
        self.local_size = _local_size(self.entry_point, values)
        over = limits.exceeded(reflection, self.entry_point, values, device.capabilities)
        size_problems = limits.subgroup_size_problems(
            subgroup_size, full_subgroups, self.local_size, device.capabilities
        )
        missing = requirements.missing(module, device.capabilities, self.entry_point.name)
        if missing or over or size_problems:
            lacking = missing + over + size_problems
            raise Unsupported(f"{device.capabilities.name} lacks: {'; '.join(lacking)}.", lacking)
        self.slots = slots_of(reflection)
        _validate(device, module)
        device.register(self)
        self._holding = True
        try:
            self._create(packed)
        except (DriverError, Unsupported):
            self.close()
            raise
        device.raise_validation_errors()

    @abstractmethod
    def _create(self, specialization: Mapping[int, bytes]) -> None:
        """Make it, with the bytes of specialization constants by id."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the pipeline was closed."""

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
        raise InvalidDispatch(f"The entry point {entry.name!r} is a {entry.stage} shader; compute is needed.")
    return entry


def _local_size(entry: EntryPoint, values: Mapping[int, Any]) -> tuple[int, int, int]:
    if entry.local_size is None:
        raise InvalidModule(f"The entry point {entry.name!r} declares no local size.")
    return entry.local_size.resolve(values)


def _validate(device: Owner, module: Module) -> None:
    """Have SPIRV-Tools check a module before a driver sees it, once for each device."""
    if hash(module) in device.validated:
        return
    target = Target.for_api_version(device.capabilities.api_version)
    if target is Target.VULKAN_1_1 and module.version == (1, 4):
        target = Target.VULKAN_1_1_SPIRV_1_4
    validate(module, target)
    device.validated.add(hash(module))
