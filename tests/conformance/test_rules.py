"""The rule of a failure: every case has one, and its strength is that of the sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vkgroup.conformance.families import all_cases
from vkgroup.conformance.rules import BARRIERS_IN_BRANCHES, rule_of, rule_of_case
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.device import Capabilities
from vkgroup.record.record import Result, Status
from vkgroup.spec.operations import SUBGROUP_OPERATIONS
from vkgroup.spec.rules import SENTENCES, Rule
from vkgroup.spec.sentences import STRENGTHS, Strength
from vkgroup.workers.messages import NO_ANSWER

DEVICE = Capabilities(name="a device", type="cpu", api_version=(1, 3, 0))
LATER = replace(DEVICE, api_version=BARRIERS_IN_BRANCHES)


def test_every_case_has_a_rule() -> None:
    kinds = {(*case.name.split(".")[:3], case.name.rsplit(".", 1)[-1]): case.name for case in all_cases()}
    assert len(kinds) > 3000
    for name in kinds.values():
        rule = rule_of_case(name, DEVICE)
        assert rule, name
        assert rule["strength"] in STRENGTHS
        assert rule["document"]
        assert rule["quote"]


def test_rules_on_nan_need_an_execution_mode() -> None:
    """Vulkan lets a driver assume that there is no NaN, except with SignedZeroInfNanPreserve."""
    nan = SENTENCES["nan"].quote
    cases = [case for case in all_cases()[::7] if isinstance(case, Case) and case.data == "special"]
    ruled = [case for case in cases if rule_of_case(case.name)["quote"] == nan]
    assert ruled
    assert all(case.preserved_width == case.glsl_type.scalar.bits for case in ruled)


@pytest.mark.parametrize("pattern", ["all", "partial", "uniform_branch"])
def test_barriers_in_uniform_control_flow_are_required_by_spir_v(pattern: str) -> None:
    rule = rule_of_case(f"basic.compute.subgroupBarrier.uint.{pattern}.exact.shared", DEVICE)
    assert rule["strength"] == Strength.VULKAN
    assert "OpControlBarrier" in rule["document"]


def test_barriers_in_branches_are_required_by_the_extension_until_spir_v_was_revised() -> None:
    name = "basic.mesh.subgroupBarrier.uint.nested.exact.shared"
    before, after = rule_of_case(name, DEVICE), rule_of_case(name, LATER)
    assert (before["strength"], after["strength"]) == (Strength.EXTENSION, Strength.VULKAN)
    assert before["document"].startswith("KHR_shader_subgroup")
    assert "OpControlBarrier" in after["document"]
    assert rule_of_case(name) == before, "the version is unknown"


def test_a_sentence_of_a_later_revision_is_weaker() -> None:
    rule = Rule("a document", "a sentence", since=(1, 4))
    assert rule.to_json((1, 3, 280))["strength"] == Strength.LATER
    assert rule.to_json((1, 4, 0))["strength"] == Strength.VULKAN
    assert rule.to_json()["strength"] == Strength.LATER


def test_a_wrong_mask_violates_the_definition_of_a_ballot() -> None:
    case = "arithmetic.vertex.subgroupAdd.uint.partial.exact"
    evidence = {"diagnosis": {"kind": "mask", "hypotheses": []}}
    assert "OpGroupNonUniformIAdd" in rule_of(Result(case, Status.FAIL), DEVICE)["document"]
    found = rule_of(Result(case, Status.FAIL, evidence=evidence), DEVICE)
    assert found["document"].endswith("OpGroupNonUniformBallot")


def test_hangs_and_crashes_violate_no_rule_of_the_operation() -> None:
    case = "arithmetic.vertex.subgroupAdd.uint.partial.exact"
    hung = rule_of(Result(case, Status.TIMEOUT, detail="The work did not finish within 20 s"), DEVICE)
    assert "must return in finite time" in hung["quote"]
    # The driver may hang in its compiler, which is no command that waits for the device.
    assert rule_of(Result(case, Status.TIMEOUT, detail=f"{NO_ANSWER} 60 s"), DEVICE) == {}
    # No sentence on valid usage forbids that the process ends.
    assert rule_of(Result(case, Status.CRASH, detail="the process was killed by signal 11"), DEVICE) == {}
    assert (
        "OpGroupNonUniformIAdd"
        in rule_of(Result(case, Status.CRASH, detail="device lost"), DEVICE)["document"]
    )


@pytest.mark.parametrize("name", SUBGROUP_OPERATIONS)
def test_the_instructions_of_an_operation_are_quoted(name: str) -> None:
    operation = SUBGROUP_OPERATIONS[name]
    named = {operation.group_operation, "rotate" if "Rotate" in name else None, *operation.opcodes.values()}
    assert named & SENTENCES.keys()


@pytest.mark.parametrize("name", SENTENCES)
def test_quotations_have_no_markup(name: str) -> None:
    quote = SENTENCES[name].quote
    assert not any(mark in quote for mark in ("code:", "ename:", "pname:", "<<", "_must_", "must:", "  "))
