"""Deadlines and limits of memory: every phase of a command ends, with one line that names it."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from process_states import alive, descendants
from supervised_commands import (
    OK,
    SLOW_START,
    lines_of_vkgroup,
    run,
    start,
    wait_until,
)

from vkgroup.cli import check
from vkgroup.cli.main import main
from vkgroup.cli.memory import default, limit_of
from vkgroup.cli.parser import parse

MACROS = "\n".join(
    [
        "#version 450",
        "#define A0 x += 1u;",
        *(f"#define A{n} A{n - 1} A{n - 1}" for n in range(1, 31)),
        "layout(local_size_x = 1) in;",
        "layout(binding = 0) buffer B { uint b[]; };",
        "void main() { uint x = 0u; A30 b[0] = x; }",
        "",
    ]
)
"""A shader with a statement that the preprocessor repeats 2³⁰ times."""

NESTED = "\n".join(
    [
        "#version 450",
        "layout(local_size_x = 64) in;",
        "layout(binding = 0) buffer B { uint b[]; };",
        "void main() {",
        "uint v0 = b[0];",
        *(f"uint v{n} = v{n - 1} * 3u;" for n in range(1, 30_000)),
        "b[0] = v29999;",
        "}",
        "",
    ]
)
"""A shader with 30,000 variables, which take long to compile and to prepare."""

ENDLESS = """#version 450
layout(local_size_x = 1) in;
layout(binding = 0) buffer B { uint b[]; };
void main() { while (b[0] != 7u) b[0] += 2u; }
"""

WORDS = ("--groups", "1", "--out", "0=uint[64]")

LIMIT = 12.0

STUCK, SLOW_WRITING = (
    os.pathsep.join([str(Path(__file__).parent / folder), os.environ["PYTHONPATH"]])
    for folder in ("stuck_driver", "slow_writing")
)
"""PYTHONPATH of a command whose driver is stuck, and of one that takes seconds to write its findings."""


def require_in_time(seconds: float) -> None:
    """Require that a command ended at most two seconds after its deadline, and what Python takes to start."""
    assert seconds < LIMIT + 2.0 + SLOW_START


@pytest.mark.parametrize(
    ("words", "shader"),
    [
        (("run", *WORDS, "--device", "swiftshader"), MACROS),
        (("check", "--device", "none"), MACROS),
        (("run", *WORDS, "--device", "reference"), NESTED),
        (("check", "--device", "none"), NESTED),
    ],
    ids=["run macros", "check macros", "run variables", "check variables"],
)
def test_compilation_and_preparation_end(words: tuple[str, ...], shader: str, tmp_path: Path) -> None:
    (tmp_path / "slow.comp").write_text(shader)
    command, *options = words
    code, _, err, seconds = run(command, "slow.comp", *options, "--timeout", "4", folder=tmp_path)
    require_in_time(seconds)
    assert code == 2
    (line,) = lines_of_vkgroup(err)
    assert "no end within 4 s, while " in line
    assert "(--timeout S)" in line or "(--timeout)" in line


@pytest.mark.usefixtures("swiftshader")
def test_a_driver_that_is_stuck_is_ended(tmp_path: Path) -> None:
    """Python cannot handle the alarm of the deadline while a driver does not return."""
    (tmp_path / "ok.comp").write_text(OK)
    words = ("run", "ok.comp", *WORDS, "--device", "swiftshader", "--timeout", str(LIMIT))
    code, _, err, seconds = run(*words, "--repro", "kept", folder=tmp_path, PYTHONPATH=STUCK)
    require_in_time(seconds)
    assert code == 3
    (line,) = lines_of_vkgroup(err)
    assert "while creating the pipeline on SwiftShader Device (Subzero)" in line
    assert line.endswith("To repeat it: vkgroup run kept")
    assert json.loads((tmp_path / "kept" / "repro.json").read_text())["complete"] is False


@pytest.mark.usefixtures("swiftshader", "lavapipe")
@pytest.mark.parametrize("device", ["swiftshader", "lavapipe", "reference"])
def test_an_execution_without_end_exits_with_1(device: str, tmp_path: Path) -> None:
    (tmp_path / "endless.comp").write_text(ENDLESS)
    words = ("run", "endless.comp", *WORDS, "--device", device, "--timeout", str(LIMIT))
    code, _, err, seconds = run(*words, folder=tmp_path)
    require_in_time(seconds)
    assert code == 1
    (line,) = lines_of_vkgroup(err)
    assert f"no end within {LIMIT:g} s, while executing" in line


def test_the_limit_of_one_configuration_is_not_that_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second configuration is checked after the first has no verdict."""
    (tmp_path / "endless.comp").write_text(ENDLESS)
    (tmp_path / "ok.comp").write_text(OK)
    common = {"subgroup_sizes": [4], "groups": 1}
    configurations = [
        {"name": "endless", "shader": "endless.comp", "step_limit": 1 << 30, "timeout": 1.0},
        {"name": "ok", "shader": "ok.comp"},
    ]
    file = tmp_path / "all.json"
    file.write_text(json.dumps({**common, "configurations": configurations}))
    code = main(["check", "--with", str(file), "--device", "none", "--json", "-"])
    entries = json.loads(capsys.readouterr().out)["configurations"]
    assert [entry["outcome"] for entry in entries] == ["no verdict", "clean"]
    assert code == 2


