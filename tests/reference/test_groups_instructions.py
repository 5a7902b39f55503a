"""Group instructions called directly: values, causes of undefined results, and causes of operands."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inputs import SIZES, generators, masks_of, operand_of, values_of
from test_semantics_extended import ballots_of

from vkgroup.base.errors import Unsupported
from vkgroup.reference.interpreter.operations.accessor import Subgroups
from vkgroup.reference.interpreter.operations.groups import GROUPS
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.value import Value, single
from vkgroup.reference.registry import reference_of
from vkgroup.spec.operations import EXTENDED_OPERATIONS, OPERATIONS, OperandKind
from vkgroup.spec.types import TYPES
from vkgroup.spirv import ScalarType, VectorType

ROWS = [row for row in (*OPERATIONS.values(), *EXTENDED_OPERATIONS.values()) if row.result is not None]
GROUP_OPERATIONS = (
    "Reduce",
    "InclusiveScan",
    "ExclusiveScan",
    "ClusteredReduce",
    "",
    "",
    "PartitionedReduceNV",
    "PartitionedInclusiveScanNV",
    "PartitionedExclusiveScanNV",
)
UINT = TYPES["uint"]


def spirv_type(type_):
    scalar = ScalarType(type_.scalar.kind, 1 if type_.scalar.kind == "bool" else type_.scalar.bits)
    return scalar if type_.components == 1 else VectorType(scalar, type_.components)


def constant(number):
    return single(np.array([number], np.uint32))


def site_of(row, type_, cluster_size=None, scope=3):
    """Return the site of the instruction that a row is with a type."""
    operands = [operand.type or type_ for operand in row.operands]
    constants = [None] * len(operands)
    if cluster_size is not None:
        constants[-1] = constant(cluster_size)
    if row.direction is not None:
        operands.append(UINT)
        constants.append(constant(row.direction))
    return Site(
        row.opcode(type_),
        spirv_type(row.result_type(type_)),
        tuple(spirv_type(operand) for operand in operands),
        tuple(constants),
        () if row.group_operation is None else (GROUP_OPERATIONS.index(row.group_operation),),
        (scope,),
        position=7,
    )


def operand_for(kind, rng, shape):
    return ballots_of(rng, shape) if kind is OperandKind.BALLOT else operand_of(rng, kind, shape)


def chosen(rows, active):
    """Return the active lanes of (subgroups, size, components) as a value's array: one axis for a scalar."""
    flat = rows[active]
    return np.ascontiguousarray(flat[:, 0] if flat.shape[1] == 1 else flat.T)


def run(site, active, *operands):
    """Run an instruction on operands given as rows, as constants (int) or as `Value`."""
    rows, lanes = np.nonzero(active)
    subgroups = Subgroups(active.shape[1], rows * 3, lanes)
    values = []
    for operand in operands:
        if isinstance(operand, int):
            values.append(constant(operand))
        elif isinstance(operand, Value):
            values.append(operand)
        else:
            values.append(single(chosen(operand if operand.ndim == 3 else operand[:, :, None], active)))
    return GROUPS[site.name](site)(subgroups, *values)


def drawn(data, row):
    """Return a random use of an operation: generator, type, mask, value and other operands."""
    rng = data.draw(generators)
    type_ = data.draw(st.sampled_from(row.types or (UINT,)))
    shape = (data.draw(st.integers(1, 3)), data.draw(st.sampled_from(SIZES)))
    active = masks_of(rng, shape)
    active[rng.integers(0, shape[0]), rng.integers(0, shape[1])] = True
    value = values_of(rng, type_.scalar, (*shape, type_.components))
    others = [operand_for(operand.kind, rng, shape) for operand in row.operands[1:]]
    cluster = others[-1] if others and isinstance(others[-1], int) else None
    arguments = ([value] if row.operands else []) + others
    return rng, site_of(row, type_, cluster), active, arguments


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_result_is_what_the_semantics_say(row, data) -> None:
    _, site, active, arguments = drawn(data, row)
    direction = [] if row.direction is None else [row.direction]
    result = run(site, active, *arguments, *direction)
    lanes = reference_of(row.name)(*arguments[:1], active, *arguments[1:])
    expected, defined = chosen(lanes.value, active), chosen(lanes.defined, active)
    assert result.data.shape == expected.shape
    assert result.data.dtype == expected.dtype
    np.testing.assert_array_equal(result.data[defined], expected[defined])
    cause = np.zeros(1, np.uint16) if result.cause is None else result.cause
    np.testing.assert_array_equal(np.broadcast_to(cause, expected.shape) == 0, defined)
    for number in set(cause.reshape(-1).tolist()) - {0}:
        why = site.causes[number]
        assert why.position == 7
        assert why.detail.startswith(f"{row.name}() ")


