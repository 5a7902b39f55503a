"""The categories of subgroup functions: feature bit, GLSL extension, SPIR-V capability, features."""

from __future__ import annotations

from enum import Enum

from vkgroup.spec import registry


class Category(Enum):
    """A bit of VkSubgroupFeatureFlagBits, in the order of the bits; the value is its name.

    The first eight are the parts of KHR_shader_subgroup (`KHR_CATEGORIES`).
    """

    BASIC = "basic"
    VOTE = "vote"
    ARITHMETIC = "arithmetic"
    BALLOT = "ballot"
    SHUFFLE = "shuffle"
    SHUFFLE_RELATIVE = "shuffle_relative"
    CLUSTERED = "clustered"
    QUAD = "quad"
    PARTITIONED = "partitioned"
    ROTATE = "rotate"
    ROTATE_CLUSTERED = "rotate_clustered"

    @property
    def extension(self) -> str:
        """The GLSL extension, ``"GL_KHR_shader_subgroup_shuffle_relative"``."""
        if self is Category.PARTITIONED:
            return "GL_NV_shader_subgroup_partitioned"
        name = Category.ROTATE.value if self is Category.ROTATE_CLUSTERED else self.value
        return f"GL_KHR_shader_subgroup_{name}"

    @property
    def feature(self) -> str:
        """The bit's name in VkSubgroupFeatureFlagBits, ``"VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT"``."""
        return f"VK_SUBGROUP_FEATURE_{self.name}_BIT{'_NV' if self is Category.PARTITIONED else ''}"

    @property
    def declared(self) -> str:
        """Its name in `vkgroup.device.Subgroup.supported_operations`."""
        return "partitioned_nv" if self is Category.PARTITIONED else self.value

    @property
    def bit(self) -> int:
        """The bit's value."""
        return (registry.SUBGROUP_FEATURES | _NEWER_FEATURES)[self.feature]

    @property
    def features(self) -> tuple[str, ...]:
        """Vulkan features that a device must have in addition to the bit."""
        if self is Category.ROTATE:
            return ("shaderSubgroupRotate",)
        if self is Category.ROTATE_CLUSTERED:
            return ("shaderSubgroupRotate", "shaderSubgroupRotateClustered")
        return ()

    @property
    def capability(self) -> str:
        """The SPIR-V capability, ``"GroupNonUniformShuffleRelative"``; BASIC's is ``"GroupNonUniform"``."""
        if self is Category.BASIC:
            return "GroupNonUniform"
        if self in (Category.ROTATE, Category.ROTATE_CLUSTERED):
            return "GroupNonUniformRotateKHR"
        words = "".join(word.capitalize() for word in self.name.split("_"))
        return f"GroupNonUniform{words}{'NV' if self is Category.PARTITIONED else ''}"

    @property
    def spirv_extension(self) -> str:
        """The SPIR-V extension with its instructions; "" for those of SPIR-V 1.3."""
        return registry.CAPABILITY_EXTENSIONS[self.capability]


#: Values that are newer than the headers of the `vulkan` package (VK_KHR_shader_subgroup_rotate).
_NEWER_FEATURES = {"VK_SUBGROUP_FEATURE_ROTATE_BIT": 0x200, "VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT": 0x400}

KHR_CATEGORIES = tuple(Category)[:8]
"""The parts of KHR_shader_subgroup."""

OPERATION_BITS: dict[str, int] = {category.declared: category.bit for category in Category}
"""Bits of VkSubgroupFeatureFlagBits by the name in `vkgroup.device.Subgroup.supported_operations`."""


class ExtendedCategory(Enum):
    """A GLSL extension whose subgroup functions have no feature bit; the value is its name."""

    QUAD_CONTROL = "GL_EXT_shader_quad_control"
    ARB_BALLOT = "GL_ARB_shader_ballot"
    ARB_VOTE = "GL_ARB_shader_group_vote"

    @property
    def extension(self) -> str:
        """The GLSL extension, as that of a `Category`."""
        return self.value

    @property
    def capability(self) -> str:
        """The SPIR-V capability."""
        if self is ExtendedCategory.QUAD_CONTROL:
            return "QuadControlKHR"
        return "SubgroupBallotKHR" if self is ExtendedCategory.ARB_BALLOT else "SubgroupVoteKHR"

    @property
    def spirv_extension(self) -> str:
        """The SPIR-V extension that brings its instructions."""
        return registry.CAPABILITY_EXTENSIONS[self.capability]
