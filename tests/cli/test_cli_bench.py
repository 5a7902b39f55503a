"""``vkgroup bench`` from end to end."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vkgroup.bench import BenchmarkCase, Data, Definition, catalogue
from vkgroup.bench.machine import Cache
from vkgroup.cli.main import main
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.outputs import history
from vkgroup.outputs.history import RunWriter


def _copying(device: Device, size: int, tuning: Mapping[str, Any], *, right: bool = True) -> BenchmarkCase:
    """Two ways to copy words, the second of which may forget to."""

    def plan(name: str, works: bool) -> Plan:
        planner = Planner(device, "copy", name)
        planner.input("x", np.uint32, size)
        planner.output("y", np.uint32, size)
        planner.copy("x", "y", None if works else 4 * (size - 1))
        return planner.plan()

    def data(rng: np.random.Generator) -> Data:
        x = rng.integers(0, 1 << 32, size, np.uint32)
        return Data({"x": x}, expected={"y": x})

    variants = {"subgroup": lambda: plan("subgroup", True), "shared": lambda: plan("shared", right)}
    return BenchmarkCase(variants, data, bytes=8 * size, items=size)


RIGHT = Definition(
    "test.right", "copies", _copying, sizes=(1 << 10, 1 << 12), smoke=(3,), tuning={"items": (1,)}
)
WRONG = Definition(
    "test.wrong",
    "copies, but for a word",
    lambda *given: _copying(*given, right=False),
    sizes=(64,),
    smoke=(3,),
)


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the two benchmarks of this file be all there are, but for the ceiling."""
    top = [one for one in catalogue.definitions() if one.name == "ceiling.copy"]
    monkeypatch.setattr(catalogue, "definitions", lambda: (*top, RIGHT, WRONG))
    # A real cache would want more data than a software driver copies in no time.
    monkeypatch.setattr("vkgroup.bench.run.last_level_cache", lambda capabilities: Cache(1 << 14, "small"))


def _bench(device: CachedDriver | str, *words: str) -> list[str]:
    name = device if isinstance(device, str) else device.name
    return ["bench", "--device", name, "--seconds", "0.02", "--seed", "5", *words]


