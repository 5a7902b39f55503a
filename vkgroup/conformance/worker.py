"""A worker process: opens one device, judges batches that arrive on its standard input.

First comes a `Setup`; then lists of cases, each answered by a list of results or by a `Failure`, after which
the worker ends. What the driver prints on standard output goes to standard error instead, where it cannot
spoil the answers.
"""

from __future__ import annotations

import os
import sys
from typing import IO

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.messages import Failure, Setup, receive, send
from vkgroup.dispatch import open_device
from vkgroup.errors import DeviceLost, DispatchTimeout, VkgroupError


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer batches until the requests end."""
    setup: Setup = receive(requests)
    try:
        device = open_device(setup.device, robust=False)
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
