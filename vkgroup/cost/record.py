"""Record of a shader's static cost on one device at one subgroup size."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

import msgspec

from vkgroup.base.errors import InvalidInput
from vkgroup.device import fetched


class CompileStatus(StrEnum):
    """Result of a compilation."""

    COMPILED = "Compiled"
    REJECTED = "Rejected"
    """The driver rejected the shader."""
    CRASH = "Crash"
    """The driver ended its process."""
    TIMEOUT = "Timeout"
    """The driver did not end within the time limit."""
    NOT_SUPPORTED = "NotSupported"
    """The device lacks what the shader needs, or the extension with the statistics."""


@dataclass(frozen=True)
class Cost:
    """The static cost of a shader on one device at one subgroup size.

    Attributes
    ----------
    device : the device's choice, such as ``radv-26.1.6:navi31``.
    gpu : the device's name.
    subgroup_size : the size of the compilation.
    status, detail : result of the compilation, and the error or the lacking features.
    quantities : by the names of `vkgroup.dispatch.statistics.FIELDS`; those that the driver does not report
        are absent.
    kinds : number of instructions of each kind of `vkgroup.cost.instructions`; empty if the driver provides
        no assembly.
    statistics : all statistics of the driver, by its names.
    assembly : the final code, if it was requested and the driver provides it.
    """

    device: str
    gpu: str
    subgroup_size: int
    status: CompileStatus
    detail: str = ""
    quantities: dict[str, float] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    statistics: dict[str, float | int | bool] = field(default_factory=dict)
    assembly: str = ""

    @property
    def key(self) -> tuple[str, int]:
        """The device without the driver's version or build, and the subgroup size; equal if comparable."""
        name = fetched.without_version(self.device)
        return name.partition("@")[0] if ":" in name else name, self.subgroup_size

    @property
    def label(self) -> str:
        """The device's name in tables: of a compile-only device its choice, without the version.

        `labels` returns names for tables that may have several versions of a driver.
        """
        name = fetched.without_version(self.device)
        return name if ":" in name else self.gpu

    def to_json(self) -> dict[str, Any]:
        """Return the fields as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str) -> Cost:
        """Return the cost of JSON data; InvalidInput names the file and the field."""
        try:
            return msgspec.convert(data, cls)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"{where}: this is not a file of `vkgroup cost --json`: {error}") from None


def labels(costs: Iterable[Cost], newest: Collection[str] | None = None) -> dict[str, str]:
    """Return the names of the costs' devices in a table, by `Cost.device`.

    Those of compile-only devices are the ones of `vkgroup.device.fetched.labels`.
    """
    names = {cost.device: cost.label for cost in costs}
    return names | fetched.labels([device for device, name in names.items() if ":" in name], newest)
