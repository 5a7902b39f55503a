"""Packages that contain the software drivers, and the files used from them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vkgroup.errors import InvalidInput


@dataclass(frozen=True)
class Family:
    """A software driver and the package that contains it."""

    name: str  # name of the driver for users
    package: str  # the distribution's package
    library: str  # the driver's library in the package, as a glob
    icd: str  # its ICD manifest in the package, as a glob
    absent: str  # advice if the distribution does not have the package


@dataclass(frozen=True)
class Runtime:
    """Packages with a Vulkan loader and the Khronos validation layer."""

    packages: tuple[str, ...]  # the required packages
    loader: str  # the loader in them, as a glob
    layer: str  # the validation layer's library in them, as a glob


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "swiftshader",
            "chromium-common",
            "usr/lib/chromium/libvk_swiftshader.so",
            "usr/lib/chromium/vk_swiftshader_icd.json",
            "If `debian-archive-keyring` is missing too, fetch `lavapipe` instead.",
        ),
        Family(
            "lavapipe",
            "mesa-vulkan-drivers",
            "usr/lib/*/libvulkan_lvp.so",
            "usr/share/vulkan/icd.d/lvp_icd*.json",
            "Check whether the component or repository with Mesa is enabled.",
        ),
    )
}

# The first entry is used whose packages the distribution has. Chromium is first because Debian updates it:
# the validation layer of Debian 12 (1.3.239) does not know Vulkan 1.4, which lavapipe 25 supports, and would
# report errors for its structures.
RUNTIMES = (
    Runtime(
        ("chromium-common",),
        "usr/lib/chromium/libvulkan.so.1",
        "usr/lib/chromium/libVkLayer_khronos_validation.so",
    ),
    Runtime(
        ("libvulkan1", "vulkan-validationlayers"),
        "usr/lib/*/libvulkan.so.1",
        "usr/lib/*/libVkLayer_khronos_validation.so",
    ),
)


def parse_name(name: str) -> tuple[Family, str | None]:
    """Split ``lavapipe-25.0.7`` into its family and version; the version is None for the newest.

    Raises InvalidInput: the family is unknown.
    """
    match = re.fullmatch(r"([a-z]+)(?:-(\d[\w.]*))?", name)
    family = FAMILIES.get(match.group(1)) if match else None
    if match is None or family is None:
        raise InvalidInput(
            f"There is no software driver `{name}`. Choose from {', '.join(sorted(FAMILIES))}, optionally "
            "with a version, such as lavapipe-25.0.7; `vkgroup drivers list` lists them."
        )
    return family, match.group(2)
