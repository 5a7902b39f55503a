"""Python code in a process of a compile-only device, with the driver's own C library."""

from __future__ import annotations

import subprocess
import sys

from vkgroup.device.fetched import driver_of
from vkgroup.device.launch import launch


def run_code(device: str, code: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code and return the process with its output; `variables` are of the environment.

    Raises subprocess.CalledProcessError if the code fails.
    """
    command, environment = launch(*driver_of(device), "unused")
    words = [*command[: command.index(sys.executable) + 1], "-c", code, *arguments]
    return subprocess.run(
        words, env={**environment, **variables}, capture_output=True, text=True, check=True, timeout=60.0
    )
