"""A temporary cluster of this host's devices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from distributed import Nanny, Scheduler, SpecCluster

from vkgroup.device import DeviceInfo
from vkgroup.runner.cluster.serving import members, options


@contextmanager
def local_scheduler(devices: Sequence[DeviceInfo], jobs: int | None = None) -> Iterator[str]:
    """Start a scheduler in this process, and a worker for each device; both end with the block.

    Yields
    ------
    The scheduler's address, on this host's loopback interface alone.
    """
    workers = {
        number: {"cls": Nanny, "options": {**options(member), "host": "127.0.0.1"}}
        for number, member in enumerate(members(devices, jobs))
    }
    scheduler = {
        "cls": Scheduler,
        "options": {"host": "127.0.0.1", "dashboard": False, "dashboard_address": "127.0.0.1:0", "port": 0},
    }
    with SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50) as cluster:
        yield cluster.scheduler_address
