"""Smaller programs that fail in the same way: search, reproduction folder, repetition."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mutants.driver_errors import empty_ballot, killed_by_a_switch, wrong_switch

from vkgroup.base.errors import InvalidInput, NoDevice
from vkgroup.cli.main import main
from vkgroup.conformance import Result, Status
from vkgroup.conformance.families import cases_by_name
from vkgroup.conformance.run import Setup
from vkgroup.drivers import CachedDriver
from vkgroup.outputs.reproduction import readme, shrunk, smallest
from vkgroup.outputs.reproduction.cases import make
from vkgroup.outputs.reproduction.folder import read
from vkgroup.outputs.reproduction.issue import write_issue
from vkgroup.outputs.reproduction.shrunk import case_of
from vkgroup.programs.traversal import count_statements, walk
from vkgroup.workers.opening import select
from vkgroup.workers.worker_process import WorkerProcess

CASE = "reconvergence.workgroup_uniform_control_flow_ballot.compute.nesting2.0.26"
"""A case whose program has two switches and three loops."""

Transform = Callable[[bytes], bytes]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the time limit, which a slow machine could reach."""
    monkeypatch.setattr(shrunk, "SECONDS", 600.0)


@pytest.fixture(scope="session")
def shrunk_once(swiftshader: CachedDriver, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the failure that `wrong_switch` causes, with a smaller program."""
    folder = tmp_path_factory.mktemp("shrunk") / "folder"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shrunk, "SECONDS", 600.0)
        assert make(select("swiftshader"), CASE, folder, transform=wrong_switch).status is Status.FAIL
    return folder


@pytest.fixture
def folder(shrunk_once: Path, tmp_path: Path) -> Path:
    """A copy of the folder with a smaller program."""
    return Path(shutil.copytree(shrunk_once, tmp_path / "folder"))


@pytest.fixture(
    params=[(wrong_switch, Status.FAIL), (killed_by_a_switch, Status.CRASH)], ids=["fail", "crash"]
)
def planted(request: pytest.FixtureRequest) -> tuple[Transform, Status]:
    """An error that needs a loop and a switch, and the status of its case."""
    found: tuple[Transform, Status] = request.param
    return found


@pytest.mark.mostly_slow(every=2)
@pytest.mark.usefixtures("swiftshader")
def test_statements_that_the_failure_does_not_need_are_removed(
    planted: tuple[Transform, Status], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    transform, status = planted
    folder, searched = tmp_path / "folder", []
    result = make(
        select("swiftshader"),
        CASE,
        folder,
        transform=transform,
        on_result=lambda *told: searched.append(told),
    )
    assert result.status is status
    assert searched == [(result, True)]
    record, within = read(folder), read(folder / "shrunk")
    assert within["result"]["status"] == status.value
    whole, left = cases_by_name()[CASE].program(0), case_of(within).program(0)
    sizes = {"statements": count_statements(left), "of": count_statements(whole)}
    assert record["shrunk"] == {**sizes, "done": True}
    kinds = Counter(type(node).__name__ for node in walk((left.functions, left.body)))
    assert (kinds["Switch"], kinds["Loop"]) == (1, 1)
    assert count_statements(left) <= 4
    text = (folder / "README.md").read_text()
    assert f"{count_statements(left)} of {count_statements(whole)} statements" in text
    assert f"--filter {CASE}\n" in (folder / "shrunk/README.md").read_text()
    if status is Status.FAIL:  # the planted crash comes before the shader is written down
        assert "switch (" in (folder / "shrunk/shaders/0.comp.glsl").read_text()
        quoted = (folder / "shrunk/README.md").read_text().partition("```glsl\n")[2].partition("```")[0]
        assert quoted.startswith("void main() {")
        assert "switch (" in quoted

    # The wrong module is in the folder, and wrong on every device; of the crash there is none.
    for device in ("swiftshader", "reference:4", "reference:16"):
        assert main(["run", str(folder / "shrunk"), "--device", device]) == (status is Status.FAIL)
        said = capsys.readouterr().out
        assert "By the rules of the suite" in said
        assert ("observations instead of" in said or "expected place" in said) == (status is Status.FAIL)


@pytest.mark.slow
def test_full_subgroups_keep_their_workgroup(tmp_path: Path) -> None:
    name, folder = "reconvergence.maximal.small_full_control.reconverge10.ballot", tmp_path / "folder"
    result = make(select("reference:8"), name, folder, transform=empty_ballot)
    assert result.status is Status.FAIL
    whole, left = cases_by_name()[name].program(0), case_of(read(folder / "shrunk")).program(0)
    assert count_statements(left) < count_statements(whole)
    assert (left.groups, left.local_size) == (1, whole.local_size)


def test_the_report_is_on_the_smaller_program(folder: Path) -> None:
    record = read(folder)
    path = folder / "repro.json"
    path.write_text(json.dumps(record | {"cause": {"title": "What is wrong", "rule": {}}}))
    text = write_issue(folder, read(folder)).read_text()
    assert text.splitlines()[0] == "# What is wrong"
    assert f"vkgroup run {folder.name}/shrunk --device" in text
    (heading,) = (line for line in text.splitlines() if line.startswith("## ") and ".glsl" in line)
    assert "`shrunk/shaders/0.comp.glsl`" in heading
    (local_size,) = re.findall("local_size_x.*", (folder / "shrunk/shaders/0.comp.glsl").read_text())
    assert local_size in text or "## Shader: " not in text


@pytest.mark.usefixtures("swiftshader")
def test_a_smaller_program_is_removed_with_its_folder(folder: Path) -> None:
    assert (folder / "shrunk").is_dir()
    assert make(select("swiftshader"), CASE, folder).status is Status.PASS
    assert not (folder / "shrunk").exists()
    assert "A smaller program" not in (folder / "README.md").read_text()


@pytest.mark.mostly_slow(every=3)
@pytest.mark.usefixtures("swiftshader")
@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_files_of_others_are_not_touched(tmp_path: Path, folder: Path, kind: str) -> None:
    own = tmp_path / "own"
    shutil.rmtree(folder / "shrunk")
    own.mkdir()
    (own / "mine.comp").write_text("mine")
    if kind == "link":
        (folder / "shrunk").symlink_to(own)
    elif kind == "folder":
        own.rename(folder / "shrunk")
    else:
        (folder / "shrunk").write_text("mine")
    before = sorted(folder.rglob("*"))
    with pytest.raises(InvalidInput, match="contains other files"):
        make(select("swiftshader"), CASE, folder, transform=wrong_switch)
    assert sorted(folder.rglob("*")) == before


@pytest.mark.slow
@pytest.mark.usefixtures("swiftshader")
def test_an_incomplete_folder_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = readme.write_case

    def write(folder: Path, record: dict[str, Any]) -> None:
        if folder.name == "shrunk":
            assert case_of(read(folder)) is not None
            raise KeyboardInterrupt
        honest(folder, record)

    monkeypatch.setattr(readme, "write_case", write)
    told: list[Status] = []
    with pytest.raises(KeyboardInterrupt):
        make(select("swiftshader"), CASE, tmp_path / "folder", transform=wrong_switch,
             on_result=lambda result, searching: told.append(result.status))  # fmt: skip
    assert told == [Status.FAIL]
    assert not (tmp_path / "folder/shrunk").exists()
    assert (tmp_path / "folder/README.md").is_file()


@pytest.mark.parametrize(
    ("status", "detail", "searched"),
    [
        (Status.FAIL, "3 of 4 entries are wrong", True),
        (Status.FAIL, "InvalidModule: what", True),
        (Status.CRASH, "the process was killed by signal 11; it printed: x", True),
        (Status.CRASH, "the process was ended with exit code 3", True),
        (Status.CRASH, "VK_ERROR_DEVICE_LOST", False),
        (Status.TIMEOUT, "no answer in 20 s", False),
        (Status.PASS, "", False),
    ],
)
def test_hangs_and_lost_devices_are_not_shrunk(status: Status, detail: str, searched: bool) -> None:
    case = cases_by_name()[CASE]
    assert shrunk.shrinkable(case, Result(CASE, status, detail=detail)) is searched
    other = cases_by_name()["vote.compute.subgroupAll.bool.all.exact"]
    assert not shrunk.shrinkable(other, Result(other.name, status, detail=detail))


@pytest.mark.usefixtures("swiftshader")
def test_a_search_without_time_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shrunk, "SECONDS", 0.0)
    folder = tmp_path / "folder"
    assert make(select("swiftshader"), CASE, folder, transform=wrong_switch).status is Status.FAIL
    assert "shrunk" not in read(folder)
    assert not (folder / "shrunk").exists()


@pytest.mark.usefixtures("swiftshader")
def test_a_lost_device_ends_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = []

    class Once(WorkerProcess):
        """Starts once; a second worker has no device, as after a crash that made it unusable."""

        def __init__(self, setup: Setup) -> None:
            workers.append(self)
            if len(workers) > 1:
                raise NoDevice("it is gone")
            super().__init__(setup)

    monkeypatch.setattr(smallest, "WorkerProcess", Once)
    folder = tmp_path / "folder"
    assert make(select("swiftshader"), CASE, folder, transform=killed_by_a_switch).status is Status.CRASH
    assert len(workers) == 2
    assert read(folder)["shrunk"]["done"] is False
    assert "The search was ended" in (folder / "README.md").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("swiftshader")
def test_a_record_of_another_version_is_judged_by_its_files(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "shrunk/repro.json"
    honest = json.loads(path.read_text())
    for change in (
        {"program": "0" * 16},
        {"path": [10**9]},
        {"path": [-1]},
        {"path": honest["path"][:-1]},
        {"of": "vote.compute.subgroupAll.bool.all.exact"},
        {"of": "reconvergence.gone"},
    ):
        path.write_text(json.dumps(honest | change))
        assert (
            main(["run", str(folder / "shrunk"), "--device", "swiftshader"]) == 0
        )  # it does what the module says
        assert f"This vkgroup lacks the case {CASE}.shrunk" in capsys.readouterr().out
    path.write_text(json.dumps(honest | {"path": "none"}))
    assert main(["run", str(folder / "shrunk"), "--device", "swiftshader"]) == 2
    assert "damaged" in capsys.readouterr().err


@pytest.mark.usefixtures("swiftshader")
def test_a_passing_case_has_no_smaller_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "folder"
    assert main(["conform", "--device", "swiftshader", "--repro", CASE, str(folder)]) == 0
    captured = capsys.readouterr()
    assert "smaller" not in captured.out + captured.err
