"""Worker processes that start before the run knows its device."""

from __future__ import annotations

import pytest

from vkgroup.cli import conform_start
from vkgroup.cli.main import main
from vkgroup.conformance.run import Setup
from vkgroup.workers import spare
from vkgroup.workers.opening import select
from vkgroup.workers.worker_process import WorkerProcess


@pytest.fixture(autouse=True)
def ended():
    yield
    spare.end()


def test_a_worker_uses_the_process_that_was_kept() -> None:
    spare.keep("vkgroup.conformance.run")
    (kept,) = spare._spares
    worker = WorkerProcess(Setup(select("reference:4"), 0, 10.0))
    assert worker._process is kept[0]
    assert spare.take() is None
    worker.close()


def test_a_process_that_ended_is_not_used() -> None:
    spare.keep()
    spare.keep()
    (_, first), (process, _) = spare._spares
    process.kill()
    process.wait()
    taken = spare.take()
    assert taken is not None
    assert taken[1] is first
    taken[0].kill()
    assert taken[0].wait() != 0


def test_a_process_without_a_setup_ends_by_itself() -> None:
    process, _ = spare.spawn()
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(timeout=30) == 0


def test_no_process_remains_after_a_run_that_fails(monkeypatch, capsys) -> None:
    started = []
    keep = spare.keep
    monkeypatch.setattr(spare, "keep", lambda *modules: (keep(*modules), started.extend(spare._spares)))
    assert (
        main(["conform", "--device", "no such device", "--filter", "vote.compute.subgroupAll.bool.all.exact"])
        == 3
    )
    assert "no such device" in capsys.readouterr().err
    ((process, _),) = started
    assert process.poll() is not None
    assert not conform_start._choices


def test_lists_start_no_process(monkeypatch, capsys) -> None:
    monkeypatch.setattr(spare, "keep", lambda *modules: pytest.fail("a list needs no worker"))
    assert main(["conform", "--list", "--filter", "vote.compute.subgroupAll.bool.all.exact"]) == 0
    assert capsys.readouterr().out == "vote.compute.subgroupAll.bool.all.exact\n"
