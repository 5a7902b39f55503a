"""``vkgroup worker``: make this host's devices available to a cluster."""

from __future__ import annotations

import argparse
import asyncio
import sys

from vkgroup.workers import multi_device
from vkgroup.workers.cluster.offer import need_distributed


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; returns its exit code."""
    need_distributed()
    # Dask is an optional dependency.
    from vkgroup.workers.cluster.connecting import scheduler_address
    from vkgroup.workers.cluster.serving import members, reach, serve

    address = scheduler_address(arguments.address)
    asyncio.run(reach(address))
    served = members(multi_device.choose(arguments.device), arguments.jobs)

    if address.startswith("tcp://"):
        print(
            f"vkgroup: {address} has no TLS: whoever can connect to it can execute code as you "
            "(docs/start/devices.md, Security)",
            file=sys.stderr,
        )

    def started() -> None:
        for member in served:
            offer = member.offer
            jobs = "1 batch" if offer.jobs == 1 else f"{offer.jobs} batches"
            print(f"{offer.device.name} ({offer.device.driver_name}) takes {jobs} at once from {address}")
        sys.stdout.flush()

    asyncio.run(serve(address, served, started))
    return 0
