"""The command line as a whole: help, exit codes, interruptions, closed pipes."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vkgroup.base import errors
from vkgroup.cli import main as command_line
from vkgroup.cli.main import main
from vkgroup.cli.parser import COMMANDS


def _vkgroup(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "vkgroup", *arguments]


def test_help_is_instant_and_names_every_command() -> None:
    seconds = []
    for _ in range(3):  # The quickest of three, for the machine may be busy with something else.
        started = time.perf_counter()
        done = subprocess.run(_vkgroup("--help"), capture_output=True, text=True, check=True)
        seconds.append(time.perf_counter() - started)
    assert min(seconds) < 1.0
    assert set(COMMANDS) <= set(re.findall(r"^    ([a-z]+)\b", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"usage: vkgroup {command}" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["nonesuch"], ["devices", "--nonesuch"], ["drivers"], ["run"]])
def test_bad_usage_is_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert "usage: vkgroup" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant", "command"),
    [
        (["chek"], "check", "vkgroup"),
        (["check", "a.comp", "--devise=x"], "--device", "vkgroup check"),
        (["conform", "--fliter", "*"], "--filter", "vkgroup conform"),
        (["check", "a.comp", "--compiler", "glslagn"], "glslang", "vkgroup check"),
        (["drivers", "fecth"], "fetch", "vkgroup drivers"),
        (["drivers", "fetch", "--ofline", "x"], "--offline", "vkgroup drivers fetch"),
        (["compilers", "fetch", "glslnag"], "glslang", "vkgroup compilers fetch"),
    ],
)
def test_a_misspelled_word_shows_the_right_one_and_a_short_usage(
    words: list[str], meant: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(words)
    usage, *_, error, advice = capsys.readouterr().err.splitlines()
    assert usage.startswith(f"usage: {command} ")
    assert error.startswith(f"{command}: error: ")
    assert f"Did you mean {meant!r}?" in error
    assert advice == f"`{command} --help` explains the options."


@pytest.mark.parametrize("command", COMMANDS)
def test_the_usage_of_an_error_is_short(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--nonesuch"])
    *usage, error, _ = capsys.readouterr().err.splitlines()
    assert len(usage) <= 4
    assert all(len(line) <= 80 for line in usage)
    assert "Did you mean" not in error


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["conform", "--list", "--filter", "aritmetic.*"], "arithmetic.*"),
        (["conform", "--list", "--filter", "*.compute.*.bvec22.all.exact"], "*.compute.*.bvec2.all.exact"),
        (["conform", "--list", "--filter", "arithmetik"], "arithmetic.*"),
        (["bench", "--list", "redcue"], "reduce"),
        (["drivers", "path", "lavapip-22.3.6"], "lavapipe"),
        (["probe", "--device", "refrence:64"], "reference"),
        (["probe", "--device", "radvv:navi31"], "radv:navi31"),
        (["probe", "--device", "nvk:ga1044"], "ga104"),
    ],
)
def test_a_misspelled_name_shows_the_nearest(
    words: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) in (2, 3)
    assert f"Did you mean {meant!r}?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.CompileError("x"), 2),
        (errors.InvalidModule("x"), 2),
        (errors.InvalidDispatch("x"), 2),
        (errors.InvalidInput("x"), 2),
        (errors.NoDevice("x"), 3),
        (errors.Unsupported("x"), 3),
        (errors.CompilerUnavailable("x"), 3),
        (errors.DriverFetchError("x"), 3),
        (errors.OutOfMemory("x"), 3),
        (errors.DeviceLost("x"), 1),
        (errors.DispatchTimeout("x"), 1),
        (errors.ValidationError("x"), 2),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_error_has_its_exit_code(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from vkgroup.cli import devices

    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr(devices, "execute", fail)
    assert main(["devices"]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("vkgroup: ")
    assert "Traceback" not in printed.err


def test_every_error_of_the_tree_has_an_exit_code() -> None:
    kinds = [errors.VkgroupError]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    for kind in kinds:
        assert any(issubclass(kind, known) for known, _ in command_line._EXIT_CODES)


def test_a_reader_that_stops_reading_is_no_error() -> None:
    command = _vkgroup("conform", "--list")
    pipe = subprocess.PIPE
    # Python without buffers drops the rest of a write that was cut short, and sees no error.
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=buffered) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 141


def test_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from vkgroup.cli import devices

    def fail(_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(devices, "execute", fail)
    assert main(["devices"]) == 2
    message = os.strerror(errno.ENOSPC)
    assert capsys.readouterr().err == f"vkgroup: standard output or a file of results: {message}\n"


def test_standard_output_may_be_closed(monkeypatch: pytest.MonkeyPatch, swiftshader: object) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["devices"]) == 0


def test_a_table_that_nobody_reads_on_is_no_verdict() -> None:
    from vkgroup.cli.console import Console

    class Closed(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        Console(file=Closed()).print("x")


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    import vkgroup

    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"vkgroup {vkgroup.__version__}\n"


def test_devices_as_json_is_alone_on_standard_output(
    swiftshader: object, lavapipe: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["devices", "--json", "-"]) == 0
    printed = capsys.readouterr()
    data = json.loads(printed.out)
    names = [device["name"] for device in data["devices"]]
    assert any("SwiftShader" in name for name in names)
    assert any("llvmpipe" in name for name in names)
    assert "SwiftShader" in printed.err
    assert data["devices"][data["default"]]["number"] == data["default"]
    for icd in data["icds"]:
        assert icd["status"] == "ok" or icd["message"]


def test_devices_marks_the_default(swiftshader: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices"]) == 0
    assert (
        sum(
            line.startswith("* ") and "is the default" not in line
            for line in capsys.readouterr().out.splitlines()
        )
        == 1
    )


def test_without_any_driver_the_reference_device_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, swiftshader: object, capsys: pytest.CaptureFixture[str]
) -> None:
    from vkgroup import drivers

    loader = drivers.path("swiftshader").loader
    monkeypatch.setenv("VKGROUP_LOADER", str(loader))
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path))
    monkeypatch.setenv("VK_DRIVER_FILES", str(tmp_path / "none.json"))
    assert main(["devices"]) == 0
    printed = capsys.readouterr().out
    assert "*  0  vkgroup reference" in printed
    assert "vkgroup drivers fetch swiftshader" in printed
    assert "none.json" in printed


def test_drivers_path_prints_what_device_takes(
    swiftshader: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["drivers", "path", "swiftshader"]) == 0
    icd = Path(capsys.readouterr().out.strip())
    assert json.loads(icd.read_text())["ICD"]["library_path"] == "./libvk_swiftshader.so"


def test_drivers_that_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path))
    assert main(["drivers", "path", "lavapipe"]) == 3
    assert main(["drivers", "path", "nonesuch"]) == 2
    assert main(["drivers", "fetch", "swiftshader", "nonesuch"]) == 2
    assert main(["drivers", "fetch", "swiftshader", "--offline", str(tmp_path)]) == 3
    assert not (tmp_path / "drivers").exists()
    monkeypatch.setenv("PATH", "/nonexistent")
    assert main(["drivers", "list", "--json", "-"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == []
    assert "the drivers of the distribution cannot be listed" in printed.err


def test_an_encoding_without_the_signs_loses_no_verdict() -> None:
    command = [sys.executable, "-m", "vkgroup", "probe", "--device", "reference"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0, done.stderr
    assert b"subgroup" in done.stdout
