"""Declared subgroup sizes against the rules of the specification: cases without a shader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableCase, TableFamily
from vkgroup.device import Capabilities
from vkgroup.reference.device.capabilities import DRIVER_NAME
from vkgroup.results.record import Status
from vkgroup.spec.limits import QUAD_SIZE, SUBGROUP_SIZES


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


_LIMITS = "Vulkan 1.4, Limits, VkPhysicalDeviceSubgroupSizeControlProperties"

PROPERTIES: dict[str, Property] = {
    "powers_of_two": Property(
        f"minSubgroupSize, subgroupSize and maxSubgroupSize are powers of two: {_LIMITS}",
        lambda capabilities: all(size > 0 and not size & (size - 1) for size in _sizes(capabilities)),
    ),
    "order": Property(
        f"minSubgroupSize <= subgroupSize <= maxSubgroupSize: {_LIMITS}",
        lambda capabilities: list(_sizes(capabilities)) == sorted(_sizes(capabilities)),
    ),
    "most_lanes": Property(
        "maxSubgroupSize is at most 128: Vulkan 1.4, SubgroupSize",
        lambda capabilities: capabilities.size_control.max_size <= SUBGROUP_SIZES[-1],
    ),
    "quads": Property(
        f"minSubgroupSize is at least 4 where quad operations are declared: {_LIMITS}", lambda capabilities: (
            "quad" not in capabilities.subgroup.supported_operations
            or capabilities.size_control.min_size >= QUAD_SIZE
        ),
    ),
    "workgroup_subgroups": Property(
        f"maxComputeWorkgroupSubgroups is at least one, the subgroup of the smallest workgroup: {_LIMITS}",
        lambda capabilities: capabilities.size_control.max_compute_workgroup_subgroups >= 1,
    ),
}  # fmt: skip
"""All rules by name."""


class PropertyAxes(NamedTuple):
    """The axes: ``"properties"``, and a key of `PROPERTIES`."""

    kind: str
    rule: str


PropertyCase = TableCase[PropertyAxes]


def _cases() -> Iterator[PropertyCase]:
    for name, rule in PROPERTIES.items():
        sentence = f"What the device declares: {rule.sentence}."
        yield TableCase("size_control", PropertyAxes("properties", name), sentence)


def _missing(case: PropertyCase, capabilities: Capabilities) -> list[str]:
    """Return what a device lacks to be judged by a rule: declared sizes, and the limits of Vulkan.

    The reference device executes subgroups of one and two lanes as well, which no device of Vulkan with quad
    operations may have.
    """
    if not capabilities.size_control.max_size:
        return ["subgroupSizeControl"]
    beyond = case.axes.rule == "quads" and capabilities.driver_name == DRIVER_NAME
    return ["a device of Vulkan (the reference device has smaller subgroups, and quads)"] if beyond else []


def judge_property(rule: str, capabilities: Capabilities) -> Verdict:
    """Judge what a device declares by a rule, a key of `PROPERTIES`."""
    least, size, most = _sizes(capabilities)
    detail = f"minSubgroupSize {least}, subgroupSize {size}, maxSubgroupSize {most}"
    return Verdict(Status.PASS if PROPERTIES[rule].holds(capabilities) else Status.FAIL, 1, 0, detail)


def _verdicts(executor: Executor, cases: list[PropertyCase]) -> list[Verdict]:
    """Judge what the device declares."""
    return [judge_property(case.axes.rule, executor.capabilities) for case in cases]


DECLARED = TableFamily("properties", _cases, _missing, _verdicts, lambda case: "")
"""Rules on the subgroup sizes that a device declares."""
