"""Software devices that a CUDA driver of the tests' own has too; the tests of a real one where it is."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from fake_cuda import FakeCuda

import vkgroup
from vkgroup.device import cuda
from vkgroup.dispatch.vulkan.device import VulkanDevice


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of torch and CuPy where CUDA's driver or the library is missing."""
    if not config.getoption("--gpu"):
        return
    wanting = [item for item in items if item.path.name == "test_interop_cuda.py" and _lacking(item)]
    if wanting:
        config.hook.pytest_deselected(items=wanting)
        items[:] = [item for item in items if item not in wanting]


def _lacking(item: pytest.Item) -> bool:
    libraries = {"torch", "cupy"}.intersection(getattr(item, "fixturenames", ()))
    return isinstance(cuda._driver(), str) or any(find_spec(name) is None for name in libraries)


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuda]:
    """The CUDA driver; it has one device that is no other's."""
    fake = FakeCuda(["00" * 16])
    monkeypatch.setattr(cuda, "load_library", lambda: fake)
    forget_cuda()
    yield fake
    forget_cuda()


@pytest.fixture(params=["swiftshader", "lavapipe"])
def shared_device(request: pytest.FixtureRequest, driver: FakeCuda) -> Iterator[VulkanDevice]:
    """An open device that is CUDA's second."""
    with vkgroup.open(request.getfixturevalue(request.param).name) as opened:
        assert isinstance(opened, VulkanDevice)
        driver.uuids.append(opened.capabilities.uuid)
        yield opened
    assert driver.clean()


def forget_cuda() -> None:
    """Let the driver be looked for anew."""
    cuda._driver.cache_clear()
    cuda.find_device.cache_clear()
