"""Limits of subgroups and descriptors, and the property structs that declare a device's own limits."""

from __future__ import annotations

SUBGROUP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
"""Every size of a subgroup, and of its clusters.

KHR_shader_subgroup, section 7.1: "its value is always a power of 2. The maximum <gl_SubgroupSize> supported
by the GL_KHR_shader_subgroup_basic extension is 128."
"""

QUAD_SIZE = 4
"""Lanes of a quad.

KHR_shader_subgroup, section 3.8: "clusters of 4 invocations called a quad".
"""

LARGEST_WARP = 32
"""Threads of the largest warp.

NV_shader_thread_group, section 2.X.3.2: "The thread id is an unsigned integer in the range 0 to 31."
"""

DESCRIPTOR_LIMITS: dict[tuple[str, ...], tuple[str, str]] = {
    kinds: (f"maxPerStageDescriptor{name}", f"maxDescriptorSet{name}")
    for name, kinds in {
        "StorageBuffers": ("storage_buffer",),
        "UniformBuffers": ("uniform_buffer",),
        "StorageImages": ("storage_image", "storage_texel_buffer"),
        "SampledImages": ("sampled_image", "combined_image_sampler", "uniform_texel_buffer"),
        "Samplers": ("sampler", "combined_image_sampler"),
        "AccelerationStructures": ("acceleration_structure",),
        "InputAttachments": ("input_attachment",),
    }.items()
}
"""Kinds of descriptors that share a limit on their number, and the limits."""

PROPERTY_STRUCTS: tuple[tuple[str, str, tuple[int, int] | None], ...] = (
    ("VkPhysicalDeviceIDProperties", "", (1, 1)),
    ("VkPhysicalDeviceSubgroupProperties", "", (1, 1)),
    ("VkPhysicalDeviceMaintenance3Properties", "", (1, 1)),
    ("VkPhysicalDeviceDriverProperties", "VK_KHR_driver_properties", (1, 2)),
    ("VkPhysicalDeviceFloatControlsProperties", "VK_KHR_shader_float_controls", (1, 2)),
    ("VkPhysicalDeviceSubgroupSizeControlProperties", "VK_EXT_subgroup_size_control", (1, 3)),
    ("VkPhysicalDeviceMaintenance4Properties", "VK_KHR_maintenance4", (1, 3)),
    ("VkPhysicalDeviceShaderSMBuiltinsPropertiesNV", "VK_NV_shader_sm_builtins", None),
    ("VkPhysicalDeviceCooperativeMatrixPropertiesKHR", "VK_KHR_cooperative_matrix", None),
    ("VkPhysicalDeviceMeshShaderPropertiesEXT", "VK_EXT_mesh_shader", None),
    ("VkPhysicalDeviceAccelerationStructurePropertiesKHR", "VK_KHR_acceleration_structure", None),
    ("VkPhysicalDeviceRayTracingPipelinePropertiesKHR", "VK_KHR_ray_tracing_pipeline", None),
)
"""Property structs that are read: C name, extension, and the Vulkan version whose core has it."""

LIMIT_STRUCTS = (
    "VkPhysicalDeviceMaintenance3Properties",
    "VkPhysicalDeviceMaintenance4Properties",
    "VkPhysicalDeviceMeshShaderPropertiesEXT",
    "VkPhysicalDeviceAccelerationStructurePropertiesKHR",
    "VkPhysicalDeviceRayTracingPipelinePropertiesKHR",
)
"""Property structs whose members are limits."""
