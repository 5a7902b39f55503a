"""Runs on a cluster: the results of one device, also if processes are killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter

import pytest
from mutants.driver_errors import dask_worker_killed_on_elect, killed_on_elect

import vkgroup
import vkgroup.conformance as conformance
from vkgroup.base import processes
from vkgroup.cli.main import main
from vkgroup.conformance import Result, Run, Status, select
from vkgroup.record.journal import RESULTS, read_results
from vkgroup.record.run import CasesWithoutVerdict
from vkgroup.workers.cluster.connecting import Cluster, connected
from vkgroup.workers.cluster.targets import targets
from vkgroup.workers.opening import select as select_device

# Some fail on SwiftShader.
FILTERS = ("vote.compute.subgroupAllEqual.bool.*.exact", "vote.compute.subgroupAllEqual.bvec2.*.exact")
GUILTY = "basic.compute.subgroupElect.bool.all.exact"
NEIGHBOUR = "shuffle.compute.subgroupShuffleXor.int.all.exact.by1"
SMALL = ("vote.compute.subgroupAll.bool.*.exact",)


def words(found: Run | dict[str, Result]) -> dict[str, tuple[object, ...]]:
    """Return the results of a run without the parts that differ between runs."""
    results = found.results if isinstance(found, Run) else found.values()
    return {result.case: (result.status, result.defined, result.undefined) for result in results}


@pytest.fixture(scope="module")
def cluster(scheduler):
    with connected(scheduler, None, None) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def plain():
    return words(conformance.run(select_device("swiftshader"), filters=FILTERS, jobs=1))


def judged(cluster: Cluster, filters, **options) -> Run:
    (target,) = targets(cluster, "swiftshader")
    return conformance.run(target.device, filters=filters, scheduler=target.scheduler, **options)


def workers(cluster: Cluster) -> dict[str, int]:
    """The processes of the Dask workers by address."""
    return dict(cluster.client.run(os.getpid))


def await_workers(cluster: Cluster, count: int) -> None:
    until = time.monotonic() + 60
    while sum(jobs for _, jobs in cluster.workers().values()) < count and time.monotonic() < until:
        time.sleep(0.1)


@pytest.mark.slow
def test_results_do_not_change_if_dask_workers_are_killed(cluster, plain, tmp_path) -> None:
    """A crash of the driver in the same run affects one case."""
    await_workers(cluster, 2)
    killed: list[int] = []

    def kill_both(results: list[Result]) -> None:
        """Kill one at the first results, and the other at the next."""
        if results[0].status != Status.NOT_SUPPORTED and len(killed) < len(before):
            killed.append(before[len(killed)])
            os.kill(killed[-1], signal.SIGKILL)

    before = list(workers(cluster).values())
    (target,) = targets(cluster, None)
    assert target.name == "2 × SwiftShader Device (Subzero)"
    options = {"transform": killed_on_elect, "on_results": kill_both, "out": tmp_path / "run"}
    found = conformance.run(target.device, filters=(*FILTERS, GUILTY), scheduler=target.scheduler, **options)
    assert len(killed) == 2
    results = words(found)
    assert words(read_results(tmp_path / "run" / RESULTS)) == results
    assert results.pop(GUILTY)[0] == Status.CRASH
    assert results == plain
    assert found.jobs == 2
    await_workers(cluster, 2)
    assert not set(workers(cluster).values()) & set(killed)

    failure = next(result for result in found.failures if result.status == Status.FAIL)
    assert failure.device == select_device("swiftshader").choice
    lines = failure.detail.splitlines()
    assert f"judged on the host {os.uname().nodename}" in lines
    assert f"judged by: {failure.device}" in lines
    assert f"--device {failure.device} " in failure.detail


def test_a_case_that_kills_dask_workers_has_no_verdict(cluster) -> None:
    """Drivers run in other processes. The batch is split until one case is left."""

    # A local function, which the scheduler's process receives by value.
    def allow_failures(count: int, dask_scheduler: object) -> None:
        """Set the number of workers that may die of a task before the scheduler gives it up."""
        dask_scheduler.allowed_failures = count  # type: ignore[attr-defined]

    await_workers(cluster, 2)
    cluster.client.run_on_scheduler(allow_failures, 0)
    try:
        with pytest.raises(CasesWithoutVerdict) as error:
            judged(cluster, (GUILTY, NEIGHBOUR), transform=dask_worker_killed_on_elect)
    finally:
        cluster.client.run_on_scheduler(allow_failures, 3)
    found = error.value.run
    results = {result.case: result for result in found.results}
    assert list(found.without_verdict) == [GUILTY]
    assert "workers of the cluster died of it" in found.without_verdict[GUILTY]
    assert results[NEIGHBOUR].status == Status.PASS, results[NEIGHBOUR].detail
    assert "judged again after a worker had died of its batch" in results[NEIGHBOUR].detail


def test_the_command_judges_every_model_of_a_cluster(scheduler, cluster, lavapipe, tmp_path, capfd) -> None:
    """A worker with another model joins later; with ``all``, each model has a separate run."""
    command = [*processes.command("vkgroup"), "worker", scheduler, "--device", lavapipe.name, "--jobs", "1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=processes.environment(), text=True) as worker:
        try:
            assert worker.stdout is not None
            assert "takes 1 batch at once" in worker.stdout.readline()
            options = [
                "--cluster",
                scheduler,
                "--device",
                "all",
                "--filter",
                SMALL[0],
                "--out",
                str(tmp_path),
            ]
            assert main(["conform", *options]) == 0
        finally:
            worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=30) == 0
    folders = sorted(tmp_path.iterdir())
    assert [folder.name.split("-")[0] for folder in folders] == ["llvmpipe", "swiftshader"]
    names = {case.name for case in select(SMALL)}
    for folder in folders:
        results = read_results(folder / RESULTS)
        assert results.keys() == names
        assert Counter(result.status for result in results.values())[Status.PASS] >= 6
    assert "Testing llvmpipe" in capfd.readouterr().out


def test_every_run_on_a_cluster_of_the_command_has_its_own_folder(no_validation, tmp_path, capfd) -> None:
    """Devices of a local cluster have the same numbers as devices of this host."""
    found = vkgroup.devices().devices
    places = [found.index(select_device(name)) for name in ("swiftshader", "reference")]
    devices = ["--cluster", "local", "--device", ",".join(map(str, places))]
    cases = ["--filter", "vote.compute.subgroupAll.bool.all.exact"]
    code = main(["conform", *devices, *cases, "--jobs", "2", "--out", str(tmp_path)])
    printed = capfd.readouterr()
    assert code == 0, printed.err
    folders = sorted(tmp_path.iterdir())
    assert [folder.name[:9] for folder in folders] == ["swiftshad", "vkgroup-r"]
    assert all((folder / "summary.json").exists() for folder in folders)
