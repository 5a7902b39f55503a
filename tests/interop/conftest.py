"""Software devices that a CUDA driver of the tests' own has too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fake_cuda import FakeCuda

import vkgroup
from vkgroup.device import cuda
from vkgroup.dispatch.vulkan.device import VulkanDevice


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
