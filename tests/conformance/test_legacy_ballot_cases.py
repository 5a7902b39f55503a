"""The family of the older ballots and votes: what it judges, what is not promised, what it catches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from suite_runs import matching, results_of

from vkgroup.conformance import Status
from vkgroup.conformance.execute import Transform
from vkgroup.conformance.intrinsics import OLDER
from vkgroup.conformance.spellings import legacy_ballot as example
from vkgroup.conformance.spellings.legacy_ballot import LEGACY_BALLOT
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.drivers import CachedDriver
from vkgroup.spirv import Module, grammar
from vkgroup.spirv.editor import Editor, Words


def test_every_operation_has_cases_in_both_forms_and_stages() -> None:
    cases = list(LEGACY_BALLOT.cases())
    assert len({case.name for case in cases}) == len(cases)
    for stage in ("compute", "fragment"):
        for name in OLDER:
            forms = {case.form for case in cases if (case.stage, case.operation) == (stage, name)}
            assert {"declared", "lowered"} <= forms


def test_what_a_device_lacks_is_named() -> None:
    family, capabilities = LEGACY_BALLOT, capabilities_of(128)
    wide = Case("legacy_ballot", "compute", "ballotARB", "bool", "all", "", form="declared")
    assert family.missing(wide, capabilities) == [
        "a subgroup size of at most 64 (uint64_t has a bit for each invocation)"
    ]
    assert not family.missing(wide, capabilities_of(64))
    # A required size decides, where there is one.
    assert not family.missing(replace(wide, subgroup_size=32), capabilities)
    assert family.missing(replace(wide, subgroup_size=128), capabilities_of(32))


def ballots(size: int, *, converged: bool = True) -> npt.NDArray[np.uint32]:
    """Return what a device that keeps invocations together would record; or parts them after C."""
    found = example.blank()
    for invocation in range(example.INVOCATIONS):
        workgroup, local = divmod(invocation, example.LOCAL_SIZE)
        subgroup, lane = divmod(local, size)
        lanes = np.arange(min(size, example.LOCAL_SIZE - subgroup * size))
        odd, odd2 = lanes & 1 == 1, lanes & 2 == 2
        apart = odd if converged else odd & (odd2 == odd2[lane])
        sets = (lanes >= 0, odd, odd & odd2, apart, lanes >= 0)
        found[invocation, :2] = subgroup, lane
        for number, members in enumerate(sets):
            if members[lane]:
                bits = np.zeros(128, np.bool_)
                bits[lanes[members]] = True
                words = np.packbits(bits, bitorder="little").view(np.uint32)
                found[invocation, 2 + 5 * number : 7 + 5 * number] = 1, *words
        assert workgroup < example.WORKGROUPS
    return found


@pytest.mark.parametrize("size", [1, 4, 8, 32, 64, 128])
def test_the_example_asks_for_no_more_than_is_promised(size: int) -> None:
    together = example.verdict_on(ballots(size), size)
    assert together.status is Status.PASS
    assert "B equals D" in together.detail
    apart = example.verdict_on(ballots(size, converged=False), size)
    assert apart.status is Status.PASS
    assert ("does not equal" in apart.detail) == (size > 2)


def test_the_example_sees_what_the_document_forbids() -> None:
    for column, bit, reason in (
        (3, 2, "A is not every invocation"),
        (23, 1, "E is not every invocation"),
        (8, 4, "B names an invocation that does not execute it"),
        (8, 2, "B leaves out"),
    ):
        found = ballots(8)
        found[found[:, column - 1] == 1, column] ^= np.uint32(bit)
        verdict = example.verdict_on(found, 8)
        assert verdict.status is Status.FAIL
        assert reason in verdict.detail
    found = ballots(8)
    found[1, 18] = 2
    assert "D differs between" in example.verdict_on(found, 8).detail


@pytest.fixture(params=["swiftshader", "reference:8"])
def device(request: pytest.FixtureRequest, swiftshader: CachedDriver) -> str:
    """The name of a device that runs only the lowered forms, and of one that runs all."""
    return swiftshader.name if request.param == "swiftshader" else str(request.param)


def statuses(device: str, *filters: str, transform: Transform | None = None) -> set[Status]:
    """Judge cases; return the statuses of those that the device supports."""
    results = results_of(device, matching(*filters), seed=3, transform=transform)
    return {result.status for result in results} - {Status.NOT_SUPPORTED}


@pytest.mark.mostly_slow(every=3, start=2)
@pytest.mark.parametrize(
    "filters",
    [
        ("*.nested.*",),
        (".compute.*.partial.*", ".fragment.*.partial.*", "*.dynamic_instances.*"),
        ("*.discard.*",),
    ],
)
def test_devices_pass(device: str, filters: tuple[str, ...]) -> None:
    found = statuses(device, *(f"legacy_ballot{name}" for name in filters))
    assert Status.PASS in found
    assert found <= {Status.PASS, Status.UNDEFINED}


@pytest.mark.parametrize(
    ("declared", "lowered", "wrong", "cases"),
    [
        ("OpSubgroupAllKHR", "OpGroupNonUniformAll", "Any", "*SubgroupAllKHR*"),
        ("OpSubgroupAnyKHR", "OpGroupNonUniformAny", "All", "*anyInvocationARB*"),
        ("OpSubgroupAllEqualKHR", "OpGroupNonUniformAllEqual", "All", "*allInvocationsEqualARB*"),
    ],
)
def test_a_wrong_instruction_is_caught(
    device: str, declared: str, lowered: str, wrong: str, cases: str
) -> None:
    def exchange(editor: Editor, words: Words) -> list[Words]:
        name = grammar().name(words[0] & 0xFFFF)
        other = f"OpSubgroup{wrong}KHR" if name == declared else f"OpGroupNonUniform{wrong}"
        return [editor.instruction(other, *words[1:])]

    def transform(data: bytes) -> bytes:
        editor = Editor(Module.from_bytes(data))
        return editor.rewrite({declared: exchange, lowered: exchange}).to_bytes()

    for form in ("declared", "lowered"):
        name = f"legacy_ballot.compute.{cases}.all.{form}"
        honest = statuses(device, name)
        # SwiftShader does not declare the extensions; what is lowered runs everywhere.
        assert honest == {Status.PASS} or (form == "declared" and not honest)
        planted = statuses(device, name, transform=transform)
        assert planted == ({Status.FAIL} if honest else set())
