"""Target environments: a Vulkan version and the newest SPIR-V version that it accepts."""

from __future__ import annotations

from enum import Enum

from vkgroup.spec.stages import Stage


class Target(Enum):
    """Environment that a module is compiled and validated for.

    The value is Vulkan version, SPIR-V version (Vulkan 1.3, appendix "Vulkan Environment for
    SPIR-V", "Versions and Formats"), and SPIRV-Tools' name of the pair.
    """

    VULKAN_1_0 = ((1, 0), (1, 0), "vulkan1.0")
    VULKAN_1_1 = ((1, 1), (1, 3), "vulkan1.1")
    #: Vulkan 1.1 with ``VK_KHR_spirv_1_4``, which mesh and ray-tracing shaders need there.
    VULKAN_1_1_SPIRV_1_4 = ((1, 1), (1, 4), "vulkan1.1spv1.4")
    VULKAN_1_2 = ((1, 2), (1, 5), "vulkan1.2")
    VULKAN_1_3 = ((1, 3), (1, 6), "vulkan1.3")
    VULKAN_1_4 = ((1, 4), (1, 6), "vulkan1.4")

    @property
    def vulkan_version(self) -> tuple[int, int]:
        """Vulkan version, for example ``(1, 1)``."""
        return self.value[0]

    @property
    def spirv_version(self) -> tuple[int, int]:
        """SPIR-V version, for example ``(1, 3)``."""
        return self.value[1]

    @property
    def environment(self) -> str:
        """SPIRV-Tools' name, for example ``"vulkan1.1"``."""
        return self.value[2]

    def for_stage(self, stage: Stage) -> Target:
        """Return the target for a shader of a stage: mesh and ray-tracing shaders need SPIR-V 1.4."""
        newer = self is Target.VULKAN_1_1 and stage.since > self.spirv_version
        return Target.VULKAN_1_1_SPIRV_1_4 if newer else self

    @classmethod
    def for_api_version(cls, version: int | tuple[int, ...]) -> Target:
        """Return the newest target that a device of this Vulkan version supports.

        Parameters
        ----------
        version : as ``VkPhysicalDeviceProperties.apiVersion`` packs it, or as (major, minor, …).
        """
        if isinstance(version, int):
            # VK_API_VERSION_MAJOR and _MINOR (Vulkan 1.3 §42.2.1)
            major_minor = ((version >> 22) & 0x7F, (version >> 12) & 0x3FF)
        else:
            major_minor = (version[0], version[1])
        plain = [target for target in cls if target is not cls.VULKAN_1_1_SPIRV_1_4]
        fitting = [target for target in plain if target.vulkan_version <= major_minor]
        return fitting[-1] if fitting else cls.VULKAN_1_0
