"""Work that was submitted to a device and may not have finished."""

from __future__ import annotations

from vkgroup.device.base import DeviceBase


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
