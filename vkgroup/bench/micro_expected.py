"""Initial values of the microbenchmark chains, and expected results computed by `vkgroup.reference`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.bench import micro_feed
from vkgroup.bench.micro_cases import Case
from vkgroup.conformance.data import RECIPES, Request, recipe_name
from vkgroup.conformance.glsl_types import to_planes
from vkgroup.reference.dtypes import dtype_of
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.groups import OPERATORS, identity
from vkgroup.reference.semantics.lanes import Lanes
from vkgroup.spec.operations import OperandKind

Array = NDArray[Any]

_LEAST_INVOCATIONS = 16
"""Minimum workgroup size of the data recipes."""

_UNDEFINED_ENDS = ("subgroupShuffleUp", "subgroupShuffleDown")
"""Functions with an undefined lane, which would make further lanes undefined along a chain."""


def operands(case: Case, size: int, chains: int, generator: np.random.Generator) -> Array:
    """Return the operands of a case: data whose sums and products are exact in any order.

    Returns
    -------
    (chains, size, components) in the type's dtype; each chain has different data.
    """
    operation, type_ = case.operation, case.type
    shape = (chains, size, type_.components)
    if not operation.operands:
        return np.ones(shape, np.bool_)
    recipe = RECIPES[
        recipe_name(operation.name, operation.operator, operation.operands[0].kind.value, "exact")
    ]
    request = Request(type_, max(size, _LEAST_INVOCATIONS))
    values = np.empty(shape, dtype_of(type_.scalar))
    for chain in range(chains):
        # Each of the recipe's four workgroups has data of another kind.
        values[chain] = recipe(generator, request)[0][(chain + 2) % 4, :size]
    return values


def input_words(case: Case, values: Array) -> NDArray[np.uint32]:
    """Return the input words of a case: the planes of its operands, and its identity."""
    name = "And" if case.operation.name == "subgroupQuadAll" else case.operation.operator or "Or"
    operator = OPERATORS[name]
    dtype = dtype_of(case.type.scalar)
    neutral = identity(operator, dtype) if dtype.kind in operator.kinds else dtype.type(0)
    last = np.full((1, case.type.components), neutral, dtype)
    return to_planes(np.concatenate([values.reshape(-1, case.type.components), last]), case.type).ravel()


def applied(case: Case, values: Array) -> Lanes:
    """Apply a case's function once to the operands of each chain.

    Parameters
    ----------
    values : (chains, size, components)

    Returns
    -------
    value, defined : (chains, size, components of the result)
    """
    chains, size, _ = values.shape
    active = np.ones((chains, size), np.bool_)
    arguments: list[Any] = [active]
    if case.operation.operands:
        arguments.insert(0, values)
    for argument in case.arguments:
        given = argument.values(size)
        if isinstance(given, np.ndarray):
            given = np.broadcast_to(given, (chains, *given.shape))
        arguments.append(given)
    with np.errstate(all="ignore"):
        return reference_of(case.operation.name)(*arguments)


def can_step(case: Case) -> bool:
    """Return whether `stepped` determines the results of every device."""
    operation = case.operation
    fixed = operation.name in _UNDEFINED_ENDS or operation.name == "subgroupInverseBallot"
    return (
        not fixed
        and bool(operation.operands)
        and micro_feed.can_step(case.type, case.result)
        # Clusters and partitions are defined for all operands; the unused bits of a ballot operand are not.
        and operation.operands[0].kind is not OperandKind.BALLOT
    )


def stepped(case: Case, values: Array, steps: int) -> Lanes:
    """Apply a case's function `steps` times; each operand is `micro_feed.step` of the previous result."""
    operand = values
    result = applied(case, operand)
    for _ in range(steps - 1):
        operand = micro_feed.step(values, result.value)
        result = applied(case, operand)
    return result


def wrong(case: Case, got: Array, sound: Array, expected: Lanes) -> Array:
    """Return a mask of wrong results; float results of operators are compared as numbers.

    Parameters
    ----------
    got, sound : (…, chains, size, components) results of a device, and whether each is a valid value of its
        type.
    """
    value, defined = expected
    if got.dtype.kind != "f":
        differs = got != value
    elif case.operation.operator is not None:
        differs = ~((got == value) | (np.isnan(got) & np.isnan(value)))
    else:
        bits = f"u{got.dtype.itemsize}"
        differs = got.view(bits) != np.ascontiguousarray(value).view(bits)
    return np.asarray((differs | ~sound) & defined)
