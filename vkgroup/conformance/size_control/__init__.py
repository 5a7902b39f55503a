"""Cases of the subgroup size: varying, required, full, by SPIR-V 1.6, over several dispatches."""

from __future__ import annotations

from vkgroup.conformance.size_control.family import SizeControlFamily

__all__ = ["SizeControlFamily"]
