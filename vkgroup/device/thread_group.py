"""NV_shader_thread_group: the limit on warps, and the three values that a host can query."""

from __future__ import annotations

from collections.abc import Mapping

from vkgroup.device.capabilities import Capabilities
from vkgroup.spec.limits import LARGEST_WARP
from vkgroup.spirv import Module
from vkgroup.spirv.editor import source_extensions

EXTENSION = "GL_NV_shader_thread_group"
"""The `OpSourceExtension` of a module that was compiled from a source with the extension."""

_VARYING_SIZES_SINCE = (1, 6)


def thread_group_state(capabilities: Capabilities) -> Mapping[str, int | None]:
    """Return what GetIntegerv returns for the document's tokens ("New Implementation Dependent State").

    Returns
    -------
    WARP_SIZE_NV (the subgroup size), WARPS_PER_SM_NV and SM_COUNT_NV (None without
    ``VK_NV_shader_sm_builtins``) by name.
    """
    builtins = capabilities.sm_builtins
    return {
        "WARP_SIZE_NV": capabilities.subgroup.size,
        "WARPS_PER_SM_NV": builtins.warps_per_sm if builtins else None,
        "SM_COUNT_NV": builtins.sm_count if builtins else None,
    }


def missing_for_thread_group(
    module: Module, capabilities: Capabilities, subgroup_size: int | None = None
) -> list[str]:
    """Say so where a module of the extension would run in subgroups of more than 32 invocations.

    Parameters
    ----------
    subgroup_size : the size that the pipeline requires; None where it takes the device's.
    """
    size = subgroup_size
    if size is None:
        size = capabilities.subgroup.size
        if module.version >= _VARYING_SIZES_SINCE:
            # Vulkan 1.3, "Appendix A: SPIR-V 1.6": any size of the device may come without being asked for.
            size = max(size, capabilities.size_control.max_size)
    if size <= LARGEST_WARP or EXTENSION not in source_extensions(module):
        return []
    return [f"subgroups of at most {LARGEST_WARP} invocations, for {EXTENSION} (they may have {size})"]
