"""The family of the subgroup size: declared properties, and sizes recorded in pipelines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from vkgroup.conformance import support
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family, TableCase, table
from vkgroup.conformance.size_control.case import SIZES, SizeAxes, SizeCase
from vkgroup.conformance.size_control.records import verdict_of_sizes
from vkgroup.conformance.size_control.stages import STAGES, verdict_of_dispatches
from vkgroup.conformance.stages.pixels import FRAMEBUFFER
from vkgroup.conformance.support import lacking_features, lacking_stages
from vkgroup.device import Capabilities
from vkgroup.dispatch.reference.capabilities import DRIVER_NAME
from vkgroup.record.record import Status
from vkgroup.spec.limits import QUAD_SIZE, SUBGROUP_SIZES


@dataclass(frozen=True)
class Property:
    """A rule for the declared properties."""

    sentence: str  # the rule, with its section
    holds: Callable[[Capabilities], bool]  # whether a device complies


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


_PROPERTY_CASES = table(
    "size_control",
    PropertyAxes,
    lambda axes: f"What the device declares: {PROPERTIES[axes.rule].sentence}.",
    kind=("properties",),
    rule=PROPERTIES,
)


def _missing_properties(case: PropertyCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a rule that a device lacks: declared sizes, and the limits of Vulkan.

    The reference device also executes subgroups of one and two lanes, which a Vulkan device with quad
    operations must not have.
    """
    if not capabilities.size_control.max_size:
        return ["subgroupSizeControl"]
    beyond = case.axes.rule == "quads" and capabilities.driver_name == DRIVER_NAME
    return ["a device of Vulkan (the reference device has smaller subgroups, and quads)"] if beyond else []


def verdict_on_property(rule: str, capabilities: Capabilities) -> Verdict:
    """Return the verdict on a device's properties by a rule, a key of `PROPERTIES`."""
    least, size, most = _sizes(capabilities)
    detail = f"minSubgroupSize {least}, subgroupSize {size}, maxSubgroupSize {most}"
    return Verdict(Status.PASS if PROPERTIES[rule].holds(capabilities) else Status.FAIL, 1, 0, detail)


SIZE_PROPERTIES = Family(
    "size_control.properties",
    _PROPERTY_CASES,
    _missing_properties,
    lambda executor, cases: [verdict_on_property(case.axes.rule, executor.capabilities) for case in cases],
    lambda case: "",
)
"""Rules for the declared properties."""


# --- sizes in pipelines -----------------------------------------------------------------------------------

_SEVERAL = "multiple_dispatches"
"""The category of cases with several dispatches of one pipeline."""

_MODES = {False: ("",), True: ("", "_full")}
_VERSIONS = ("", "spirv16")


def _cases() -> Iterator[SizeCase]:
    """Yield every case stage by stage, then those over several dispatches."""
    rows = [(row.name, row.workgroups, row.attachments, False) for row in STAGES.values()]
    for stage, workgroups, attachments, several in (*rows, ("compute", True, False, True)):
        for size in SIZES:
            for full in _MODES[workgroups]:
                for version in _VERSIONS:
                    for output in ("", FRAMEBUFFER) if attachments else ("",):
                        axes = SizeAxes(stage, size + full, version, output)
                        category = _SEVERAL if several else "size_control"
                        yield TableCase(category, axes, axes.sentence(several))


def _missing(case: SizeCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements that the device lacks."""
    axes, row, control = case.axes, STAGES[case.axes.stage], capabilities.size_control
    required = axes.required(capabilities)
    needs = lacking_stages(row.observed, capabilities)
    if not support.has_ballot(capabilities):
        needs.append("VK_SUBGROUP_FEATURE_BALLOT_BIT (to observe the active mask)")
    features = [*row.features, *(() if axes.framebuffer else row.stores)]
    if axes.choice.varying or required is not None:
        features.append("subgroupSizeControl")
    if axes.full:
        features.append("computeFullSubgroups")
    needs += lacking_features(features, capabilities)
    if required is not None:
        needs += [
            f"requiredSubgroupSizeStages with the {stage} stage"
            for stage in row.observed
            if stage not in control.required_size_stages
        ]
        if "fragment" in row.observed and required < QUAD_SIZE:
            needs.append("a subgroup size of at least 4 in the fragment stage (smaller ones hold no quad)")
    if axes.spirv16 and capabilities.api_version < (1, 3):
        needs.append("SPIR-V 1.6 (Vulkan 1.3)")
    return needs


def _verdicts(executor: Executor, cases: list[SizeCase]) -> list[Verdict]:
    """Execute cases, each with separate pipelines; return their verdicts."""
    verdicts = []
    for case in cases:
        if case.category == _SEVERAL:
            verdicts.append(verdict_of_dispatches(executor, case.axes))
        else:
            seen = STAGES[case.axes.stage].observe(executor, case.axes)
            verdicts.append(verdict_of_sizes(case.axes, seen, executor.capabilities))
    return verdicts


SIZE_CONTROL = Family("size_control", _cases, _missing, _verdicts)
"""Varying, required and full subgroups in every stage."""
