"""Set-up of the whole test session: exact software drivers, the validation layer, and a cache.

The drivers are part of the set-up: missing ones are fetched, and without network the session fails. A test
never skips because a driver is missing.
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import software_drivers
import tiers

import vkgroup
from vkgroup import drivers
from vkgroup.compiler.installed import TINT, InstalledCompiler, installed
from vkgroup.dispatch import Device
from vkgroup.drivers import CachedDriver

_TESTS = str(Path(__file__).parent)
_USER_SETTINGS = ("VKGROUP_DEVICE", "VKGROUP_DB", "VKGROUP_LOADER")
_cache: Path | None = None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that lets tests use the machine's own GPU."""
    parser.addoption(
        "--gpu",
        action="store_true",
        help="run only the tests that need a GPU; without it, the session sees software drivers only",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Turn validation on and hide everything of the machine that is not part of the set-up.

    The workers of pytest-xdist inherit the environment of the process that starts them.
    """
    global _cache
    sys.path.insert(0, _TESTS)
    if hasattr(config, "workerinput"):
        return
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A shell's background job ignores Ctrl-C, and so would the processes that tests interrupt.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in _USER_SETTINGS:
        os.environ.pop(name, None)
    # The package `mutants` is imported by tests and by worker processes that rewrite modules.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_TESTS, os.environ.get("PYTHONPATH")]))
    os.environ["VKGROUP_VALIDATION"] = "1"
    if config.getoption("--gpu"):
        return
    _cache = Path(tempfile.mkdtemp(prefix="vkgroup-tests-"))
    if sys.dont_write_bytecode:
        # Tests start hundreds of Python processes; without bytecode each compiles the package.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = str(_cache / "bytecode")
    software_drivers.isolate(_cache)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what is slow; with ``--gpu``, keep the tests that need a GPU, and without it, all others."""
    tiers.mark_slow_tests(items)
    wanted = config.getoption("--gpu")
    others = [item for item in items if (item.get_closest_marker("gpu") is not None) != wanted]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in set(others)]


def pytest_collection_finish() -> None:
    """Leave what collecting made out of garbage collection: it stays to the end, and its scans took long."""
    gc.collect()
    gc.freeze()


def pytest_report_header() -> str:
    """Name the drivers that the session uses."""
    return f"drivers: {', '.join(driver.name for driver in drivers.installed())}"


def pytest_unconfigure() -> None:
    """Remove the session's cache. The user's drivers stay, since the cache only has links to them."""
    if _cache is not None:
        shutil.rmtree(_cache, ignore_errors=True)


@pytest.fixture(scope="session")
def swiftshader() -> CachedDriver:
    """Return the SwiftShader of this session."""
    return drivers.path("swiftshader")


@pytest.fixture
def current_glslang(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> InstalledCompiler:
    """Use the current glslang of the user's cache in this test, and an empty cache of modules."""
    monkeypatch.setenv("VKGROUP_CACHE", os.environ["VKGROUP_CACHE"])  # restores it
    return software_drivers.cache_with_compilers(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def cache_with_compilers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache with the user's compilers, for all tests of this session that compile WGSL."""
    folder, before = tmp_path_factory.mktemp("compilers"), os.environ["VKGROUP_CACHE"]
    software_drivers.cache_with_compilers(folder)
    os.environ["VKGROUP_CACHE"] = before
    return folder


@pytest.fixture
def tint(cache_with_compilers: Path, monkeypatch: pytest.MonkeyPatch) -> InstalledCompiler:
    """Return the tint of the user's cache, which is the current one in this test."""
    monkeypatch.setenv("VKGROUP_CACHE", str(cache_with_compilers))
    compiler = installed(TINT)
    assert compiler is not None
    return compiler


@pytest.fixture(scope="session")
def lavapipe() -> CachedDriver:
    """Return the lavapipe of this session."""
    return drivers.path("lavapipe")


@pytest.fixture(scope="session", params=["swiftshader", "lavapipe"])
def vulkan_device(request: pytest.FixtureRequest) -> Iterator[Device]:
    """An open device of each software driver, watched by the validation layer."""
    driver: CachedDriver = request.getfixturevalue(request.param)
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


@pytest.fixture(scope="session")
def turnip() -> CachedDriver:
    """Return a driver for absent GPUs: the smallest download (29 MB), used by tests of the first tier."""
    return software_drivers.fetch_compile_only("turnip")


@pytest.fixture(scope="session")
def radv() -> CachedDriver:
    """Return the driver for absent AMD GPUs (64 MB), used by tests of the second tier."""
    return software_drivers.fetch_compile_only("radv")
