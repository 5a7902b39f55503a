"""``vkgroup drivers``: list, download and locate the software drivers in the user's cache."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from vkgroup import drivers
from vkgroup.base.errors import DriverFetchError, InvalidInput
from vkgroup.cli.output import megabytes, people, table, write_json
from vkgroup.cli.progress import show_fetch


def execute(arguments: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if arguments.action == "list":
        return _list(arguments.json)
    if arguments.action == "path":
        print(drivers.path(arguments.name).icd)
        return 0
    for name in arguments.names:
        drivers.parse_name(name)  # a wrong name is reported before anything is downloaded
    found: Iterator[drivers.CachedDriver]
    if arguments.offline is not None:
        found = (drivers.unpack(name, arguments.offline / "drivers") for name in arguments.names)
    else:
        found = drivers.fetch_all(arguments.names, show_fetch)
    for driver in _naming_the_cache(found):
        print(f"{driver.name} ({megabytes(driver.size)}): {driver.icd}")
    return 0


def _naming_the_cache(found: Iterator[drivers.CachedDriver]) -> Iterator[drivers.CachedDriver]:
    """Yield drivers; name the cache in an error that names no file, as that of a full disk does."""
    try:
        yield from found
    except OSError as error:
        if error.filename is not None:
            raise
        raise InvalidInput(
            f"the cache {drivers.drivers_folder()} cannot be written: {error.strerror or error}. Free space"
            " there, or set VKGROUP_CACHE to another folder."
        ) from error


def _list(json_file: str | None) -> int:
    try:
        statuses = drivers.list_drivers(show_fetch)
    except DriverFetchError as error:
        print(f"vkgroup: the drivers of the distribution cannot be listed. {error}", file=sys.stderr)
        statuses = [
            drivers.DriverStatus(d.name, d.family, d.version, d, None, "") for d in drivers.installed()
        ]
    rows = [["driver", "in the cache", "package", "from"]]
    for status in statuses:
        cached = megabytes(status.driver.size) if status.driver else "-"
        download = megabytes(status.download_size) if status.download_size is not None else "-"
        rows.append([status.name, cached, download, status.suite or "-"])
    stream = people(json_file)
    table(rows, stream)
    print("A fetch also downloads libraries that the package needs, up to 45 MB.", file=stream)
    print(f"The cache is {drivers.drivers_folder()}", file=stream)
    write_json([_data(status) for status in statuses], json_file)
    return 0


def _data(status: drivers.DriverStatus) -> dict[str, object]:
    driver = status.driver
    return {
        **{name: getattr(status, name) for name in ("name", "family", "version")},
        "icd": str(driver.icd) if driver else None,
        "size": driver.size if driver else None,
        "package": driver.package if driver else None,
        "download_size": status.download_size,
        "suite": status.suite or None,
    }