EXACT = [row for row in ROWS if row.operator in ("Add", "Xor")] + [
    row for row in ROWS if row.operator is None and row.result == "value"
]


@pytest.mark.parametrize("row", EXACT, ids=lambda row: row.name)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_a_cause_comes_to_every_lane_that_its_value_comes_to_and_no_other(row, data) -> None:
    """The lanes whose results change with the value of one lane are those that depend on it."""
    rng, _, active, arguments = drawn(data, row)
    value = rng.integers(0, 100, (*active.shape, 1), dtype=np.uint32)
    cluster = arguments[-1] if isinstance(arguments[-1], int) else None
    site = site_of(row, UINT, cluster)
    source = tuple(rng.choice(np.argwhere(active)))
    changed = value.copy()
    changed[source] += 1
    causes = np.zeros(value.shape, np.uint16)
    causes[source] = 9
    tainted = single(chosen(value, active), chosen(causes, active))
    direction = [] if row.direction is None else [row.direction]
    others = [*arguments[1:], *direction]
    plain, after = run(site, active, value, *others), run(site, active, changed, *others)
    found = run(site, active, tainted, *others)
    own = np.zeros(plain.data.shape, np.uint16) if plain.cause is None else plain.cause
    carried = np.zeros(plain.data.shape, np.uint16) if found.cause is None else found.cause
    defined = own == 0
    np.testing.assert_array_equal(carried[~defined], own[~defined])
    np.testing.assert_array_equal((carried == 9)[defined], (plain.data != after.data)[defined])


ALL = np.ones((1, 8), bool)
LANES = np.arange(8, dtype=np.uint32).reshape(1, 8, 1)


def words(*numbers):
    return np.array([numbers], np.uint32)


def why(name, type_, active, *operands, cluster=None):
    """Return kind and sentence of each active lane's cause, None where the result is defined."""
    row = OPERATIONS.get(name) or EXTENDED_OPERATIONS[name]
    site = site_of(row, TYPES[type_], cluster)
    extra = [row.direction] if row.direction is not None else []
    result = run(site, active, *operands, *([cluster] if cluster is not None else []), *extra)
    if result.cause is None:
        return [None] * int(active.sum())
    numbers = np.broadcast_to(result.cause, result.data.shape)
    return [
        None if number == 0 else (site.causes[number].kind, site.causes[number].detail)
        for number in numbers.tolist()
    ]


def test_a_shuffle_names_what_it_reads() -> None:
    active = np.array([[True] * 6 + [False, True]])
    inactive = ("inactive_lane", "subgroupShuffle() reads an inactive lane")
    beyond = ("lane_out_of_range", "subgroupShuffle() reads a lane that a subgroup of 8 does not have")
    ids = words(0, 6, 8, 7, 2**32 - 1, 6, 0, 1)
    assert why("subgroupShuffle", "uint", active, LANES, ids) == [
        None, inactive, beyond, None, beyond, inactive, None,
    ]  # fmt: skip


def test_relative_shuffles_name_the_end_of_the_subgroup() -> None:
    down = ("lane_out_of_range", "subgroupShuffleDown() reads a lane that a subgroup of 8 does not have")
    up = ("lane_out_of_range", "subgroupShuffleUp() reads a lane that a subgroup of 8 does not have")
    two = words(*[2] * 8)
    assert why("subgroupShuffleDown", "uint", ALL, LANES, two) == [None] * 6 + [down] * 2
    assert why("subgroupShuffleUp", "uint", ALL, LANES, two) == [up] * 2 + [None] * 6


