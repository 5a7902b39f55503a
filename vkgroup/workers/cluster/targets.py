"""The runs for a choice of devices in a cluster: one for each model, on all workers that have it."""

from __future__ import annotations

import time

from vkgroup.base.errors import InvalidInput, NoDevice
from vkgroup.device import DeviceInfo, discovery
from vkgroup.workers.cluster.connecting import Cluster
from vkgroup.workers.cluster.offer import Offer, build
from vkgroup.workers.cluster.scheduler import ClusterScheduler
from vkgroup.workers.multi_device import ALL, DeviceRun, run_names, unique_slugs

WAIT_SECONDS = 5.0
"""Seconds for which a run waits for the first worker to announce a device."""

Workers = dict[str, tuple[Offer, int]]
"""The workers of a cluster; see `Cluster.workers`."""


def targets(cluster: Cluster, choice: str | None) -> list[DeviceRun]:
    """Return the runs for a choice of devices: one for each model.

    `choice`: ``all``, parts of names with commas between them, or what `vkgroup.open` takes except files;
    None takes the best device. A temporary cluster of this host has its devices chosen already.
    """
    workers = _announced(cluster)
    chosen: dict[str, Offer] = {}
    for device in cluster.own or _choose(cluster, workers, choice):
        offers = [offer for offer, _ in workers.values() if _same(offer.device, device)]
        _check_builds(workers, offers)
        for offer in offers:
            chosen.setdefault(offer.model, offer)
    names = run_names([offer.device for offer in chosen.values()])
    made = []
    for offer, one, folder in zip(chosen.values(), names, unique_slugs(names), strict=True):
        scheduler = ClusterScheduler(cluster, offer)
        count = len(scheduler.devices)
        name = one if count == 1 else f"{count} × {one}"
        made.append(DeviceRun(name, folder, offer.device, scheduler))
    return made


def _announced(cluster: Cluster) -> Workers:
    """Return the workers, after waiting up to `WAIT_SECONDS` for the first."""
    until = time.monotonic() + WAIT_SECONDS
    while not (workers := cluster.workers()) and time.monotonic() < until:
        time.sleep(0.2)
    if not workers:
        others = len(cluster.client.scheduler_info(n_workers=-1)["workers"])
        raise NoDevice(
            f"No worker of the cluster at {cluster.address} has announced a device ({others} without): "
            f"start some, on the hosts that have devices, with `vkgroup worker {cluster.address}`."
        )
    return workers


def _choose(cluster: Cluster, workers: Workers, choice: str | None) -> list[DeviceInfo]:
    """Return one device of each kind that a choice includes."""
    devices = tuple(dict.fromkeys(offer.device for offer, _ in workers.values()))
    if choice is not None and choice.strip().lower() == ALL:
        gpus = [device for device in devices if device.is_gpu]
        return gpus or [device for device in devices if not device.is_reference] or list(devices)
    report = discovery.IcdReport("", "", "", "ok", "", devices)
    everything = discovery.Discovery(cluster.address, (report,))
    try:
        return [discovery.choose(everything, choice)]
    except NoDevice:
        parts = [part.strip() for part in (choice or "").split(",") if part.strip()]
        if len(parts) > 1:
            return [device for part in parts for device in _choose(cluster, workers, part)]
        raise NoDevice(
            f"No worker of the cluster at {cluster.address} has a device that fits {choice!r}. There are:\n"
            + "\n".join(_lines(workers))
        ) from None


def _check_builds(workers: Workers, offers: list[Offer]) -> None:
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


def _same(device: DeviceInfo, other: DeviceInfo) -> bool:
    """Return whether two devices have the same name and driver."""
    return (device.name, device.driver_name, device.driver_info) == (
        other.name,
        other.driver_name,
        other.driver_info,
    )


def _lines(workers: Workers) -> list[str]:
    """Return a line for each worker."""
    return [
        f"  {offer.device.name} ({offer.device.driver_name}) on {offer.host}, {count} at once ({address})"
        for address, (offer, count) in sorted(workers.items())
    ]
