"""Which packages a software driver is made of, and which of their files are kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from vkgroup.errors import InvalidInput


@dataclass(frozen=True)
class Family:
    """A software driver and the package that has it.

    Attributes
    ----------
    name : what users call it.
    package : the distribution's package.
    library : the driver's library in the package, as a glob.
    icd : its ICD manifest in the package, as a glob.
    absent : what to say where the distribution does not have the package.
    """

    name: str
    package: str
    library: str
    icd: str
    absent: str


@dataclass(frozen=True)
class Runtime:
    """Packages that have a Vulkan loader and the Khronos validation layer.

    Attributes
    ----------
    packages : all needed.
    loader : the loader in them, as a glob.
    layer : the validation layer's library in them, as a glob.
    """

    packages: tuple[str, ...]
    loader: str
    layer: str


FAMILIES = {
    family.name: family
    for family in (
        Family(
            "swiftshader",
            "chromium-common",
            "usr/lib/chromium/libvk_swiftshader.so",
            "usr/lib/chromium/vk_swiftshader_icd.json",
            "Where neither it nor `debian-archive-keyring` is a package, fetch `lavapipe` instead.",
        ),
        Family(
            "lavapipe",
            "mesa-vulkan-drivers",
            "usr/lib/*/libvulkan_lvp.so",
            "usr/share/vulkan/icd.d/lvp_icd*.json",
            "Look whether the component or repository that has Mesa is turned on.",
        ),
    )
}

# The first whose packages the distribution has. Chromium's comes first because Debian keeps it
# current: the validation layer of Debian 12 itself (1.3.239) is older than the structures of the
# Vulkan 1.4 that lavapipe 25 speaks, and would report them as errors of ours.
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

    Raises
    ------
    InvalidInput
        No such family.
    """
    match = re.fullmatch(r"([a-z]+)(?:-(\d[\w.]*))?", name)
    family = FAMILIES.get(match.group(1)) if match else None
    if match is None or family is None:
        raise InvalidInput(
            f"There is no software driver `{name}`. Known are {', '.join(sorted(FAMILIES))}, each also "
            "with a version behind it, such as lavapipe-25.0.7; `vkgroup drivers list` shows them."
        )
    return family, match.group(2)
