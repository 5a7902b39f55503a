"""Other packages as peers: the right device, clock and results, and a reason where they cannot run."""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vkgroup
from vkgroup.bench import Data, array_peers
from vkgroup.bench.catalogue import choose, peers
from vkgroup.bench.host import first_error
from vkgroup.bench.overhead import COUNT, CallWork, SubmissionCandidate, only_driver
from vkgroup.bench.run import BenchmarkOptions, run
from vkgroup.device import Capabilities
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver

UUID = "01ab" * 8
H200 = Capabilities("NVIDIA H200", "discrete_gpu", vendor_id=0x10DE, uuid=UUID)
PEERS = peers()


def _device(capabilities: Capabilities) -> Any:
    return SimpleNamespace(capabilities=capabilities, name=capabilities.name)


class FakeEvent:
    """An event of CUDA's: the fakes' clock counts what was called on a device."""

    now = 0.0

    def __init__(self, enable_timing: bool = True) -> None:
        assert enable_timing
        self.at = 0.0

    def record(self) -> None:
        FakeEvent.now += 1.0
        self.at = FakeEvent.now

    def synchronize(self) -> None:
        assert self.at == FakeEvent.now, "the last thing is waited for"

    def elapsed_time(self, end: FakeEvent) -> float:
        return end.at - self.at


class FakeTensor:
    """A tensor on a device, with the attributes that a peer reads."""

    def __init__(self, values: Any, device: str = "cpu") -> None:
        self.values, self.device = values, device

    def to(self, device: str) -> FakeTensor:
        return FakeTensor(self.values.copy(), device)

    def detach(self) -> FakeTensor:
        return self

    def cpu(self) -> FakeTensor:
        return FakeTensor(self.values)

    def numpy(self) -> Any:
        assert self.device == "cpu"
        return self.values


def _module(monkeypatch: pytest.MonkeyPatch, name: str, **members: Any) -> ModuleType:
    module = ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    module.__dict__.update(members)
    monkeypatch.setitem(sys.modules, name, module)
    return module


def _our_number_is_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let CUDA have several devices, of which that with our UUID is number 1."""

    def find(uuid: str) -> Any:
        return SimpleNamespace(ordinal=1) if uuid == UUID else None

    monkeypatch.setattr(array_peers, "find_device", find)


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A torch with two devices, the second of which is ours."""
    _our_number_is_1(monkeypatch)
    cuda = SimpleNamespace(
        is_available=lambda: True,
        Event=FakeEvent,
        synchronize=lambda: None,
        device=nullcontext,
    )
    return _module(
        monkeypatch,
        "torch",
        __version__="2.11.0+fake",
        cuda=cuda,
        Tensor=FakeTensor,
        from_numpy=FakeTensor,
        inference_mode=nullcontext,
    )


