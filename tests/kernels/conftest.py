"""Devices on which kernels are tested: the software drivers, and the reference device of each size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

import vkgroup
from vkgroup import drivers, resources
from vkgroup.check import Finding, check
from vkgroup.check.judge import TARGET
from vkgroup.compiler import compile_file
from vkgroup.dispatch import Device

SIZES = (1, 2, 4, 8, 16, 32, 64, 128)


@pytest.fixture(scope="module", params=["swiftshader", "lavapipe", "oldest lavapipe"])
def driver(request: pytest.FixtureRequest) -> Iterator[Device]:
    """An open device of each driver, fetched where it is not there, watched by the validation layer."""
    name = _oldest_lavapipe() if request.param.startswith("oldest") else request.param
    with vkgroup.open(drivers.fetch(name).name) as opened:
        yield opened


def _oldest_lavapipe() -> str:
    """The oldest that is in the cache, if that has several; else the oldest that the distribution offers."""
    present = [found.name for found in drivers.installed() if found.family == "lavapipe"]
    if len(present) > 1:
        return present[-1]
    return [found.name for found in drivers.list_drivers() if found.family == "lavapipe"][-1]


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
            resources.kernel(path),
            defines=dict(defines or {}),
            target=TARGET,
            debug=True,
        )
        return check(module, **{"sizes": (1, 4, 32), **given}).findings

    return run