def test_list_needs_no_device(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKGROUP_DEVICE", "nonesuch")
    assert main(["bench", "--list", "ceiling"]) == 0
    out = capsys.readouterr().out
    assert "ceiling.copy" in out
    assert "micro." not in out


@pytest.mark.parametrize("device", ["swiftshader", "reference"])
def test_smoke_verifies_what_is_there(
    device: str, swiftshader: CachedDriver, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ["ceiling.copy", "ceiling.read", "micro.divergence"]
    assert main(_bench(device, "--smoke", "--peers", "none", *names)) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in names)
    assert "Seed: 5" in out


@pytest.mark.usefixtures("ours")
def test_a_row_states_everything_in_80_columns(
    swiftshader: CachedDriver, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vkgroup.cli.console.WIDTH", 80)
    assert main(_bench(swiftshader, "test.right", "--size", "2^12", "--peers", "none")) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    head = next(number for number, line in enumerate(lines) if line.startswith("benchmark"))
    assert all(word in lines[head] for word in ("subgroup", "shared", "share of"))
    row, below = lines[head + 2], lines[head + 3]
    assert row.startswith("test.right")
    assert row.count("±") == 2
    assert "×" in row
    assert "%" in row
    assert "2^12" in below
    assert below.count("GB/s") == 2
    assert below.rstrip().endswith("copy")
    table = lines[head : head + 4]
    assert all(len(line.rstrip()) <= 80 for line in table)


@pytest.mark.usefixtures("ours")
def test_a_wrong_result_has_no_time_and_exits_with_1(
    swiftshader: CachedDriver, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "found.json"
    assert (
        main(_bench(swiftshader, "test.wrong", "--size", "64", "--json", str(path), "--peers", "none")) == 1
    )
    out = capsys.readouterr().out
    assert "shared is WRONG and was not timed: y[63] is 2779096485 instead of" in out
    entries = json.loads(path.read_text())["benchmarks"]
    found = [entry for entry in entries if entry["run_name"] == "test.wrong/64/shared"]
    assert [entry.get("error_occurred") for entry in found] == [True]
    assert "real_time" not in found[0]


@pytest.mark.usefixtures("ours")
def test_rows_are_recorded_as_they_come(
    swiftshader: CachedDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, seen = tmp_path / "runs.db", []
    whole = RunWriter.document

    def document(self: RunWriter, name: str, data: Mapping[str, Any]) -> None:
        whole(self, name, data)
        with history.open(path) as database:
            seen.append(database.run("latest").info.finished)

    monkeypatch.setattr(RunWriter, "document", document)
    words = _bench(swiftshader, "test", "--size", "64", "--db", str(path), "--peers", "none")
    assert main([*words, "--json", str(tmp_path / "found.json")]) == 1
    assert seen == [False] * 3, "after each of two rows and at the end, before it counts as finished"
    with history.open(path) as database:
        run = database.run("latest")
    assert run.info.finished
    assert run.info.counts["wrong"] == 1
    assert run.bench == json.loads((tmp_path / "found.json").read_text())


@pytest.mark.usefixtures("ours")
def test_json_alone_on_standard_output(swiftshader: CachedDriver, capsys: pytest.CaptureFixture[str]) -> None:
    # The largest size is said, for how far a sweep goes otherwise depends on how fast the machine is.
    words = _bench(swiftshader, "test.right", "--sweep", "size", "--size", "2^12", "--peers", "none")
    assert main([*words, "--json", "-"]) == 0
    captured = capsys.readouterr()
    data = json.loads(captured.out)
    names = {entry["run_name"] for entry in data["benchmarks"]}
    assert names == {
        "ceiling.copy",
        *(f"test.right/{n}/{v}" for n in (1024, 4096) for v in ("subgroup", "shared")),
    }
    assert data["context"]["device"] in captured.err


@pytest.mark.usefixtures("ours")
def test_a_picture_is_drawn(swiftshader: CachedDriver, tmp_path: Path) -> None:
    path = tmp_path / "found.png"
    words = _bench(swiftshader, "test.right", "--sweep", "items", "--plot", str(path), "--peers", "none")
    assert main(words) == 0
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("ours")
def test_the_reference_device_is_only_verified(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_bench("reference", "test.right", "--peers", "none")) == 0
    out = capsys.readouterr().out
    assert "The reference device is slow" in out
    assert "GB/s" not in out
    assert "wall clock" in out


@pytest.mark.usefixtures("ours")
def test_the_reference_device_is_timed_where_a_size_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(_bench("reference", "test.right", "--size", "64", "--peers", "none")) == 0
    assert "GB/s" in capsys.readouterr().out


def _record(path: Path, time: float) -> str:
    entry = {
        "name": "x_median",
        "run_name": "x",
        "run_type": "aggregate",
        "aggregate_name": "median",
        "iterations": 20,
        "real_time": time,
        "time_unit": "us",
        "time_low": 0.99 * time,
        "time_high": 1.01 * time,
        "confidence": 0.95,
    }
    path.write_text(json.dumps({"context": {"device": path.stem}, "benchmarks": [entry]}))
    return str(path)


@pytest.mark.parametrize(
    ("time", "more", "code", "words"),
    [
        (100.0, [], 0, "same"),
        (120.0, [], 1, "slower"),
        (80.0, [], 0, "faster"),
        (120.0, ["--threshold", "30"], 0, "same"),
    ],
)
def test_compare_exits_with_1_where_something_became_slower(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], time: float, more: list[str], code: int, words: str
) -> None:
    files = [_record(tmp_path / "a.json", 100.0), _record(tmp_path / "b.json", time)]
    assert main(["bench", "--compare", *files, *more]) == code
    out = capsys.readouterr().out
    assert words in out
    assert f"{time / 100:.3f}" in out
    assert "device: a → b" in out


def test_files_in_which_nothing_is_timed_are_compared_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    smoke = tmp_path / "smoke.json"
    smoke.write_text('{"context": {}, "benchmarks": []}')
    assert main(["bench", "--compare", str(smoke), str(smoke)]) == 0
    assert capsys.readouterr().out.split("\n") == ["No row is timed in both runs.", ""]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nonesuch"], "nonesuch"),
        (["ceiling.copy", "--device", "reference", "--sweep", "colour"], "colour"),
        (["ceiling.copy", "--device", "reference", "--peers", "nonesuch"], "nonesuch"),
        (["ceiling.copy", "--device", "reference", "--plot", "picture.xyz"], "picture.xyz"),
        (["ceiling.copy", "--device", "reference", "--smoke", "--plot", "p.png"], "--plot needs times"),
        (["ceiling.copy", "--device", "reference", "--smoke", "--json", "none/x.json"], "none/x.json"),
        (["--compare", "nonesuch.json", "nonesuch.json"], "nonesuch.json"),
    ],
)
def test_bad_input_is_2_and_named(
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["--size", "ten"],
        ["--size", "0"],
        ["--seconds", "-1"],
        ["--seed", "x"],
        ["--threshold", "x"],
        ["--compare", "a"],
    ],
)
def test_bad_usage_is_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["bench", *words])
    assert ended.value.code == 2
    assert words[0] in capsys.readouterr().err


def test_without_matplotlib_is_3(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["bench", "ceiling.copy", "--device", "reference", "--plot", "p.png"]) == 3
    assert "vkgroup[plot]" in capsys.readouterr().err


def test_no_such_device_is_3(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "ceiling.copy", "--device", "nonesuch"]) == 3
    assert "nonesuch" in capsys.readouterr().err
