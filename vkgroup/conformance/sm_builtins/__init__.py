"""Cases of the built-in variables of VK_NV_shader_sm_builtins."""

from __future__ import annotations

from vkgroup.conformance.sm_builtins.family import SmBuiltinsFamily

__all__ = ["SmBuiltinsFamily"]
