"""Cases of reconvergence: active invocations behind branches, loops, switches, calls, returns, demotions."""

from __future__ import annotations

from vkgroup.conformance.reconvergence.family import ReconvergenceFamily
from vkgroup.conformance.reconvergence.leaving_family import LEAVING_FRAGMENTS

__all__ = ["LEAVING_FRAGMENTS", "ReconvergenceFamily"]
