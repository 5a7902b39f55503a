"""Cases of HLSL's wave and quad intrinsics (Shader Model 6.0), each by its own definition."""

from __future__ import annotations

from vkgroup.conformance.hlsl.family import HlslFamily

__all__ = ["HlslFamily"]
