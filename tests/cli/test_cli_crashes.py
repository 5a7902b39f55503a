"""Crashes of drivers and compilers in commands: one line, exit code 3, and a folder that repeats them."""

from __future__ import annotations

import json
import os
import signal
import struct
from pathlib import Path

import pytest
from mutants.driver_errors import CRASH
from process_states import alive, descendants
from supervised_commands import OK, has_loaded, lines_of_vkgroup, run, start, wait_until

from vkgroup.compiler import compile_source

OP_TYPE_POINTER = 32

pytestmark = pytest.mark.usefixtures("swiftshader")


@pytest.fixture
def unknown_storage_class(tmp_path: Path) -> Path:
    """A module with two changed bits, which SPIRV-Tools does not know and which ends SwiftShader."""
    words = list(compile_source(OK, stage="compute").words)
    position = 5
    while words[position] & 0xFFFF != OP_TYPE_POINTER:
        position += words[position] >> 16
    words[position + 2] ^= (1 << 20) | (1 << 3)
    file = tmp_path / "changed.spv"
    file.write_bytes(struct.pack(f"<{len(words)}I", *words))
    return file


def test_a_crash_of_the_driver_is_one_line(unknown_storage_class: Path, tmp_path: Path) -> None:
    words = ("run", str(unknown_storage_class), "--groups", "1", "--out", "0=uint[64]")
    code, out, err, _ = run(*words, "--device", "swiftshader", folder=tmp_path)
    assert (code, out) == (3, "")
    not_validated, crash = lines_of_vkgroup(err)
    assert not_validated.startswith(
        "vkgroup: The module is not validated, because SPIRV-Tools does not know it"
    )
    assert crash == (
        "vkgroup: the driver of SwiftShader Device (Subzero) (SwiftShader driver) crashed (SIGSEGV), while"
        " creating the pipeline. To keep the module and the inputs, add --repro DIR."
    )


def test_a_folder_keeps_the_input_of_a_crash(tmp_path: Path) -> None:
    """SwiftShader ends the process with an exit code at this shader, which is valid."""
    (tmp_path / "crash.comp").write_text(CRASH)
    words = ("run", "crash.comp", "--groups", "1", "--out", "0=uint[128]", "--out", "1=uint[128]")
    code, _, err, _ = run(*words, "--device", "swiftshader", "--repro", "a folder", folder=tmp_path)
    assert code == 3
    (line,) = lines_of_vkgroup(err)
    assert "SwiftShader Device (Subzero) (SwiftShader driver) crashed (exit code 1)" in line
    assert line.endswith(" To repeat it: vkgroup run 'a folder'")
    record = json.loads((tmp_path / "a folder" / "repro.json").read_text())
    assert (record["kind"], record["complete"]) == ("run", False)
    assert (tmp_path / "a folder" / record["shaders"][0]["spirv"]).is_file()

    code, _, err, _ = run("run", "a folder", "--device", "swiftshader", folder=tmp_path)
    assert code == 3
    (line,) = lines_of_vkgroup(err)
    assert "crashed (exit code 1), while creating the pipeline" in line


def test_a_folder_of_a_run_that_ended_repeats_its_results(tmp_path: Path) -> None:
    (tmp_path / "ok.comp").write_text(OK)
    words = ("run", "ok.comp", "--groups", "1", "--out", "b=uint[64]:o.npy", "--device", "swiftshader")
    assert run(*words, "--repro", "kept", folder=tmp_path)[0] == 0
    code, out, _, _ = run("run", "kept", "--device", "reference", folder=tmp_path)
    assert code == 0
    assert "1 of 1 outputs are equal bit by bit." in out
    record = json.loads((tmp_path / "kept" / "repro.json").read_text())
    record["steps"][0]["outputs"][0]["file"] = record["steps"][0]["arguments"]["bindings"]["pairs"][0][1][
        "file"
    ]
    (tmp_path / "kept" / "repro.json").write_text(json.dumps(record))
    code, out, _, _ = run("run", "kept", "--device", "reference", folder=tmp_path)
    assert code == 1
    assert "63 of 64 elements are not what they were." in out


@pytest.mark.parametrize(
    "words",
    [
        ("probe", "--device", "swiftshader"),
        ("bench", "--device", "swiftshader", "--peers", "none"),
    ],
    ids=lambda words: words[0],
)
def test_other_commands_that_open_devices(words: tuple[str, ...], tmp_path: Path) -> None:
    """The signal that a crash raises arrives when the driver is loaded."""
    process = start(*words, folder=tmp_path)
    wait_until(lambda: any(has_loaded(one, "vk_swiftshader") for one in _commands(process.pid)))
    (command,) = _commands(process.pid)
    known = descendants(process.pid)
    os.kill(command, signal.SIGBUS)
    _, err = process.communicate(timeout=60)
    (line,) = lines_of_vkgroup(err)
    assert "the driver of swiftshader" in line.lower()
    assert "crashed (SIGBUS), while " in line
    assert process.returncode == 3
    wait_until(lambda: not any(map(alive, known)))


def _commands(supervisor: int) -> list[int]:
    """Return the processes that execute the command of a supervisor."""
    children = Path(f"/proc/{supervisor}/task/{supervisor}/children")
    return [int(word) for word in children.read_text().split()]


def test_a_crash_without_a_device_is_an_internal_error(tmp_path: Path) -> None:
    (tmp_path / "slow.comp").write_text(OK)
    process = start("check", "slow.comp", "--device", "none", folder=tmp_path)
    wait_until(lambda: bool(_commands(process.pid)))
    os.kill(_commands(process.pid)[0], signal.SIGSEGV)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    (line,) = lines_of_vkgroup(err)
    assert line.startswith("vkgroup: internal error: the command crashed (SIGSEGV), while ")
