"""The optional operands of image instructions: SPIR-V 3.14, "Image Operands"."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Value

#: Name, bit of the mask, and number of operands, in the order of the operands.
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
    """The optional operands of an instruction; None for those that it does not have.

    Operands that only concern memory order (MakeTexelAvailable, NonPrivateTexel, …) are in `Site.scopes`
    or have no effect on a device that executes in order.
    """

    bias: Value | None = None
    lod: Value | None = None
    gradient: tuple[Value, Value] | None = None
    offset: Value | None = None
    offsets: Value | None = None
    sample: Value | None = None
    min_lod: Value | None = None


def optional_operands(site: Site, fixed: int) -> dict[str, slice]:
    """Return the positions of optional operands among all operands of an instruction, by name.

    Parameters
    ----------
    fixed : number of operands before them.
    """
    mask = site.literals[0] if site.literals else 0
    positions = {}
    for name, bit, count in _WITH_OPERANDS:
        if mask & bit:
            positions[name] = slice(fixed, fixed + count)
            fixed += count
    return positions


def gather(positions: dict[str, slice], operands: tuple[Value, ...]) -> ImageOperands:
    """Return the values of optional operands."""
    values = {name: operands[position] for name, position in positions.items()}
    gradient = values.pop("gradient", None)
    return ImageOperands(
        gradient=(gradient[0], gradient[1]) if gradient else None,
        **{name: value[0] for name, value in values.items()},
    )


def extension(site: Site) -> str | None:
    """Return ``"int"`` for SignExtend, ``"uint"`` for ZeroExtend; None without either."""
    mask = site.literals[0] if site.literals else 0
    return "int" if mask & _SIGN_EXTEND else "uint" if mask & _ZERO_EXTEND else None
