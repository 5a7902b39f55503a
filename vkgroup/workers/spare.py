"""Worker processes without a setup: they start and import modules while the run is prepared."""

from __future__ import annotations

import subprocess
import tempfile
from typing import IO

from vkgroup.device import DeviceInfo
from vkgroup.device.launch import launch_of

PROGRAM = "vkgroup.workers.worker"
"""The module that every worker process runs; its arguments are modules to import."""

Started = tuple["subprocess.Popen[bytes]", IO[bytes]]
"""A process, and the file that has its standard error."""

_spares: list[Started] = []


def spawn(*modules: str, device: DeviceInfo | None = None) -> Started:
    """Start a process that imports modules, then reads its setup. OSError: the system starts none.

    `device`: the one that the process will open, if its driver needs a process of its own kind.
    """
    command, environment = launch_of(device, PROGRAM, *modules)
    log = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        # Ctrl-C in a terminal must reach the run alone, which then ends its workers.
        start_new_session=True,
    )
    return process, log


def keep(*modules: str) -> None:
    """Start a process for the next worker. Without effect if the system starts none."""
    try:
        _spares.append(spawn(*modules))
    except OSError:
        return


def take() -> Started | None:
    """Return a process that was started ahead and still runs; None if there is none."""
    while _spares:
        process, log = _spares.pop()
        if process.poll() is None:
            return process, log
    return None


def end() -> None:
    """End the processes that no worker used."""
    while (spare := take()) is not None:
        spare[0].kill()
        spare[0].wait()
