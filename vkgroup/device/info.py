"""Device info: identification of a device by which any process can open it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from vkgroup.device.capabilities import Capabilities


@dataclass(frozen=True)
class DeviceInfo:
    """Which device of which driver; it pickles, and `open_device` takes it without any search.

    Attributes
    ----------
    manifest : the ICD's JSON file; empty for the reference device, which has none.
    icd : the ICD's name: a fetched driver's, or the manifest's file name without ending; ``"reference"``.
    index : the device's number within its driver.
    name, type, driver_name, driver_info, api_version, uuid : as in `Capabilities`.
    subgroup_size : invocations in a subgroup; 0 where the device has no Vulkan 1.1.
    """

    manifest: str
    icd: str
    index: int
    name: str
    type: str
    driver_name: str
    driver_info: str
    api_version: tuple[int, int, int]
    uuid: str
    subgroup_size: int

    @property
    def is_gpu(self) -> bool:
        """Whether this is a GPU, of any kind."""
        return self.type in ("discrete_gpu", "integrated_gpu", "virtual_gpu")

    @property
    def is_reference(self) -> bool:
        """Whether this is the reference device, which needs no Vulkan."""
        return not self.manifest

    @property
    def choice(self) -> str:
        """The value of ``--device`` that chooses this device again: the manifest, of a driver's first device.

        A further device of the same driver, which may have the same name, goes by its UUID; the reference
        device by its subgroup size.
        """
        if self.is_reference:
            return f"reference:{self.subgroup_size}"
        return self.manifest if self.index == 0 else self.uuid

    @classmethod
    def of(cls, manifest: str, icd: str, index: int, capabilities: Capabilities) -> DeviceInfo:
        """Describe a device whose capabilities were read."""
        return cls(
            manifest=manifest,
            icd=icd,
            index=index,
            name=capabilities.name,
            type=capabilities.type,
            driver_name=capabilities.driver_name,
            driver_info=capabilities.driver_info,
            api_version=capabilities.api_version,
            uuid=capabilities.uuid,
            subgroup_size=capabilities.subgroup.size,
        )

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> DeviceInfo:
        """Return the device of JSON data; ValueError, which names the field, if one is missing or wrong."""
        return msgspec.convert(data, cls)
