"""The family of the subgroup size: each case a pipeline, whose invocations record what they see."""

from __future__ import annotations

from collections.abc import Iterator

from vkgroup.conformance import support
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.declared import lacking_stages
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import JointFamily, TableCase, TableFamily
from vkgroup.conformance.size_control.case import SIZES, SizeAxes, SizeCase
from vkgroup.conformance.size_control.properties import DECLARED
from vkgroup.conformance.size_control.records import verdict_of_sizes
from vkgroup.conformance.size_control.stages import STAGES, verdict_of_dispatches
from vkgroup.conformance.stages import FRAMEBUFFER
from vkgroup.device import Capabilities
from vkgroup.spec.limits import QUAD_SIZE

_SEVERAL = "multiple_dispatches"
"""The category of cases that judge one pipeline over several dispatches."""

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
    """Return what the device does not declare."""
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
    needs += [feature for feature in features if feature not in capabilities.features]
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
    """Judge cases, each with separate pipelines."""
    verdicts = []
    for case in cases:
        if case.category == _SEVERAL:
            verdicts.append(verdict_of_dispatches(executor, case.axes))
        else:
            seen = STAGES[case.axes.stage].observe(executor, case.axes)
            verdicts.append(verdict_of_sizes(case.axes, seen, executor.capabilities))
    return verdicts


SIZE_CONTROL = JointFamily(
    "size_control",
    {"properties": DECLARED, "": TableFamily("sizes", _cases, _missing, _verdicts)},
    ("size_control", _SEVERAL),
)
"""Varying, required and full subgroups, in every stage, and what a device declares of them."""
