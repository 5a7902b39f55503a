"""Requirements that cases of several families have on a device, by Vulkan's names."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from vkgroup.base.errors import CompilerUnavailable
from vkgroup.compiler.dxc import dxc_library
from vkgroup.compiler.installed import TINT, installed
from vkgroup.compiler.slang import slang_folder
from vkgroup.device import Capabilities
from vkgroup.spec.stages import QUAD_STAGES, STAGE_NAMES, STAGES, WORKGROUP_STAGES, PipelineKind, stages_of


def lacking_stages(stages: Iterable[str], capabilities: Capabilities) -> list[str]:
    """Return the stages without subgroup operations, in the given order."""
    supported = capabilities.subgroup.supported_stages
    return [
        f"subgroup operations in the {stage} stage (supportedStages)"
        for stage in stages
        if stage not in supported
    ]


def lacking_features(features: Iterable[str], capabilities: Capabilities) -> list[str]:
    """Return the features that the device lacks, in the given order."""
    return [feature for feature in features if feature not in capabilities.features]


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


def lacking_size(size: int, stage: str, invocations: int, capabilities: Capabilities) -> Iterator[str]:
    """Yield what the device lacks to require a subgroup size in a stage, in workgroups of `invocations`."""
    control = capabilities.size_control
    if not control.supported:
        yield "subgroupSizeControl"
        return
    if stage not in control.required_size_stages:
        yield f"requiredSubgroupSizeStages with the {stage} stage"
    least, most = control.min_size, control.max_size
    if not least <= size <= most:
        yield f"a subgroup size of {size} (minSubgroupSize {least}, maxSubgroupSize {most})"
    if stage in WORKGROUP_STAGES and size * control.max_compute_workgroup_subgroups < invocations:
        yield f"maxComputeWorkgroupSubgroups of at least {-(-invocations // size)}"


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


_INSTALL = {
    "dxc": "DXC (a libdxcompiler, or VKGROUP_DXC)",
    "slang": "Slang (pip install 'vkgroup[slang]')",
    "tint": "tint (vkgroup compilers fetch tint)",
}


def installed_compiler(names: Sequence[str]) -> str:
    """Return the first of some compilers that is installed, of `_INSTALL`; empty if none is."""
    environment = os.environ.get("VKGROUP_DXC", "")
    for name in names:
        if installed(TINT) is not None if name == "tint" else _is_installed(name, environment):
            return name
    return ""


@cache
def _is_installed(name: str, environment: str) -> bool:
    """Return whether DXC or Slang is installed; it stays so in a process."""
    try:
        (dxc_library if name == "dxc" else slang_folder)()
    except CompilerUnavailable:
        return False
    return True


def lacking_compiler(names: Sequence[str]) -> list[str]:
    """Return how to install one of some compilers, if none is installed; else nothing."""
    return [] if installed_compiler(names) else [" or ".join(_INSTALL[name] for name in names)]
