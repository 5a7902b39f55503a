"""Finding a cluster and the devices of its workers."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from vkgroup.cluster.offer import KEY, Offer, build, need_distributed, silence
from vkgroup.conformance import several
from vkgroup.conformance.several import ALL, Target, unique_slugs
from vkgroup.device import DeviceInfo, discovery
from vkgroup.errors import InvalidInput, NoDevice

LOCAL = "local"
"""The address of a cluster that is made for the run, of this host's devices."""

WAIT_SECONDS = 5.0
"""Seconds that workers have to announce themselves, where none has yet."""


class Cluster:
    """A cluster that is connected.

    Parameters
    ----------
    client : Dask's.
    address : the scheduler's.
    own : where the cluster was made for a choice of this host's devices, what that stands for: indices and
        files mean something here, and nothing in the cluster.
    """

    def __init__(self, client: Any, address: str, own: Sequence[DeviceInfo] = ()) -> None:
        self.client = client
        self.address = address
        self._own = tuple(own)

    def workers(self) -> dict[str, tuple[Offer, int]]:
        """Return each worker's offer and how many batches it takes at once, by its address.

        Raises
        ------
        OSError
            The scheduler does not answer.
        """
        found = {}
        for address, worker in self.client.scheduler_info(n_workers=-1)["workers"].items():
            try:
                offer = Offer.from_json(worker[KEY])
            except (KeyError, TypeError):
                continue
            found[address] = (offer, int(worker["resources"].get(offer.resource, 0)))
        return found

    def targets(self, choice: str | None) -> list[Target]:
        """Return the runs for a choice of devices: one for each model.

        Parameters
        ----------
        choice : ``all``, parts of names with commas between them, or what `vkgroup.open` takes but for files;
            None takes the best device. A cluster made for a choice judges on what that stands for.

        Raises
        ------
        NoDevice
            No worker has such a device.
        InvalidInput
            Workers that have it run another vkgroup.
        """
        from vkgroup.cluster.crew import ClusterCrew

        workers = self._announced()
        chosen: dict[str, Offer] = {}
        for device in self._own or self._choose(workers, choice):
            offers = [offer for offer, _ in workers.values() if _same(offer.device, device)]
            self._check_builds(workers, offers)
            for offer in offers:
                chosen.setdefault(offer.model, offer)
        folders = unique_slugs([offer.device.name for offer in chosen.values()])
        made = []
        for offer, folder in zip(chosen.values(), folders, strict=True):
            crew = ClusterCrew(self, offer)
            count = len(crew.devices)
            name = offer.device.name if count == 1 else f"{count} × {offer.device.name}"
            made.append(Target(name, folder, offer.device, crew))
        return made

    def _announced(self) -> dict[str, tuple[Offer, int]]:
        """Return the workers, waiting a little for the first."""
        until = time.monotonic() + WAIT_SECONDS
        while not (found := self.workers()) and time.monotonic() < until:
            time.sleep(0.2)
        if not found:
            others = len(self.client.scheduler_info(n_workers=-1)["workers"])
            raise NoDevice(
                f"No worker of the cluster at {self.address} has announced a device ({others} without): "
                f"start some, on the hosts that have devices, with `vkgroup worker {self.address}`."
            )
        return found

    def _choose(self, workers: dict[str, tuple[Offer, int]], choice: str | None) -> list[DeviceInfo]:
        """Return one device of each kind that a choice stands for."""
        devices = tuple(dict.fromkeys(offer.device for offer, _ in workers.values()))
        if choice is not None and choice.strip().lower() == ALL:
            gpus = [device for device in devices if device.is_gpu]
            return gpus or [device for device in devices if not device.is_reference] or list(devices)
        report = discovery.IcdReport("", "", "", "ok", "", devices)
        everything = discovery.Discovery(self.address, (report,))
        try:
            return [discovery.choose(everything, choice)]
        except NoDevice:
            parts = [part.strip() for part in (choice or "").split(",") if part.strip()]
            if len(parts) > 1:
                return [device for part in parts for device in self._choose(workers, part)]
            raise NoDevice(
                f"No worker of the cluster at {self.address} has a device that fits {choice!r}. There are:\n"
                + "\n".join(_lines(workers))
            ) from None

    def _check_builds(self, workers: dict[str, tuple[Offer, int]], offers: list[Offer]) -> None:
        """Refuse workers whose results would be those of another suite."""
        if all(offer.build == build() for offer in offers):
            return
        lines = [
            f"  {offer.build} on {offer.host} ({address})"
            for address, (offer, _) in sorted(workers.items())
            if offer in offers and offer.build != build()
        ]
        raise InvalidInput(
            f"Workers run another vkgroup than this one, which is {build()}:\n"
            + "\n".join(lines)
            + "\nInstall the same everywhere, and start those workers again."
        )


def _same(one: DeviceInfo, other: DeviceInfo) -> bool:
    """Whether two devices go by the same name and driver."""
    return (one.name, one.driver_name, one.driver_info) == (other.name, other.driver_name, other.driver_info)


def _lines(workers: dict[str, tuple[Offer, int]]) -> list[str]:
    return [
        f"  {offer.device.name} ({offer.device.driver_name}) on {offer.host}, {count} at once ({address})"
        for address, (offer, count) in sorted(workers.items())
    ]


@contextmanager
def connected(address: str, jobs: int | None = None, choice: str | None = None) -> Iterator[Cluster]:
    """Connect to a cluster.

    Parameters
    ----------
    address : the scheduler's (``tcp://host:8786``; the scheme may be left out), the JSON file that it wrote
        (``dask scheduler --scheduler-file``), or ``local``: a cluster of this host's devices, as long as the
        run.
    jobs, choice : worker processes and devices of a local cluster, as ``vkgroup conform`` takes them.

    Raises
    ------
    NoDevice
        No scheduler answers there.
    InvalidInput
        What is given is no address and no scheduler's file.
    Unsupported
        Dask is not installed.
    """
    need_distributed()
    import distributed

    silence()
    own: Sequence[DeviceInfo] = ()
    with ExitStack() as stack:
        if address == LOCAL:
            from vkgroup.cluster.local import local_scheduler

            own = () if choice is None else several.choose(choice)
            address = stack.enter_context(local_scheduler(own or several.choose(ALL), jobs))
        else:
            address = scheduler_address(address)
        from vkgroup.cluster.serving import CONNECT_SECONDS, no_scheduler

        try:
            client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise NoDevice(no_scheduler(address, error)) from error
        with client:
            yield Cluster(client, address, own)


def scheduler_address(given: str) -> str:
    """Return a scheduler's address, read from the scheduler's file where that is given.

    Raises
    ------
    InvalidInput
        The file is no scheduler's, or the address has no port.
    """
    if given.endswith(".json") or Path(given).is_file():
        try:
            address = json.loads(Path(given).read_text())["address"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InvalidInput(
                f"{given} is no file of a Dask scheduler (`dask scheduler --scheduler-file {given}`): {error}"
            ) from error
        return str(address)
    address = given if "://" in given else f"tcp://{given}"
    if not address.rpartition(":")[2].isdecimal():
        raise InvalidInput(
            f"{given!r} is no scheduler's address, which has a port (tcp://host:8786): give that, the "
            "scheduler's file (.json), or local"
        )
    return address
