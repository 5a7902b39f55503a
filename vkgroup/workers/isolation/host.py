"""Base of an isolated device: its worker process, which is started again after a crash or a hang."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pickle import PicklingError
from typing import Any

from vkgroup.base.errors import (
    DeviceLost,
    DispatchTimeout,
    DriverCrash,
    InternalError,
    InvalidDispatch,
    Unsupported,
    describe,
)
from vkgroup.device import DeviceInfo
from vkgroup.device.base import DeviceBase, MemoryStatistics
from vkgroup.dispatch import Device
from vkgroup.workers.isolation.session import OPEN, CallAnswer, CallSession, MethodCall
from vkgroup.workers.messages import Failure
from vkgroup.workers.worker_process import START_SECONDS, WorkerDied, WorkerProcess

GRACE_SECONDS = 0.5
"""Seconds after the time limit of a call until the worker is ended from outside.

The worker itself ends the wait for a dispatch at the time limit. It cannot do so while the driver hangs
elsewhere, for example in its compiler.
"""


KILL_SECONDS = 1.0
"""Seconds to wait for the end of a killed worker; a driver may hold its process in the kernel for longer."""


class IsolatedHost(DeviceBase):
    """The worker process of an isolated device.

    Parameters
    ----------
    info : the device.
    opener, options : function that opens it in the worker, and its options.
    """

    def __init__(self, info: DeviceInfo, opener: Callable[..., Device], options: Mapping[str, Any]) -> None:
        self._setup = CallSession(info, opener, dict(options))
        self._label = f"{info.name} ({info.driver_name} {info.driver_info})"
        self._worker: WorkerProcess | None = None
        self._lock = threading.Lock()
        self._closed = False
        try:
            with self._lock:
                opened, capabilities = self._started()
            super().__init__(opened, capabilities)
        except BaseException:
            self._end()
            raise
        self._holding = True

    @property
    def closed(self) -> bool:
        """Whether the device was closed."""
        return self._closed

    def call(self, call: MethodCall, timeout: float | None, what: str) -> Any:
        """Return the result of a call in the worker.

        Parameters
        ----------
        timeout : seconds; None waits without limit.
        what : words for errors, such as ``"running sum.comp"``.

        Raises
        ------
        DriverCrash
            The worker ended during the call.
        DispatchTimeout
            The call did not end within its time limit. As after a crash, the next call starts a new worker.
        InternalError
            vkgroup or the system ended the worker.
        """
        with self._lock:
            # With the lock: another thread may have closed the device while this one waited for it.
            self.require_open()
            if self._worker is None:
                self._started()
            return self._answer(call, None if timeout is None else timeout + GRACE_SECONDS, what)

    def _started(self) -> tuple[Any, Any]:
        """Start a worker that opens the device; return the device's information and capabilities."""
        try:
            self._worker = WorkerProcess(self._setup, kill_seconds=KILL_SECONDS)
        except (WorkerDied, OSError) as error:
            raise InternalError(f"The process for {self._label} does not start: {error}") from None
        opened: tuple[Any, Any] = self._answer(MethodCall(OPEN), START_SECONDS, "opening the device")
        return opened

    def _answer(self, call: MethodCall, seconds: float | None, what: str) -> Any:
        assert self._worker is not None
        try:
            answer: CallAnswer | Failure = self._worker.ask(call, seconds)
        except WorkerDied as error:
            self._end()
            raise self._ended(error, what) from None
        except PicklingError as error:
            self._end()
            raise InvalidDispatch(
                f"An argument cannot be sent to the process of an isolated device: {error}."
            ) from error
        except Exception as error:
            self._end()
            said = (
                f"{self._label}, while {what}: the answer of its process cannot be read ({describe(error)})."
            )
            raise InternalError(said) from error
        except BaseException:
            self._end()  # its answer would be taken for that of the next call
            raise
        if isinstance(answer, Failure):
            self._end()
            raise self._failed(answer, what)
        if answer.error is None:
            return answer.result
        if isinstance(answer.error, DeviceLost | DispatchTimeout):
            self._end()
        raise answer.error

    def _ended(self, error: WorkerDied, what: str) -> Exception:
        if error.is_internal:
            return InternalError(f"The process of {self._label} ended while {what}: {error}")
        return DriverCrash(
            f"The driver of {self._label} crashed while {what}: {error}. The next call starts a new process."
        )

    def _failed(self, failure: Failure, what: str) -> Exception:
        if failure.is_internal:
            return InternalError(f"{self._label}, while {what}: {failure.message}")
        who, more = "driver", ""
        if self._setup.device.emulated and what.startswith("running"):
            who, more = "emulation", " Give it more time (`timeout`) or less work."
        return DispatchTimeout(
            f"The {who} of {self._label} did not end while {what}: {failure.message}.{more} Its process was"
            " ended; the next call starts a new one."
        )

    def _end(self) -> None:
        """Kill the worker without waiting: a driver may hold its process for seconds."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.signal()
            worker.dismiss()

    def memory_statistics(self) -> MemoryStatistics:
        """Return the numbers of bytes that are in use and cached in the worker."""
        statistics: MemoryStatistics = self.call(MethodCall("memory"), START_SECONDS, "reading its memory")
        return statistics

    def trim(self) -> int:
        """Free cached memory of the worker; returns the number of its bytes."""
        return int(self.call(MethodCall("trim"), START_SECONDS, "freeing memory"))

    def finished(self, number: int) -> bool:
        """Whether a submission has finished: every call waits for its end."""
        return True

    def wait(self, number: int, timeout: float | None) -> None:
        """Return at once, because every call waits for its end."""

    def synchronize(self, timeout: float | None) -> None:
        """Return at once, because every call waits for its end."""

    def close(self) -> None:
        """End the worker; further calls do nothing."""
        self._closed, self._holding = True, False
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()


def refuse(*_: Any, **__: Any) -> Any:
    """Raise Unsupported for objects that exist in the process of the driver only."""
    raise Unsupported(
        "An isolated device has no buffers, images, acceleration structures, pipelines, sequences or"
        " submissions: they exist in the process of the driver only. Give arrays to run, draw or trace, or"
        " open the device without isolated=True."
    )
