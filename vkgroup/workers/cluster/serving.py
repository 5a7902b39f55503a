"""Starting Dask workers, one for each device of this host, and reading the capabilities they announce."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from distributed import Nanny, Security
from distributed.comm.addressing import get_address_host
from distributed.comm.core import connect
from distributed.utils import get_ip

from vkgroup.base.errors import NoDevice
from vkgroup.device import DeviceInfo
from vkgroup.workers.cluster.member import ClusterMember
from vkgroup.workers.cluster.offer import KEY, Offer, build, silence
from vkgroup.workers.describe import describe
from vkgroup.workers.pool import default_jobs
from vkgroup.workers.scheduler import model_of

CONNECT_SECONDS = 10.0
"""Seconds that a scheduler may take to answer."""

LEAVE_SECONDS = 2.0
"""Seconds in which a scheduler that is alive answers, after which one that ended its workers is gone."""


def members(devices: Sequence[DeviceInfo], jobs: int | None = None) -> list[ClusterMember]:
    """Return the members that announce devices, each with its part of the jobs."""
    each = max(1, (jobs or default_jobs(len(devices))) // len(devices))
    known = {device: describe(device) for device in dict.fromkeys(devices)}
    made = []
    for device in devices:
        capabilities = known[device]
        offer = Offer(device, model_of(capabilities), each, socket.gethostname(), build())
        made.append(ClusterMember(offer, capabilities))
    return made


def options(member: ClusterMember) -> dict[str, Any]:
    """Return the arguments of the Dask worker, or of its nanny, for a member."""
    return {
        "nthreads": member.offer.jobs,
        "resources": {member.offer.resource: member.offer.jobs},
        "plugins": (member,),
        "startup_information": {KEY: partial(_announce, member.offer.to_json())},
        "memory_limit": 0,  # the memory of worker processes, which Dask does not see
        "dashboard": False,
        "dashboard_address": "127.0.0.1:0",  # Dask serves HTTP also without a dashboard
        "silence_logs": logging.ERROR,
    }


def _announce(offer: dict[str, Any], worker: object) -> dict[str, Any]:
    """Return an offer; Dask calls this for the data that the scheduler has of a worker."""
    return offer


async def serve(address: str, served: Sequence[ClusterMember], started: Callable[[], object]) -> None:
    """Serve a cluster until its scheduler ends or this process is asked to (SIGINT, SIGTERM).

    A worker that dies is started again.
    """
    silence()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await reach(address)
    own = interface(address)
    nannies = [Nanny(address, host=own, **options(member)) for member in served]
    try:
        try:
            await asyncio.gather(*nannies)
        except (OSError, RuntimeError) as error:
            raise NoDevice(
                f"A worker for the scheduler at {address} did not start: {_cause(error)}"
            ) from error
        started()
        await _until_the_end(address, dict(zip(nannies, served, strict=True)), stop)
    finally:
        for nanny in nannies:
            with suppress(OSError, asyncio.TimeoutError):
                await nanny.close(timeout=5)


def interface(address: str) -> str | None:
    """Return the address of this host at which a scheduler reaches it; a worker listens there only.

    Without it, Dask listens at all addresses. None for protocols that are not TCP.
    """
    if not address.startswith(("tcp://", "tls://")):
        return None
    return str(get_ip(get_address_host(address)))


async def _until_the_end(address: str, nannies: dict[Nanny, ClusterMember], stop: asyncio.Event) -> None:
    """Wait until the scheduler ends, all workers end, or this process receives a signal."""
    ended = {asyncio.ensure_future(nanny.finished()): member for nanny, member in nannies.items()}
    asked = asyncio.ensure_future(stop.wait())
    lost: list[str] = []
    while ended and not asked.done():
        await asyncio.wait([*ended, asked], return_when=asyncio.FIRST_COMPLETED)
        gone = [ended.pop(task).offer.device.name for task in list(ended) if task.done()]
        await asyncio.wait([asked], timeout=LEAVE_SECONDS)
        if asked.done() or not await _is_there(address):
            break
        lost += gone
        print(
            f"The worker for {', '.join(gone)} has ended; {len(ended)} more of this host are running.",
            file=sys.stderr,
            flush=True,
        )
    if lost and not asked.done():
        raise NoDevice(f"The worker for {', '.join(lost)} ended before the scheduler at {address} did.")
    asked.cancel()


async def _is_there(address: str) -> bool:
    """Return whether a scheduler answers within `LEAVE_SECONDS`."""
    try:
        await reach(address, LEAVE_SECONDS)
    except NoDevice:
        return False
    return True


def _cause(error: BaseException) -> BaseException:
    """Return the root cause of an error of Dask: the outer errors only say that something failed."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


async def reach(address: str, seconds: float | None = None) -> None:
    """Raise `NoDevice` if no Dask scheduler answers at an address."""
    try:
        secrets = Security().get_connection_args("worker")
        comm = await connect(address, timeout=CONNECT_SECONDS if seconds is None else seconds, **secrets)
    except (OSError, ValueError) as error:
        raise NoDevice(no_scheduler(address, error)) from error
    await comm.close()


def no_scheduler(address: str, error: BaseException) -> str:
    """Return the message that no scheduler answers, and how to start one."""
    return (
        f"No Dask scheduler answers at {address} ({error}). Start one with `dask scheduler`, "
        "and give the address that it prints."
    )
