"""The verdict: right answers pass, and every kind of wrong answer is a failure that says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_device import SimulatedDevice

from vkgroup.conformance import Status, cases_by_name
from vkgroup.conformance.arrays import POISON
from vkgroup.conformance.subgroup.cases import subgroup_cases
from vkgroup.conformance.subgroup.expectation import verdict_on


def imagine(*names, size=8):
    return SimulatedDevice([cases_by_name()[name] for name in names], size=size)


def verdicts(simulated):
    instances = simulated.instances()
    return [
        verdict_on(entry, simulated.program, instances, simulated.outputs)
        for entry in simulated.program.entries
    ]


@pytest.mark.parametrize("size", [1, 4, 8, 32, 64, 128])
@pytest.mark.parametrize("pattern", ["all", "partial", "odd"])
def test_what_the_reference_says_passes(pattern, size) -> None:
    cases = [
        case
        for case in subgroup_cases()
        if (case.stage, case.pattern, case.shape, case.subgroup_size) == ("compute", pattern, "1d", 0)
    ]
    for case in cases[:: len(cases) // 150]:
        if case.operand.startswith("c") and int(case.operand[1:]) > size:
            continue
        for verdict in verdicts(SimulatedDevice([case], size=size)):
            if size == 1 and pattern == "odd":
                assert "no invocation" in verdict.detail
            else:
                assert verdict.status in (Status.PASS, Status.UNDEFINED), (case.name, verdict.detail)


def test_one_wrong_lane_fails_and_is_shown() -> None:
    simulated = imagine("arithmetic.compute.subgroupAdd.uvec2.odd.exact")
    entry = simulated.program.entries[0]
    simulated.result(entry)[1, 128 + 8 + 3] += 1
    (verdict,) = verdicts(simulated)
    assert verdict.status == Status.FAIL
    assert "1 of 256 active lanes are wrong" in verdict.detail
    assert "workgroup 1 subgroup 1 lane 3" in verdict.detail
    assert "active 0xaa" in verdict.detail
    for word in ("input", "expected", "got"):
        assert word in verdict.detail


def test_evidence_has_every_lane_of_the_first_wrong_subgroup() -> None:
    simulated = imagine("clustered.compute.subgroupClusteredAdd.uint.odd.exact.c2")
    entry = simulated.program.entries[0]
    simulated.result(entry)[0, 128 + 8 + 3] += 1
    (verdict,) = verdicts(simulated)
    evidence = verdict.evidence
    assert evidence is not None
    assert (evidence["where"], evidence["size"], evidence["active"]) == ("workgroup 1 subgroup 1", 8, "0xaa")
    assert evidence["wrong"] == [3]
    rows = evidence["rows"]
    assert list(rows) == ["input", "operand", "expected", "got"]
    for texts in rows.values():
        # Every other lane is inactive, and has neither an input nor a result.
        assert [text is None for text in texts] == [lane % 2 == 0 for lane in range(8)]
    assert rows["input"][5] == rows["expected"][5] == rows["got"][5]
    assert int(rows["got"][3]) == int(rows["expected"][3]) + 1


def test_evidence_leaves_undefined_lanes_open() -> None:
    simulated = imagine("shuffle_relative.compute.subgroupShuffleUp.int.all.exact.by2")
    simulated.result(simulated.program.entries[0])[0, simulated.lane == 2] ^= 1
    (verdict,) = verdicts(simulated)
    assert verdict.evidence is not None
    assert verdict.evidence["rows"]["expected"][:2] == [None, None]
    assert verdict.evidence["rows"]["got"][0] is not None


def test_an_inactive_lane_is_not_judged() -> None:
    simulated = imagine("arithmetic.compute.subgroupAdd.uvec2.odd.exact")
    simulated.result(simulated.program.entries[0])[:, ::2] += 1
    assert verdicts(simulated)[0].status == Status.PASS


def test_undefined_lanes_are_counted_and_not_compared() -> None:
    simulated = imagine("shuffle_relative.compute.subgroupShuffleUp.int.all.exact.by2")
    result = simulated.result(simulated.program.entries[0])
    result[0, simulated.lane < 2] ^= 0xFFFF
    (verdict,) = verdicts(simulated)
    assert verdict.status == Status.PASS
    assert (verdict.defined, verdict.undefined) == (512 * 6 // 8, 512 * 2 // 8)
    result[0, simulated.lane == 2] ^= 1
    assert verdicts(simulated)[0].status == Status.FAIL


def test_a_case_without_defined_lanes_is_undefined() -> None:
    simulated = imagine("shuffle.compute.subgroupShuffleXor.int.all.exact.beyond")
    (verdict,) = verdicts(simulated)
    assert (verdict.status, verdict.defined) == (Status.UNDEFINED, 0)


def test_words_that_are_no_value_of_the_type_fail() -> None:
    simulated = imagine("vote.compute.subgroupAny.bool.all.exact")
    result = simulated.result(simulated.program.entries[0])
    true = int(np.nonzero(result[0])[0][0])
    result[0, true] = 2
    assert verdicts(simulated)[0].status == Status.FAIL
    simulated = imagine("arithmetic.compute.subgroupMin.i8vec3.all.exact")
    simulated.result(simulated.program.entries[0])[0] |= 1 << 24
    assert verdicts(simulated)[0].status == Status.FAIL


@pytest.mark.parametrize(("operation", "factor"), [("subgroupAdd", 1.5), ("subgroupInclusiveMul", 1.2)])
def test_rounding_data_admits_rounding_and_no_more(operation, factor) -> None:
    name = f"arithmetic.compute.{operation}.float.all.rounding"
    simulated = imagine(name, size=32)
    result = simulated.result(simulated.program.entries[0])
    result[0, simulated.lane > 3] += 1  # the least that a float can differ by, where several terms round
    assert verdicts(simulated)[0].status == Status.PASS
    result[0] = (result[0].view(np.float32) * np.float32(factor)).view(np.uint32)
    assert verdicts(simulated)[0].status == Status.FAIL


def test_exact_data_admits_no_difference_at_all() -> None:
    simulated = imagine("arithmetic.compute.subgroupAdd.float.all.exact", size=32)
    simulated.result(simulated.program.entries[0])[0] += 1
    assert verdicts(simulated)[0].status == Status.FAIL


def test_a_moved_denormal_keeps_its_bits_and_a_nan_is_undefined() -> None:
    """Modules of moves do not declare SignedZeroInfNanPreserve: docs/conformance/causes.md."""
    simulated = imagine("ballot.compute.subgroupBroadcastFirst.float.all.special", size=4)
    result = simulated.result(simulated.program.entries[0])
    values = result[0].view(np.float32)
    absent = ~np.isfinite(values)
    denormal = np.isfinite(values) & (np.abs(values) < np.finfo(np.float32).tiny) & (values != 0)
    assert absent.any()
    assert denormal.any()
    result[0, absent] ^= 3
    assert verdicts(simulated)[0].status == Status.PASS
    result[0, denormal] ^= 3
    assert verdicts(simulated)[0].status == Status.FAIL


@pytest.mark.parametrize("operation", ["subgroupInclusiveAdd", "subgroupMul", "subgroupExclusiveMul"])
def test_sums_and_products_of_infinities_and_nan_are_undefined(operation: str) -> None:
    """SignedZeroInfNanPreserve does not affect OpGroupNonUniformFAdd and FMul: docs/conformance/causes.md."""
    simulated = imagine(f"arithmetic.compute.{operation}.float.all.special", size=4)
    result = simulated.result(simulated.program.entries[0])
    values = result[0].view(np.float32)
    absent = ~np.isfinite(values)
    assert absent.any()
    result[0, absent] = 0
    verdict = verdicts(simulated)[0]
    assert verdict.status == Status.PASS
    assert verdict.undefined >= absent.sum()
    finite = ~absent & (values != 0)
    assert finite.any()
    result[0, finite] ^= 0x80000000
    assert verdicts(simulated)[0].status == Status.FAIL


def test_a_value_that_a_barrier_did_not_deliver_fails() -> None:
    simulated = imagine("basic.compute.subgroupBarrier.uint.odd.exact.shared")
    result = simulated.result(simulated.program.entries[0])
    assert verdicts(simulated)[0].status == Status.PASS
    result[3, simulated.lane == 5] = 0
    assert verdicts(simulated)[0].status == Status.FAIL


def test_who_never_came_through_a_barrier_fails() -> None:
    simulated = imagine("basic.compute.subgroupBarrier.uint.all.exact.buffer")
    result = simulated.result(simulated.program.entries[0])
    passed = verdicts(simulated)[0]
    assert passed.status == Status.PASS
    value = int(result[5, simulated.lane == 1][0])
    result[2:, simulated.lane == 1] = POISON
    verdict = verdicts(simulated)[0]
    assert (verdict.status, verdict.defined, verdict.undefined) == (Status.FAIL, passed.defined, 0)
    assert verdict.evidence is not None
    assert 1 in verdict.evidence["wrong"]
    # The barrier requires every flag and value, whatever the lane recorded.
    assert str(verdict.evidence["rows"]["expected"][1]).endswith(f", 1, {value})")


def test_a_flag_that_nobody_raises_or_lowers_fails() -> None:
    simulated = imagine("basic.compute.subgroupMemoryBarrier.uint.all.exact.image")
    result = simulated.result(simulated.program.entries[0])
    result[0, simulated.lane == 3] = 2
    (verdict,) = verdicts(simulated)
    assert (verdict.status, verdict.undefined) == (Status.FAIL, 0)
    assert verdict.evidence is not None
    # The value is not defined, and the flag is.
    assert str(verdict.evidence["rows"]["expected"][3]).startswith("(1, any, 1, ")


def test_a_message_whose_flag_was_not_seen_proves_nothing() -> None:
    simulated = imagine("basic.compute.subgroupMemoryBarrier.uint.all.exact.buffer")
    result = simulated.result(simulated.program.entries[0])
    result[0::2, simulated.lane == 2] = 0
    result[1::2, simulated.lane == 2] = 0
    assert verdicts(simulated)[0].status == Status.PASS
    result[0::2, simulated.lane == 2] = 1
    assert verdicts(simulated)[0].status == Status.FAIL


class TestTheRecordItself:
    """Contradictions between built-in variables and masks are failures of every case of the batch."""

    NAME = "vote.compute.subgroupAll.bool.all.exact"

    def fault(self, change) -> str:
        simulated = imagine(self.NAME)
        change(simulated)
        (verdict,) = verdicts(simulated)
        assert verdict.status == Status.FAIL
        return verdict.detail

    def test_another_subgroup_size(self) -> None:
        def change(simulated):
            simulated.lanes[2] = 16

        assert "gl_SubgroupSize is 16" in self.fault(change)

    def test_a_lane_beyond_the_size(self) -> None:
        def change(simulated):
            simulated.lanes[0, 5] = 8

        assert "gl_SubgroupInvocationID 8" in self.fault(change)

    def test_two_invocations_in_one_place(self) -> None:
        def change(simulated):
            simulated.lanes[0, 5] = 4

        assert "share" in self.fault(change)

    def test_a_mask_that_names_a_lane_which_did_not_execute(self) -> None:
        def change(simulated):
            simulated.slots[:, 9] = 0

        assert "active mask" in self.fault(change)

    def test_a_mask_that_leaves_a_lane_out(self) -> None:
        def change(simulated):
            simulated.slots[1, 8:16] = 0x7F

        assert "active mask" in self.fault(change)

    def test_a_subgroup_split_by_uniform_control_flow(self) -> None:
        def change(simulated):
            simulated.slots[1, 8:12] = 0x0F
            simulated.slots[1, 12:16] = 0xF0

        assert "uniform control flow" in self.fault(change)


@pytest.mark.parametrize("name", ["gl_NumSubgroups", "gl_SubgroupID"])
def test_subgroups_are_counted_and_numbered_from_zero(name) -> None:
    simulated = imagine(f"basic.compute.{name}.uint.all.exact")
    assert verdicts(simulated)[0].status == Status.PASS
    simulated.lanes[1, simulated.subgroup == 15] = 16
    result = simulated.result(simulated.program.entries[0])
    if name == "gl_SubgroupID":
        result[0, simulated.subgroup == 15] = 16
    else:
        result[0] = 17
    (verdict,) = verdicts(simulated)
    assert verdict.status == Status.FAIL
    assert "got 16" in verdict.detail or "got 17" in verdict.detail


def test_divergent_control_flow_may_split_a_subgroup() -> None:
    simulated = imagine("arithmetic.compute.subgroupAdd.int.odd.exact")
    simulated.slots[1, [9, 11]] = 0b00001010
    simulated.slots[1, [13, 15]] = 0b10100000
    simulated.answer()
    assert verdicts(simulated)[0].status == Status.PASS
