"""Device under observation: runs the shaders of the experiments and caches shared results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from vkgroup.base import files
from vkgroup.device import Capabilities
from vkgroup.dispatch import Device
from vkgroup.probe.layout import Extent, RecordedLayout, extents
from vkgroup.spirv import Module

Array = NDArray[np.generic]


class NoFullSubgroup(Exception):
    """No workgroup is exactly one full subgroup, so the experiment would give misleading results."""


class Subject:
    """A device under observation, which stays open."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.capabilities: Capabilities = device.capabilities

    def has(self, category: str) -> bool:
        """Return whether the device supports a category of subgroup operations."""
        return category in self.capabilities.subgroup.supported_operations

    def module(self, shader: str, **defines: int) -> Module:
        """Return the compiled module of ``shaders/probe/<shader>.comp``."""
        module: Module = self.device.compile(files.shader(f"probe/{shader}.comp"), defines=defines)
        return module

    @cached_property
    def size(self) -> int:
        """Subgroup size of the experiments: the greatest size observed without a required size."""
        return max(int(layout.subgroup_size.max()) for layout in self.layouts)

    @cached_property
    def layouts(self) -> tuple[RecordedLayout, ...]:
        """Layouts of workgroups of several extents, without a required size."""
        wanted = extents(self.capabilities.subgroup.size, self._limits())
        return tuple(self.layout(extent, None) for extent in wanted)

    @cached_property
    def required_layouts(self) -> Mapping[int, RecordedLayout]:
        """Layout of a workgroup of up to four subgroups, by subgroup size that can be required."""
        control = self.capabilities.size_control
        layouts = {}
        size = control.min_size
        while self.can_require_size and size <= control.max_size:
            subgroups = min(4, control.max_compute_workgroup_subgroups)
            invocations = min(subgroups * size, *self._limits().values())
            layouts[size] = self.layout((max(size, invocations), 1, 1), size)
            size *= 2
        return layouts

    @property
    def can_require_size(self) -> bool:
        """Whether a compute pipeline may require a subgroup size."""
        control = self.capabilities.size_control
        return control.supported and control.min_size > 0 and "compute" in control.required_size_stages

    def layout(self, extent: Extent, size: int | None) -> RecordedLayout:
        """Return the layout of one workgroup, recorded by ``layout.comp``."""
        words = np.zeros((int(np.prod(extent)), 8), dtype=np.uint32)
        ballot = self.has("ballot")
        result = self.device.run(
            self._layout_module,
            (1, 1, 1),
            {"Invocation": words},
            specialization=dict(enumerate(extent)),
            subgroup_size=size,
        )
        return RecordedLayout.from_words(extent, result["Invocation"], ballot)

    @cached_property
    def _layout_module(self) -> Module:
        return self.module("layout", **({"BALLOT": 1} if self.has("ballot") else {}))

    @cached_property
    def _has_full_subgroup(self) -> bool:
        layout = self.layout((self.size, 1, 1), self._required)
        return layout.populations == (self.size,)

    @property
    def _required(self) -> int | None:
        control = self.capabilities.size_control
        if self.can_require_size and control.min_size <= self.size <= control.max_size:
            return self.size
        return None

    def run_full_subgroups(
        self, module: Module, workgroups: int, bindings: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """Run workgroups of one full subgroup each; specialization constant 0 is the workgroup size.

        Returns
        -------
        The contents of the bindings that the module writes, by name.

        Raises
        ------
        NoFullSubgroup : a workgroup of this size is not one full subgroup on this device.
        """
        if not self._has_full_subgroup:
            raise NoFullSubgroup(
                f"a workgroup of {self.size} invocations is not one full subgroup on this device"
            )
        return self.device.run(
            module,
            (workgroups, 1, 1),
            bindings,
            specialization={0: self.size},
            subgroup_size=self._required,
        )

    def _limits(self) -> dict[str, int]:
        limits = self.capabilities.limits
        sides = limits["maxComputeWorkGroupSize"]
        return {
            "invocations": int(limits["maxComputeWorkGroupInvocations"]),
            **{axis: int(side) for axis, side in zip("xyz", sides, strict=True)},
        }
