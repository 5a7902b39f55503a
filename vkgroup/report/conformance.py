"""A conformance run as files: ``summary.json`` and JUnit XML."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

from vkgroup.conformance import AGAINST_THE_DEVICE, Run, Status
from vkgroup.errors import InvalidInput
from vkgroup.files import write_whole

# Characters that XML 1.0 cannot hold in any form (W3C XML 1.0, 2.2 Characters).
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_summary(run: Run, path: Path) -> None:
    """Write the run in short; see `vkgroup.conformance.run.Run.summary` for what is in it."""
    _write(path, json.dumps(run.summary(), indent=2, ensure_ascii=False) + "\n")


def write_junit(run: Run, path: Path) -> None:
    """Write the run as JUnit XML: a suite a category, failures with their words."""
    suites = ElementTree.Element("testsuites", name="vkgroup conform", tests=str(len(run.results)))
    by_category: dict[str, ElementTree.Element] = {}
    counts: dict[str, dict[str, int]] = {}
    for result in sorted(run.results, key=lambda result: result.case):
        *group, name = result.case.split(".", 3)
        category = result.case.split(".", 1)[0]
        if category not in by_category:
            by_category[category] = ElementTree.SubElement(suites, "testsuite", name=category)
            counts[category] = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        case = ElementTree.SubElement(
            by_category[category],
            "testcase",
            classname=".".join(group),
            name=name,
            time=f"{result.seconds:.6f}",
        )
        count = counts[category]
        count["tests"] += 1
        if result.status in AGAINST_THE_DEVICE:
            kind = "failure" if result.status == Status.FAIL else "error"
            count["failures" if kind == "failure" else "errors"] += 1
            element = ElementTree.SubElement(case, kind, message=result.status.value)
            element.text = _NOT_XML.sub("\ufffd", result.detail)
        elif result.status != Status.PASS:
            count["skipped"] += 1
            message = _NOT_XML.sub("\ufffd", result.detail) or "no lane's result is defined"
            ElementTree.SubElement(case, "skipped", message=message)
    for category, suite in by_category.items():
        suite.attrib.update({key: str(value) for key, value in counts[category].items()})
    ElementTree.indent(suites)
    _write(path, '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suites, "unicode") + "\n")


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}") from error
