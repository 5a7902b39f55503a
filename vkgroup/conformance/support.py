"""Requirements of cases on a device; a case runs only if the device declares all that it needs."""

from __future__ import annotations

from collections.abc import Iterable

from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.case import Case
from vkgroup.conformance.operands import choices
from vkgroup.conformance.patterns import patterns_of
from vkgroup.conformance.stages import FRAMEBUFFER, GROUP_CELLS, stage_of
from vkgroup.device import Capabilities
from vkgroup.programs.glsl_types import is_long
from vkgroup.spec.categories import Category
from vkgroup.spec.extended_operations import SUBGROUP_OPERATIONS
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spec.operations import OperandKind
from vkgroup.spec.stages import QUAD_STAGES, STAGE_NAMES, STAGES, WORKGROUP_STAGES, PipelineKind, stages_of


def lacking_stages(stages: Iterable[str], capabilities: Capabilities) -> list[str]:
    """Return the stages without subgroup operations, in the given order."""
    supported = capabilities.subgroup.supported_stages
    return [
        f"subgroup operations in the {stage} stage (supportedStages)"
        for stage in stages
        if stage not in supported
    ]


def lacking_stores(stage: str, capabilities: Capabilities) -> list[str]:
    """Return the feature that lets a stage write to buffers, if the device lacks it."""
    feature = STAGE_NAMES[stage].store_feature
    return [feature] if feature and feature not in capabilities.features else []


def lacking_operations(categories: Iterable[str], capabilities: Capabilities) -> list[str]:
    """Return the categories of operations that the device lacks, in the given order."""
    supported = capabilities.subgroup.supported_operations
    return [
        f"VK_SUBGROUP_FEATURE_{category.upper()}_BIT" for category in categories if category not in supported
    ]


STORES = tuple(dict.fromkeys(stage.store_feature for stage in STAGES if stage.store_feature))
"""The features that let stages write to buffers."""

STAGE_FEATURES: dict[str, tuple[str, ...]] = {
    stage.name: (*stage.features, *filter(None, [stage.store_feature]))
    for stage in STAGES
    if stage.features or stage.store_feature
}
"""The features that cases of a stage need."""

_DRAWN = stages_of(PipelineKind.PRIMITIVES) + stages_of(PipelineKind.MESHES)


def preserved_denormals(capabilities: Capabilities) -> frozenset[int]:
    """Return the widths of floats for which the device supports the execution mode DenormPreserve."""
    return frozenset(
        width
        for width in (16, 32, 64)
        if capabilities.float_controls.get(f"shaderDenormPreserveFloat{width}", False)
    )


def has_ballot(capabilities: Capabilities) -> bool:
    """Whether the device can record active masks."""
    return "ballot" in capabilities.subgroup.supported_operations


def subgroup_size(case: Case, capabilities: Capabilities) -> int:
    """Return the subgroup size at which a case runs on a device."""
    return case.subgroup_size or capabilities.subgroup.size


