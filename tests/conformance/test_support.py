"""A device is judged only on what it declares, and what it lacks is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vkgroup.conformance import cases_by_name
from vkgroup.conformance.subgroup import family
from vkgroup.device import Capabilities, SizeControl, Subgroup

CATEGORIES = (
    "basic",
    "vote",
    "arithmetic",
    "ballot",
    "shuffle",
    "shuffle_relative",
    "clustered",
    "quad",
)
EVERYTHING = Capabilities(
    name="a device",
    type="discrete_gpu",
    subgroup=Subgroup(32, ("compute",), CATEGORIES, True),
    size_control=SizeControl(True, 8, 32, 64, ("compute",), True),
    features=frozenset(
        {
            "shaderFloat16",
            "shaderFloat64",
            "shaderInt8",
            "shaderInt16",
            "shaderInt64",
            "shaderSubgroupExtendedTypes",
            "subgroupBroadcastDynamicId",
        }
    ),
    float_controls={f"shaderSignedZeroInfNanPreserveFloat{width}": True for width in (16, 32, 64)},
)


def missing(name, capabilities):
    return " ".join(family.missing(cases_by_name()[name], capabilities))


@pytest.mark.parametrize(
    "name",
    [
        "clustered.compute.subgroupClusteredAdd.f16vec3.loop.special.c32",
        "ballot.compute.subgroupBroadcast.dvec2.odd.exact.dynamic",
        "basic.compute.subgroupBarrier.uint.nested.exact.image",
        "quad.compute.subgroupQuadSwapDiagonal.u8vec4.all.exact.size8",
    ],
)
def test_a_device_that_has_everything_lacks_nothing(name) -> None:
    assert missing(name, EVERYTHING) == ""


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_category_that_is_not_declared(category) -> None:
    left = tuple(one for one in CATEGORIES if one != category)
    lacking = replace(EVERYTHING, subgroup=Subgroup(32, ("compute",), left, True))
    name = next(name for name, case in cases_by_name().items() if case.category == category)
    assert f"VK_SUBGROUP_FEATURE_{category.upper()}_BIT" in missing(name, lacking)


@pytest.mark.parametrize(
    ("feature", "name"),
    [
        ("shaderFloat16", "arithmetic.compute.subgroupAdd.f16vec2.all.exact"),
        ("shaderFloat64", "arithmetic.compute.subgroupAdd.double.all.exact"),
        ("shaderInt8", "arithmetic.compute.subgroupAdd.u8vec3.all.exact"),
        ("shaderInt64", "vote.compute.subgroupAllEqual.i64vec2.all.exact"),
        ("shaderSubgroupExtendedTypes", "shuffle.compute.subgroupShuffle.uint16_t.all.exact.data"),
        ("subgroupBroadcastDynamicId", "quad.compute.subgroupQuadBroadcast.int.all.exact.dynamic"),
    ],
)
def test_a_feature_that_is_not_declared(feature, name) -> None:
    assert feature in missing(name, replace(EVERYTHING, features=EVERYTHING.features - {feature}))


def test_another_stage() -> None:
    lacking = replace(EVERYTHING, subgroup=Subgroup(32, ("fragment",), CATEGORIES, True))
    assert "compute stage" in missing("vote.compute.subgroupAll.bool.all.exact", lacking)


def test_special_arithmetic_needs_the_promise_and_special_moves_do_not() -> None:
    lacking = replace(EVERYTHING, float_controls={})
    name = "shaderSignedZeroInfNanPreserveFloat32"
    assert missing("arithmetic.compute.subgroupMin.vec3.all.special", lacking) == name
    assert missing("ballot.compute.subgroupBroadcastFirst.vec3.all.special", lacking) == ""


@pytest.mark.parametrize(("size", "reason"), [(4, "minSubgroupSize 8"), (64, "maxSubgroupSize 32")])
def test_a_required_size_outside_the_range(size, reason) -> None:
    assert reason in missing(f"vote.compute.subgroupAll.bool.all.exact.size{size}", EVERYTHING)


def test_required_sizes_without_size_control() -> None:
    lacking = replace(EVERYTHING, size_control=SizeControl())
    assert missing("vote.compute.subgroupAll.bool.all.exact.size32", lacking) == "subgroupSizeControl"


def test_too_many_subgroups_for_a_required_size() -> None:
    lacking = replace(EVERYTHING, size_control=SizeControl(True, 8, 32, 8, ("compute",), True))
    name = "vote.compute.subgroupAll.bool.all.exact.size8"
    assert "maxComputeWorkgroupSubgroups of at least 16" in missing(name, lacking)


def test_a_cluster_larger_than_the_subgroup_is_never_run() -> None:
    name = "clustered.compute.subgroupClusteredAdd.int.all.exact.c64"
    assert "at least 64" in missing(name, EVERYTHING)


def test_without_ballots_only_uniform_control_flow_is_judged() -> None:
    left = tuple(one for one in CATEGORIES if one != "ballot")
    lacking = replace(EVERYTHING, subgroup=Subgroup(32, ("compute",), left, True))
    assert missing("vote.compute.subgroupAll.bool.partial.exact", lacking) == ""
    assert "to observe the active mask" in missing("vote.compute.subgroupAll.bool.odd.exact", lacking)


def test_answers_are_kept_for_one_device_only() -> None:
    # All cases of one operation and type: they differ in the axes by which answers are kept.
    cases = [
        case for name, case in cases_by_name().items() if name.startswith("arithmetic.compute.subgroupAdd.f")
    ]
    lesser = replace(EVERYTHING, features=frozenset(), float_controls={}, size_control=SizeControl())
    for capabilities in (EVERYTHING, lesser, EVERYTHING):
        kept = [family.missing(case, capabilities) for case in cases]
        # Another object that is equal is another device: nothing is kept for it.
        assert kept == [family.missing(case, replace(capabilities)) for case in cases]
    assert [family.missing(case, EVERYTHING) for case in cases] != [
        family.missing(case, lesser) for case in cases
    ]
