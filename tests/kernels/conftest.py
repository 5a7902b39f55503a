"""Devices on which kernels are tested: the software drivers, and the reference device of each size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import software_drivers
from extended_used import check_used

import vkgroup
from vkgroup import drivers
from vkgroup.base import files
from vkgroup.base.errors import VkgroupError
from vkgroup.check import Finding, check
from vkgroup.check.request import Guarantees
from vkgroup.compiler import DEFAULT_TARGET, compile_file
from vkgroup.dispatch import Device
from vkgroup.kernels import pipelines
from vkgroup.spirv import Module

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
DRIVERS = ("swiftshader", "lavapipe", pytest.param("oldest lavapipe", marks=pytest.mark.slow))
_PIPELINES = 6
"""Pipelines kept for a device: fewer than usual, since one of the reference device takes 3 MB."""
_BUFFERS = 7
"""Buffers of the largest size that a test on them needs at once: a sort of keys and values has six."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests on the largest buffer where the GPU lacks the memory for several of these."""
    if not config.getoption("--gpu"):
        return
    wanting = [item for item in items if "gpu_with_room" in getattr(item, "fixturenames", ())]
    if wanting and not _has_room():
        config.hook.pytest_deselected(items=wanting)
        items[:] = [item for item in items if item not in wanting]


def _has_room() -> bool:
    try:
        device = vkgroup.open("gpu")
    except VkgroupError:
        return False
    with device:
        heaps = device.capabilities.memory_heaps
        room = max((nbytes for nbytes, flags in heaps if "device_local" in flags), default=0)
        return room >= _BUFFERS * int(device.capabilities.limits["maxStorageBufferRange"])


@pytest.fixture(scope="session", autouse=True)
def few_pipelines() -> Iterator[None]:
    """Let devices keep few pipelines: with the usual number, test processes grew to 2.5 GB."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines, "_MOST", _PIPELINES)
        yield


class _CheckedModules(dict[Any, Module]):
    """The compiled modules of a device's kernels; a new one is checked."""

    def __setitem__(self, key: Any, module: Module) -> None:
        # A benchmark's own shader has a path outside of the package.
        if not Path(key[0]).is_absolute():
            check_used(key[0], module)
        super().__setitem__(key, module)


@pytest.fixture(scope="package", autouse=True)
def instructions_with_cases() -> Iterator[None]:
    """Let a test fail if a kernel that it runs uses an instruction of GLSL.std.450 without a case."""
    plain = pipelines.Pipelines.__init__

    def checked(self: pipelines.Pipelines, device: Device) -> None:
        plain(self, device)
        self._modules = _CheckedModules()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelines.Pipelines, "__init__", checked)
        yield


@pytest.fixture(scope="module", params=DRIVERS)
def driver(request: pytest.FixtureRequest) -> Iterator[Device]:
    """An open device of each driver, fetched where it is not there, watched by the validation layer."""
    name = request.param
    driver = software_drivers.fetch_oldest_lavapipe() if name == "oldest lavapipe" else drivers.path(name)
    with vkgroup.open(driver.name) as opened:
        yield opened


@pytest.fixture(scope="module")
def references() -> Iterator[dict[int, Device]]:
    """The reference device of each subgroup size."""
    with ExitStack() as stack:
        yield {size: stack.enter_context(vkgroup.open("reference", subgroup_size=size)) for size in SIZES}


@pytest.fixture(params=SIZES)
def reference(request: pytest.FixtureRequest, references: dict[int, Device]) -> Device:
    """The reference device, of one subgroup size after the other."""
    return references[request.param]


@pytest.fixture
def checked() -> Callable[..., tuple[Finding, ...]]:
    """Check a kernel at a few subgroup sizes on the reference device; return what `vkgroup check` finds."""

    def run(path: str, defines: Mapping[str, Any] | None = None, **given: Any) -> tuple[Finding, ...]:
        module = compile_file(
            files.kernel(path),
            defines=dict(defines or {}),
            target=DEFAULT_TARGET,
            debug=True,
        )
        # Pipelines require full subgroups, and devices without them get the kernels with shared memory.
        host = Guarantees(full_subgroups=not path.endswith(".frag"), reconvergence="maximal")
        return check(module, **{"sizes": (1, 4, 32), "host": host, **given}).findings

    return run