def missing(case: Case, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device lacks, by Vulkan's names; empty if none."""
    needs = _missing_subgroup(case, capabilities)
    needs += _missing_type(case, capabilities)
    needs += _missing_operand(case, capabilities)
    if case.subgroup_size:
        needs += _missing_size(case, capabilities)
    return needs


def _missing_subgroup(case: Case, capabilities: Capabilities) -> list[str]:
    needs = lacking_stages((case.stage,), capabilities)
    needs += _missing_category(Category(case.category), capabilities)
    pattern = patterns_of(case.stage)[case.pattern]
    if subgroup_size(case, capabilities) < pattern.least_size:
        needs.append(f"a subgroup size of at least {pattern.least_size} (smaller ones execute nothing)")
    needs += _missing_stage(case, capabilities)
    needs += [feature for feature in pattern.leave.features if feature not in capabilities.features]
    in_workgroups = case.stage in WORKGROUP_STAGES
    observed = not in_workgroups or not pattern.uniform or case.operation in BARRIERS
    if observed and not has_ballot(capabilities):
        needs.append("VK_SUBGROUP_FEATURE_BALLOT_BIT (to observe the active mask)")
    return needs


def _missing_category(category: Category, capabilities: Capabilities) -> list[str]:
    """Return the bit of a category, and the features of its extension if it is not in Vulkan 1.1."""
    declared = category.declared in capabilities.subgroup.supported_operations
    needs = [] if declared else [category.feature]
    needs += [name for name in category.features if name not in capabilities.features]
    if category is Category.PARTITIONED:
        nv = "VK_NV_shader_subgroup_partitioned"
        if nv not in capabilities.extensions and "shaderSubgroupPartitioned" not in capabilities.features:
            needs.append(f"{nv} or shaderSubgroupPartitioned")
    return needs


def _missing_stage(case: Case, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a stage apart from subgroup operations."""
    features = list(STAGE_FEATURES.get(case.stage, ()))
    if case.shape == FRAMEBUFFER:
        features = [feature for feature in features if feature not in STORES]
    needs = [feature for feature in features if feature not in capabilities.features]
    if case.stage in _DRAWN and capabilities.subgroup.size < QUAD_SIZE:
        needs.append(f"a subgroup size of at least {QUAD_SIZE} (the fragments of a draw are shaded in quads)")
    if case.category == "quad":
        needs += lacking_quads(case.stage, capabilities)
    return needs


def lacking_quads(stage: str, capabilities: Capabilities) -> list[str]:
    """Return the missing requirements of quad operations in a stage (checked for `QUAD_STAGES` only)."""
    declared = stage in QUAD_STAGES or capabilities.subgroup.quad_operations_in_all_stages
    return [] if declared else ["quadOperationsInAllStages"]


def _missing_type(case: Case, capabilities: Capabilities) -> list[str]:
    scalar = case.glsl_type.scalar
    needs = [feature for feature in scalar.subgroup_features if feature not in capabilities.features]
    if is_long(case.glsl_type) and "longVector" not in capabilities.features:
        needs.append("longVector")
    if case.preserved_width:
        control = f"shaderSignedZeroInfNanPreserveFloat{case.preserved_width}"
        if not capabilities.float_controls.get(control, False):
            needs.append(control)
    return needs


def _missing_operand(case: Case, capabilities: Capabilities) -> list[str]:
    size = subgroup_size(case, capabilities)
    if case.operation in BARRIERS:
        lanes = -(-_invocations(case) // size) * size
        enough = lanes <= GROUP_CELLS or case.stage not in WORKGROUP_STAGES
        return [] if enough else [f"at most {GROUP_CELLS} lanes a workgroup"]
    if not case.operand:
        return []
    operand = choices(case.operation)[case.operand]
    if operand.cluster > size:
        return [
            f"a subgroup size of at least {operand.cluster} (it is {size}; larger clusters are undefined)"
        ]
    needs = []
    if operand.observes and not has_ballot(capabilities):
        needs.append("VK_SUBGROUP_FEATURE_BALLOT_BIT (to make the operand)")
    dynamic_ids = "subgroupBroadcastDynamicId"
    operands = SUBGROUP_OPERATIONS[case.operation].operands
    constant_id = any(row.kind is OperandKind.ID and row.constant for row in operands)
    if operand.dynamic and constant_id and dynamic_ids not in capabilities.features:
        needs.append(dynamic_ids)
    return needs


def _invocations(case: Case) -> int:
    """Return the number of invocations in a workgroup of a case."""
    return stage_of(case.stage, case.shape, patterns_of(case.stage)[case.pattern].partial).group_places


def _missing_size(case: Case, capabilities: Capabilities) -> list[str]:
    control, size = capabilities.size_control, case.subgroup_size
    if not control.supported:
        return ["subgroupSizeControl"]
    needs = []
    if case.stage not in control.required_size_stages:
        needs.append(f"requiredSubgroupSizeStages with the {case.stage} stage")
    if not control.min_size <= size <= control.max_size:
        needs.append(
            f"a subgroup size of {size} (minSubgroupSize {control.min_size}, "
            f"maxSubgroupSize {control.max_size})"
        )
    invocations = _invocations(case)
    if case.stage in WORKGROUP_STAGES and size * control.max_compute_workgroup_subgroups < invocations:
        needs.append(f"maxComputeWorkgroupSubgroups of at least {-(-invocations // size)}")
    return needs
