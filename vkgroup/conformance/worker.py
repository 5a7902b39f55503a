"""A worker process: opens one device, judges batches that arrive on its standard input.

First comes a `Setup`; then batches, each answered by a list of results or by a `Failure`, after which
the worker ends. What the driver prints on standard output goes to standard error instead, where it cannot
spoil the answers.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from queue import Queue
from typing import IO, Any

from vkgroup.conformance.execute import Executor
from vkgroup.conformance.judge_batch import judge_batch
from vkgroup.conformance.messages import CLOSE_SECONDS, Failure, Setup, receive, send, serve_and_leave
from vkgroup.conformance.results import Result
from vkgroup.errors import DeviceLost, DispatchTimeout, VkgroupError
from vkgroup.opening import open_device

OURS = (
    "vkgroup's own code failed while it judged: either the device gave what cannot be, or it is a mistake of "
    "vkgroup, which its developers should hear of\n"
)

Judge = Callable[[Executor, Any], list[Result]]
"""Judges the cases of a batch, in their order."""


class Requests:
    """Reads requests ahead in a thread, to notice when nobody is left to answer.

    Whatever ends the run, its workers must not stay behind: not even one that is deep in a driver.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._queue: Queue[Any] = Queue()
        self._idle = threading.Event()
        self._idle.set()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                request = receive(self._stream)
            except EOFError:
                if not self._idle.is_set():
                    os._exit(0)
                _leave_in_time()
                self._queue.put(None)
                return
            self._idle.clear()
            self._queue.put(request)

    def next(self) -> Any:
        """Return the next request, None at the end of them."""
        return self._queue.get()

    def answered(self) -> None:
        """Say that the last request has its answer."""
        self._idle.set()


def _leave_in_time() -> None:
    """See to it that the process ends, though a driver hang while its device is closed."""
    timer = threading.Timer(CLOSE_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()


def serve(requests: IO[bytes], answers: IO[bytes], judge: Judge = judge_batch) -> None:
    """Answer batches, each judged by `judge`, until the requests end."""
    queue = Requests(requests)
    setup: Setup = queue.next()
    try:
        device = open_device(setup.device, robust=False)
    except VkgroupError as error:
        send(answers, Failure("open", str(error)))
        return
    executor = Executor(device, seed=setup.seed, timeout=setup.timeout, transform=setup.transform)
    queue.answered()
    send(answers, "ready")
    while (batch := queue.next()) is not None:
        try:
            results = judge(executor, batch)
            queue.answered()
            send(answers, results)
        except DispatchTimeout as error:
            send(answers, Failure("timeout", str(error)))
            return
        except DeviceLost as error:
            send(answers, Failure("lost", str(error)))
            return
        except Exception:
            send(answers, Failure("internal", OURS + traceback.format_exc()))
            return
    executor.close()
    device.close()


if __name__ == "__main__":
    serve_and_leave(serve)
