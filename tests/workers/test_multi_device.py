"""Runs on several devices of this host: choice of devices, shared runs, results."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import replace

import pytest

import vkgroup.conformance as conformance
from vkgroup.base.errors import InvalidInput, NoDevice
from vkgroup.cli.conform_run import ConformRun
from vkgroup.cli.main import main
from vkgroup.conformance import Result, Status, select
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.run import Setup
from vkgroup.device import Capabilities, DeviceInfo, discovery
from vkgroup.workers import multi_device, scheduler, worker_process
from vkgroup.workers.opening import select as select_device
from vkgroup.workers.retry import BatchOutcome, Retry
from vkgroup.workers.scheduler import LocalScheduler, model_of, pass_on, read_capabilities

GPU = DeviceInfo("/i.json", "nvidia", 0, "NVIDIA H200", "discrete_gpu", "NVIDIA", "5", (1, 4, 0), "ab", 32)
SECOND = replace(GPU, index=1, uuid="cd")
SOFTWARE = replace(GPU, manifest="/l.json", name="llvmpipe", type="cpu", driver_name="llvmpipe", uuid="")
REFERENCE = replace(GPU, manifest="", name="reference", type="other", uuid="ef")
FILTERS = ("vote.compute.subgroupAllEqual.*.all.exact",)


@pytest.fixture
def found(monkeypatch):
    """Let devices be found."""

    def let(*devices: DeviceInfo) -> None:
        report = discovery.IcdReport("", "", "", "ok", "", devices)
        monkeypatch.setattr(multi_device, "devices", lambda: discovery.Discovery("loader", (report,)))

    return let


def test_all_means_every_gpu_once(found) -> None:
    found(SOFTWARE, GPU, replace(GPU, manifest="/another/place/i.json"), SECOND, REFERENCE)
    assert multi_device.choose("all") == [GPU, SECOND]


def test_all_means_software_devices_without_a_gpu(found) -> None:
    found(SOFTWARE, REFERENCE)
    assert multi_device.choose("ALL") == [SOFTWARE]
    found(REFERENCE)
    with pytest.raises(NoDevice, match="drivers fetch"):
        multi_device.choose("all")


def test_a_device_name_with_commas_is_no_list(monkeypatch) -> None:
    def only_llvmpipe(choice: str) -> DeviceInfo:
        if choice in ("llvmpipe (LLVM 15, 256 bits)", "H200", "llvmpipe"):
            return SOFTWARE
        raise NoDevice(choice)

    monkeypatch.setattr(multi_device, "select", only_llvmpipe)
    assert not multi_device.is_several("llvmpipe (LLVM 15, 256 bits)")
    assert not multi_device.is_several("H200")
    assert not multi_device.is_several(None)
    assert multi_device.is_several("H200, llvmpipe")
    assert multi_device.is_several(" all")


def test_a_choice_of_one_device(monkeypatch) -> None:
    monkeypatch.setattr(multi_device, "select", lambda choice, **_: {"7": GPU, "a, b": SECOND}[choice])
    assert multi_device.choose("7") == [GPU]
    assert multi_device.choose("a, b") == [SECOND]


def test_sizes_of_the_reference_device_are_a_list() -> None:
    assert multi_device.is_several("reference:32,reference:64")
    assert [device.subgroup_size for device in multi_device.choose("reference:32,reference:64")] == [32, 64]


def test_folder_names_are_unique() -> None:
    assert multi_device.unique_slugs(["GPU", "GPU", "GPU 2"]) == ["gpu", "gpu-2", "gpu-2-2"]
    assert multi_device.unique_slugs(["GPU 2", "GPU", "GPU"]) == ["gpu-2", "gpu", "gpu-3"]


def test_devices_of_one_model_share_a_run_without_each(monkeypatch, swiftshader) -> None:
    capabilities = read_capabilities(select_device("swiftshader"))
    monkeypatch.setattr(os, "cpu_count", lambda: 40)

    def read(device: DeviceInfo):
        return replace(capabilities, name=device.name, uuid=device.uuid)

    members = [GPU, SOFTWARE, SECOND]
    shared = multi_device.targets(members, read=read)
    assert [(target.name, target.folder) for target in shared] == [
        ("2 × NVIDIA H200", "nvidia-h200"), ("llvmpipe", "llvmpipe")
    ]  # fmt: skip
    assert [target.scheduler.jobs for target in shared] == [26, 13]
    apart = multi_device.targets(members, 2, each=True, read=read)
    assert [target.folder for target in apart] == ["nvidia-h200", "llvmpipe", "nvidia-h200-2"]
    assert [target.scheduler.jobs for target in apart] == [1, 1, 1]
    assert multi_device.targets([GPU, SECOND], read=read)[0].scheduler.jobs == 32


def test_runs_of_one_absent_gpu_with_several_drivers_are_named_by_their_choice(swiftshader) -> None:
    capabilities = read_capabilities(select_device("swiftshader"))
    absent = replace(GPU, name="RADV NAVI31", icd="radv-26.1.6", gpu="navi31", own_process=True)
    members = [absent, replace(absent, icd="radv-25.0.7"), SOFTWARE]
    found = multi_device.targets(members, read=lambda device: replace(capabilities, name=device.icd))
    assert [(target.name, target.folder) for target in found] == [
        ("radv-26.1.6:navi31", "radv-26-1-6-navi31"),
        ("radv-25.0.7:navi31", "radv-25-0-7-navi31"),
        ("llvmpipe", "llvmpipe"),
    ]


@pytest.mark.parametrize("emulated", [False, True])
def test_builds_of_a_driver_for_an_absent_gpu_are_compared(emulated: bool) -> None:
    builds = [
        replace(
            GPU,
            manifest=f"/{name}.json",
            icd=f"radv@/{name}.json",
            gpu="navi31",
            own_process=True,
            emulated=emulated,
        )
        for name in "ab"
    ]
    found = multi_device.targets(builds, read=lambda device: Capabilities(device.name, "discrete_gpu"))
    assert [target.name for target in found] == ["radv@/a.json:navi31", "radv@/b.json:navi31"]


def test_devices_of_one_model_have_equal_capabilities(swiftshader) -> None:
    capabilities = read_capabilities(select_device("swiftshader"))
    assert model_of(replace(capabilities, uuid="other", memory_heaps=())) == model_of(capabilities)
    assert model_of(replace(capabilities, features=frozenset())) != model_of(capabilities)
    assert model_of(replace(capabilities, driver_info="older")) != model_of(capabilities)


def test_different_devices_cannot_share_a_run(monkeypatch) -> None:
    monkeypatch.setattr(scheduler, "read_capabilities", lambda device: Capabilities(device.name, device.type))
    assert LocalScheduler.of([GPU, SECOND, GPU], 2).jobs == 6
    with pytest.raises(InvalidInput, match=r"cannot share a run: NVIDIA H200 .*, llvmpipe"):
        LocalScheduler.of([GPU, SOFTWARE], 1)


class FakeBackend:
    """A backend that takes one batch at a time, and notes it."""

    problem = None

    def __init__(self) -> None:
        self.submitted: list[tuple[str, bool]] = []
        self._retry: Retry | None = None

    @property
    def running(self) -> int:
        return int(self._retry is not None)

    def submit(self, retry: Retry, alone: bool) -> bool:
        if self._retry is not None:
            return False
        self.submitted.append((retry.batch.family, alone))
        self._retry = retry
        return True

    def take(self, seconds: float) -> BatchOutcome | None:
        retry, self._retry = self._retry, None
        return None if retry is None else BatchOutcome(retry, [])

    def close(self) -> None: ...


def test_batches_that_run_alone_come_last(monkeypatch) -> None:
    first, second, alone = Batch("a", []), Batch("b", []), Batch("c", [], alone=True)
    backend = FakeBackend()
    monkeypatch.setattr(LocalScheduler, "connect", lambda *_: backend)
    single = LocalScheduler([GPU], 1, Capabilities("fake", "cpu"))
    assert list(single.run(Setup(GPU, 0, 1.0), [alone, first, second])) == []
    assert backend.submitted == [("a", False), ("b", False), ("c", True)]


class QuickWorker:
    """A worker whose cases pass."""

    peak_memory = 0

    def __init__(self, setup: Setup, known: object = None) -> None:
        self.device = setup.device

    def ask(self, batch: Batch, seconds: float) -> list[Result]:
        time.sleep(0.01)
        return [Result(case.name, Status.PASS) for case in batch.cases]

    def close(self) -> None: ...

    kill = dismiss = signal = close


@pytest.mark.parametrize("failing", [GPU, SECOND])
def test_the_other_device_takes_the_batches_of_one_that_cannot_be_opened(failing, monkeypatch) -> None:
    """The run ends with the error when everything else is done."""

    class NoWorker(QuickWorker):
        def __init__(self, setup: Setup, known: object = None) -> None:
            super().__init__(setup)
            if setup.device == failing:
                raise NoDevice("it is gone")

    monkeypatch.setattr(worker_process, "WorkerProcess", NoWorker)
    case = select(FILTERS)[0]
    batches = [Batch(f"batch{number}", [case], alone=number > 6) for number in range(9)]
    pair, results = LocalScheduler((GPU, SECOND), 2, Capabilities("fake", "discrete_gpu")), []
    with pytest.raises(NoDevice, match="it is gone"):
        pass_on(pair.run(Setup(GPU, 0, 1.0), batches), pair.drain, results.extend)
    assert len(results) == 9
    assert {result.device for result in results} == {GPU.choice, SECOND.choice} - {failing.choice}


def test_a_retry_runs_on_the_device_on_which_the_worker_failed(monkeypatch) -> None:
    """Another device could hide a fault of the first."""
    used: dict[str, list[str]] = {}
    all_four = threading.Barrier(4, timeout=20)

    class Dying(QuickWorker):
        def ask(self, batch: Batch, seconds: float) -> list[Result]:
            devices = used.setdefault(batch.cases[0].name, [])
            devices.append(self.device.choice)
            if len(devices) == 1:
                all_four.wait()
                raise worker_process.WorkerDied("gone")
            return super().ask(batch, seconds)

    monkeypatch.setattr(worker_process, "WorkerProcess", Dying)
    batches = [Batch("a", [case]) for case in select(("vote.compute.subgroupAll.bool.*",))[:4]]
    pair = LocalScheduler((GPU, SECOND), 2, Capabilities("fake", "discrete_gpu"))
    results = [result for arrived in pair.run(Setup(GPU, 0, 1.0), batches) for result in arrived]
    assert [result.status for result in results] == [Status.PASS] * 4
    assert {devices[0] for devices in used.values()} == {GPU.choice, SECOND.choice}
    assert {result.case: [result.device] * 2 for result in results} == used


def test_a_shared_run_has_the_results_of_one_device_and_names_the_device(tmp_path, swiftshader) -> None:
    device = select_device("swiftshader")
    pair = LocalScheduler.of([device, device], 1)
    shared = conformance.run(device, filters=FILTERS, scheduler=pair, out=tmp_path / "run")
    plain = conformance.run(device, filters=FILTERS, jobs=1)

    def words(found):
        return {result.case: (result.status, result.defined) for result in found.results}

    assert words(shared) == words(plain)
    assert shared.jobs == 2
    assert shared.summarize()["devices"] == [device.choice] * 2
    assert "devices" not in plain.summarize()
    failure = shared.failures[0]
    assert f"judged by: {device.choice}\nrepeat: vkgroup conform --device {device.choice}" in failure.detail
    lines = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    judged = {line.get("device") for line in lines if line["status"] != "NotSupported"}
    assert judged == {device.choice}
    resumed = conformance.run(device, filters=FILTERS, scheduler=pair, out=tmp_path / "run", resume=True)
    assert resumed.executed == 0
    assert resumed.failures[0].device == device.choice


def test_batches_that_may_hang_run_last_in_one_worker_per_device(monkeypatch, swiftshader) -> None:
    """Pools of two devices share batches; a device runs one worker alone after all other batches."""
    device = replace(select_device("swiftshader"), type="discrete_gpu")
    other = replace(device, manifest="/other.json")
    log: list[tuple[str, str, str]] = []
    lock = threading.Lock()
    both_alone = threading.Barrier(2, timeout=20)

    class FakeWorker:
        peak_memory = 0

        def __init__(self, setup: Setup, known: object = None) -> None:
            self._device = setup.device.manifest

        def ask(self, batch: Batch, seconds: float) -> list[Result]:
            with lock:
                log.append((self._device, batch.family, "begins"))
            if batch.alone:
                both_alone.wait()
            time.sleep(0.01)
            with lock:
                log.append((self._device, batch.family, "ends"))
            return [Result(case.name, Status.PASS) for case in batch.cases]

        def close(self) -> None: ...

        kill = dismiss = signal = close

    monkeypatch.setattr(worker_process, "WorkerProcess", FakeWorker)
    case = select(FILTERS)[0]
    batches = [Batch(f"beside{number}", [case]) for number in range(8)]
    batches += [Batch(f"alone{number}", [case], alone=True) for number in range(2)]
    results: list[Result] = []
    pair = LocalScheduler((device, other), 2, Capabilities("fake", "discrete_gpu"))
    for batch_results in pair.run(Setup(device, 0, 1.0), batches):
        results.extend(batch_results)
    assert len(results) == 10
    assert {result.device for result in results} == {device.choice, other.choice}
    for its in (device.manifest, other.manifest):
        own = [(family, what) for who, family, what in log if who == its]
        start = next(place for place, (family, _) in enumerate(own) if family.startswith("alone"))
        assert [family[:5] for family, _ in own[start:]] == ["alone", "alone"]


def test_the_command_runs_several_devices(tmp_path, capfd, swiftshader, lavapipe) -> None:
    """A device whose folder holds another run is an error, which does not end the other runs."""
    junit = tmp_path / "j.xml"
    out = tmp_path / "out"
    taken = out / multi_device.unique_slugs([select_device("swiftshader").name] * 2)[1]
    taken.mkdir(parents=True)
    (taken / "results.jsonl").write_text("{}\n")
    options = ["--device", f"swiftshader,{lavapipe.name},swiftshader", "--each", "--filter", FILTERS[0]]
    assert main(["conform", *options, "--jobs", "2", "--out", str(out), "--junit", str(junit)]) == 2
    folders = sorted(folder.name for folder in out.iterdir() if folder != taken)
    assert [name.split("-")[0] for name in folders] == ["llvmpipe", "swiftshader"]
    for folder in folders:
        summary = json.loads((out / folder / "summary.json").read_text())
        assert (summary["totals"]["Fail"] > 0) == folder.startswith("swiftshader")
        assert junit.with_suffix(f".{folder}.xml").exists()
    printed = capfd.readouterr()
    assert "already contains a run" in printed.err
    assert printed.out.count("with 1 worker, results in") == 3
    positions = [printed.out.index(text) for text in ("Testing SwiftShader", "Testing llvmpipe", "category")]
    assert positions == sorted(positions)


@pytest.mark.parametrize("by_environment", [False, True])
def test_the_exit_code_is_that_of_the_worst_run(tmp_path, monkeypatch, by_environment) -> None:
    shown = []
    found = {"a": 0, "b": 1, "c": 0}
    made = [
        multi_device.RunTarget(name, name, GPU, LocalScheduler((GPU,), 1, Capabilities(name, "cpu")))
        for name in found
    ]

    def conclude(device_run, run, console):
        shown.append(device_run.out.name)
        return found[run]

    def judge(device_run, progress):
        return device_run.target.name

    monkeypatch.setenv("VKGROUP_DEVICE", "all" if by_environment else "swiftshader")
    options = [] if by_environment else ["--device", "all"]
    monkeypatch.setattr(multi_device, "choose", lambda choice, **_: [GPU])
    monkeypatch.setattr(multi_device, "targets", lambda *_, **options: made)
    monkeypatch.setattr(ConformRun, "run_cases", judge)
    monkeypatch.setattr(ConformRun, "conclude", conclude)
    assert main(["conform", *options, "--filter", FILTERS[0], "--out", str(tmp_path)]) == 1
    assert shown == ["a", "b", "c"]
