"""A cluster of processes on this host: a scheduler, and two workers with SwiftShader."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from distributed import Nanny, Scheduler, SpecCluster

from vkgroup.workers.cluster.serving import members, options
from vkgroup.workers.opening import select


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
    local = {"host": "127.0.0.1"}
    workers = {
        number: {"cls": Nanny, "options": options(member) | local}
        for number, member in enumerate(members([device, device], 2))
    }
    own = {"dashboard": False, "dashboard_address": "127.0.0.1:0", "port": 0}
    with SpecCluster(workers, {"cls": Scheduler, "options": own | local}, silence_logs=50) as cluster:
        yield cluster.scheduler_address
