"""Random command lines and payloads with a fixed budget; the campaigns find what is planted."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import command_lines
import pytest
import report_payloads
from command_lines import Place, execute
from command_words import line

from vkgroup import drivers
from vkgroup.cli.parser import COMMANDS


def _python(program: str) -> list[str]:
    """Return the words of a command that is not vkgroup."""
    return ["!", sys.executable, "-c", program]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    folder = tmp_path / "place"
    folder.mkdir()
    return Place(folder)


@pytest.mark.parametrize(
    ("program", "finding"),
    [
        ("raise KeyError", "traceback or internal error"),
        ("raise SystemExit(4)", "exit code 4"),
        ("raise SystemExit(2)", "no message"),
        ("import os; os.kill(os.getpid(), 11)", "exit code 139 by a signal"),
        ("import tempfile; tempfile.mkdtemp()", "files left in the temporary folder"),
        (
            "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])",
            "processes left",
        ),
        ("import time; time.sleep(60)", "does not end"),
    ],
)
def test_planted_ends_are_found(
    program: str, finding: str, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command_lines, "LIMIT", 8.0)
    run = execute(place, _python(program))
    assert any(found.startswith(finding) for found in run.findings)
    assert place.processes() == []


def test_an_interruption_has_its_exit_code(place: Place) -> None:
    program = "import signal, time; signal.signal(15, lambda *_: exit(143)); time.sleep(30)"
    assert execute(place, _python(program), (3.0, 15)).findings == []
    assert execute(place, _python("print(1)"), (30.0, 15)).signal == 0


def test_a_command_that_is_late_is_found(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["run", "x.comp", "--timeout", "0.5", "--groups", "1"]
    assert command_lines.deadline_of(words, place.template) == 0.5
    assert command_lines.deadline_of(["check", str(place.template)], place.template) is None
    assert command_lines.deadline_of(["run", "--no-such-option"], place.template) is None
    monkeypatch.setattr(command_lines, "deadline_of", lambda *_: 0.5)
    run = execute(place, _python("import time; time.sleep(5)"))
    assert [finding[:6] for finding in run.findings] == ["ends 4"]


def test_files_outside_of_the_folder_are_found(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    other.chmod(0o777)
    assert execute(place, _python(f"open({str(other / 'x')!r}, 'w')")).findings == []
    assert (str(other / "x") in place.outside()) is (os.getuid() == 0)
    assert "traceback or internal error" in execute(place, _python("open('/etc/vkgroup-x', 'w')")).findings


def test_a_seed_makes_the_same_lines_of_all_commands() -> None:
    assert line(random.Random(3)) == line(random.Random(3))
    generator = random.Random(4)
    lines = [line(generator) for _ in range(2000)]
    assert {words[0] for words in lines if words} >= set(COMMANDS)


def test_random_command_lines_end_in_order(
    tmp_path: Path, swiftshader: drivers.CachedDriver, turnip: drivers.CachedDriver
) -> None:
    for parent in (tmp_path, *tmp_path.parents[:2]):
        parent.chmod(0o755)
    (tmp_path / "place").mkdir()
    (record,) = command_lines.campaign(8, 5, tmp_path / "place")
    assert record["findings"] == []
    assert record["written_outside"] == []
    assert record["runs"] == 8


def test_payloads_in_reports_do_nothing(tmp_path: Path) -> None:
    *_, record = report_payloads.campaign(5, 0, tmp_path)
    assert (record["payloads"], record["findings"]) == (5, [])


def test_a_planted_script_is_found(tmp_path: Path) -> None:
    report = report_payloads.write_report(tmp_path / "report", ["x"])
    text = report.read_text()
    with report_payloads.open_browser() as browser:
        assert report_payloads.problems(browser, report) == []
        report.write_text(text.replace("</body>", f"<img src=x onerror='{report_payloads.HACK}'></body>"))
        assert any("Content Security Policy" in found for found in report_payloads.problems(browser, report))
        report.write_text(
            text.replace("Content-Security-Policy", "x").replace(
                "<body>", f"<body><script>{report_payloads.HACK}</script>"
            )
        )
        assert "a script was executed" in report_payloads.problems(browser, report)
        report.write_text(text.replace("</body>", "<img src='http://127.0.0.1:9/x'></body>"))
        assert any(problem.startswith("request: ") for problem in report_payloads.problems(browser, report))
