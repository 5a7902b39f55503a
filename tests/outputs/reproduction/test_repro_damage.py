"""Damaged folders are bad input (exit code 2), and errors of vkgroup are no verdict."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mutants.driver_errors import compile_error_on_elect, killed_by_the_system_on_elect, rejected_on_elect

from vkgroup.base.errors import DriverError, InternalError, InvalidInput
from vkgroup.cli.main import main
from vkgroup.conformance import Status
from vkgroup.drivers import CachedDriver
from vkgroup.outputs.reproduction import folder as folders
from vkgroup.outputs.reproduction import repeat as repeating
from vkgroup.outputs.reproduction import steps
from vkgroup.outputs.reproduction.cases import make
from vkgroup.workers.messages import Failure
from vkgroup.workers.opening import select
from vkgroup.workers.worker_process import WorkerDied

CASES = (
    "vote.compute.subgroupAllEqual.vec3.nested.exact",
    "vote.fragment.subgroupAll.bool.all.exact",
    "descriptor_indexing.compute.sampler.read.nonuniform",
)
ELECT = "basic.compute.subgroupElect.bool.all.exact"
SHADER = """#version 460
layout(local_size_x = 64) in;
layout(binding = 0) buffer X { uint x[]; };
void main() { x[gl_GlobalInvocationID.x] += 1u; }
"""


@pytest.fixture(scope="module")
def made(swiftshader: CachedDriver, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of cases and of a check, by name."""
    root = tmp_path_factory.mktemp("repro")
    for case in CASES:
        make(select("swiftshader"), case, root / case)
    (root / "a.comp").write_text(SHADER)
    words = ["check", str(root / "a.comp"), "--device", "none", "--subgroup-size", "4"]
    assert main([*words, "--repro", str(root / "check")]) == 0
    return {name: root / name for name in (*CASES, "check")}


@pytest.fixture
def folder(made: dict[str, Path], tmp_path: Path) -> Path:
    """A copy of a compute case's folder, to be changed."""
    return Path(shutil.copytree(made[CASES[0]], tmp_path / "copy"))


