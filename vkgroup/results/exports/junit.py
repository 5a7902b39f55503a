"""A conformance run as files: ``summary.json`` and JUnit XML."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from vkgroup.conformance import Result, Run, Status
from vkgroup.conformance.expectations import Outcome
from vkgroup.conformance.outcomes import RunOutcomes
from vkgroup.files import write_output

# Characters that XML 1.0 cannot hold in any form (W3C XML 1.0, 2.2 Characters).
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_summary(run: Run, path: Path, judged: RunOutcomes | None = None) -> dict[str, Any]:
    """Write the run in short, and return what was written; see `vkgroup.results.run.Run.summary`.

    With `judged` also, under ``outcomes``, how many cases have each outcome that occurs (`Outcome`).
    """
    summary = run.summary()
    if judged is not None:
        summary["outcomes"] = {outcome.value: count for outcome, count in sorted(judged.counts.items())}
    write_output(path, json.dumps(summary, indent=2, ensure_ascii=False) + "\n")
    return summary


def write_capabilities(run: Run, path: Path) -> None:
    """Write what the device declares, as ``vkgroup probe --json`` does: reports compare it."""
    data = {"capabilities": run.capabilities.to_json()}
    write_output(path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def write_junit(run: Run, path: Path, judged: RunOutcomes | None = None) -> None:
    """Write the run as JUnit XML: a suite a category, failures with their words.

    With `judged` a case fails where it is unexpected, and so does an improvement; expected failures and what
    was left out are skipped, flakes pass and say so in ``system-out``, and what was not reached is one error.
    """
    results = list(run.results)
    if judged is None:
        judged = RunOutcomes(run)
    else:
        left_out = (
            Result(name, Status.NOT_SUPPORTED, detail="left out by --skips") for name in judged.left_out
        )
        results = [*judged.results, *left_out]
    suites = ElementTree.Element("testsuites", name="vkgroup conform", tests=str(len(results)))
    by_category: dict[str, ElementTree.Element] = {}
    for result in sorted(results, key=lambda result: result.case):
        *group, name = result.case.split(".", 3)
        suite = _suite(suites, by_category, group[0])
        case = ElementTree.SubElement(
            suite, "testcase", classname=".".join(group), name=name, time=f"{result.seconds:.6f}"
        )
        _say(case, result, judged)
    if run.missing:
        case = ElementTree.SubElement(
            _suite(suites, by_category, "run"), "testcase", classname="run", name="time limit", time="0.0"
        )
        words = f"{len(run.missing)} cases were not reached: go on with --resume"
        ElementTree.SubElement(case, "error", message=Outcome.MISSING.value).text = words
        suites.set("tests", str(len(results) + 1))
    for suite in by_category.values():
        counted = {"tests": "testcase", "failures": "*/failure", "errors": "*/error", "skipped": "*/skipped"}
        suite.attrib.update({key: str(len(suite.findall(found))) for key, found in counted.items()})
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


def _say(case: ElementTree.Element, result: Result, judged: RunOutcomes) -> None:
    """Add to a test case what became of it; nothing where it passes."""
    outcome = judged.outcomes[result.case]
    words = _NOT_XML.sub("\ufffd", judged.words(result))
    if not outcome.expected:
        kind = "failure" if outcome == Outcome.FAIL or outcome.improved else "error"
        ElementTree.SubElement(case, kind, message=outcome.value).text = words
    elif outcome == Outcome.SKIP:
        ElementTree.SubElement(case, "skipped", message=words or "no lane's result is defined")
    elif outcome == Outcome.EXPECTED_FAIL:
        ElementTree.SubElement(case, "skipped", message=f"{outcome}: {words}".strip())
    elif outcome != Outcome.PASS:
        ElementTree.SubElement(case, "system-out").text = f"{outcome}: {words}"
