"""The categories of subgroup functions: what a device declares, and what enables them in GLSL and SPIR-V."""

from __future__ import annotations

from enum import Enum


class Category(Enum):
    """What a bit of VkSubgroupFeatureFlagBits stands for, in the order of the bits; the value is its name.

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
        """The bit's value; Vulkan numbers the categories in the order in which they stand here."""
        return 1 << list(Category).index(self)

    @property
    def capability(self) -> str:
        """The SPIR-V capability, ``"GroupNonUniformShuffleRelative"``; BASIC's is ``"GroupNonUniform"``."""
        if self is Category.BASIC:
            return "GroupNonUniform"
        if self in (Category.ROTATE, Category.ROTATE_CLUSTERED):
            return "GroupNonUniformRotateKHR"
        words = "".join(word.capitalize() for word in self.name.split("_"))
        return f"GroupNonUniform{words}{'NV' if self is Category.PARTITIONED else ''}"


KHR_CATEGORIES = tuple(Category)[:8]
"""The parts of KHR_shader_subgroup."""


class ExtendedCategory(Enum):
    """What other extensions add to the subgroup functions; the value is the GLSL extension."""

    QUAD_CONTROL = "GL_EXT_shader_quad_control"
    ARB_BALLOT = "GL_ARB_shader_ballot"
    ARB_VOTE = "GL_ARB_shader_group_vote"

    @property
    def extension(self) -> str:
        """The GLSL extension, as that of a `Category`."""
        return self.value
