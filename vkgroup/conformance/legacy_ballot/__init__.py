"""Cases of SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote, from their instructions and from ARB's GLSL."""

from __future__ import annotations

from vkgroup.conformance.legacy_ballot.family import LegacyBallotFamily

__all__ = ["LegacyBallotFamily"]
