"""A run's folder: nothing measured is lost, and only the same run is resumed."""

from __future__ import annotations

import json

import pytest

from vkgroup.errors import InvalidInput
from vkgroup.results.journal import RESULTS, Journal
from vkgroup.results.record import Result, Status

IDENTITY = {"device": "a device", "seed": 1}


def results(count):
    return [Result(f"case{i}", Status.PASS, 0.5, i, 1, "ünïcode\nlines") for i in range(count)]


def test_results_survive_and_resume(tmp_path) -> None:
    with Journal(tmp_path / "run", IDENTITY) as store:
        store.append(results(3))
    with Journal(tmp_path / "run", IDENTITY, resume=True) as store:
        assert list(store.done.values()) == results(3)
        store.append([Result("case3", Status.FAIL)])
    lines = (tmp_path / "run" / RESULTS).read_text().splitlines()
    assert [json.loads(line)["case"] for line in lines] == ["case0", "case1", "case2", "case3"]


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_line_cut_off_is_dropped_and_the_rest_kept(tmp_path, cut) -> None:
    with Journal(tmp_path, IDENTITY) as store:
        store.append(results(3))
    path = tmp_path / RESULTS
    path.write_bytes(path.read_bytes()[:-cut])
    with Journal(tmp_path, IDENTITY, resume=True) as store:
        assert list(store.done) == ["case0", "case1"]
        store.append([Result("case2", Status.PASS)])
    assert len(path.read_text().splitlines()) == 3
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_another_run_is_not_resumed(tmp_path) -> None:
    with Journal(tmp_path, IDENTITY) as store:
        store.append(results(1))
    with pytest.raises(InvalidInput, match="seed: 1, not 2"):
        Journal(tmp_path, IDENTITY | {"seed": 2}, resume=True)
    with pytest.raises(InvalidInput, match="--resume"):
        Journal(tmp_path, IDENTITY)
    assert len((tmp_path / RESULTS).read_text().splitlines()) == 1


def test_resuming_nothing_starts_a_run(tmp_path) -> None:
    with Journal(tmp_path / "new", IDENTITY, resume=True) as store:
        assert store.done == {}


def test_a_damaged_line_in_the_middle_is_an_error(tmp_path) -> None:
    with Journal(tmp_path, IDENTITY) as store:
        store.append(results(3))
    path = tmp_path / RESULTS
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + "garbage\n" + lines[2])
    with pytest.raises(InvalidInput, match="without a result after 1"):
        Journal(tmp_path, IDENTITY, resume=True)


def test_a_folder_that_cannot_be_made(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot write"):
        Journal(tmp_path / "file" / "run", IDENTITY)


def test_two_runs_do_not_write_into_one_folder(tmp_path) -> None:
    with Journal(tmp_path, IDENTITY) as store:
        store.append(results(1))
        with pytest.raises(InvalidInput, match="another run is writing"):
            Journal(tmp_path, IDENTITY, resume=True)
    with Journal(tmp_path, IDENTITY, resume=True) as store:
        assert list(store.done) == ["case0"]


def test_an_identity_that_is_none_is_refused(tmp_path) -> None:
    with Journal(tmp_path, IDENTITY) as store:
        store.append(results(1))
    (tmp_path / "run.json").write_text("[]")
    with pytest.raises(InvalidInput, match="cannot be read"):
        Journal(tmp_path, IDENTITY, resume=True)
