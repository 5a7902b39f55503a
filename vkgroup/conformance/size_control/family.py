"""The family of the subgroup size: each case a pipeline, whose invocations record what they see."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cache

from vkgroup.conformance import support
from vkgroup.conformance.cases import QUAD_SIZE
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.declared import lacking_stages
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.size_control.case import SIZES, SizeCase
from vkgroup.conformance.size_control.dispatches import judge_dispatches
from vkgroup.conformance.size_control.properties import (
    PROPERTIES,
    PropertyCase,
    judge_property,
    missing_property,
)
from vkgroup.conformance.size_control.records import judge
from vkgroup.conformance.size_control.stages import STAGES, StageRow
from vkgroup.device import Capabilities

AnySizeCase = SizeCase | PropertyCase


def _stage_cases(row: StageRow) -> Iterator[SizeCase]:
    for size in SIZES:
        for full in (False, True) if row.workgroups else (False,):
            for spirv16 in (False, True):
                for framebuffer in (False, True) if row.attachments else (False,):
                    yield SizeCase("size_control", row.name, size, full, spirv16, framebuffer)


@cache
def size_cases() -> tuple[AnySizeCase, ...]:
    """Return every case: what is declared, then stage by stage, then over several dispatches."""
    cases: list[AnySizeCase] = [PropertyCase(rule) for rule in PROPERTIES]
    for row in STAGES.values():
        cases += _stage_cases(row)
    cases += [
        SizeCase("multiple_dispatches", "compute", size, full, spirv16)
        for size in SIZES
        for full in (False, True)
        for spirv16 in (False, True)
    ]
    return tuple(cases)


class SizeControlFamily:
    """Varying, required and full subgroups, in every stage, and what a device declares of them."""

    name = "size_control"

    def cases(self) -> Iterable[AnySizeCase]:
        """Return every case."""
        return size_cases()

    def missing(self, case: AnySizeCase, capabilities: Capabilities) -> list[str]:
        """Return what the device does not declare."""
        if isinstance(case, PropertyCase):
            return missing_property(case, capabilities)
        row, control = STAGES[case.stage], capabilities.size_control
        needs = lacking_stages(row.observed, capabilities)
        if not support.has_ballot(capabilities):
            needs.append("VK_SUBGROUP_FEATURE_BALLOT_BIT (to observe the active mask)")
        features = [*row.features, *(() if case.framebuffer else row.stores)]
        if case.choice.varying or case.choice.required is not None:
            features.append("subgroupSizeControl")
        if case.full:
            features.append("computeFullSubgroups")
        needs += [feature for feature in features if feature not in capabilities.features]
        if case.choice.required is not None:
            needs += [
                f"requiredSubgroupSizeStages with the {stage} stage"
                for stage in row.observed
                if stage not in control.required_size_stages
            ]
            size = case.required(capabilities) or 0
            if "fragment" in row.observed and size < QUAD_SIZE:
                needs.append(
                    "a subgroup size of at least 4 in the fragment stage (smaller ones hold no quad)"
                )
        if case.spirv16 and capabilities.api_version < (1, 3):
            needs.append("SPIR-V 1.6 (Vulkan 1.3)")
        return needs

    def batch_key(self, case: AnySizeCase) -> Hashable:
        """Return the case: its pipelines are its own. What is declared is judged at once."""
        return "" if isinstance(case, PropertyCase) else case

    def batch_size(self, case: AnySizeCase, capabilities: Capabilities) -> int:
        """Return as many as there are of what is declared."""
        return len(PROPERTIES)

    def judge(self, executor: Executor, cases: list[AnySizeCase]) -> list[Verdict]:
        """Judge the cases, each for itself."""
        return [_judge(executor, case) for case in cases]


def _judge(executor: Executor, case: AnySizeCase) -> Verdict:
    if isinstance(case, PropertyCase):
        return judge_property(case, executor.capabilities)
    if case.category == "multiple_dispatches":
        return judge_dispatches(executor, case)
    return judge(case, STAGES[case.stage].observe(executor, case), executor.capabilities)
