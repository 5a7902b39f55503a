"""Pages of driver findings: made from the files of findings, and the files name existing things."""

from __future__ import annotations

from pathlib import Path

import pytest
from findings_pages import DRIVERS, findings_of, pages

from vkgroup.conformance.families import select
from vkgroup.record.causes.findings import KnownError, all_findings
from vkgroup.spec.rules import SENTENCES
from vkgroup.spec.sentences import SENTENCES as BUILT_INS
from vkgroup.spec.sentences import STRENGTHS

ROOT = Path(__file__).parents[2]
FINDINGS = {finding.id: finding for finding in all_findings()}


def test_the_pages_are_current() -> None:
    for path, text in pages().items():
        assert path.read_text("utf-8") == text, f"run tests/documentation/findings_pages.py: {path}"


def test_every_finding_is_on_a_page() -> None:
    assert sum(len(findings_of(driver)) for driver in DRIVERS) == len(FINDINGS)


@pytest.mark.parametrize("finding", FINDINGS.values(), ids=list(FINDINGS))
def test_a_finding_names_existing_things(finding: KnownError) -> None:
    if finding.shader:
        assert (ROOT / "shaders" / "findings" / finding.shader).exists()
    for pattern in finding.filter:
        assert select((pattern,)), pattern
    if finding.rule is not None:
        assert finding.rule.strength in STRENGTHS
        quoted = {rule.quote: rule.document for rule in SENTENCES.values()}
        quoted |= {sentence.text: sentence.place for sentence in BUILT_INS.values()}
        assert quoted.get(finding.rule.quote) == finding.rule.document
