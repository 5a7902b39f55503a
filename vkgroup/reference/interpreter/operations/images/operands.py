"""The optional operands of image instructions: SPIR-V 3.14, "Image Operands"."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Value

#: Name, bit of the mask, and how many operands follow, in the order in which they follow.
_WITH_OPERANDS = (
    ("bias", 0x1, 1),
    ("lod", 0x2, 1),
    ("gradient", 0x4, 2),
    ("offset", 0x8, 1),  # ConstOffset
    ("offset", 0x10, 1),  # Offset
    ("offsets", 0x20, 1),  # ConstOffsets
    ("sample", 0x40, 1),
    ("min_lod", 0x80, 1),
    ("offsets", 0x10000, 1),  # Offsets
)

_SIGN_EXTEND, _ZERO_EXTEND = 0x1000, 0x2000


@dataclass(frozen=True, slots=True)
class ImageOperands:
    """What an instruction gives beyond its fixed operands; None for what it does not.

    Operands that only concern memory order (MakeTexelAvailable, NonPrivateTexel, …) are in `Site.scopes`
    or say nothing to a device that executes in order.
    """

    bias: Value | None = None
    lod: Value | None = None
    gradient: tuple[Value, Value] | None = None
    offset: Value | None = None
    offsets: Value | None = None
    sample: Value | None = None
    min_lod: Value | None = None


def places(site: Site, fixed: int) -> dict[str, slice]:
    """Find where optional operands stand among all of an instruction's.

    Parameters
    ----------
    fixed : how many operands come before them.
    """
    mask = site.literals[0] if site.literals else 0
    found = {}
    for name, bit, count in _WITH_OPERANDS:
        if mask & bit:
            found[name] = slice(fixed, fixed + count)
            fixed += count
    return found


def gather(found: dict[str, slice], operands: tuple[Value, ...]) -> ImageOperands:
    """Pick the values of optional operands."""
    values = {name: operands[place] for name, place in found.items()}
    gradient = values.pop("gradient", None)
    return ImageOperands(
        gradient=(gradient[0], gradient[1]) if gradient else None,
        **{name: value[0] for name, value in values.items()},
    )


def extension(site: Site) -> str | None:
    """Return ``"int"`` or ``"uint"`` where SignExtend or ZeroExtend says how integers are read."""
    mask = site.literals[0] if site.literals else 0
    return "int" if mask & _SIGN_EXTEND else "uint" if mask & _ZERO_EXTEND else None
