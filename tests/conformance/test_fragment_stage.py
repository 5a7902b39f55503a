"""Subgroup operations in fragment shaders: verdicts, what helper invocations do, and real drivers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fnmatch import fnmatch

import numpy as np
import pytest
from simulated_device import SimulatedDevice
from test_support import CATEGORIES, EVERYTHING

import vkgroup.conformance as conformance
from vkgroup.conformance import Status, cases_by_name
from vkgroup.conformance.stages.base import LANES, group_of_block
from vkgroup.conformance.stages.pixels import TriangleStage, quad_of
from vkgroup.conformance.subgroup import family
from vkgroup.conformance.subgroup.cases import subgroup_cases
from vkgroup.conformance.subgroup.expectation import verdict_on
from vkgroup.device import Subgroup
from vkgroup.workers.opening import open_device
from vkgroup.workers.opening import select as select_device

DEVICE = replace(
    EVERYTHING,
    subgroup=Subgroup(32, ("fragment",), CATEGORIES, True),
    features=EVERYTHING.features | {"fragmentStoresAndAtomics", "shaderDemoteToHelperInvocation"},
)
ADD = "arithmetic.fragment.subgroupAdd.uvec2"


def imagine(*names, size=8):
    return SimulatedDevice([cases_by_name()[name] for name in names], size=size)


def verdicts(simulated):
    instances = simulated.instances()
    return [
        verdict_on(entry, simulated.program, instances, simulated.outputs)
        for entry in simulated.program.entries
    ]


@pytest.mark.parametrize("size", [4, 8, 32, 64, 128])
@pytest.mark.parametrize("pattern", ["all", "partial", "odd"])
def test_what_the_reference_says_passes(pattern, size) -> None:
    cases = [
        case
        for case in subgroup_cases()
        if case.stage == "fragment"
        and case.pattern == pattern
        and case.shape == "1d"
        and not case.subgroup_size
    ]
    for case in cases[:: len(cases) // 100]:
        if not (case.operand.startswith("c") and int(case.operand[1:]) > size):
            (verdict,) = verdicts(SimulatedDevice([case], size=size))
            assert verdict.status in (Status.PASS, Status.UNDEFINED), (case.name, verdict.detail)


def test_one_wrong_lane_fails_and_its_pixel_is_shown() -> None:
    simulated = imagine(f"{ADD}.odd.exact")
    # Lane 7 of the third subgroup, whose quads begin at (8, 0) and (10, 0), is the pixel (11, 1).
    simulated.result(simulated.program.entries[0])[1, 32 + 11] += 1
    (verdict,) = verdicts(simulated)
    assert verdict.status == Status.FAIL
    assert "1 of 256 active lanes are wrong" in verdict.detail
    assert "subgroup from pixel (8, 0) lane 7 slot 0 active 0xaa" in verdict.detail


def test_helper_invocations_count_in_results_and_are_not_judged() -> None:
    simulated = imagine(f"{ADD}.partial.exact")
    instances = simulated.instances()
    helpers = instances.active & ~instances.recorded
    # 16 quads lack their lower row, 8 their right column, one of them both.
    assert int(helpers.sum()) == 512 - 31 * 15
    (verdict,) = verdicts(simulated)
    assert (verdict.status, verdict.defined) == (Status.PASS, 31 * 15)
    value = simulated.program.entries[0].feed.values[instances.place]
    row = int(np.flatnonzero(helpers.any(axis=1))[0])
    got = simulated.result(simulated.program.entries[0])[:, instances.member[row][instances.recorded[row]]]
    assert np.array_equal(got[:, 0], value[row].sum(axis=0, dtype=np.uint32))


def test_helper_invocations_may_be_inactive() -> None:
    """GLSL's subgroup extension was later made to allow that; see docs/conformance/suite.md."""
    simulated = imagine(f"{ADD}.partial.exact")
    executing = simulated.executing
    for one in np.unique(simulated.subgroup):
        inside = simulated.subgroup == one
        simulated.slots[1:, inside & executing] = simulated.ballot(inside & executing)
    simulated.answer()
    assert verdicts(simulated)[0].status == Status.PASS


def test_an_active_lane_that_is_neither_recorded_nor_a_helper_is_a_fault() -> None:
    simulated = imagine(f"{ADD}.all.exact")
    simulated.slots[0, 3] = 0
    (verdict,) = verdicts(simulated)
    assert verdict.status == Status.FAIL
    assert "active mask" in verdict.detail


def _divide(simulated, *, helper_is_first=False, other_slot=False):
    """Divide each subgroup at a triangle edge: in each part, the pixels of the other are helper invocations.

    `helper_is_first`: whether the pixel that numbers a subgroup may be that of a helper invocation.
    `other_slot`: whether the second part has its two quads in the reverse order.
    """
    second = np.isin(simulated.lane, (1, 4, 5, 7))
    if not helper_is_first:
        # The first lane that is not a helper invocation: that of the pixel at the right, or below.
        simulated.lanes[1, second] = simulated.subgroup[second] + (2 if other_slot else 1)
    if other_slot:
        simulated.lanes[0, second] = simulated.lane[second] ^ 4
    simulated.answer()


