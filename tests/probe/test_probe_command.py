"""``vkgroup probe`` from the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_probe_run import PLAYED, PlayedDevice

from vkgroup.base.errors import CompileError, DeviceLost, DriverError
from vkgroup.cli.main import main
from vkgroup.device import Capabilities, Subgroup
from vkgroup.probe import EXPERIMENTS


class PlayedSession(PlayedDevice):
    """A played device that can be opened and closed; closing a lost one fails."""

    info = SimpleNamespace(by_emulation="")

    def __enter__(self) -> PlayedSession:
        return self

    def __exit__(self, *_: object) -> None:
        if any(isinstance(error, DeviceLost) for error in self.raises.values()):
            raise DriverError("vkDestroyDevice failed", "VK_ERROR_UNKNOWN")


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch):
    """Let the command open a played device."""

    def install(capabilities: Capabilities = PLAYED, **raises: Exception) -> None:
        monkeypatch.setattr("vkgroup.open", lambda choice: PlayedSession(capabilities, raises))

    return install


def test_a_table_for_people(play, capsys: pytest.CaptureFixture[str]) -> None:
    play()
    assert main(["probe"]) == 0
    out = capsys.readouterr().out
    assert max(len(line.rstrip()) for line in out.splitlines()) <= 100
    for text in ("Played", "8, as declared", *(experiment.title for experiment in EXPERIMENTS)):
        assert text in out
    assert "not supported: the device lacks shaderFloat64" in out


def test_json_alone_on_standard_output(play, capsys: pytest.CaptureFixture[str]) -> None:
    play()
    assert main(["probe", "--json", "-"]) == 0
    out, err = capsys.readouterr()
    data = json.loads(out, parse_constant=pytest.fail)
    assert list(data) == ["device", "capabilities", "gl_limits", "experiments"]
    assert "Observed subgroup size" in err


def test_json_in_a_file(play, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play()
    assert main(["probe", "--json", str(tmp_path / "probe.json")]) == 0
    data = json.loads((tmp_path / "probe.json").read_text(encoding="utf-8"))
    assert data["device"]["name"] == "Played"
    assert "Observed subgroup size" in capsys.readouterr().out


def test_a_lost_device_is_told_and_what_was_known_is_written(
    play, capsys: pytest.CaptureFixture[str]
) -> None:
    play(reconvergence=DeviceLost("gone"))
    assert main(["probe", "--json", "-"]) == 1
    out, err = capsys.readouterr()
    data = json.loads(out)
    assert data["device"]["lost"] is True
    assert data["experiments"]["subgroup_size"]["status"] == "observed"
    assert data["experiments"]["addition_order"]["status"] == "not_run"
    assert "The device was lost" in err


def test_a_failure_is_told(play, capsys: pytest.CaptureFixture[str]) -> None:
    play(reconvergence=DriverError("the pipeline [compiler] failed", "VK_ERROR_UNKNOWN"))
    assert main(["probe"]) == 1
    assert "failed: the pipeline [compiler] failed" in capsys.readouterr().out


@pytest.mark.parametrize("error", [CompileError("planted"), ZeroDivisionError("planted"), MemoryError()])
def test_an_error_of_vkgroup_exits_with_2(error: Exception, play, capsys: pytest.CaptureFixture[str]) -> None:
    play(reconvergence=error)
    assert main(["probe", "--json", "-"]) == 2
    out, err = capsys.readouterr()
    experiments = json.loads(out)["experiments"]
    assert experiments["reconvergence"]["status"] == "internal_error"
    assert experiments["addition_order"]["status"] == "observed"
    assert "vkgroup: Internal error in reconvergence, which is no verdict on the device." in err


def test_a_broken_promise_is_a_verdict(play, capsys: pytest.CaptureFixture[str]) -> None:
    broken = Capabilities(
        name="Broken", type="cpu", subgroup=Subgroup(8, ("compute",), ("vote",)), limits=PLAYED.limits
    )
    play(broken)
    assert main(["probe"]) == 1
    assert "broken: supportedOperations must have VK_SUBGROUP_FEATURE_BASIC_BIT" in capsys.readouterr().out


def test_no_such_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["probe", "--device", "no such device anywhere"]) == 3
    assert "no such device anywhere" in capsys.readouterr().err


def test_two_seconds_suffice_on_swiftshader() -> None:
    """Processor time of the whole process, so that a busy machine does not count."""
    program = "import sys; from vkgroup.cli.main import main; sys.exit(main())"
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-c", program, "probe", "--device", "swiftshader", "--json", "-"],
        capture_output=True,
        check=True,
        text=True,
    )
    after = os.times()
    assert json.loads(done.stdout)["experiments"]["reconvergence"]["status"] == "observed"
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    assert spent < 2.0