def test_each_configuration_is_written_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library that does not return in a later one costs no result."""
    (tmp_path / "ok.comp").write_text(OK)
    names = ["first", "second", "third"]
    configurations = [{"name": name, "shader": "ok.comp", "subgroup_sizes": [4]} for name in names]
    given, file = tmp_path / "all.json", tmp_path / "found.json"
    given.write_text(json.dumps({"configurations": configurations}))
    written: list[int] = []
    original = check.perform

    def perform(*arguments: object) -> object:
        written.append(len(json.loads(file.read_text())["configurations"]) if file.exists() else 0)
        return original(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(check, "perform", perform)
    assert main(["check", "--with", str(given), "--device", "none", "--json", str(file)]) == 0
    assert written == [0, 1, 2]


def test_findings_are_written_although_that_takes_longer_than_the_grace_period(tmp_path: Path) -> None:
    """Writing the findings takes three seconds more than the supervisor waits for other commands."""
    (tmp_path / "endless.comp").write_text(ENDLESS)
    words = (
        "check",
        "endless.comp",
        "--device",
        "none",
        "--step-limit",
        str(1 << 30),
        "--json",
        "found.json",
    )
    code, _, _, _ = run(*words, "--timeout", "10", folder=tmp_path, PYTHONPATH=SLOW_WRITING)
    assert code == 2
    assert json.loads((tmp_path / "found.json").read_text())["no_verdict"]


def test_a_limit_of_memory_of_a_compiler(tmp_path: Path) -> None:
    """The compiler's process counts: glslang takes ever more memory for this shader."""
    (tmp_path / "slow.comp").write_text(MACROS)
    code, out, err, _ = run("check", "slow.comp", "--device", "none", "--memory", "150M", folder=tmp_path)
    assert (code, out) == (3, "")
    assert lines_of_vkgroup(err) == [
        "vkgroup: more than 150 MiB of memory in use (--memory), while compiling slow.comp."
        " Give a higher limit (--memory) or less work."
    ]


@pytest.mark.usefixtures("swiftshader")
def test_a_limit_of_memory_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "ok.comp").write_text(OK)
    words = ("run", "ok.comp", "--groups", "1", "--out", "0=uint[150000000]", "--memory", "300M")
    code, out, err, _ = run(*words, "--device", "swiftshader", folder=tmp_path)
    assert (code, out) == (3, "")
    (line,) = lines_of_vkgroup(err)
    assert line.startswith("vkgroup: more than 300 MiB of memory in use (--memory), while executing")


