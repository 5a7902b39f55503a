"""What a program may use on a device: subgroup operations, types, and what the subgroup size allows."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from vkgroup.conformance.reconvergence.nodes import Promise
from vkgroup.device import Capabilities
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import SCALARS, TYPES

_BARRIERS = frozenset(name for name, operation in OPERATIONS.items() if operation.result is None)

CLUSTERS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Cluster sizes (KHR_shader_subgroup: powers of two)."""


@dataclass(frozen=True)
class Vocabulary:
    """What a generator chooses from.

    Attributes
    ----------
    uses : operation → the types it may be used with.
    types : names of the types for variables.
    subgroup_size : of the device; clusters are no larger.
    dynamic_ids : whether broadcasts take ids that are no constants (``subgroupBroadcastDynamicId``).
    soft : whether operations may be used in such a way that some of their results are undefined; without,
        two drivers can be compared with each other.
    """

    uses: dict[str, tuple[str, ...]]
    types: tuple[str, ...]
    subgroup_size: int
    dynamic_ids: bool = True
    soft: bool = True


def _vocabulary(
    categories: frozenset[str],
    scalars: frozenset[str],
    subgroup_size: int,
    dynamic_ids: bool,
    soft: bool,
    avoid: tuple[str, ...],
) -> Vocabulary:
    uses: dict[str, tuple[str, ...]] = {}
    for name, operation in OPERATIONS.items():
        if name in _BARRIERS or operation.category.value not in categories:
            continue
        found = tuple(
            type_.name
            for type_ in operation.types
            if type_.scalar.name in scalars
            and not any(fnmatchcase(f"{name}.{type_.name}", glob) for glob in avoid)
        )
        if found:
            uses[name] = found
    types = tuple(name for name, type_ in TYPES.items() if type_.scalar.name in scalars)
    return Vocabulary(uses, types, subgroup_size, dynamic_ids, soft)


def of_reference(subgroup_size: int = 32, *, soft: bool = True, avoid: tuple[str, ...] = ()) -> Vocabulary:
    """Return everything there is."""
    categories = frozenset(category.value for category in Category)
    return _vocabulary(categories, frozenset(SCALARS), subgroup_size, True, soft, avoid)


def of_device(
    *capabilities: Capabilities, subgroup_size: int = 0, soft: bool = True, avoid: tuple[str, ...] = ()
) -> Vocabulary:
    """Return what all of some devices have.

    Parameters
    ----------
    subgroup_size : a required size; 0 takes the smallest of the devices'.
    soft : see `Vocabulary`.
    avoid : globs over ``operation.type``, such as ``"subgroupAllEqual.*vec*"``, that are left out.
    """
    every = list(capabilities)
    categories = frozenset.intersection(*(frozenset(c.subgroup.supported_operations) for c in every))
    scalars = frozenset(
        name
        for name, scalar in SCALARS.items()
        if all(feature in c.features for c in every for feature in scalar.subgroup_features)
    )
    size = subgroup_size or min(c.subgroup.size for c in every)
    dynamic = all("subgroupBroadcastDynamicId" in c.features for c in every)
    return _vocabulary(categories, scalars, size, dynamic, soft, avoid)


def promise_of(capabilities: Capabilities) -> Promise:
    """Return the most that a device promises about reconvergence."""
    if "shaderMaximalReconvergence" in capabilities.features:
        return Promise.MAXIMAL
    if "shaderSubgroupUniformControlFlow" in capabilities.features:
        return Promise.SUBGROUP
    return Promise.WORKGROUP
