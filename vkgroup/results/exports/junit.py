"""A conformance run as JUnit XML."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from vkgroup.conformance import Result, Status
from vkgroup.conformance.expectations import Outcome
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.files import write_output

# Characters that XML 1.0 does not allow in any form (W3C XML 1.0, 2.2 Characters).
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(outcomes: RunOutcomes, path: Path) -> None:
    """Write the run as JUnit XML: one suite for each category, failures with their details.

    Unexpected results and improvements fail; expected failures and cases that were left out are skipped;
    flakes pass, with a note in ``system-out``; cases that were not reached are one error.
    """
    left_out = (
        Result(name, Status.NOT_SUPPORTED, detail="left out by --skips") for name in outcomes.left_out
    )
    held = (
        Result(name, Status.NOT_SUPPORTED, detail=f"not run: {held.reason}")
        for held in outcomes.run.not_run
        for name in held.cases
    )
    results = [*outcomes.results, *left_out, *held]
    suites = ElementTree.Element("testsuites", name="vkgroup conform", tests=str(len(results)))
    by_category: dict[str, ElementTree.Element] = {}
    for result in sorted(results, key=lambda result: result.case):
        *group, name = result.case.split(".", 3)
        suite = _suite(suites, by_category, group[0])
        case = ElementTree.SubElement(
            suite, "testcase", classname=".".join(group), name=name, time=f"{result.seconds:.6f}"
        )
        _add_outcome(case, result, outcomes)
    if outcomes.run.missing:
        case = ElementTree.SubElement(
            _suite(suites, by_category, "run"), "testcase", classname="run", name="time limit", time="0.0"
        )
        text = f"{len(outcomes.run.missing)} cases were not reached: continue with --resume"
        ElementTree.SubElement(case, "error", message=Outcome.MISSING.value).text = text
        suites.set("tests", str(len(results) + 1))
    for suite in by_category.values():
        counted = {"tests": "testcase", "failures": "*/failure", "errors": "*/error", "skipped": "*/skipped"}
        suite.attrib.update({key: str(len(suite.findall(path))) for key, path in counted.items()})
    ElementTree.indent(suites)
    write_output(
        path, '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, "unicode") + "\n"
    )


def _suite(
    suites: ElementTree.Element, known: dict[str, ElementTree.Element], category: str
) -> ElementTree.Element:
    if category not in known:
        known[category] = ElementTree.SubElement(suites, "testsuite", name=category)
    return known[category]


def _add_outcome(case: ElementTree.Element, result: Result, outcomes: RunOutcomes) -> None:
    """Add the outcome to a test case; nothing if it passes."""
    outcome = outcomes.by_case[result.case]
    text = _NOT_XML.sub("\ufffd", outcomes.description(result))
    if not outcome.expected:
        kind = "failure" if outcome == Outcome.FAIL or outcome.improved else "error"
        ElementTree.SubElement(case, kind, message=outcome.value).text = text
    elif outcome == Outcome.SKIP:
        ElementTree.SubElement(case, "skipped", message=text or "no lane's result is defined")
    elif outcome == Outcome.EXPECTED_FAIL:
        ElementTree.SubElement(case, "skipped", message=f"{outcome}: {text}".strip())
    elif outcome != Outcome.PASS:
        ElementTree.SubElement(case, "system-out").text = f"{outcome}: {text}"
