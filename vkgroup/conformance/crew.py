"""Who judges a run: the workers of one device, or of several that are the same model."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from queue import Queue
from typing import Protocol

from vkgroup.conformance.messages import Setup
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.pool import Pool
from vkgroup.conformance.results import Result, TakeResults
from vkgroup.conformance.supply import Supply
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.errors import InvalidInput, VkgroupError
from vkgroup.opening import open_device


class Crew(Protocol):
    """Whoever judges the batches of a run, on devices that are one model."""

    @property
    def capabilities(self) -> Capabilities:
        """What every one of the devices can do."""

    @property
    def devices(self) -> Sequence[str]:
        """The devices, as ``--device`` takes them."""

    @property
    def jobs(self) -> int:
        """Worker processes, of all devices together."""

    def judge(
        self,
        setup: Setup,
        batches: Iterable[Batch],
        on_results: TakeResults,
        *,
        deadline: float = math.inf,
        at_once: bool = False,
    ) -> None:
        """Judge all batches; `on_results` is called in this thread as results come.

        Parameters
        ----------
        setup : its device is one of the devices, and stands for all.
        deadline : the `time.monotonic` from which on no batch is begun.
        at_once : workers may be started before `batches` is iterated, which takes time.
        """


def model_of(capabilities: Capabilities) -> str:
    """Return a name that two devices share if the suite may take one for the other.

    It stands for the device's name and kind, its driver, and everything by which cases are chosen and
    judged. What tells two boards of a kind apart (UUID, memory) is left out.
    """
    same = (
        capabilities.name,
        capabilities.type,
        capabilities.driver_name,
        capabilities.driver_info,
        capabilities.api_version,
        capabilities.subgroup,
        capabilities.size_control,
        sorted(capabilities.features),
        sorted(capabilities.extensions.items()),
        sorted((name, str(value)) for name, value in capabilities.limits.items()),
        capabilities.cooperative_matrices,
    )
    return sha256(repr(same).encode()).hexdigest()[:12]


def read_capabilities(device: DeviceInfo) -> Capabilities:
    """Read a device's capabilities; it is closed again, for workers open it themselves."""
    with open_device(device) as opened:
        return opened.capabilities


@dataclass(frozen=True)
class Together:
    """Devices of this host that share one run: each takes a batch when it is done with its last.

    Each has worker processes of its own. What may hang a GPU is judged last by one worker of each, and what a
    death makes doubtful is judged again on the device that it happened on.

    Attributes
    ----------
    members : the devices; the same may be named twice, and has twice as many workers then.
    each : worker processes of each device.
    capabilities : those of the first.
    """

    members: tuple[DeviceInfo, ...]
    each: int
    capabilities: Capabilities

    @classmethod
    def of(cls, members: Sequence[DeviceInfo], each: int) -> Together:
        """Bring devices together.

        Raises
        ------
        InvalidInput
            They are not one model with one driver, so that one result could not stand for all.
        NoDevice, DriverError
            One cannot be opened.
        """
        read = [read_capabilities(device) for device in dict.fromkeys(members)]
        if len({model_of(capabilities) for capabilities in read}) > 1:
            names = ", ".join(f"{one.name} ({one.driver_name} {one.driver_info})" for one in read)
            raise InvalidInput(f"devices that differ cannot share a run: {names}; judge each in its own")
        return cls(tuple(members), each, read[0])

    @property
    def devices(self) -> Sequence[str]:
        """The devices, as ``--device`` takes them."""
        return [device.choice for device in self.members]

    @property
    def jobs(self) -> int:
        """Worker processes, of all devices together."""
        return self.each * len(self.members)

    def judge(
        self,
        setup: Setup,
        batches: Iterable[Batch],
        on_results: TakeResults,
        *,
        deadline: float = math.inf,
        at_once: bool = False,
    ) -> None:
        """Judge all batches, on whichever device is free; see `Crew`.

        Raises
        ------
        NoDevice
            No worker starts on one of the devices. What the others had judged is passed on before.
        """
        supply = Supply(None if at_once else batches)
        arrived: Queue[list[Result] | BaseException | None] = Queue()
        # What is judged alone is so on its device: one that is named twice has one pool.
        pools = {
            device: Pool(replace(setup, device=device), self.each * count, deadline=deadline)
            for device, count in Counter(self.members).items()
        }
        working = len(pools)
        problem: BaseException | None = None
        try:
            for device, pool in pools.items():
                task = (pool, device.choice if len(self.members) > 1 else "", supply, arrived, at_once)
                threading.Thread(target=_judge_on_one, args=task, daemon=True).start()
            if at_once:
                supply.fill(batches)
            while working:
                item = arrived.get()
                if item is None:
                    working -= 1
                elif isinstance(item, BaseException):
                    problem = problem or item
                else:
                    on_results(item)
                if problem is not None and not isinstance(problem, VkgroupError):
                    break
        finally:
            for pool in pools.values():
                pool.stop()
        if problem is not None:
            raise problem


def _judge_on_one(
    pool: Pool,
    device: str,
    supply: Supply,
    arrived: Queue[list[Result] | BaseException | None],
    at_once: bool,
) -> None:
    """Let one device's pool take from the supply until it is empty."""
    try:
        pool.share(
            supply,
            lambda results: arrived.put([replace(result, device=device) for result in results]),
            at_once=at_once,
        )
    except BaseException as error:
        arrived.put(error)
    finally:
        arrived.put(None)
