"""Feature structs and extensions of a device, from the table in `vkgroup.spec.features`."""

from __future__ import annotations

from collections.abc import Mapping

from vkgroup.device import vk
from vkgroup.spec.features import EXTENSIONS, STRUCTS, FeatureStruct, Version


def make(struct: FeatureStruct) -> vk.BoolStruct:
    """Return an empty struct."""
    return vk.BoolStruct(struct.name, struct.fields, struct.structure_type)


def usable_structs(version: Version, extensions: Mapping[str, int]) -> list[FeatureStruct]:
    """List the structs that a device takes."""
    return [struct for struct in STRUCTS if struct.usable(version, extensions)]


def wanted_extensions(structs: list[FeatureStruct], extensions: Mapping[str, int]) -> list[str]:
    """List the device extensions to enable: each struct's, and the plain ones; only those it has."""
    names = dict.fromkeys([struct.extension for struct in structs] + list(EXTENSIONS))
    return sorted(name for name in names if name in extensions)
