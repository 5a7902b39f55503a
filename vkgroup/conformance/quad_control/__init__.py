"""Cases of quads: their votes, full quads, derivatives in them, and derivative groups of compute shaders."""

from __future__ import annotations

from vkgroup.conformance.quad_control.family import QuadControlFamily

__all__ = ["QuadControlFamily"]
