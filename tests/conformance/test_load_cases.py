"""What helper invocations load: drivers pass, and loads that give them nothing are caught."""

from __future__ import annotations

import pytest
from suite_runs import matching, results_of

from vkgroup.conformance import Status
from vkgroup.conformance.fragment import loads

CASES = matching("fragment.load.*")


@pytest.mark.mostly_slow(every=2)
@pytest.mark.parametrize("device", ["swiftshader", "reference:4", "lavapipe", "reference:32", "reference:64"])
def test_all_pass(device: str, request: pytest.FixtureRequest) -> None:
    if not device.startswith("reference"):
        request.getfixturevalue(device)
    assert {result.status for result in results_of(device, CASES)} == {Status.PASS}


def test_loads_that_give_helper_invocations_zero_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = loads.declarations_of

    def masked(memory: str) -> str:
        text = honest(memory).replace("return ", "return is_helper() ? 0.0 : ")
        return f"bool is_helper() {{ return gl_HelperInvocation; }}\n{text}"

    monkeypatch.setattr(loads, "declarations_of", masked)
    # Demoted fragments, of a triangle that covers everything, have a separate function.
    cases = [case for case in CASES if case.axes.scene != "demote"]
    results = results_of("reference:8", cases, transform=lambda data: data)
    assert [result.case for result in results if result.status is not Status.FAIL] == []


def test_loads_that_give_demoted_fragments_zero_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = loads.declarations_of

    def masked(memory: str) -> str:
        return honest(memory).replace("return ", "return helperInvocationEXT() ? 0.0 : ")

    monkeypatch.setattr(loads, "declarations_of", masked)
    cases = [case for case in CASES if case.axes.scene == "demote"]
    results = results_of("reference:8", cases, transform=lambda data: data)
    assert [result.case for result in results if result.status is not Status.FAIL] == []
