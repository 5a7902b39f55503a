"""Vocabulary and reconvergence guarantee of random programs for given devices."""

from __future__ import annotations

from fnmatch import fnmatchcase

from vkgroup.device import Capabilities
from vkgroup.programs.expressions import Vocabulary
from vkgroup.programs.nodes import Promise
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import SCALARS, TYPES


def of_device(
    *capabilities: Capabilities, subgroup_size: int = 0, undefined: bool = True, avoid: tuple[str, ...] = ()
) -> Vocabulary:
    """Return the vocabulary that several devices have in common, for their smallest subgroup size by default.

    `avoid` holds globs over ``operation.type``, such as ``"subgroupAllEqual.*vec*"``, that are left out.
    """
    categories = frozenset.intersection(*(frozenset(c.subgroup.supported_operations) for c in capabilities))
    scalars = frozenset(
        name
        for name, scalar in SCALARS.items()
        if all(feature in c.features for c in capabilities for feature in scalar.subgroup_features)
    )
    uses: dict[str, tuple[str, ...]] = {}
    for name, operation in OPERATIONS.items():
        # Barriers have no result to record.
        if operation.result is None or operation.category.value not in categories:
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
    size = subgroup_size or min(c.subgroup.size for c in capabilities)
    dynamic = all("subgroupBroadcastDynamicId" in c.features for c in capabilities)
    return Vocabulary(uses, types, size, dynamic, undefined)


def promise_of(capabilities: Capabilities) -> Promise:
    """Return the strongest reconvergence guarantee of a device."""
    if "shaderMaximalReconvergence" in capabilities.features:
        return Promise.MAXIMAL
    if "shaderSubgroupUniformControlFlow" in capabilities.features:
        return Promise.SUBGROUP
    return Promise.WORKGROUP
