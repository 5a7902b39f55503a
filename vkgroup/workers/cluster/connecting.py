"""Connecting to a Dask cluster, and listing its workers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import dask
import distributed
import msgspec
from distributed import Scheduler, SpecCluster, Worker

from vkgroup.base.errors import InvalidInput, NoDevice
from vkgroup.base.files import read_bytes
from vkgroup.device import DeviceInfo
from vkgroup.workers import multi_device
from vkgroup.workers.cluster.offer import KEY, Offer, silence
from vkgroup.workers.cluster.serving import CONNECT_SECONDS, members, no_scheduler, options


@contextmanager
def local_scheduler(devices: Sequence[DeviceInfo], jobs: int | None = None) -> Iterator[str]:
    """Start a scheduler and a worker for each device in this process; all end with the block.

    Nothing listens on a port: messages go through queues in memory (Dask's ``inproc``), so that no other
    user of the host can connect. Drivers run in worker processes, as in every cluster.
    """
    workers = {
        number: {"cls": QuietWorker, "options": {**options(member), "protocol": "inproc"}}
        for number, member in enumerate(members(devices, jobs))
    }
    scheduler = {"cls": QuietScheduler, "options": {"protocol": "inproc", "dashboard": False}}
    with (
        # Dask leaves its folder in this one.
        tempfile.TemporaryDirectory(prefix="vkgroup-cluster-") as folder,
        dask.config.set({"temporary-directory": folder}),
        SpecCluster(workers=workers, scheduler=scheduler, silence_logs=50) as cluster,
    ):
        yield cluster.scheduler_address


class QuietScheduler(Scheduler):
    """A scheduler without HTTP, which Dask serves also without a dashboard."""

    def start_http_server(self, *arguments: object, **options: object) -> None:
        """Start nothing."""


class QuietWorker(Worker):
    """A worker without HTTP."""

    def start_http_server(self, *arguments: object, **options: object) -> None:
        """Start nothing."""


LOCAL = "local"
"""The address of a temporary cluster of this host's devices."""


class _SchedulerFile(msgspec.Struct):
    """The part of a Dask scheduler's file that is needed."""

    address: str


class Cluster:
    """A connected cluster.

    `client`: Dask's client.
    `address`: the scheduler's address.
    `own`: the chosen devices of a temporary cluster of this host; indices and files mean nothing in others.
    """

    def __init__(self, client: Any, address: str, own: Sequence[DeviceInfo] = ()) -> None:
        self.client = client
        self.address = address
        self.own = tuple(own)

    def workers(self) -> dict[str, tuple[Offer, int]]:
        """Return each worker's offer and the number of batches that it takes at the same time, by address."""
        workers = {}
        for address, worker in self.client.scheduler_info(n_workers=-1)["workers"].items():
            try:
                offer = Offer.from_json(worker[KEY])
            except (KeyError, ValueError):
                continue
            workers[address] = (offer, int(worker["resources"].get(offer.resource, 0)))
        return workers


@contextmanager
def connected(
    address: str, jobs: int | None, choice: str | None, *, compile_only: bool = False
) -> Iterator[Cluster]:
    """Connect to a cluster.

    `address`: the scheduler's (``tcp://host:8786``; the scheme may be left out), the JSON file that it wrote
    (``dask scheduler --scheduler-file``), or ``local``: a temporary cluster of this host's devices.
    `jobs`, `choice`: worker processes and devices of a local cluster. `compile_only`: as for `select`.
    """
    silence()
    own: Sequence[DeviceInfo] = ()
    with ExitStack() as stack:
        if address == LOCAL:
            own = () if choice is None else multi_device.choose(choice, compile_only=compile_only)
            address = stack.enter_context(local_scheduler(own or multi_device.choose(multi_device.ALL), jobs))
        else:
            address = scheduler_address(address)
        try:
            client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise NoDevice(no_scheduler(address, error)) from error
        with client:
            yield Cluster(client, address, own)


def scheduler_address(given: str) -> str:
    """Return a scheduler's address, read from the scheduler's file where that is given."""
    if given.endswith(".json") or Path(given).is_file():
        try:
            return msgspec.json.decode(read_bytes(given), type=_SchedulerFile).address
        except (OSError, ValueError, RecursionError) as error:
            raise InvalidInput(
                f"{given} is not a file of a Dask scheduler (`dask scheduler --scheduler-file {given}`): "
                f"{error}"
            ) from error
    address = given if "://" in given else f"tcp://{given}"
    if not address.rpartition(":")[2].isdecimal():
        raise InvalidInput(
            f"{given!r} is not a scheduler's address, which has a port (tcp://host:8786): give an address, "
            "the scheduler's file (.json), or local"
        )
    return address
