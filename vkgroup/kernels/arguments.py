"""Arguments of kernels: arrays or buffers in, the same out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.dispatch import Buffer, Device
from vkgroup.dispatch.foreign import as_host, on_cuda
from vkgroup.errors import InvalidDispatch, Unsupported
from vkgroup.kernels.plan import Plan
from vkgroup.opening import open_device

Given = npt.ArrayLike | Buffer
Result = npt.NDArray[Any] | Buffer

_default: list[Device] = []


def default_device() -> Device:
    """Return the device that kernels run on unless told otherwise: the best one, opened at the first use."""
    if not _default or _default[0].closed:
        _default[:] = [open_device()]
    return _default[0]


class Arguments:
    """The arrays that a kernel was given: all NumPy's, or all buffers of one device.

    Other libraries' arrays in the host's memory are taken for NumPy's, those in a GPU's for buffers, in place
    where the memory is shared (`Device.from_dlpack`).

    Attributes
    ----------
    given : by name, as arrays or buffers.
    device : where the kernel is to run; only asked for when it is needed, since it may be opened for that.
    buffers : whether buffers were given, and are to be returned.
    """

    def __init__(self, device: Device | None, **given: Any) -> None:
        check_device(device)
        self.given: dict[str, npt.NDArray[Any] | Buffer] = {
            name: _taken(name, value, device) for name, value in given.items()
        }
        found = [value for value in self.given.values() if isinstance(value, Buffer)]
        self.buffers = bool(found)
        if self.buffers and len(found) != len(self.given):
            names = ", ".join(name for name, value in self.given.items() if not isinstance(value, Buffer))
            raise InvalidDispatch(f"Give all arguments as arrays or all as buffers; {names} is an array.")
        self._device = device
        if found:
            self._device = _device_of(found, device)

    @property
    def device(self) -> Device:
        """Where the kernel is to run."""
        if self._device is None:
            self._device = default_device()
        return self._device

    def __getitem__(self, name: str) -> npt.NDArray[Any] | Buffer:
        return self.given[name]

    def run(self, plan: Plan, *results: str, **more: Any) -> tuple[Any, ...]:
        """Run a plan on what was given, and return some of its outputs.

        Parameters
        ----------
        results : names of outputs.
        **more : further inputs, as arrays.

        Returns
        -------
        Arrays, or buffers where buffers were given, with the plan's dtypes and shapes; buffers that CUDA sees
        where it sees one of the given.
        """
        inputs: dict[str, Buffer] = {}
        made: list[Buffer] = []
        kept: dict[str, Buffer] = {}
        try:
            for name, value in (*self.given.items(), *more.items()):
                if isinstance(value, Buffer):
                    inputs[name] = value
                else:
                    _check_fits(plan.device, name, value.nbytes)
                    inputs[name] = plan.device.buffer(np.ascontiguousarray(value))
                    made.append(inputs[name])
            if self.buffers:
                shared = any(isinstance(value, Buffer) and value.shared for value in self.given.values())
                for name in results:
                    array = plan.outputs[name]
                    kept[name] = plan.device.empty(array.shape, array.dtype, shared=shared)
            with plan.record(**inputs, **kept) as work:
                work.run(timeout=None)
                if self.buffers:
                    return tuple(kept[name] for name in results)
                return tuple(work.buffers[name].read() for name in results)
        finally:
            for buffer in made:
                buffer.close()


def _taken(name: str, value: Any, device: Device | None) -> npt.NDArray[Any] | Buffer:
    """Return an argument as an array or a buffer."""
    if isinstance(value, Buffer):
        return value
    if on_cuda(value):
        return (device or default_device()).from_dlpack(value)
    return as_array(value, name)


def as_array(value: Any, name: str) -> npt.NDArray[Any]:
    """Return an argument in the host's memory as an array.

    Raises
    ------
    InvalidDispatch
        It has rows of different lengths, or is another library's array that NumPy cannot take.
    """
    try:
        return np.asarray(as_host(value, name))
    except (ValueError, OverflowError) as error:
        raise InvalidDispatch(f"{name} is no array, and cannot be made one: {error}") from error


def check_device(device: Device | None) -> None:
    """Raise `InvalidDispatch` where `device` is no device."""
    if device is not None and not isinstance(device, Device):
        raise InvalidDispatch(f"device is what vkgroup.open gives, or None; {device!r} was given.")


def _check_fits(device: Device, name: str, nbytes: int) -> None:
    """Raise `Unsupported` before an array is copied that no buffer of the device could hold.

    Its elements need not take that much memory: `numpy.broadcast_to` makes such arrays.
    """
    most = int(device.capabilities.limits["maxStorageBufferRange"])
    if nbytes > most:
        raise Unsupported(
            f"{name} has {nbytes} bytes, and {device.name} binds {most} at most; give parts of it.",
            [f"maxStorageBufferRange of {nbytes} (it is {most})"],
        )


def _device_of(buffers: list[Buffer], device: Device | None) -> Device:
    """Return the one device that all buffers belong to."""
    found = device or Device.of(buffers[0])
    if found is None:
        raise InvalidDispatch("The buffer's device is held by nobody any more; keep what vkgroup.open gave.")
    if not all(found.owns(buffer) for buffer in buffers):
        raise InvalidDispatch("The buffers belong to different devices, or to another than `device`.")
    return found
