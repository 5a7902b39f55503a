"""Cases of reconvergence: who is together behind branches, loops, switches, calls and returns."""

from __future__ import annotations

from vkgroup.conformance.reconvergence.family import ReconvergenceFamily

__all__ = ["ReconvergenceFamily"]
