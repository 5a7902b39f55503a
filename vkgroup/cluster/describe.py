"""A process of its own that reads a device's capabilities: a driver that crashes takes no worker along."""

from __future__ import annotations

import subprocess
from io import BytesIO
from typing import IO

from vkgroup import processes
from vkgroup.conformance.crew import read_capabilities
from vkgroup.conformance.messages import Failure, receive, send, serve_and_leave
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.errors import NoDevice, VkgroupError

SECONDS = 60.0
"""Seconds that a driver may take."""


def describe(device: DeviceInfo) -> Capabilities:
    """Return a device's capabilities, read in another process.

    Raises
    ------
    NoDevice
        The device cannot be opened, or its driver crashes or hangs.
    """
    request = BytesIO()
    send(request, device)
    try:
        done = subprocess.run(
            processes.command("vkgroup.cluster.describe"),
            input=request.getvalue(),
            capture_output=True,
            timeout=SECONDS,
            env=processes.environment(),
        )
        answer = receive(BytesIO(done.stdout))
    except subprocess.TimeoutExpired:
        answer = Failure("open", f"the driver did not answer within {SECONDS:g} s")
    except EOFError:
        answer = Failure("open", f"the driver ended the process with exit code {done.returncode}")
    if isinstance(answer, Failure):
        raise NoDevice(f"{device.name} ({device.manifest}) cannot be opened: {answer.message}")
    assert isinstance(answer, Capabilities)
    return answer


def _serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    device: DeviceInfo = receive(requests)
    try:
        send(answers, read_capabilities(device))
    except VkgroupError as error:
        send(answers, Failure("open", str(error)))


if __name__ == "__main__":
    serve_and_leave(_serve)
