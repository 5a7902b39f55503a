"""The inputs discriminate: no other operation of the same shape gives the same answer on them.

Checked on the reference alone, for a device that puts invocations into subgroups one after another.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from vkgroup.conformance.patterns import WORKGROUPS
from vkgroup.conformance.subgroup import data
from vkgroup.reference.registry import reference_of
from vkgroup.spec.operations import OPERATIONS
from vkgroup.spec.types import TYPES

INVOCATIONS = 128
SIZES = (2, 4, 8, 16, 32, 64, 128)
REDUCTIONS = [op for op in OPERATIONS.values() if op.operator and op.group_operation != "ClusteredReduce"]
ACTIVITIES = {
    "all": lambda lane: np.ones_like(lane, bool),
    "odd": lambda lane: lane % 2 == 1,
    "lower_half": lambda lane: lane < (lane.shape[-1] + 1) // 2,
}


def feed(operation, type_, size, activity):
    """Values as the shader would feed them, (subgroups, size, components), and who is active."""
    recipe = data.recipe_name(operation)
    values, decoys = data.make(recipe, type_, INVOCATIONS, seed=1)
    lane = np.broadcast_to(np.arange(size), (WORKGROUPS * INVOCATIONS // size, size))
    active = ACTIVITIES[activity](lane)
    shape = (*active.shape, type_.components)
    return np.where(active[..., None], values.reshape(shape), decoys.reshape(shape)), active


def differ(first, second, active):
    both = first.defined & second.defined & active[..., None]
    return bool(np.any((first.value != second.value) & both))


def distinguishable(first, second, active):
    """Return whether any data could distinguish two operations.

    A lone lane reduces to its own value, whatever the operation; of two lanes an exclusive scan has the
    identity and the first value.
    """
    lanes = active.sum(axis=1).max()
    exclusive = {first.group_operation, second.group_operation} == {"ExclusiveScan"}
    return lanes > (2 if exclusive else 1)


@pytest.mark.parametrize("activity", ACTIVITIES)
@pytest.mark.parametrize("operation", REDUCTIONS, ids=lambda op: op.name)
def test_reductions_and_scans_tell_each_other_apart(operation, activity) -> None:
    scalars = [type_ for type_ in operation.types if type_.components == 1]
    for size, type_ in product(SIZES, scalars):
        value, active = feed(operation, type_, size, activity)
        mine = reference_of(operation.name)(value, active)
        for other in REDUCTIONS:
            if other is operation or type_ not in other.types:
                continue
            if not distinguishable(operation, other, active):
                continue
            assert differ(mine, reference_of(other.name)(value, active), active), (
                other.name,
                type_.name,
                size,
            )


@pytest.mark.parametrize("operation", REDUCTIONS, ids=lambda op: op.name)
def test_decoys_of_inactive_lanes_would_show(operation) -> None:
    scalars = [type_ for type_ in operation.types if type_.components == 1]
    for size, type_ in product(SIZES[1:], scalars):
        value, active = feed(operation, type_, size, "odd")
        honest = reference_of(operation.name)(value, active)
        leaky = reference_of(operation.name)(value, np.ones_like(active))
        assert differ(honest, leaky, active), (type_.name, size)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("activity", ACTIVITIES)
def test_votes_tell_each_other_apart(activity, size) -> None:
    if size == 2 and activity != "all":
        size = 4
    predicate, active = feed(OPERATIONS["subgroupAll"], TYPES["bool"], size, activity)
    all_ = reference_of("subgroupAll")(predicate, active)
    any_ = reference_of("subgroupAny")(predicate, active)
    assert differ(all_, any_, active)
    for constant in (True, False):
        assert np.any(all_.value[active] != constant)
        assert np.any(any_.value[active] != constant)


@pytest.mark.parametrize(
    "type_", [t for t in TYPES.values() if t in OPERATIONS["subgroupAllEqual"].types], ids=str
)
def test_equality_is_met_both_ways(type_) -> None:
    for size in (4, 32, 128):
        value, active = feed(OPERATIONS["subgroupAllEqual"], type_, size, "odd")
        found = reference_of("subgroupAllEqual")(value, active).value[active]
        assert found.any()
        assert not found.all()
        leaky = reference_of("subgroupAllEqual")(value, np.ones_like(active)).value[active]
        assert np.any(found != leaky)


@pytest.mark.parametrize("size", SIZES)
def test_neighbouring_deltas_and_masks_differ(size) -> None:
    for name in ("subgroupShuffleUp", "subgroupShuffleDown", "subgroupShuffleXor", "subgroupShuffle"):
        operation = OPERATIONS[name]
        for type_ in (TYPES["uint"], TYPES["f16vec2"], TYPES["int8_t"]):
            value, active = feed(operation, type_, size, "all")
            operand = np.full(active.shape, 1, np.uint32)
            one = reference_of(operation.name)(value, active, operand)
            for other in {0, 2, size // 2} - {1}:
                if other < size:
                    two = reference_of(operation.name)(value, active, np.full(active.shape, other, np.uint32))
                    both = one.defined & two.defined
                    assert not both.any() or differ(one, two, active)


def test_ballot_functions_tell_each_other_apart() -> None:
    names = [
        "subgroupBallotBitCount", "subgroupBallotInclusiveBitCount", "subgroupBallotExclusiveBitCount",
        "subgroupBallotFindLSB", "subgroupBallotFindMSB",
    ]  # fmt: skip
    for size in SIZES:
        value, active = feed(OPERATIONS[names[0]], TYPES["uvec4"], size, "all")
        found = {name: reference_of(name)(value, active) for name in names}
        for first in names:
            for second in names:
                assert first == second or differ(found[first], found[second], active), (first, second, size)


@pytest.mark.parametrize("recipe", data.RECIPES)
def test_the_seed_decides_the_data(recipe) -> None:
    name = {"predicates": "bool", "ballots": "uvec4", "uniform_ballots": "uvec4"}.get(recipe, "float")
    if recipe in ("conjunctions", "disjunctions"):
        name = "int"
    again = [data.make(recipe, TYPES[name], INVOCATIONS, seed) for seed in (5, 5, 6)]
    assert all(a.tobytes() == b.tobytes() for a, b in zip(again[0], again[1], strict=True))
    assert again[0][0].tobytes() != again[2][0].tobytes()


def test_exact_sums_and_products_stay_exact_in_every_order() -> None:
    generator = np.random.default_rng(3)
    for recipe, ufunc in (("sums", np.add), ("products", np.multiply)):
        values, _ = data.make(recipe, TYPES["float16_t"], INVOCATIONS, seed=9)
        for group in values.reshape(WORKGROUPS, INVOCATIONS):
            wanted = ufunc.reduce(group.astype(np.float64))
            for _ in range(20):
                running = ufunc.accumulate(generator.permutation(group), dtype=np.float16)
                assert np.all(np.isfinite(running))
                assert float(running[-1]) == wanted
