"""Memory barriers of recorded work."""

from __future__ import annotations

from typing import Any

from vkgroup.device import vk

_FULL_BARRIER = vk.new(
    "VkMemoryBarrier",
    srcAccessMask=vk.ffi.integer_const("VK_ACCESS_MEMORY_WRITE_BIT"),
    dstAccessMask=vk.ffi.integer_const("VK_ACCESS_MEMORY_READ_BIT")
    | vk.ffi.integer_const("VK_ACCESS_MEMORY_WRITE_BIT"),
)
_SHADER_BARRIER = vk.new(
    "VkMemoryBarrier",
    srcAccessMask=vk.ffi.integer_const("VK_ACCESS_SHADER_WRITE_BIT"),
    dstAccessMask=vk.ffi.integer_const("VK_ACCESS_SHADER_READ_BIT")
    | vk.ffi.integer_const("VK_ACCESS_SHADER_WRITE_BIT")
    | vk.ffi.integer_const("VK_ACCESS_UNIFORM_READ_BIT"),
)
_TRANSFER = vk.ffi.integer_const("VK_PIPELINE_STAGE_TRANSFER_BIT")
_SHADER = vk.ffi.integer_const("VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT")
_SHADER_AND_TRANSFER = _SHADER | _TRANSFER
_STAGES = vk.ffi.integer_const("VK_PIPELINE_STAGE_ALL_COMMANDS_BIT")
_STAGES_AND_HOST = _STAGES | vk.ffi.integer_const("VK_PIPELINE_STAGE_HOST_BIT")


def barrier(functions: vk.Functions, commands: Any) -> None:
    """Order all that came before against all that follows, the host's reads included.

    All recorded work ends with it or with `shader_barrier`. Its second scope includes work that is submitted
    later (Vulkan 1.4, 7.2: "all commands that occur later in submission order"), so no recorded work needs to
    begin with it.
    """
    functions.vkCmdPipelineBarrier(
        commands, _STAGES, _STAGES_AND_HOST, 0, 1, _FULL_BARRIER, 0, vk.NULL, 0, vk.NULL
    )


def shader_barrier(functions: vk.Functions, commands: Any) -> None:
    """Order dispatches before this point against dispatches after it, and nothing else.

    It takes 2.2 µs less than `barrier` (H200). `Timeline.submit` adds a `barrier` before other work.
    """
    functions.vkCmdPipelineBarrier(commands, _SHADER, _SHADER, 0, 1, _SHADER_BARRIER, 0, vk.NULL, 0, vk.NULL)


def inner_barrier(functions: vk.Functions, commands: Any) -> None:
    """Add a barrier between the dispatches and transfers before and after this point."""
    functions.vkCmdPipelineBarrier(
        commands, _SHADER_AND_TRANSFER, _SHADER_AND_TRANSFER, 0, 1, _FULL_BARRIER, 0, vk.NULL, 0, vk.NULL
    )