def test_an_id_that_differs_is_named_before_anything_else() -> None:
    ids = words(1, 1, 1, 1, 1, 1, 1, 99)
    differs = ("not_uniform", "subgroupBroadcast() takes an id that differs between active lanes")
    assert why("subgroupBroadcast", "uint", ALL, LANES, ids) == [differs] * 8
    inactive = ("inactive_lane", "subgroupBroadcast() reads an inactive lane")
    active = np.array([[True, False, True, True, True, True, True, False]])
    assert why("subgroupBroadcast", "uint", active, LANES, ids) == [inactive] * 6


def test_the_other_rules_have_a_name_each() -> None:
    ballot = np.zeros((1, 8, 4), np.uint32)
    ballot[:, :, 0] = 1 << np.arange(8)
    half = np.float32([[np.nan, 1, np.nan, np.nan, 0, 0, -0.0, -0.0]])[:, :, None]
    nan = ("nan", "subgroupInclusiveMin() has only NaN to choose from")
    sign = ("order", "subgroupInclusiveMin() may choose either of +0.0 and -0.0")
    assert why("subgroupInverseBallot", "uvec4", ALL, ballot)[0] == (
        "not_uniform",
        "subgroupInverseBallot() takes a ballot that differs between active lanes",
    )
    assert (
        why("subgroupClusteredAdd", "uint", ALL, LANES, cluster=16)
        == [("cluster", "subgroupClusteredAdd() has clusters of 16 in a subgroup of 8")] * 8
    )
    assert why("subgroupInclusiveMin", "float", ALL, half) == [nan, *[None] * 5, sign, sign]
    assert why("subgroupAllEqual", "float", np.array([[True] + [False] * 7]), half) == [
        ("nan", "subgroupAllEqual() compares a NaN in the only active lane")
    ]
    assert why("subgroupBallotFindLSB", "uvec4", ALL, 0 * ballot)[3] == (
        "empty_ballot",
        "subgroupBallotFindLSB() finds no bit set in the ballot",
    )
    assert why("subgroupBallotBitExtract", "uvec4", ALL, ballot, words(*[8] * 8))[0] == (
        "lane_out_of_range",
        "subgroupBallotBitExtract() takes a bit that a subgroup of 8 does not have",
    )
    assert why("subgroupPartitionedAddNV", "uint", ALL, LANES, 0 * ballot)[0] == (
        "partition",
        "subgroupPartitionedAddNV() takes ballots that are no partition of the active lanes",
    )


