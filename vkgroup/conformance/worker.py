"""A worker process: opens one device, judges batches that arrive on its standard input.

Messages are pickled, each behind its length (8 bytes, little endian). First comes a `Setup`; then lists of
cases, each answered by a list of results or by a `Failure`, after which the worker ends. What the driver
prints on standard output goes to standard error instead, where it cannot spoil the answers.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from dataclasses import dataclass
from typing import Any, BinaryIO

from vkgroup.conformance.execute import Executor, Transform
from vkgroup.errors import DeviceLost, DispatchTimeout, VkgroupError

_LENGTH = struct.Struct("<Q")


@dataclass(frozen=True)
class Setup:
    """What a worker needs to know before the first batch."""

    device: Any
    seed: int
    timeout: float
    transform: Transform | None = None


@dataclass(frozen=True)
class Failure:
    """A batch without results: the device was lost or timed out, or could not be opened."""

    kind: str
    message: str


def send(stream: BinaryIO, message: object) -> None:
    """Write one message."""
    data = pickle.dumps(message)
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """Read one message; EOFError at the end of the stream or in the middle of a message."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    data = stream.read(_LENGTH.unpack(head)[0])
    if len(data) < _LENGTH.unpack(head)[0]:
        raise EOFError
    return pickle.loads(data)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer batches until the requests end."""
    from vkgroup.dispatch import open_device

    setup: Setup = receive(requests)
    try:
        device = open_device(setup.device)
    except VkgroupError as error:
        send(answers, Failure("open", str(error)))
        return
    executor = Executor(device, seed=setup.seed, timeout=setup.timeout, transform=setup.transform)
    send(answers, "ready")
    while True:
        try:
            cases = receive(requests)
        except EOFError:
            executor.close()
            device.close()
            return
        try:
            send(answers, executor.run(cases))
        except DispatchTimeout as error:
            send(answers, Failure("timeout", str(error)))
            return
        except DeviceLost as error:
            send(answers, Failure("lost", str(error)))
            return


def main() -> None:
    """Serve on the process's own standard streams; leave without clean-up, which a lost device could hang."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)
    answers.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
