"""What all tests share: the validation layer turned on, software drivers, a cache of their own.

Drivers that are not in the user's cache are fetched: that is part of the set-up, so a test never
skips for want of one, and without network it errors.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import vkgroup
from vkgroup import drivers
from vkgroup.dispatch import Device
from vkgroup.drivers import Driver

_TESTS = str(Path(__file__).parent)
_SHARED = ("drivers", "apt", "test-packages")
_temporary: Path | None = None


def pytest_configure() -> None:
    """Turn validation on, and give the suite a cache that has the user's drivers and nothing else."""
    global _temporary
    # The package `mutants` is imported by tests and by worker processes that rewrite modules.
    sys.path.insert(0, _TESTS)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_TESTS, os.environ.get("PYTHONPATH")]))
    os.environ["VKGROUP_VALIDATION"] = "1"
    os.environ.pop("VKGROUP_DEVICE", None)
    os.environ.pop("VKGROUP_DB", None)
    real = drivers.cache_folder().resolve()
    _temporary = Path(tempfile.mkdtemp(prefix="vkgroup-tests-"))
    for name in _SHARED:
        (real / name).mkdir(parents=True, exist_ok=True)
        (_temporary / name).symlink_to((real / name).resolve(), target_is_directory=True)
    os.environ["VKGROUP_CACHE"] = str(_temporary)


def pytest_unconfigure() -> None:
    """Remove that cache; the drivers stay where they are, since it only has links to them."""
    if _temporary is not None:
        shutil.rmtree(_temporary, ignore_errors=True)


@pytest.fixture(scope="session")
def swiftshader() -> Driver:
    """The software driver SwiftShader, fetched where it is not there."""
    return drivers.fetch("swiftshader")


@pytest.fixture(scope="session")
def lavapipe() -> Driver:
    """The newest lavapipe that is there, fetched where none is."""
    return drivers.fetch("lavapipe")


@pytest.fixture(scope="session", params=["swiftshader", "lavapipe"])
def vulkan_device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """An open device of each software driver, watched by the validation layer."""
    driver: Driver = request.getfixturevalue(request.param)
    with vkgroup.open(driver.name) as opened:
        yield opened


@pytest.fixture(scope="session", params=["swiftshader", "lavapipe", "reference"])
def device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """An open device of each kind: what is tested with it is what any device does."""
    name = request.param
    if name != "reference":
        name = request.getfixturevalue(name).name
    with vkgroup.open(name) as opened:
        yield opened
