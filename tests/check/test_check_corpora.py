"""The collections: wrong shaders are found out, at the lines that say so and nowhere else; right ones pass.

``// expect: KIND, …`` at the end of a line tells which findings belong there, ``// ask: KIND`` which errors a
question is about, ``// run: …`` which options the command needs. ``diverges`` marks the lines where the runs
of a ``differs`` first differ. ``// needs: full subgroups`` stands in shaders that are right with these only.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from vkgroup.check import FindingKind

_HERE = Path(__file__).parent
_WRONG, _RIGHT = sorted((_HERE / "wrong").glob("*.comp")), sorted((_HERE / "right").glob("*.comp"))


def _expected(text: str, mark: str = "// expect:") -> set[tuple[int, str]]:
    return {
        (number, kind.strip())
        for number, line in enumerate(text.split("\n"), 1)
        if mark in line
        for kind in line.split(mark)[1].split(",")
    }


def _options(text: str) -> list[str]:
    found = re.search(r"^// run: (.*)$", text, re.MULTILINE)
    return shlex.split(found[1]) if found else []


@pytest.mark.mostly_slow(every=3)
@pytest.mark.parametrize("file", _WRONG, ids=lambda file: file.stem)
def test_a_wrong_shader_is_found_out(file: Path, checked) -> None:
    text = file.read_text()
    report = checked(file, *_options(text))
    asked = [finding for question in report["questions"] for finding in question["findings"]]
    found = _lines(report["findings"])
    found |= {
        (note["place"]["line"], "diverges")
        for finding in report["findings"]
        for note in finding["notes"]
        if "diverge" in note["message"]
    }
    assert found == _expected(text)
    assert _lines(asked) == _expected(text, "// ask:")
    assert report["findings"] or asked
    assert report["code"] == (0 if all(finding["weak"] for finding in report["findings"]) else 1)
    lines = text.split("\n")
    for finding in report["findings"]:
        assert finding["place"]["text"] == lines[finding["place"]["line"] - 1]
        assert finding["sizes"]


def _lines(findings: list[dict[str, Any]]) -> set[tuple[int, str]]:
    return {
        (place["line"], finding["kind"])
        for finding in findings
        for place in [finding["place"], *finding["further"]]
    }


@pytest.mark.parametrize("file", _RIGHT, ids=lambda file: file.stem)
def test_a_right_shader_passes(file: Path, checked) -> None:
    text = file.read_text()
    options = _options(text)
    if needs_full := "// needs: full subgroups" in text:
        assert [finding["kind"] for finding in checked(file, *options)["findings"]] == ["sparse"]
        options.append("--full-subgroups")
    report = checked(file, *options)
    assert (report["findings"], report["questions"]) == ([], [])
    assert report["code"] == 0
    covered = report["covered"]
    assert covered["compared"] + covered["ordered"] > 0
    assert covered["undefined"] == 0
    sizes = {1, 4, 8, 16, 32, 64, 128}
    left_out = {int(what.split()[1]) for what, _ in covered["not_covered"]}
    assert set(covered["sizes"]) == sizes - left_out
    assert left_out <= ({1, 64, 128} if needs_full else {1})


def test_the_collections_are_complete() -> None:
    assert len(_WRONG) >= 40
    assert len(_RIGHT) >= 40
    kinds = {kind for file in _WRONG for _, kind in _expected(file.read_text())}
    # Not here: an error of a driver's compiler (test_check_compile_on), and an abort, whose instruction is
    # newer than SPIRV-Tools; the page of `vkgroup explain abort` has a wrong shader of its own.
    assert kinds == {*FindingKind, "diverges"} - {FindingKind.COMPILE, FindingKind.ABORT}


def test_nothing_is_expected_of_a_right_shader() -> None:
    assert not any(_expected(file.read_text()) for file in _RIGHT)
