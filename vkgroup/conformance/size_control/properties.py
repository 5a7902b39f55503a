"""What a device declares of its subgroup sizes, held against the specification: cases without a shader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.results import Status
from vkgroup.device import Capabilities
from vkgroup.reference.device.capabilities import DRIVER_NAME

_MOST_LANES, _QUAD = 128, 4


@dataclass(frozen=True)
class Property:
    """A rule on what is declared.

    Attributes
    ----------
    sentence : the rule, with its place.
    holds : whether a device keeps it.
    """

    sentence: str
    holds: Callable[[Capabilities], bool]


def _sizes(capabilities: Capabilities) -> tuple[int, int, int]:
    control = capabilities.size_control
    return control.min_size, capabilities.subgroup.size, control.max_size


def _powers(capabilities: Capabilities) -> bool:
    return all(size > 0 and not size & (size - 1) for size in _sizes(capabilities))


def _order(capabilities: Capabilities) -> bool:
    least, size, most = _sizes(capabilities)
    return least <= size <= most


def _quad(capabilities: Capabilities) -> bool:
    return (
        "quad" not in capabilities.subgroup.supported_operations
        or capabilities.size_control.min_size >= _QUAD
    )


_LIMITS = "Vulkan 1.4, Limits, VkPhysicalDeviceSubgroupSizeControlProperties"

PROPERTIES: dict[str, Property] = {
    "powers_of_two": Property(
        f"minSubgroupSize, subgroupSize and maxSubgroupSize are powers of two: {_LIMITS}", _powers
    ),
    "order": Property(f"minSubgroupSize <= subgroupSize <= maxSubgroupSize: {_LIMITS}", _order),
    "most_lanes": Property(
        "maxSubgroupSize is at most 128: Vulkan 1.4, SubgroupSize",
        lambda capabilities: capabilities.size_control.max_size <= _MOST_LANES,
    ),
    "quads": Property(f"minSubgroupSize is at least 4 where quad operations are declared: {_LIMITS}", _quad),
    "workgroup_subgroups": Property(
        f"maxComputeWorkgroupSubgroups is at least one, the subgroup of the smallest workgroup: {_LIMITS}",
        lambda capabilities: capabilities.size_control.max_compute_workgroup_subgroups >= 1,
    ),
}
"""All rules by name."""


@dataclass(frozen=True, slots=True)
class PropertyCase:
    """The case of one rule."""

    rule: str

    @property
    def category(self) -> str:
        """The family's own."""
        return "size_control"

    @property
    def name(self) -> str:
        """``size_control.properties.rule``."""
        return f"size_control.properties.{self.rule}"

    @property
    def sentence(self) -> str:
        """The rule."""
        return f"What the device declares: {PROPERTIES[self.rule].sentence}."


def missing_property(case: PropertyCase, capabilities: Capabilities) -> list[str]:
    """Return what a device lacks to be judged by a rule: sizes of its own, and those of Vulkan.

    The reference device executes subgroups of one and two lanes as well, which no device of Vulkan with quad
    operations may have.
    """
    if not capabilities.size_control.max_size:
        return ["subgroupSizeControl"]
    beyond = case.rule == "quads" and capabilities.driver_name == DRIVER_NAME
    return ["a device of Vulkan (the reference device has smaller subgroups, and quads)"] if beyond else []


def judge_property(case: PropertyCase, capabilities: Capabilities) -> Verdict:
    """Judge what a device declares."""
    least, size, most = _sizes(capabilities)
    detail = f"minSubgroupSize {least}, subgroupSize {size}, maxSubgroupSize {most}"
    holds = PROPERTIES[case.rule].holds(capabilities)
    return Verdict(Status.PASS if holds else Status.FAIL, 1, 0, detail)
