"""Choice of a cluster and of its devices, and errors where no device fits."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from contextlib import nullcontext
from dataclasses import replace

import distributed
import pytest

from vkgroup.base.errors import InvalidInput, NoDevice, Unsupported
from vkgroup.cli.main import main
from vkgroup.conformance import Result, Status
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.run import Setup
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.workers import scheduler
from vkgroup.workers.cluster import connecting, offer, serving, targets
from vkgroup.workers.cluster.connecting import Cluster, scheduler_address
from vkgroup.workers.cluster.member import ClusterMember, Turns
from vkgroup.workers.cluster.offer import Offer, build
from vkgroup.workers.cluster.scheduler import ClusterBackend
from vkgroup.workers.retry import BatchOutcome, Retry

GPU = DeviceInfo(
    "/icd.json", "nvidia", 0, "NVIDIA H200", "discrete_gpu", "NVIDIA", "580", (1, 4, 0), "ab", 32
)
SOFTWARE = replace(GPU, name="llvmpipe (LLVM 15, 256 bits)", type="cpu", driver_name="llvmpipe", uuid="cd")
REFERENCE = replace(GPU, manifest="", name="reference", type="other", driver_name="vkgroup", uuid="ef")


def an_offer(device: DeviceInfo, **changes: object) -> Offer:
    return replace(Offer(device, device.uuid, 2, "here", build()), **changes)


class FakeClient:
    """A client of a cluster whose workers have sent offers."""

    def __init__(self, *offers: Offer | None) -> None:
        self._workers = {
            f"tcp://10.0.0.{number}:1": {"resources": {its.resource: its.jobs}, "vkgroup": its.to_json()}
            if its is not None
            else {"resources": {}}
            for number, its in enumerate(offers)
        }

    def scheduler_info(self, n_workers: int) -> dict[str, object]:
        return {"workers": self._workers}


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(targets, "WAIT_SECONDS", 0.0)


def cluster(*offers: Offer | None) -> Cluster:
    return Cluster(FakeClient(*offers), "tcp://10.0.0.9:8786")


def chosen(choice: str | None, *offers: Offer) -> list[str]:
    connected = cluster(*offers)
    return [device.name for device in targets._choose(connected, connected.workers(), choice)]


def test_offers_survive_json() -> None:
    made = an_offer(GPU)
    assert Offer.from_json(json.loads(json.dumps(made.to_json()))) == made


@pytest.mark.parametrize(
    ("choice", "names"),
    [
        (None, [GPU.name]),
        ("gpu", [GPU.name]),
        ("lavapipe", [SOFTWARE.name]),
        ("llvmpipe (LLVM 15, 256 bits)", [SOFTWARE.name]),
        ("llvmpipe,H200", [SOFTWARE.name, GPU.name]),
        ("all", [GPU.name]),
    ],
)
def test_devices_are_chosen_as_on_one_host(choice, names) -> None:
    assert chosen(choice, an_offer(SOFTWARE), an_offer(GPU)) == names


def test_a_cluster_of_chosen_devices_judges_on_these(monkeypatch) -> None:
    """Their numbers and files, which chose them, are of this host."""
    monkeypatch.setattr(ClusterBackend, "ask", lambda *_: None)
    client = FakeClient(an_offer(SOFTWARE), an_offer(GPU), an_offer(REFERENCE))
    for choice in ("7", "/icd.json", None):
        made = targets.targets(Cluster(client, "tcp://127.0.0.1:1", [GPU, REFERENCE]), choice)
        assert [target.device for target in made] == [GPU, REFERENCE]


def test_all_means_software_where_there_is_no_gpu() -> None:
    assert chosen("all", an_offer(SOFTWARE)) == [SOFTWARE.name]


def test_without_a_fitting_device_the_error_lists_all() -> None:
    with pytest.raises(
        NoDevice, match=r"(?s)fits 'gpu'.*llvmpipe .* on here, 2 at once \(tcp://10.0.0.0:1\)"
    ):
        targets.targets(cluster(an_offer(SOFTWARE)), "gpu")


def test_the_error_without_devices_names_the_remedy() -> None:
    with pytest.raises(NoDevice, match=r"\(1 without\).*vkgroup worker tcp://10.0.0.9:8786"):
        targets.targets(cluster(None), None)


def test_workers_of_another_vkgroup_are_refused_by_name() -> None:
    other = an_offer(GPU, build="0.0.9+abc", host="there")
    with pytest.raises(
        InvalidInput, match=r"(?s)0\.0\.9\+abc on there \(tcp://10\.0\.0\.1:1\)\nInstall the same"
    ):
        targets.targets(cluster(an_offer(GPU), other), "gpu")


def test_workers_that_emulate_do_not_only_compile(monkeypatch, capfd) -> None:
    absent = replace(GPU, name="NAVI31", gpu="navi31", emulated=True)
    monkeypatch.setattr(ClusterBackend, "ask", lambda *_: None)
    monkeypatch.setattr(connecting, "connected", lambda *_, **__: nullcontext(cluster(an_offer(absent))))
    case = "basic.compute.subgroupElect.bool.all.exact"
    assert main(["conform", "--cluster", "10.0.0.9:8786", "--compile-only", "--filter", case]) == 2
    assert "leave out --cluster" in capfd.readouterr().err


def test_addresses(tmp_path) -> None:
    assert scheduler_address("host:8786") == "tcp://host:8786"
    assert scheduler_address("tls://host:8786") == "tls://host:8786"
    file = tmp_path / "scheduler.json"
    file.write_text('{"address": "tcp://10.0.0.1:8786"}')
    assert scheduler_address(str(file)) == "tcp://10.0.0.1:8786"
    file.write_text("[]")
    for wrong in (str(file), str(tmp_path / "missing.json"), "host", "tcp://host"):
        with pytest.raises(InvalidInput, match="scheduler"):
            scheduler_address(wrong)


@pytest.mark.parametrize("command", [["conform", "--cluster"], ["worker"]])
def test_without_a_scheduler_the_command_says_so(command, monkeypatch, capfd) -> None:
    for module in (serving, connecting):
        monkeypatch.setattr(module, "CONNECT_SECONDS", 0.3)
    assert main([*command, "127.0.0.1:9"]) == 3
    error = capfd.readouterr().err
    assert "No Dask scheduler answers at tcp://127.0.0.1:9" in error
    assert "dask scheduler" in error


def test_without_dask_the_command_says_what_to_install(monkeypatch, capfd) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(Unsupported):
        offer.need_distributed()
    assert main(["worker", "127.0.0.1:9"]) == 3
    assert "pip install 'vkgroup[cluster]'" in capfd.readouterr().err


def test_a_batch_alone_waits_for_others_and_delays_later_ones() -> None:
    turns, order = Turns(), []
    inside, leave = threading.Event(), threading.Event()

    def work(name: str, alone: bool, wait: bool = False) -> None:
        with turns.taken(alone):
            order.append(name)
            if wait:
                inside.set()
                leave.wait(10)

    first = threading.Thread(target=work, args=("first", False, True))
    first.start()
    inside.wait(10)
    work("beside", False)
    alone = threading.Thread(target=work, args=("alone", True))
    alone.start()
    while not turns._waiting:
        pass
    later = threading.Thread(target=work, args=("later", False))
    later.start()
    later.join(0.1)
    assert order == ["first", "beside"]
    leave.set()
    for thread in (first, alone, later):
        thread.join(10)
    assert order == ["first", "beside", "alone", "later"]


class FakeNanny:
    """A worker that ends after `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    async def finished(self) -> None:
        await asyncio.sleep(self._seconds)


@pytest.mark.parametrize("scheduler_stays", [True, False])
def test_a_worker_that_ends_does_not_end_others(scheduler_stays, monkeypatch, capsys) -> None:
    async def is_there(address: str) -> bool:
        return scheduler_stays

    monkeypatch.setattr(serving, "LEAVE_SECONDS", 0.05)
    monkeypatch.setattr(serving, "_is_there", is_there)

    async def serve(*ends: float) -> float:
        start = time.monotonic()
        members = [ClusterMember(an_offer(device), None) for device in (GPU, SOFTWARE)]
        nannies = dict(zip(map(FakeNanny, ends), members, strict=True))
        try:
            await serving._until_the_end("tcp://10.0.0.9:8786", nannies, asyncio.Event())
        finally:
            lasted.append(time.monotonic() - start)

    lasted: list[float] = []
    if scheduler_stays:
        with pytest.raises(NoDevice, match="ended before the scheduler"):
            asyncio.run(serve(0.01, 0.4))
        assert "The worker for NVIDIA H200 has ended; 1 more" in capsys.readouterr().err
        assert lasted[0] > 0.4
    else:
        asyncio.run(serve(0.01, 20.0))
        assert lasted[0] < 5.0


class FakeFuture:
    """A task that ended with an error or was lost."""

    def __init__(self, status: str) -> None:
        self.status = status

    def result(self) -> None:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("status", "said"), [("error", "could not run a batch: .*No space left"), ("lost", "has ended")]
)
def test_an_error_in_a_worker_is_reported(status, said) -> None:
    backend = ClusterBackend(cluster(an_offer(GPU)), an_offer(GPU), None)
    with pytest.raises(NoDevice, match=said):
        backend._result(FakeFuture(status))


class FakeBackend:
    """Workers that advance a fake clock by `seconds` for each batch."""

    problem = None

    def __init__(self, clock: list[float], seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self._work: list[Retry] = []
        self.submitted = 0

    @property
    def running(self) -> int:
        return len(self._work)

    def submit(self, retry: Retry, alone: bool) -> bool:
        if len(self._work) == 2:
            return False
        self.submitted += 1
        self._work.append(retry)
        return True

    def take(self, seconds: float) -> BatchOutcome | None:
        self._clock[0] += self._seconds
        return BatchOutcome(self._work.pop(0), [Result("a", Status.PASS)], "w", "d")

    def close(self) -> None: ...


@pytest.mark.parametrize(("grace", "judged"), [(5.0, 2), (0.0, 1)])
def test_running_batches_have_a_grace_period_after_the_time_limit(grace, judged, monkeypatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(scheduler.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(scheduler, "GRACE_SECONDS", grace)
    backend, results = FakeBackend(clock, 0.1), []
    monkeypatch.setattr(scheduler.LocalScheduler, "connect", lambda *_: backend)
    run = scheduler.LocalScheduler([GPU], 1, Capabilities("fake", "cpu")).run
    batches = [Batch("a", []), Batch("b", []), Batch("c", []), Batch("d", [], alone=True)]
    for arrived in run(Setup(GPU, 0, 1.0), batches, deadline=clock[0] + 0.05):
        results += arrived
    assert (backend.submitted, len(results)) == (2, judged)


def test_workers_serve_http_on_the_loopback_interface_only() -> None:
    """Dask serves HTTP without a dashboard, too, by default on all interfaces."""
    member = ClusterMember(Offer(GPU, "model", 1, "host", build()), None)  # type: ignore[arg-type]
    arguments = serving.options(member) | {"plugins": (), "startup_information": {}}

    async def addresses() -> set[str]:
        own = {"dashboard": False, "dashboard_address": "127.0.0.1:0", "port": 0}
        async with (
            distributed.Scheduler(host="127.0.0.1", **own) as dask,
            distributed.Worker(dask.address, host="0.0.0.0", **arguments) as worker,
        ):
            return {listening.getsockname()[0] for listening in worker.http_server._sockets.values()}

    assert asyncio.run(addresses()) == {"127.0.0.1"}
