"""Requirements that cases of several families have on a device, by Vulkan's names."""

from __future__ import annotations

from collections.abc import Iterable

from vkgroup.base.errors import CompilerUnavailable
from vkgroup.compiler.installed import TINT, installed
from vkgroup.compiler.slang import slang_folder
from vkgroup.device import Capabilities
from vkgroup.spec.stages import QUAD_STAGES, STAGE_NAMES, STAGES, PipelineKind, stages_of


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

DRAWN = stages_of(PipelineKind.PRIMITIVES) + stages_of(PipelineKind.MESHES)
"""The stages of draws."""


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


def lacking_quads(stage: str, capabilities: Capabilities) -> list[str]:
    """Return the missing requirements of quad operations in a stage (checked for `QUAD_STAGES` only)."""
    declared = stage in QUAD_STAGES or capabilities.subgroup.quad_operations_in_all_stages
    return [] if declared else ["quadOperationsInAllStages"]


def lacking_compiler(name: str) -> list[str]:
    """Return how to install ``"slang"`` or ``"tint"``, if it is not installed; else nothing."""
    if name == "tint":
        return [] if installed(TINT) is not None else ["tint (vkgroup compilers fetch tint)"]
    try:
        slang_folder()
    except CompilerUnavailable:
        return ["Slang (pip install 'vkgroup[slang]')"]
    return []
