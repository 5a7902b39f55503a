"""The worker program: opens one device and performs the jobs that arrive on standard input.

Its arguments are modules to import before that. The first message is a `WorkerSetup`, which opens the device
and says how jobs are performed. Each further message is a job; the worker answers it with its result or with
a `Failure`, after which the worker ends.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import traceback
from importlib import import_module
from queue import Queue
from typing import IO, Any

from vkgroup.base.errors import (
    DeviceLost,
    DispatchTimeout,
    InternalError,
    NoDevice,
    VkgroupError,
    describe,
)
from vkgroup.base.processes import INTERNAL_ERROR, receive, send, serve_and_leave
from vkgroup.workers.messages import CLOSE_SECONDS, READY, Failure, WorkerSetup


def internal_failure(error: Exception) -> Failure:
    """Return the answer for an error of vkgroup, with its traceback."""
    return Failure("internal", f"{describe(error)}\n{''.join(traceback.format_exception(error))}")


class Requests:
    """Reads requests ahead in a thread, to notice when the run has ended.

    A worker must not outlive its run, even while it is inside a driver call.
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
                _exit_after_grace_period()
                self._queue.put(None)
                return
            except Exception:
                # An object whose class this process cannot import. Without its end, the run would wait.
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(INTERNAL_ERROR)
            self._idle.clear()
            self._queue.put(request)

    def next(self) -> Any:
        """Return the next request, None at the end."""
        return self._queue.get()

    def answered(self) -> None:
        """Note that the last request has its answer."""
        self._idle.set()


def _exit_after_grace_period() -> None:
    """End the process after `CLOSE_SECONDS`, even if a driver hangs while its device is closed."""
    timer = threading.Timer(CLOSE_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer jobs until the requests end or the device is unusable."""
    queue = Requests(requests)
    setup: WorkerSetup | None = queue.next()
    if setup is None:
        return
    try:
        session = setup.open()
    except InternalError as error:
        send(answers, Failure("internal", str(error)))
        return
    except VkgroupError as error:
        send(answers, Failure("open", str(error)))
        return
    except Exception as error:
        send(answers, internal_failure(error))
        return
    # A run asks with this signal where a worker is whose time is over; see `worker_process`.
    faulthandler.register(signal.SIGUSR1)
    queue.answered()
    send(answers, READY)
    while (job := queue.next()) is not None:
        try:
            answer = session.perform(job)
            queue.answered()
            send(answers, answer)
        except DispatchTimeout as error:
            send(answers, Failure("timeout", str(error)))
            return
        except DeviceLost as error:
            send(answers, Failure("lost", str(error)))
            return
        except NoDevice as error:
            send(answers, Failure("idle", str(error)))
            return
        except Exception as error:
            send(answers, internal_failure(error))
            return
    session.close()


if __name__ == "__main__":
    for module in sys.argv[1:]:
        import_module(module)
    serve_and_leave(serve)