def test_a_limit_of_memory_of_a_folder_below_that_of_its_command(tmp_path: Path) -> None:
    """There is no worker to end: the process of the command alone is over the limit."""
    (tmp_path / "ok.comp").write_text(OK)
    code, _, err, _ = run("check", ".", "--device", "none", "--memory", "4M", folder=tmp_path)
    assert code == 3
    (line,) = lines_of_vkgroup(err)
    assert line.startswith("vkgroup: more than 4 MiB of memory in use (--memory), while ")


@pytest.mark.parametrize(
    ("words", "ends_command"),
    [(("a.comp",), True), (("a.comp", "b.comp"), False), ((".",), False)],
)
def test_a_check_of_several_shaders_loses_a_worker_alone(words: tuple[str, ...], ends_command: bool) -> None:
    limit = limit_of(parse(["check", *words]))
    assert limit is not None
    assert limit.ends_command == ends_command


def test_the_default_limit_of_memory_is_below_that_of_the_host() -> None:
    assert 1 << 28 < default() < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("cgroup", "file"),
    [
        ("0::/user.slice/job", "sys/fs/cgroup/user.slice/memory.max"),
        ("0::/a/b/c", "sys/fs/cgroup/a/memory.max"),
        ("0::/of/the/host", "sys/fs/cgroup/memory.max"),
        ("5:cpu:/x\n4:memory:/jobs/1", "sys/fs/cgroup/memory/jobs/1/memory.limit_in_bytes"),
    ],
)
def test_the_limits_of_all_control_groups_count(cgroup: str, file: str, tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(cgroup + "\n")
    group = tmp_path / file
    group.parent.mkdir(parents=True)
    group.write_text(f"{1 << 30}\n")
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("max\n")
    if file == "sys/fs/cgroup/memory.max":
        group.write_text(f"{1 << 30}\n")
    assert default(tmp_path) == (1 << 30) * 3 // 4


@pytest.mark.parametrize("text", ["0", "-1G", "1Q", "nan", "infG", "9999999999G", ""])
def test_a_size_that_is_none_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["run", "x.comp", f"--memory={text}"])
    assert end.value.code == 2
    assert "--memory" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_no_process_outlives_its_supervisor(number: signal.Signals, tmp_path: Path) -> None:
    """Also a compiler that never ends notices it."""
    (tmp_path / "slow.comp").write_text(MACROS)
    process = start("run", "slow.comp", *WORDS, "--device", "reference", folder=tmp_path)
    wait_until(lambda: len(descendants(process.pid)) == 2)
    time.sleep(0.3)
    known = descendants(process.pid)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == (-number if number == signal.SIGKILL else 128 + number)
    if number != signal.SIGKILL:
        assert lines_of_vkgroup(err) == ["vkgroup: interrupted"]
    wait_until(lambda: not any(map(alive, known)))


def test_a_signal_to_both_processes_of_a_command_is_one(tmp_path: Path) -> None:
    """A service manager sends it to both, and the supervisor passes its own on."""
    (tmp_path / "slow.comp").write_text(MACROS)
    process = start("run", "slow.comp", *WORDS, "--device", "reference", folder=tmp_path)
    wait_until(lambda: len(descendants(process.pid)) == 2)
    time.sleep(0.3)
    child = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    for one in (int(child), process.pid):
        os.kill(one, signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert lines_of_vkgroup(err) == ["vkgroup: interrupted"]


@pytest.mark.usefixtures("swiftshader")
def test_a_second_signal_ends_a_command_inside_its_driver(tmp_path: Path) -> None:
    """Python cannot handle a signal while a driver does not return."""
    (tmp_path / "ok.comp").write_text(OK)
    words = ("run", "ok.comp", *WORDS, "--device", "swiftshader", "--repro", "kept")
    process = start(*words, folder=tmp_path, PYTHONPATH=STUCK)
    wait_until(lambda: (tmp_path / "kept" / "README.md").is_file())
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGINT
