"""Vocabulary of a program: the subgroup operations and types that it may use on a device."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from vkgroup.device import Capabilities
from vkgroup.programs.nodes import Promise
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import SCALARS, TYPES

_BARRIERS = frozenset(name for name, operation in OPERATIONS.items() if operation.result is None)

CLUSTERS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Cluster sizes (KHR_shader_subgroup: powers of two)."""


@dataclass(frozen=True)
class Vocabulary:
    """Operations and types that a generator chooses from.

    Attributes
    ----------
    uses : operation → the types it may be used with.
    types : names of the types for variables.
    subgroup_size : of the device; clusters are no larger.
    dynamic_ids : whether broadcasts may use ids that are not constant (``subgroupBroadcastDynamicId``).
    undefined : whether operations may be used so that some of their results are undefined. If not, two
        drivers can be compared with each other.
    """

    uses: dict[str, tuple[str, ...]]
    types: tuple[str, ...]
    subgroup_size: int
    dynamic_ids: bool = True
    undefined: bool = True


def _vocabulary(
    categories: frozenset[str],
    scalars: frozenset[str],
    subgroup_size: int,
    dynamic_ids: bool,
    undefined: bool,
    avoid: tuple[str, ...],
) -> Vocabulary:
    uses: dict[str, tuple[str, ...]] = {}
    for name, operation in OPERATIONS.items():
        if name in _BARRIERS or operation.category.value not in categories:
            continue
        fitting = tuple(
            type_.name
            for type_ in operation.types
            if type_.scalar.name in scalars
            and not any(fnmatchcase(f"{name}.{type_.name}", glob) for glob in avoid)
        )
        if fitting:
            uses[name] = fitting
    types = tuple(name for name, type_ in TYPES.items() if type_.scalar.name in scalars)
    return Vocabulary(uses, types, subgroup_size, dynamic_ids, undefined)


def of_reference(
    subgroup_size: int = 32, *, undefined: bool = True, avoid: tuple[str, ...] = ()
) -> Vocabulary:
    """Return the vocabulary of the reference device: all operations and types."""
    categories = frozenset(category.value for category in Category)
    return _vocabulary(categories, frozenset(SCALARS), subgroup_size, True, undefined, avoid)


def of_device(
    *capabilities: Capabilities, subgroup_size: int = 0, undefined: bool = True, avoid: tuple[str, ...] = ()
) -> Vocabulary:
    """Return the vocabulary that several devices have in common.

    Parameters
    ----------
    subgroup_size : required subgroup size; 0 takes the smallest of the devices.
    undefined : see `Vocabulary`.
    avoid : globs over ``operation.type``, such as ``"subgroupAllEqual.*vec*"``, that are left out.
    """
    categories = frozenset.intersection(*(frozenset(c.subgroup.supported_operations) for c in capabilities))
    scalars = frozenset(
        name
        for name, scalar in SCALARS.items()
        if all(feature in c.features for c in capabilities for feature in scalar.subgroup_features)
    )
    size = subgroup_size or min(c.subgroup.size for c in capabilities)
    dynamic = all("subgroupBroadcastDynamicId" in c.features for c in capabilities)
    return _vocabulary(categories, scalars, size, dynamic, undefined, avoid)


def promise_of(capabilities: Capabilities) -> Promise:
    """Return the strongest reconvergence guarantee of a device."""
    if "shaderMaximalReconvergence" in capabilities.features:
        return Promise.MAXIMAL
    if "shaderSubgroupUniformControlFlow" in capabilities.features:
        return Promise.SUBGROUP
    return Promise.WORKGROUP
