"""Reconvergence cases: active invocations after branches, loops, switches, calls, returns and demotions."""

from __future__ import annotations

from vkgroup.conformance.reconvergence.family import ReconvergenceFamily
from vkgroup.conformance.reconvergence.termination_family import TERMINATED_FRAGMENTS

__all__ = ["TERMINATED_FRAGMENTS", "ReconvergenceFamily"]
