"""Sampler state: filters, address modes, levels of detail, comparison."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from vkgroup.base.choices import COMPARISONS
from vkgroup.base.errors import InvalidDispatch

FILTERS = ("nearest", "linear")
ADDRESS_MODES = ("repeat", "mirrored_repeat", "clamp_to_edge", "clamp_to_border", "mirror_clamp_to_edge")
BORDER_COLORS = tuple(
    f"{kind}_{name}"
    for kind in ("float", "int")
    for name in ("transparent_black", "opaque_black", "opaque_white")
)


@dataclass(frozen=True)
class Sampler:
    """State of a sampler, independent of any device.

    Attributes
    ----------
    filter : filter within a level: ``"nearest"`` or ``"linear"``.
    min_filter : filter for minified images; None means the same as `filter`.
    mipmap : filter between levels: ``"nearest"`` or ``"linear"``.
    address : mode for coordinates outside the image: ``"repeat"``, ``"mirrored_repeat"``,
        ``"clamp_to_edge"``, ``"clamp_to_border"`` or ``"mirror_clamp_to_edge"``; or three modes for x, y, z.
    border_color : ``"float_"`` or ``"int_"`` with ``"transparent_black"``, ``"opaque_black"`` or
        ``"opaque_white"``.
    lod_bias, min_lod, max_lod : value added to the level of detail, and its minimum and maximum.
    compare : comparison of the reference value with the texel, for shadow samplers: ``"less"``,
        ``"less_or_equal"``, …; None disables comparison.
    unnormalized : whether coordinates are in texels.

    Raises
    ------
    InvalidDispatch
        A value is unknown, or values contradict each other.
    """

    filter: str = "nearest"
    min_filter: str | None = None
    mipmap: str = "nearest"
    address: str | tuple[str, str, str] = "clamp_to_edge"
    border_color: str = "float_transparent_black"
    lod_bias: float = 0.0
    min_lod: float = 0.0
    max_lod: float = 1000.0
    compare: str | None = None
    unnormalized: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.address, str):
            object.__setattr__(self, "address", tuple(self.address))
            if len(self.address) != 3:
                raise InvalidDispatch(f"A sampler needs one address mode or three, not {self.address}.")
        for name, valid in (
            ("filter", FILTERS),
            ("min_filter", (None, *FILTERS)),
            ("mipmap", FILTERS),
            ("border_color", BORDER_COLORS),
            ("compare", (None, *COMPARISONS)),
        ):
            _require(name, getattr(self, name), valid)
        for mode in self.addresses:
            _require("address", mode, ADDRESS_MODES)
        if not self.min_lod <= self.max_lod:
            raise InvalidDispatch(
                f"The sampler's min_lod {self.min_lod} is greater than max_lod {self.max_lod}."
            )
        if self.unnormalized:
            self._check_unnormalized()

    def _check_unnormalized(self) -> None:
        """Raise InvalidDispatch if a rule of unnormalizedCoordinates is broken (Vulkan 1.4, "Samplers")."""
        clamps = all(mode in ("clamp_to_edge", "clamp_to_border") for mode in self.addresses[:2])
        one_filter = self.min_filter in (None, self.filter) and self.mipmap == "nearest"
        if not clamps or not one_filter or self.compare is not None:
            raise InvalidDispatch(
                "A sampler with unnormalized coordinates needs the same filter for magnification and"
                " minification, mipmap 'nearest', an address mode that clamps, and no comparison."
            )

    @property
    def addresses(self) -> tuple[str, str, str]:
        """The address modes of x, y and z."""
        return (self.address,) * 3 if isinstance(self.address, str) else self.address

    @property
    def filters(self) -> tuple[str, str]:
        """The filters of magnified and of minified images."""
        return self.filter, self.min_filter or self.filter

    @property
    def uses_border(self) -> bool:
        """Whether a coordinate outside the image can return the border color."""
        return "clamp_to_border" in self.addresses


def make_sampler(state: dict[str, Any]) -> Sampler:
    """Return a sampler with named attributes; raise `InvalidDispatch` for an unknown name."""
    names = [field.name for field in fields(Sampler)]
    for name in state:
        if name not in names:
            raise InvalidDispatch(f"A sampler has no attribute {name!r}; choose from: {', '.join(names)}.")
    return Sampler(**state)


def _require(name: str, value: object, valid: tuple[str | None, ...]) -> None:
    if value not in valid:
        names = ", ".join(repr(entry) for entry in valid)
        raise InvalidDispatch(f"The sampler's {name} must be one of {names}, not {value!r}.")
