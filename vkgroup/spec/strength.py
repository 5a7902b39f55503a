"""Strength of a rule: the kind of document that requires the behaviour which a case expects."""

from __future__ import annotations

from enum import StrEnum


class Strength(StrEnum):
    """Strength of a rule; the value is its name in files."""

    VULKAN = "vulkan"
    EXTENSION = "extension"
    LATER = "later"


STRENGTHS: dict[str, str] = {
    Strength.VULKAN: "required by Vulkan or SPIR-V",
    Strength.EXTENSION: "required only by the text of a GLSL or OpenGL extension",
    Strength.LATER: "required only by a revision later than the device's version",
}
"""What each strength means, by its name."""