@pytest.mark.parametrize(("size", "swapped"), [(1, "...."), (2, "10.."), (4, "1032")])
def test_a_quad_of_a_small_subgroup_has_fewer_lanes(size, swapped) -> None:
    row = OPERATIONS["subgroupQuadSwapHorizontal"]
    site = site_of(row, UINT)
    active = np.ones((4 // size, size), bool)
    value = (np.arange(4, dtype=np.uint32) % size).reshape(-1, size, 1)
    result = run(site, active, value, 0)
    if size == 1:
        assert {site.causes[number].kind for number in result.cause.tolist()} == {"quad"}
    else:
        assert result.cause is None
        assert result.data.tolist()[:size] == [int(place) for place in swapped[:size]]


def test_a_sign_is_the_instructions_not_the_types() -> None:
    bits = np.array([[1, 2**32 - 1]], np.uint32)[:, :, None]
    active = np.ones((1, 2), bool)
    for opcode, least, most in (("OpGroupNonUniformSMin", -1, 1), ("OpGroupNonUniformUMin", 1, -1)):
        for kind in ("int", "uint"):
            scalar = ScalarType(kind, 32)
            value = bits.view(scalar.dtype)
            for name, expected in ((opcode, least), (opcode.replace("Min", "Max"), most)):
                site = Site(name, scalar, (scalar,), (None,), (0,), (3,), 0)
                result = run(site, active, value)
                assert result.data.dtype == scalar.dtype
                assert result.data.view(np.int32).tolist() == [expected] * 2


def test_an_id_may_be_of_any_integer_type_and_the_same_in_all() -> None:
    wide = ScalarType("uint", 64)
    uint = ScalarType("uint", 32)
    site = Site("OpGroupNonUniformShuffle", uint, (uint, wide), (None, None), (), (3,), 0)
    found = run(site, ALL, LANES, single(np.array([5], np.uint64)))
    assert found.data.tolist() == [5] * 8
    far = run(site, ALL, LANES, single(np.array([2**32 + 5], np.uint64)))
    assert (far.cause != 0).all()
    narrow = Site(
        "OpGroupNonUniformRotateKHR", uint, (uint, ScalarType("uint", 8)), (None, None), (), (3,), 0
    )
    assert run(narrow, ALL, LANES, single(np.array([255], np.uint8))).data.tolist() == [
        7, 0, 1, 2, 3, 4, 5, 6,
    ]  # fmt: skip


def test_a_tainted_operand_taints_what_it_decides() -> None:
    """A shuffle's id decides for its lane; an id that must be uniform, or a partition's ballot, for all."""
    causes = np.zeros(8, np.uint16)
    causes[2] = 12
    ids = single(np.zeros(8, np.uint32), causes)
    for name, tainted in (("subgroupShuffle", [2]), ("subgroupBroadcast", list(range(8)))):
        result = run(site_of(OPERATIONS[name], UINT), ALL, LANES, ids)
        assert np.flatnonzero(result.cause).tolist() == tainted
    ballot = single(np.full((4, 8), 255, np.uint32), causes)
    row = EXTENDED_OPERATIONS["subgroupPartitionedAddNV"]
    assert run(site_of(row, UINT), ALL, LANES, ballot).cause.tolist() == [12] * 8
    row = OPERATIONS["subgroupBallotFindLSB"]
    assert run(site_of(row, TYPES["uvec4"]), ALL, ballot).cause.tolist() == causes.tolist()


def test_votes_and_ballots_are_tainted_by_any_active_lane() -> None:
    causes = np.zeros((3, 8), np.uint16)
    causes[1, 4] = 12
    value = single(np.zeros((3, 8), np.float32), causes)
    result = run(site_of(OPERATIONS["subgroupAllEqual"], TYPES["vec3"]), ALL, value)
    assert result.cause.tolist() == [12] * 8
    predicate = single(np.zeros(8, bool), causes[1])
    for name in ("subgroupAny", "subgroupBallot", "anyInvocationARB"):
        row = OPERATIONS.get(name) or EXTENDED_OPERATIONS[name]
        assert run(site_of(row, TYPES["bool"]), ALL, predicate).cause.tolist() == [12] * 8
    quad = run(site_of(EXTENDED_OPERATIONS["subgroupQuadAny"], TYPES["bool"]), ALL, predicate)
    assert quad.cause.tolist() == [0] * 4 + [12] * 4


def test_a_component_is_tainted_alone() -> None:
    causes = np.zeros((2, 8), np.uint16)
    causes[1, 4] = 12
    value = single(np.ones((2, 8), np.uint32), causes)
    result = run(site_of(OPERATIONS["subgroupInclusiveAdd"], TYPES["uvec2"]), ALL, value)
    assert result.cause.tolist() == [[0] * 8, [0] * 4 + [12] * 4]


@pytest.mark.parametrize("suffix", ["", "NonUniformAMD"])
def test_the_older_reductions_are_the_same(suffix) -> None:
    uint = ScalarType("uint", 32)
    site = Site(f"OpGroupIAdd{suffix}", uint, (uint,), (None,), (1,), (3,), 0)
    assert run(site, ALL, LANES).data.tolist() == [0, 1, 3, 6, 10, 15, 21, 28]


def test_what_is_not_known_is_refused_by_name() -> None:
    row = OPERATIONS["subgroupAdd"]
    with pytest.raises(Unsupported, match="OpGroupNonUniformIAdd with scope Workgroup"):
        GROUPS["OpGroupNonUniformIAdd"](site_of(row, UINT, scope=2))
    uint = ScalarType("uint", 32)
    with pytest.raises(Unsupported, match="OpGroupNonUniformIAdd with GroupOperation5"):
        GROUPS["OpGroupNonUniformIAdd"](Site("OpGroupNonUniformIAdd", uint, (uint,), (None,), (5,), (3,), 0))
    clustered = Site("OpGroupNonUniformIAdd", uint, (uint, uint), (None, None), (3,), (3,), 0)
    with pytest.raises(Unsupported, match="operand 2 is not a constant"):
        GROUPS["OpGroupNonUniformIAdd"](clustered)
