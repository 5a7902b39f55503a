"""How a shader samples an image: filters, addresses, levels, comparison."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from vkgroup.errors import InvalidDispatch

FILTERS = ("nearest", "linear")
ADDRESS_MODES = ("repeat", "mirrored_repeat", "clamp_to_edge", "clamp_to_border", "mirror_clamp_to_edge")
BORDER_COLORS = tuple(
    f"{kind}_{name}"
    for kind in ("float", "int")
    for name in ("transparent_black", "opaque_black", "opaque_white")
)
COMPARES = ("never", "less", "equal", "less_or_equal", "greater", "not_equal", "greater_or_equal", "always")


@dataclass(frozen=True)
class Sampler:
    """The state of a sampler; it belongs to no device, and serves on all.

    Attributes
    ----------
    filter : ``"nearest"`` or ``"linear"``, within a level.
    min_filter : the same where the image is minified; None is like `filter`.
    mipmap : ``"nearest"`` or ``"linear"``, between levels.
    address : what coordinates outside the image mean: ``"repeat"``, ``"mirrored_repeat"``,
        ``"clamp_to_edge"``, ``"clamp_to_border"`` or ``"mirror_clamp_to_edge"``; or three, for x, y, z.
    border_color : ``"float_"`` or ``"int_"`` with ``"transparent_black"``, ``"opaque_black"`` or
        ``"opaque_white"``.
    lod_bias, min_lod, max_lod : added to the level of detail; the range it is kept in.
    compare : how the reference value is compared with the texel, for shadow samplers: ``"less"``,
        ``"less_or_equal"``, …; None compares nothing.
    unnormalized : whether coordinates count texels.

    Raises
    ------
    InvalidDispatch
        A name does not exist, or the values contradict each other.
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
                raise InvalidDispatch(f"A sampler has one address mode or three; {self.address} was given.")
        for name, valid in (
            ("filter", FILTERS),
            ("min_filter", (None, *FILTERS)),
            ("mipmap", FILTERS),
            ("border_color", BORDER_COLORS),
            ("compare", (None, *COMPARES)),
        ):
            _require(name, getattr(self, name), valid)
        for mode in self.addresses:
            _require("address", mode, ADDRESS_MODES)
        if not self.min_lod <= self.max_lod:
            raise InvalidDispatch(f"The sampler's min_lod {self.min_lod} is above max_lod {self.max_lod}.")
        if self.unnormalized:
            self._check_unnormalized()

    def _check_unnormalized(self) -> None:
        """Keep the rules of unnormalizedCoordinates (Vulkan 1.4, "Samplers")."""
        clamps = all(mode in ("clamp_to_edge", "clamp_to_border") for mode in self.addresses[:2])
        one_filter = self.min_filter in (None, self.filter) and self.mipmap == "nearest"
        if not clamps or not one_filter or self.compare is not None:
            raise InvalidDispatch(
                "A sampler with unnormalized coordinates has the same filter everywhere, mipmap 'nearest',"
                " an address mode that clamps, and compares nothing."
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
        """Whether any coordinate outside the image gives the border's colour."""
        return "clamp_to_border" in self.addresses


def make_sampler(state: dict[str, Any]) -> Sampler:
    """Make a sampler from named values; `InvalidDispatch` for a name that it does not have."""
    names = [field.name for field in fields(Sampler)]
    for name in state:
        if name not in names:
            raise InvalidDispatch(f"A sampler has no {name!r}. There are: {', '.join(names)}.")
    return Sampler(**state)


def _require(name: str, value: object, valid: tuple[str | None, ...]) -> None:
    if value not in valid:
        names = ", ".join(repr(entry) for entry in valid)
        raise InvalidDispatch(f"The sampler's {name} is one of {names}; {value!r} was given.")
