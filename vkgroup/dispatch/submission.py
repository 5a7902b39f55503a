"""Work that was submitted to a device and may not have finished."""

from __future__ import annotations

from collections.abc import Callable

from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.results import RunResult


class Submission:
    """Work in flight; methods with ``wait=False`` return it.

    Reading a buffer or an image waits for the work that uses it, and later work sees what earlier work wrote.
    So a submission needs to be waited for only to measure times or to get errors early.
    """

    def __init__(self, device: DeviceBase, number: int) -> None:
        self._device, self._number = device, number

    @property
    def done(self) -> bool:
        """Whether the work has finished. The reference device finishes before it returns."""
        return self._device.finished(self._number)

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the work has finished.

        Parameters
        ----------
        timeout : seconds; None waits without limit.

        Raises
        ------
        DispatchTimeout
            It did not finish in time. It cannot be called back, so the device is lost.
        DeviceLost
            The driver gave the device up; the message names the work that had not finished.
        """
        self._device.wait(self._number, timeout)
        self._device.raise_validation_errors()

    def __repr__(self) -> str:
        return f"<vkgroup Submission {self._number}, {'done' if self.done else 'in flight'}>"


class PendingRun:
    """The result of `Device.submit`, whose work may be in flight."""

    def __init__(self, device: DeviceBase, submission: Submission, finish: Callable[[], RunResult]) -> None:
        self._device, self._submission = device, submission
        self._finish: Callable[[], RunResult] | None = finish
        self._result: RunResult | None = None

    @property
    def done(self) -> bool:
        """Whether the work has finished."""
        return self._submission.done

    def result(self, timeout: float | None = None) -> RunResult:
        """Wait until the work has finished, and return what it wrote; every call returns the same.

        Parameters
        ----------
        timeout : seconds; None waits without limit.

        Raises
        ------
        DispatchTimeout, DeviceLost
            As for `Submission.wait`.
        DriverError
            The device was closed before the first call.
        """
        if self._result is None:
            self._submission.wait(timeout)
            self._device.require_open()
            assert self._finish is not None
            self._result, self._finish = self._finish(), None
        return self._result

    def __repr__(self) -> str:
        return f"<vkgroup PendingRun, {'done' if self.done else 'in flight'}>"
