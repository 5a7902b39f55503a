"""A conformance run as JUnit XML."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from vkgroup.conformance import Result, Status
from vkgroup.conformance.expectations import Outcome
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.files import write_output
from vkgroup.results.causes import Cause
from vkgroup.results.causes.text import lines_of, truncated

# Characters that XML 1.0 does not allow in any form (W3C XML 1.0, 2.2 Characters).
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(outcomes: RunOutcomes, path: Path) -> None:
    """Write the run as JUnit XML: one suite for each category, failures with their details.

    Unexpected results and improvements fail; expected failures and cases that were left out are skipped;
    flakes pass, with a note in ``system-out``; cases that were not reached are one error;
    each case without a verdict, because of an error of vkgroup, is an error.

    The text of a cause is given once, with its simplest unexpected case; its other cases refer to that case.
    The attribute ``type`` of a failure is the id of its cause.
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
    for name, error in outcomes.run.without_verdict.items():
        *group, last = name.split(".", 3)
        suite = _suite(suites, by_category, group[0])
        case = ElementTree.SubElement(suite, "testcase", classname=".".join(group), name=last, time="0.0")
        element = ElementTree.SubElement(case, "error", message="No verdict, because of an error of vkgroup")
        element.text = clean("\n".join(truncated(error)))
    suites.set("tests", str(len(results) + len(outcomes.run.without_verdict)))
    if outcomes.run.missing:
        case = ElementTree.SubElement(
            _suite(suites, by_category, "run"), "testcase", classname="run", name="time limit", time="0.0"
        )
        text = f"{len(outcomes.run.missing)} cases were not reached: continue with --resume"
        ElementTree.SubElement(case, "error", message=Outcome.MISSING.value).text = text
        suites.set("tests", str(len(results) + len(outcomes.run.without_verdict) + 1))
    for suite in by_category.values():
        counted = {"tests": "testcase", "failures": "*/failure", "errors": "*/error", "skipped": "*/skipped"}
        suite.attrib.update({key: str(len(suite.findall(path))) for key, path in counted.items()})
    ElementTree.indent(suites)
    write_output(
        path, '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, "unicode") + "\n"
    )


def clean(text: str) -> str:
    """Return a text without characters that XML does not allow."""
    return _NOT_XML.sub("\ufffd", text)


def _text_of_cause(case: str, text: str, outcomes: RunOutcomes, cause: Cause) -> str:
    """Return the text of a cause for its simplest unexpected case, and a reference for the others."""
    first = outcomes.unexpected_of(cause)[0]
    if case != first:
        return f"Cause {cause.id}: see {first}"
    extra = text.removeprefix(clean(cause.detail)).strip("\n") if text.startswith(clean(cause.detail)) else ""
    own = [] if case == cause.smallest else [f"This case: {case}", *truncated(text)]
    return "\n".join(filter(None, [*lines_of(cause), *own, extra]))


def _suite(
    suites: ElementTree.Element, known: dict[str, ElementTree.Element], category: str
) -> ElementTree.Element:
    if category not in known:
        known[category] = ElementTree.SubElement(suites, "testsuite", name=category)
    return known[category]


def _add_outcome(case: ElementTree.Element, result: Result, outcomes: RunOutcomes) -> None:
    """Add the outcome to a test case; nothing if it passes."""
    outcome = outcomes.by_case[result.case]
    text = clean(outcomes.description(result))
    if not outcome.expected:
        kind = "failure" if outcome == Outcome.FAIL or outcome.improved else "error"
        element = ElementTree.SubElement(case, kind, message=outcome.value)
        element.text = text
        cause = outcomes.cause_of.get(result.case)
        if cause is not None:
            element.set("type", cause.id)
            element.set("message", clean(f"{outcome}: {cause.title}"))
            element.text = clean(_text_of_cause(result.case, text, outcomes, cause))
    elif outcome == Outcome.SKIP:
        ElementTree.SubElement(case, "skipped", message=text or "no lane's result is defined")
    elif outcome == Outcome.EXPECTED_FAIL:
        ElementTree.SubElement(case, "skipped", message=f"{outcome}: {text}".strip())
    elif outcome != Outcome.PASS:
        ElementTree.SubElement(case, "system-out").text = f"{outcome}: {text}"
