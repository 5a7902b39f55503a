"""Memory barriers of recorded work."""

from __future__ import annotations

from functools import cache
from typing import Any

from vkgroup.device import vk

_FULL_BARRIER = vk.new(
    "VkMemoryBarrier",
    srcAccessMask=vk.ffi.integer_const("VK_ACCESS_MEMORY_WRITE_BIT"),
    dstAccessMask=vk.ffi.integer_const("VK_ACCESS_MEMORY_READ_BIT")
    | vk.ffi.integer_const("VK_ACCESS_MEMORY_WRITE_BIT"),
)
_STAGES = vk.ffi.integer_const("VK_PIPELINE_STAGE_ALL_COMMANDS_BIT")
_STAGES_AND_HOST = _STAGES | vk.ffi.integer_const("VK_PIPELINE_STAGE_HOST_BIT")

SHADER: int = vk.ffi.integer_const("VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT")
TRANSFER: int = vk.ffi.integer_const("VK_PIPELINE_STAGE_TRANSFER_BIT")

_WRITES = {
    SHADER: vk.ffi.integer_const("VK_ACCESS_SHADER_WRITE_BIT"),
    TRANSFER: vk.ffi.integer_const("VK_ACCESS_TRANSFER_WRITE_BIT"),
}
_READS = {
    SHADER: vk.ffi.integer_const("VK_ACCESS_SHADER_READ_BIT")
    | vk.ffi.integer_const("VK_ACCESS_UNIFORM_READ_BIT"),
    TRANSFER: vk.ffi.integer_const("VK_ACCESS_TRANSFER_READ_BIT"),
}


def barrier(functions: vk.Functions, commands: Any) -> None:
    """Order all that came before against all that follows, the host's reads included.

    All recorded work ends with it or with `barrier_between` dispatches. Its second scope includes work that
    is submitted later (Vulkan 1.4, 7.2: "all commands that occur later in submission order"), so no recorded
    work needs to begin with it.
    """
    functions.vkCmdPipelineBarrier(
        commands, _STAGES, _STAGES_AND_HOST, 0, 1, _FULL_BARRIER, 0, vk.NULL, 0, vk.NULL
    )


def barrier_between(functions: vk.Functions, commands: Any, before: int, after: int) -> None:
    """Order dispatches (`SHADER`), copies and fills (`TRANSFER`) or both against those that follow.

    Several of them form a chain if each names what is recorded between it and the next one: the first step
    is then ordered against the last. Each takes 2 to 3 µs less than one that names all (H200).
    """
    functions.vkCmdPipelineBarrier(
        commands, before, after, 0, 1, _accesses(before, after), 0, vk.NULL, 0, vk.NULL
    )


@cache
def _accesses(before: int, after: int) -> Any:
    """Return the VkMemoryBarrier with all accesses of the stages."""
    return vk.new(
        "VkMemoryBarrier",
        srcAccessMask=sum(access for stage, access in _WRITES.items() if before & stage),
        dstAccessMask=sum(_WRITES[stage] | _READS[stage] for stage in _WRITES if after & stage),
    )
