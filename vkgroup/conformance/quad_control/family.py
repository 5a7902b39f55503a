"""The family of quads: votes in every stage, full quads on scenes, derivative groups of compute shaders."""

from __future__ import annotations

from vkgroup.conformance.family import JointFamily
from vkgroup.conformance.quad_control.derivatives import DERIVATIVE_GROUPS
from vkgroup.conformance.quad_control.scenes import FULL_QUADS
from vkgroup.conformance.quad_control.votes import QuadVotes

QUAD_CONTROL = JointFamily(
    "quad_control",
    {"": QuadVotes(), "scene": FULL_QUADS, "derivative_group": DERIVATIVE_GROUPS},
    ("quad_control",),
)
"""VK_KHR_shader_quad_control and VK_KHR_compute_shader_derivatives."""
