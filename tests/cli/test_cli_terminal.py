"""Output on a terminal of 80 columns: columns, hanging indents, colours, and what long work shows."""

from __future__ import annotations

import io
import json
import sys
import time
from pathlib import Path

import pytest
from rich.text import Text

from vkgroup.base.phases import phase
from vkgroup.cli import progress
from vkgroup.cli.console import Console
from vkgroup.cli.main import main
from vkgroup.cli.output import table
from vkgroup.drivers import CachedDriver

RED = "31m"


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


def _printed(text: str, stream: io.StringIO) -> list[str]:
    Console(file=stream, width=30, no_color=True).write(Text(text))
    return stream.getvalue().splitlines()


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("differs: the output depends on it", ["differs: the output depends", "  on it"]),
        ("  ran at subgroup sizes 1, 4, 8 and 16", ["  ran at subgroup sizes 1,", "    4, 8 and 16"]),
        ("   = a remark that is longer than that", ["   = a remark that is longer", "     than that"]),
        ("12. a cause that is longer than that is", ["12. a cause that is longer", "    than that is"]),
    ],
)
def test_a_long_line_goes_on_with_a_hanging_indent(text: str, lines: list[str]) -> None:
    assert _printed(text, Terminal()) == lines
    assert _printed(text, io.StringIO()) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "   = repeat: vkgroup check shader.comp --device none --groups 4",
        "12 |     float sum = subgroupAdd(values[gl_GlobalInvocationID.x]);",
        "  --> /a/folder/with/a/long/name/shader with spaces.comp:12",
    ],
)
def test_commands_and_sources_are_not_wrapped(text: str) -> None:
    assert _printed(text, Terminal()) == [text]


def test_the_last_column_of_a_table_is_wrapped_on_a_terminal() -> None:
    rows = [["name", "purpose"], ["glslang", "word " * 20]]
    for stream, count in ((Terminal(), 3), (io.StringIO(), 2)):
        table(rows, stream)
        lines = stream.getvalue().splitlines()
        assert len(lines) == count
        assert stream.isatty() == all(len(line) <= 80 for line in lines)
        assert all(line.startswith("         word") for line in lines[2:])


def test_devices_and_costs_fit_in_80_columns(
    tmp_path: Path, turnip: CachedDriver, swiftshader: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.comp").write_text("#version 450\nvoid main() {}\n")
    cost = ["cost", str(tmp_path / "a.comp"), "--device", "turnip:740"]
    for words, first, column in ((["devices"], "#", "type"), (cost, "device", "code size")):
        assert main(words) == main([*words, "--wide"]) == 0
        lines = capsys.readouterr().out.splitlines()
        narrow, wide = (line for line in lines if line.split()[0] == first)
        assert (column in narrow, column in wide) == (False, True)
        rows = lines[lines.index(narrow) : lines.index(wide)]
        assert all(len(line) <= 80 for line in rows if "/" not in line)  # paths are as long as they are


@pytest.mark.usefixtures("swiftshader")
@pytest.mark.parametrize("command", [["devices"], ["probe", "--device", "swiftshader"]])
def test_lines_outside_a_terminal_have_no_spaces_at_the_end(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(command)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 3
    assert [line for line in lines if line != line.rstrip()] == []


def test_no_failure_is_not_red(
    tmp_path: Path,
    swiftshader: CachedDriver,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    conform = ["conform", "--device", str(swiftshader.icd), "--out", str(tmp_path), "--overwrite", "--filter"]
    assert main([*conform, "vote.compute.subgroupAll.bool.all.exact"]) == 0
    assert RED not in capsys.readouterr().out
    assert main([*conform, "vote.compute.subgroupAllEqual.bvec2.all.exact"]) == 1
    total = next(line for line in capsys.readouterr().out.splitlines() if "total" in line)
    assert total.count(RED) == 1
    assert json.loads((tmp_path / "summary.json").read_text())["totals"]["Fail"] == 1


@pytest.mark.parametrize("kind", [Terminal, io.StringIO])
def test_long_work_is_shown_on_a_terminal_only(
    kind: type[io.StringIO], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = kind()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_PATIENCE", 0.05)
    with progress.working(), phase("executing at size 16"):
        time.sleep(0.3)
    with progress.working("quick work"):
        pass
    assert list(progress.track(iter("ab"), 2, "compiling")) == ["a", "b"]
    shown = stream.getvalue()
    assert "quick work" not in shown
    assert ("executing at size 16 (0 s)" in shown, "compiling" in shown) == (stream.isatty(), stream.isatty())
    assert stream.isatty() or not shown
    assert "\x1b[?25l" not in shown  # the cursor is not hidden
    assert capsys.readouterr().out == ""


def test_a_long_error_goes_on_with_a_hanging_indent(monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["check", "a shader of a name that is long.comp", "--device", "none", "--groups", "1"]
    printed = []
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stderr", stream)
        assert main(command) == 2
        printed.append(stream.getvalue())
    on_terminal, elsewhere = printed
    first, *others = on_terminal.splitlines()
    assert elsewhere.count("\n") == 1
    assert len(elsewhere) > 80 >= len(first)
    assert others
    assert all(line.startswith("  ") and len(line) <= 80 for line in others)
    assert " ".join(on_terminal.split()) == " ".join(elsewhere.split())
