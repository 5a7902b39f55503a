"""A conformance run as JUnit XML."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from vkgroup.base.files import write_output
from vkgroup.conformance import Result, Status
from vkgroup.conformance.expectations import ExpectationOutcome
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.record.causes import Cause
from vkgroup.record.causes.text import lines_of, truncated

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
    results = sorted([*outcomes.results, *left_out, *held], key=lambda result: result.case)
    write_output(path, _parts(outcomes, results))


def _parts(outcomes: RunOutcomes, results: list[Result]) -> Iterator[str]:
    """Yield the parts of the document, one for each case: all elements together need 500 MB."""
    errors = outcomes.run.without_verdict
    by_category: dict[str, list[Result]] = {}
    for result in results:
        by_category.setdefault(_category(result.case), []).append(result)
    yield '<?xml version="1.0" encoding="utf-8"?>\n'
    yield _begin(
        "testsuites",
        0,
        {"name": "vkgroup conform", "tests": len(results) + len(errors) + bool(outcomes.run.missing)},
    )
    for category in dict.fromkeys([*by_category, *map(_category, errors)]):
        own = by_category.get(category, [])
        unjudged = {name: error for name, error in errors.items() if _category(name) == category}
        counts = Counter(_kind(result, outcomes) for result in own)
        counts["error"] += len(unjudged)
        yield _begin("testsuite", 1, _counted(category, len(own) + len(unjudged), counts))
        for result in own:
            case = _case(result.case, f"{result.seconds:.6f}")
            _add_outcome(case, result, outcomes)
            yield _text(case)
        for name, error in unjudged.items():
            yield _text(_with_error(_case(name), "No verdict, because of an error of vkgroup", error))
        yield "  </testsuite>\n"
    if outcomes.run.missing:
        yield _begin("testsuite", 1, _counted("run", 1, Counter(error=1)))
        text = f"Cases not reached: {len(outcomes.run.missing)}. Continue with --resume"
        case = ElementTree.Element("testcase", classname="run", name="time limit", time="0.0")
        yield _text(_with_error(case, ExpectationOutcome.MISSING.value, text))
        yield "  </testsuite>\n"
    yield "</testsuites>\n"


@dataclass(frozen=True)
class JUnitCase:
    """One entry of a list in JUnit XML: `tag` is ``failure``, ``error`` or ``skipped``, or empty."""

    classname: str
    name: str
    seconds: float
    tag: str = ""
    message: str = ""
    text: str = ""
    output: str = ""


def write_cases(name: str, cases: Iterable[JUnitCase], path: Path) -> None:
    """Write a list of cases as JUnit XML, in one suite."""
    suites = ElementTree.Element("testsuites", name=name)
    suite = ElementTree.SubElement(suites, "testsuite", name=name)
    for entry in cases:
        case = ElementTree.SubElement(
            suite, "testcase", classname=clean(entry.classname), name=clean(entry.name),
            time=f"{entry.seconds:.6f}",
        )  # fmt: skip
        if entry.tag:
            element = ElementTree.SubElement(case, entry.tag, message=clean(entry.message))
            element.text = clean(entry.text or entry.message)
        if entry.output:
            ElementTree.SubElement(case, "system-out").text = clean(entry.output)
    counted = {"tests": "testcase", "failures": "*/failure", "errors": "*/error", "skipped": "*/skipped"}
    counts = {key: str(len(suite.findall(found))) for key, found in counted.items()}
    suite.attrib.update(counts)
    suites.attrib.update(counts)
    ElementTree.indent(suites)
    text = ElementTree.tostring(suites, "unicode")
    write_output(path, f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n')


def _category(case: str) -> str:
    return case.partition(".")[0]


def _counted(name: str, tests: int, kinds: Counter[str]) -> dict[str, str | int]:
    """Return the attributes of a suite."""
    counts = {"failures": kinds["failure"], "errors": kinds["error"], "skipped": kinds["skipped"]}
    return {"name": name, "tests": tests, **counts}


def _begin(tag: str, level: int, attributes: dict[str, str | int]) -> str:
    """Return the beginning of an element with content."""
    element = ElementTree.Element(tag, {name: str(value) for name, value in attributes.items()})
    return "  " * level + ElementTree.tostring(element, "unicode").removesuffix(" />") + ">\n"


def _case(name: str, seconds: str = "0.0") -> ElementTree.Element:
    """Return a test case without an outcome."""
    *group, last = name.split(".", 3)
    return ElementTree.Element("testcase", classname=".".join(group), name=last, time=seconds)


def _with_error(case: ElementTree.Element, message: str, text: str) -> ElementTree.Element:
    ElementTree.SubElement(case, "error", message=message).text = clean("\n".join(truncated(text)))
    return case


def _text(case: ElementTree.Element) -> str:
    """Return the text of a test case in a suite."""
    ElementTree.indent(case, level=2)
    return f"    {ElementTree.tostring(case, 'unicode')}\n"


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


def _kind(result: Result, outcomes: RunOutcomes) -> str:
    """Return the tag of the element for the outcome of a test case; empty for a plain pass."""
    outcome = outcomes.by_case[result.case]
    if not outcome.expected:
        return "failure" if outcome == ExpectationOutcome.FAIL or outcome.improved else "error"
    if outcome in (ExpectationOutcome.SKIP, ExpectationOutcome.EXPECTED_FAIL):
        return "skipped"
    return "" if outcome == ExpectationOutcome.PASS else "system-out"


def _add_outcome(case: ElementTree.Element, result: Result, outcomes: RunOutcomes) -> None:
    """Add the outcome to a test case; nothing if it passes."""
    kind, outcome = _kind(result, outcomes), outcomes.by_case[result.case]
    if not kind:
        return
    text = clean(outcomes.description(result))
    element = ElementTree.SubElement(case, kind)
    if not outcome.expected:
        cause = outcomes.cause_of.get(result.case)
        element.set("message", outcome.value)
        element.text = text
        if cause is not None:
            element.set("type", cause.id)
            element.set("message", clean(f"{outcome}: {cause.title}"))
            element.text = clean(_text_of_cause(result.case, text, outcomes, cause))
    elif outcome == ExpectationOutcome.SKIP:
        element.set("message", text or "no lane's result is defined")
    elif kind == "skipped":
        element.set("message", f"{outcome}: {text}".strip())
    else:
        element.text = f"{outcome}: {text}"