def values(data: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value in JSON data."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*place, key)
        yield from values(value, (*place, key))


def replaced(data: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of JSON data with one value replaced."""
    data = deepcopy(data)
    inner = data
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return data


FREE = ("report", "evidence", "push", "defines")
"""Parts of a record with values of any type."""


@pytest.mark.parametrize("name", [*CASES, "check"])
def test_a_value_of_a_wrong_type_is_bad_input(name: str, made: dict[str, Path], tmp_path: Path) -> None:
    """An object is the wrong type for every value, except for some parts of a record."""
    record = json.loads((made[name] / "repro.json").read_text())
    accepted = []
    for place in values(record):
        if any(part in place[:-1] for part in FREE):
            continue
        (tmp_path / "repro.json").write_text(json.dumps(replaced(record, place, {"wrong": [1]})))
        try:
            folders.read(tmp_path)
        except InvalidInput:
            continue
        accepted.append(place)
    assert [place for place in accepted if place[-1] not in FREE] == []
    assert len(list(values(record))) > 30


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("steps", 0, "arguments", "module"), "shaders/0.comp.spv", "steps[0].arguments.module: Expected"),
        (("steps", 0, "arguments", "module", "file"), 7, "steps[0].arguments.module.file: Expected"),
        (("steps", 0, "arguments", "groups"), ["a"], "steps[0].arguments.groups: Expected"),
        (("steps", 0, "call"), "dance", "steps[0].call: Invalid value 'dance'"),
        (("steps", 0, "outputs", 0, "file"), None, "steps[0].outputs[0].file: Expected `str`"),
        (("device", "subgroup_size"), "4", "device.subgroup_size: Expected `int`"),
        (("seed",), "0", "seed: Expected `int`"),
        (("lanes", "source", "step"), -1, "lanes.source.step: Expected `int` >= 0"),
        (("lanes", "source", "output"), 99, "IndexError"),
        (("lanes", "type"), "no_type", "no_type"),
        (("lanes", "files", "at"), "expected/lanes-active.npy", "is damaged"),
        (("steps", 0, "arguments", "module", "file"), "outputs/step0-Outputs.npy", "SPIR-V"),
        (("result", "status"), "Maybe", "result.status: Invalid enum value 'Maybe'"),
        (("shaders", 0), "shaders/0.comp.glsl", "shaders[0]: Expected `object`"),
    ],
)
@pytest.mark.parametrize("device", ["swiftshader", "reference:4"])
def test_damaged_values_exit_with_2(
    place: tuple[Any, ...], value: Any, said: str, device: str, folder: Path, capsys
) -> None:
    record = json.loads((folder / "repro.json").read_text())
    (folder / "repro.json").write_text(json.dumps(replaced(record, place, value)))
    assert main(["run", str(folder), "--device", device]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert "It does not agree" not in out
    assert "Traceback" not in out + err


def test_a_shader_of_a_draw_that_is_a_string_is_bad_input(
    made: dict[str, Path], tmp_path: Path, capsys
) -> None:
    folder = Path(shutil.copytree(made[CASES[1]], tmp_path / "copy"))
    record = json.loads((folder / "repro.json").read_text())
    draw = next(number for number, step in enumerate(record["steps"]) if step["call"] == "draw")
    damaged = replaced(record, ("steps", draw, "arguments", "shader"), "shaders/0.frag.spv")
    (folder / "repro.json").write_text(json.dumps(damaged))
    assert main(["run", str(folder), "--device", "swiftshader"]) == 2
    assert f"is damaged: steps[{draw}].arguments.shader: Expected" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["inputs/step0-Inputs.npy", "outputs/step0-Outputs.npy"])
def test_damaged_files_exit_with_2(file: str, folder: Path, capsys) -> None:
    (folder / file).write_bytes(b"no array")
    assert main(["run", str(folder), "--device", "swiftshader"]) == 2
    assert "cannot be read as an .npy file" in capsys.readouterr().err


@pytest.mark.parametrize(
    "file", ["inputs/step0-Inputs.npy", "expected/lanes-least.npy", "expected/lanes-at.npy"]
)
@pytest.mark.parametrize("device", ["swiftshader", "reference:4"])
def test_damaged_values_in_an_array_are_no_failure_of_the_device(
    file: str, device: str, folder: Path, capsys
) -> None:
    array = np.load(folder / file)
    np.save(folder / file, array ^ array.dtype.type(1))
    assert main(["run", str(folder), "--device", device]) == 2
    assert f"{file} is damaged: its content is not what was recorded" in capsys.readouterr().err


LIMITED = """
import resource, sys
from vkgroup.cli.main import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""
"""Run a command that can write files of a limited size, as on a full disk."""


_SMALL = "vote.compute.subgroupAllEqual.uvec2.all.exact"
_LARGE = "memory_model.compute.message_passing.uint.vulkan.coherent.fence_fence.store.subgroup.buffer.buffer"


# device.json has 31,700 bytes, the C program 41,000, the arrays of the second case 49,300.
@pytest.mark.parametrize(
    ("case", "room", "file"),
    [
        (_SMALL, 4096, "device.json"),
        (_SMALL, 36000, "repro.c"),
        (_LARGE, 36000, "inputs/step0-Outputs.npy"),
    ],
)
def test_a_full_disk_is_no_internal_error_and_leaves_no_folder(
    case: str, room: int, file: str, swiftshader: CachedDriver, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    words = ["conform", "--device", "swiftshader", "--repro", case]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(room), *words, str(folder)],
        capture_output=True, text=True, check=False,
        # The limit would cut off compiled modules too, and the next process would read them.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.returncode == 2
    assert f"{folder / file} cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not folder.exists()


def test_a_damaged_check_exits_with_2(made: dict[str, Path], tmp_path: Path, capsys) -> None:
    folder = Path(shutil.copytree(made["check"], tmp_path / "copy"))
    record = json.loads((folder / "repro.json").read_text())
    (folder / "repro.json").write_text(json.dumps(record | {"shaders": []}))
    assert main(["run", str(folder), "--device", "reference"]) == 2
    assert "is damaged: shaders: Expected `array` of length >= 1" in capsys.readouterr().err


class FakeWorker:
    """A worker that answers every request in the same way."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def __enter__(self) -> FakeWorker:
        return self

    def __exit__(self, *_: object) -> None: ...

    def ask(self, request: object, seconds: float) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Failure("internal", "ZeroDivisionError: planted"), 2),
        (Failure("busy", "vkgroup itself did not end"), 2),
        (WorkerDied("the process was killed by signal 9", is_internal=True), 2),
        (Failure("timeout", "no end"), 1),
        (Failure("lost", "the device was lost"), 1),
        (WorkerDied("the process was killed by signal 11"), 1),
    ],
)
def test_only_errors_of_the_device_are_a_verdict(
    answer: Any, code: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    monkeypatch.setattr(repeating, "worker_for", lambda setup: FakeWorker(answer))
    assert main(["run", str(folder), "--device", "swiftshader"]) == code
    assert ("It does not agree." in capsys.readouterr().out) == (code == 1)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DriverError("vkCreateComputePipelines failed", "VK_ERROR_UNKNOWN"), 1),
        (DriverError("The buffer is closed; make a new one."), 2),
        (MemoryError(), 2),
        (TypeError("planted"), 2),
    ],
)
def test_an_error_while_a_step_is_repeated(
    error: Exception, code: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    def planted(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(steps, "repeat", planted)
    assert main(["run", str(folder), "--device", "reference:4"]) == code
    assert ("It does not agree." in capsys.readouterr().out) == (code == 1)


@pytest.mark.parametrize("transform", [compile_error_on_elect, killed_by_the_system_on_elect])
def test_a_folder_of_a_case_without_verdict_is_an_internal_error(
    transform: Callable[[bytes], bytes], swiftshader: CachedDriver, tmp_path: Path
) -> None:
    with pytest.raises(InternalError, match=f"{ELECT}: no verdict"):
        make(select("swiftshader"), ELECT, tmp_path / "new", transform=transform)


def test_a_case_that_the_driver_rejects_fails(swiftshader: CachedDriver, tmp_path: Path) -> None:
    result = make(select("swiftshader"), ELECT, tmp_path / "new", transform=rejected_on_elect)
    assert result.status is Status.FAIL
    assert "VK_ERROR_UNKNOWN" in result.detail


def test_an_output_of_another_shape_is_no_error(folder: Path, capsys) -> None:
    np.save(folder / "outputs/step0-Outputs.npy", np.zeros(3, np.uint32))
    assert main(["run", str(folder), "--device", "swiftshader"]) == 1
    assert "By the rules of the suite" in capsys.readouterr().out
