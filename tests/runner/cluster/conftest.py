"""A cluster on this host: a scheduler, and two workers with SwiftShader."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vkgroup.opening import select
from vkgroup.runner.cluster.connecting import local_scheduler


@pytest.fixture(scope="module")
def no_validation() -> Iterator[None]:
    """Start workers without the validation layer; other tests watch the drivers."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VKGROUP_VALIDATION", "0")
        yield


@pytest.fixture(scope="module")
def scheduler(no_validation: None, swiftshader: object) -> Iterator[str]:
    """The address of a cluster's scheduler; two workers have SwiftShader, one process each."""
    device = select("swiftshader")
    with local_scheduler([device, device], 2) as address:
        yield address
