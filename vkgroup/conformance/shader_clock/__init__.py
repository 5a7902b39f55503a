"""Cases of VK_KHR_shader_clock: clockARB, clockRealtimeEXT and their forms of two words."""

from __future__ import annotations

from vkgroup.conformance.shader_clock.family import ShaderClockFamily

__all__ = ["ShaderClockFamily"]
