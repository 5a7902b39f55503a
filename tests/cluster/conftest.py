"""A cluster on this host: a scheduler, two workers with SwiftShader; and the transforms of other tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from vkgroup.opening import select
from vkgroup.runner.cluster.connecting import local_scheduler

HELPERS = Path(__file__).parents[1] / "conformance"
sys.path[:0] = [str(Path(__file__).parent), str(HELPERS)]


@pytest.fixture(scope="session")
def importable() -> Iterator[None]:
    """Let processes of workers import the modules that hold the transforms; drivers are watched elsewhere."""
    places = [str(Path(__file__).parent), str(HELPERS), os.environ.get("PYTHONPATH")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, places)))
        patch.setenv("VKGROUP_VALIDATION", "0")
        yield


@pytest.fixture(scope="session")
def scheduler(importable: None, swiftshader: object) -> Iterator[str]:
    """The address of a cluster's scheduler; two workers have SwiftShader, one process each."""
    device = select("swiftshader")
    with local_scheduler([device, device], 2) as address:
        yield address
