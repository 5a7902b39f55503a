"""Journal of a run: results survive a crash, and only a run with the same identity is resumed."""

from __future__ import annotations

import json

import pytest

from vkgroup.base.errors import InvalidInput
from vkgroup.record.journal import RESULTS, Journal
from vkgroup.record.record import Result, Status

IDENTITY = {"device": "a device", "seed": 1}


def results(count):
    return [Result(f"case{i}", Status.PASS, 0.5, i, 1, "ünïcode\nlines") for i in range(count)]


def test_results_survive_and_resume(tmp_path) -> None:
    with Journal(tmp_path / "run", IDENTITY) as journal:
        journal.append(results(3))
    with Journal(tmp_path / "run", IDENTITY, resume=True) as journal:
        assert list(journal.done.values()) == results(3)
        journal.append([Result("case3", Status.FAIL)])
    lines = (tmp_path / "run" / RESULTS).read_text().splitlines()
    assert [json.loads(line)["case"] for line in lines] == ["case0", "case1", "case2", "case3"]


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_an_incomplete_last_line_is_dropped(tmp_path, cut) -> None:
    with Journal(tmp_path, IDENTITY) as journal:
        journal.append(results(3))
    path = tmp_path / RESULTS
    path.write_bytes(path.read_bytes()[:-cut])
    with Journal(tmp_path, IDENTITY, resume=True) as journal:
        assert list(journal.done) == ["case0", "case1"]
        journal.append([Result("case2", Status.PASS)])
    assert len(path.read_text().splitlines()) == 3
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_run_with_another_identity_is_not_resumed(tmp_path) -> None:
    with Journal(tmp_path, IDENTITY) as journal:
        journal.append(results(1))
    with pytest.raises(InvalidInput, match="seed: 1, not 2"):
        Journal(tmp_path, IDENTITY | {"seed": 2}, resume=True)
    with pytest.raises(InvalidInput, match="--resume"):
        Journal(tmp_path, IDENTITY)
    assert len((tmp_path / RESULTS).read_text().splitlines()) == 1


def test_resume_of_an_empty_folder_starts_a_run(tmp_path) -> None:
    with Journal(tmp_path / "new", IDENTITY, resume=True) as journal:
        assert journal.done == {}


def test_a_damaged_line_in_the_middle_is_an_error(tmp_path) -> None:
    with Journal(tmp_path, IDENTITY) as journal:
        journal.append(results(3))
    path = tmp_path / RESULTS
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + "garbage\n" + lines[2])
    with pytest.raises(InvalidInput, match="without a result after 1"):
        Journal(tmp_path, IDENTITY, resume=True)


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot write"):
        Journal(tmp_path / "file" / "run", IDENTITY)


def test_two_runs_do_not_write_into_one_folder(tmp_path) -> None:
    with Journal(tmp_path, IDENTITY) as journal:
        journal.append(results(1))
        with pytest.raises(InvalidInput, match="another run is writing"):
            Journal(tmp_path, IDENTITY, resume=True)
    with Journal(tmp_path, IDENTITY, resume=True) as journal:
        assert list(journal.done) == ["case0"]


def test_a_damaged_identity_is_refused(tmp_path) -> None:
    with Journal(tmp_path, IDENTITY) as journal:
        journal.append(results(1))
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(InvalidInput, match="cannot be read"):
        Journal(tmp_path, IDENTITY, resume=True)