@pytest.mark.parametrize(
    "division", [{}, {"helper_is_first": True}, {"other_slot": True}], ids=["plain", "helper first", "slot"]
)
def test_helper_invocations_at_edges_inside_of_the_framebuffer(division: dict[str, bool]) -> None:
    simulated = imagine(f"{ADD}.all.exact.framebuffer")
    _divide(simulated, **division)
    (verdict,) = verdicts(simulated)
    assert (verdict.status, verdict.defined) == (Status.PASS, 512), verdict.detail
    assert simulated.instances().active.all()


@pytest.mark.parametrize("divided", [False, True])
def test_a_lane_without_a_record_in_the_framebuffer_is_a_fault(divided: bool) -> None:
    simulated = imagine(f"{ADD}.all.exact.framebuffer")
    if divided:
        _divide(simulated)
    # Pixel (0, 1), lane 2, is inside of the first part.
    simulated.slots[0, 32] = 0
    (verdict,) = verdicts(simulated)
    assert verdict.status == Status.FAIL
    assert "active mask" in verdict.detail


def test_a_pixel_that_was_not_shaded_is_a_fault() -> None:
    simulated = imagine(f"{ADD}.all.exact")
    simulated.lanes[:, 77] = 0xA5A5A5A5
    (verdict,) = verdicts(simulated)
    assert verdict.status == Status.FAIL
    assert "1 invocations left no record" in verdict.detail


def test_nobody_need_find_what_a_helper_invocation_wrote() -> None:
    simulated = imagine("basic.fragment.subgroupBarrier.uint.partial.exact.buffer", size=4)
    result = simulated.result(simulated.program.entries[0])
    # The lane after that of pixel (30, 0) is a helper invocation, (31, 0); the one after (0, 0) is not.
    result[3, 30] ^= 1
    assert verdicts(simulated)[0].status == Status.PASS
    result[3, 0] ^= 1
    assert verdicts(simulated)[0].status == Status.FAIL


@pytest.mark.parametrize("size", [4, 8, 16, 32])
@pytest.mark.parametrize("block", [(2, 2), (4, 2), (8, 4), (16, 2)])
def test_subgroups_of_any_layout_read_every_kind_of_data(size, block) -> None:
    """Blocks of quads, as GPUs form subgroups of them, read all groups of the data and most of its places."""
    stage = TriangleStage(32, 16)
    width, height = block
    if width * height != size:
        return
    y, x = np.mgrid[0:16:height, 0:32:width]
    first = (y * 32 + x).ravel()
    group = group_of_block(quad_of(first))
    places = stage.places(group, first, np.zeros((len(first), size), int))
    groups = Counter((places // LANES)[:, 0].tolist())
    assert set(groups) == {0, 1, 2, 3}
    assert max(groups.values()) <= 2 * min(groups.values())
    assert all(len(set(row)) == size for row in places.tolist())
    assert len(np.unique(places)) >= 256


class TestSupport:
    """The error names the missing feature."""

    def missing(self, name, capabilities):
        return " ".join(family.missing(cases_by_name()[name], capabilities))

    @pytest.mark.parametrize("case", ["all.exact", "partial.exact", "demote.exact", "discard.exact"])
    def test_a_device_that_has_everything_lacks_nothing(self, case) -> None:
        assert self.missing(f"{ADD}.{case}", DEVICE) == ""

    def test_the_stage(self) -> None:
        assert "in the fragment stage" in self.missing(f"{ADD}.all.exact", EVERYTHING)

    @pytest.mark.parametrize(
        ("feature", "pattern"),
        [("fragmentStoresAndAtomics", "all"), ("shaderDemoteToHelperInvocation", "demote")],
    )
    def test_features(self, feature, pattern) -> None:
        lacking = replace(DEVICE, features=DEVICE.features - {feature})
        assert self.missing(f"{ADD}.{pattern}.exact", lacking) == feature

    def test_ballots_in_any_control_flow(self) -> None:
        left = tuple(one for one in CATEGORIES if one != "ballot")
        lacking = replace(DEVICE, subgroup=Subgroup(32, ("fragment",), left, True))
        assert "to observe the active mask" in self.missing(f"{ADD}.all.exact", lacking)

    def test_required_sizes_by_stage(self) -> None:
        assert "with the fragment stage" in self.missing(f"{ADD}.all.exact.size32", DEVICE)


KNOWN = {
    "swiftshader": ("vote.fragment.subgroupAllEqual.*vec*",),
    "lavapipe": ("*.fragment.subgroup*M??.f*16*.special*",),
}
SAMPLES = {"swiftshader": 600, "lavapipe": 150}


@pytest.mark.mostly_slow(every=2)
@pytest.mark.usefixtures("swiftshader", "lavapipe")
@pytest.mark.parametrize("driver", KNOWN)
def test_a_sample_is_right_but_for_what_is_known(driver) -> None:
    device = select_device(driver)
    with open_device(device) as opened:
        capabilities = opened.capabilities
    supported = [
        case
        for case in subgroup_cases()
        if case.stage == "fragment" and not family.missing(case, capabilities)
    ]
    sample = supported[:: len(supported) // SAMPLES[driver]]
    found = conformance.run(device, cases=sample, jobs=2, seed=19)
    unknown = [
        result.case
        for result in found.failures
        if not any(fnmatch(result.case, glob) for glob in KNOWN[driver])
    ]
    assert unknown == []
    assert found.counts[Status.PASS] > 0.8 * len(sample)