class FakeCudaDevice:
    """A device of CuPy's, which is current inside of ``with``."""

    current = -1

    def __init__(self, number: int) -> None:
        self.number = number

    def __enter__(self) -> None:
        FakeCudaDevice.current = self.number

    def __exit__(self, *error: object) -> None:
        FakeCudaDevice.current = -1

    def synchronize(self) -> None:
        assert FakeCudaDevice.current == self.number


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A CuPy with two devices, the second of which is ours."""

    def asarray(values: Any) -> FakeTensor:
        return FakeTensor(values.copy(), f"cuda:{FakeCudaDevice.current}")

    _our_number_is_1(monkeypatch)
    cuda = SimpleNamespace(
        is_available=lambda: True,
        Device=FakeCudaDevice,
        Event=FakeEvent,
        get_elapsed_time=lambda start, end: start.elapsed_time(end),
    )
    return _module(
        monkeypatch,
        "cupy",
        __version__="14.2.0",
        cuda=cuda,
        asarray=asarray,
        asnumpy=lambda tensor: tensor.values,
    )


def _double(module: Any, x: FakeTensor) -> Mapping[str, Any]:
    assert x.device == "cuda:1"
    return {"y": FakeTensor(x.values * 2, x.device)}


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_a_package_for_cuda_runs_on_the_gpu_that_has_our_uuid(
    name: str, request: pytest.FixtureRequest
) -> None:
    module = request.getfixturevalue(name)
    peer, device = PEERS[name], _device(H200)
    assert peer.available(device) is None
    assert peer.version() == module.__version__
    x = np.arange(5, dtype=np.float32)
    x.flags.writeable = False
    prepared = peer.prepare(device, _double, Data({"x": x}))
    prepared.overwrite_outputs()
    assert prepared.outputs() == {}
    assert prepared.time() == pytest.approx(1e-3), "milliseconds between two events"
    assert prepared.outputs()["y"].tolist() == [0, 2, 4, 6, 8]
    prepared.close()
    assert prepared.outputs() == {}


@pytest.mark.parametrize("name", ["torch", "cupy"])
def test_a_package_for_cuda_says_why_it_cannot_run(name: str, request: pytest.FixtureRequest) -> None:
    module = request.getfixturevalue(name)
    peer = PEERS[name]
    software = replace(H200, name="llvmpipe", type="cpu", vendor_id=0x10005)
    assert "llvmpipe" in str(peer.available(_device(software)))
    assert "UUID of NVIDIA H200" in str(peer.available(_device(replace(H200, uuid="02" * 16))))
    module.cuda.is_available = lambda: False
    assert "CUDA" in str(peer.available(_device(H200)))


@pytest.mark.parametrize("name", ["torch", "cupy", "hephaistos", "wgpu"])
def test_a_package_that_is_not_there_is_named_with_the_command_that_installs_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda module: None)
    assert PEERS[name].available(_device(H200)) == f"{name} is not installed (pip install 'vkgroup[peers]')."


def test_numpy_runs_on_the_cpu_alone(vulkan_device: Device) -> None:
    peer = PEERS["numpy"]
    assert peer.available(vulkan_device) is None
    assert "is a GPU" in str(peer.available(_device(H200)))
    x = np.random.default_rng(0).random(100)
    prepared = peer.prepare(vulkan_device, lambda numpy, x: {"y": numpy.cumsum(x)}, Data({"x": x}))
    assert prepared.time() > 0
    np.testing.assert_array_equal(prepared.outputs()["y"], np.cumsum(x))
    prepared.close()


class FakeHephaistos(ModuleType):
    """hephaistos, with tensors that are arrays: a program adds 1 to each number it is bound to."""

    UnsignedIntBuffer = UnsignedIntTensor = staticmethod(lambda count: FakeTensor(np.zeros(count, np.uint32)))

    def __init__(self, refuses: bool = False) -> None:
        super().__init__("hephaistos")
        self.__spec__ = importlib.machinery.ModuleSpec("hephaistos", None)
        self.refuses, self.selected, self.executions = refuses, -1, 0
        self.flushed: dict[int, Any] = {}

    def isDeviceSuitable(self, index: int) -> bool:  # noqa: N802
        return not self.refuses

    def selectDevice(self, index: int, force: bool = False) -> None:  # noqa: N802
        assert os.environ["VK_DRIVER_FILES"], "the driver is chosen while devices are looked for"
        self.selected = index

    def Program(self, code: bytes) -> Any:  # noqa: N802
        assert code[:4] == b"\x03\x02\x23\x07"
        bound: list[FakeTensor] = []

        def add() -> None:
            # Until a flush, a dispatch may not see what the one before it wrote.
            np.copyto(bound[0].values, self.seen(bound[0]) + 1)

        return SimpleNamespace(bindParams=bound.append, dispatch=lambda groups: add)

    def seen(self, tensor: FakeTensor) -> Any:
        return self.flushed.setdefault(id(tensor), tensor.values.copy())

    def flushMemory(self) -> Any:  # noqa: N802
        return self.flushed.clear

    def createSubroutine(self, commands: list[Any]) -> Any:  # noqa: N802
        return lambda: [command() for command in commands]

    def execute(self, work: Any) -> None:
        self.executions += 1
        self.flushed.clear()
        work()

    def executeList(self, commands: list[Any]) -> None:  # noqa: N802
        self.execute(self.createSubroutine(commands))

    def updateTensor(self, source: FakeTensor, target: FakeTensor) -> Any:  # noqa: N802
        return lambda: np.copyto(target.values, source.values)

    def retrieveTensor(self, source: FakeTensor, target: FakeTensor) -> Any:  # noqa: N802
        return lambda: np.copyto(target.values, source.values)


@contextmanager
def _fresh_peer(name: str) -> Iterator[Any]:
    """A peer that has not begun with any driver: its file loaded anew."""
    peers.cache_clear()
    try:
        yield peers()[name]
    finally:
        peers.cache_clear()


@pytest.mark.parametrize(
    ("work", "executions"),
    [
        (CallWork(1, 5, True), 6),
        (CallWork(1, 5, False), 6),
        (CallWork(3, 5, True), 6),
        (CallWork(3, 5, False), 6),
    ],
)
def test_hephaistos_submits_once_a_call_and_once_before(
    vulkan_device: Device, monkeypatch: pytest.MonkeyPatch, work: CallWork, executions: int
) -> None:
    fake = FakeHephaistos()
    monkeypatch.setitem(sys.modules, "hephaistos", fake)
    with _fresh_peer("hephaistos") as peer:
        assert peer.available(vulkan_device) is None
        assert fake.selected == vulkan_device.info.index
        prepared = peer.prepare(vulkan_device, work, Data({}))
        prepared.overwrite_outputs()
        before = fake.executions
        assert prepared.time() > 0
        assert fake.executions - before == executions
        assert first_error(Data({}, work.expected), prepared.outputs()) is None
        prepared.close()


def test_hephaistos_stays_with_its_first_driver(
    swiftshader: CachedDriver, lavapipe: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hephaistos", FakeHephaistos())
    with _fresh_peer("hephaistos") as peer, vkgroup.open("reference") as reference:
        assert "no device of Vulkan's" in peer.available(reference)
        with vkgroup.open(swiftshader.name) as first, vkgroup.open(lavapipe.name) as second:
            assert peer.available(first) is None
            assert peer.available(first) is None
            assert f"has begun with {first.info.manifest}" in peer.available(second)
    with _fresh_peer("hephaistos") as peer, vkgroup.open(swiftshader.name) as device:
        monkeypatch.setitem(sys.modules, "hephaistos", FakeHephaistos(refuses=True))
        assert "needs features that SwiftShader" in peer.available(device)


@pytest.mark.parametrize("name", ["hephaistos", "wgpu"])
def test_what_is_installed_submits_beside_ours_or_says_why_not(lavapipe: CachedDriver, name: str) -> None:
    with vkgroup.open(lavapipe.name, validation=False) as device:
        options = BenchmarkOptions(seed=1, smoke=True)
        chosen = choose(["dispatch"])
        result = run(device, chosen, options, ceilings=(), peers={name: PEERS[name]})
        assert (name in result.peers) != (name in result.absent)
        for row in result.rows:
            assert row.wrong == {}
            assert {"Sequence.run", "Bound.dispatch"} <= set(row.right)
            assert (name in row.right) == (name in result.peers)


def test_other_packages_see_one_driver_while_they_look(
    lavapipe: CachedDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VK_ICD_FILENAMES", raising=False)
    monkeypatch.setenv("VK_DRIVER_FILES", "/before.json")
    with vkgroup.open(lavapipe.name) as device:
        with only_driver(device):
            assert os.environ["VK_DRIVER_FILES"] == os.environ["VK_ICD_FILENAMES"] == device.info.manifest
        assert os.environ["VK_DRIVER_FILES"] == "/before.json"
        assert "VK_ICD_FILENAMES" not in os.environ


@pytest.mark.parametrize("work", [CallWork(1, 3, True), CallWork(4, 3, True), CallWork(4, 3, False)])
def test_ours_does_all_of_its_work(device: Device, work: CallWork) -> None:
    prepared = SubmissionCandidate(device, work).prepare(Data({}))
    for _ in range(2):
        prepared.overwrite_outputs()
        assert prepared.time() > 0
        assert prepared.outputs()["numbers"].tolist() == [work.dispatches * (work.calls + 1)] * COUNT
    prepared.close()


def test_no_peer_hides_the_package_that_it_is_about() -> None:
    import vkgroup.base.files

    files = {Path(path).stem for path in vkgroup.base.files.bench("peers").glob("*.py")}
    assert not files & PEERS.keys()
