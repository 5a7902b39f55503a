"""Arguments of kernels: NumPy arrays or buffers, and results of the same kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Buffer, Device
from vkgroup.dispatch.buffer import checked_array
from vkgroup.dispatch.dlpack import as_host, on_cuda
from vkgroup.kernels.plan import Plan
from vkgroup.workers.opening import open_device

Given = npt.ArrayLike | Buffer
Result = npt.NDArray[Any] | Buffer

_SMALL = 64 << 10
"""Bytes of arrays that the host copies to where the device reads them, without a transfer."""

_default: list[Device] = []


def default_device() -> Device:
    """Return the default device of the kernels: the best one, opened on first use."""
    if not _default or _default[0].closed:
        _default[:] = [open_device()]
    return _default[0]


class KernelArguments:
    """The arguments of a kernel by name: all NumPy arrays, or all buffers of one device.

    Arrays of other libraries become NumPy arrays if they are in host memory, and buffers if they are in GPU
    memory. Shared memory is used in place (`Device.from_dlpack`). Empty buffers become empty arrays. If
    `buffers` is true, the arguments are buffers, and the results are buffers too.
    """

    def __init__(self, device: Device | None, **given: Any) -> None:
        if device is not None:
            check_device(device)
        self.given: dict[str, Result] = given
        buffers = [value for value in given.values() if isinstance(value, Buffer) and value.nbytes]
        if len(buffers) != len(given):
            self.given = {name: _converted(name, value, device) for name, value in given.items()}
            buffers = [value for value in self.given.values() if isinstance(value, Buffer)]
        self.buffers = bool(buffers)
        if self.buffers and len(buffers) != len(self.given):
            arrays = [name for name in given if not isinstance(given[name], Buffer)]
            names = ", ".join(name for name in arrays if not isinstance(self.given[name], Buffer))
            if names:
                raise InvalidDispatch(f"Give all arguments as arrays or all as buffers; {names} is an array.")
        self._device = _device_of(buffers, device) if buffers else device

    @property
    def device(self) -> Device:
        """The device that the kernel will run on; reading this property may open the default device."""
        if self._device is None:
            self._device = default_device()
        return self._device

    def __getitem__(self, name: str) -> Result:
        return self.given[name]

    def run(self, plan: Plan, *results: str, read: str = "", **extra: npt.NDArray[Any]) -> tuple[Result, ...]:
        """Run a plan on the arguments and `extra` input arrays, and return the outputs named in `results`.

        The results are arrays, or buffers if the arguments are buffers: then the work may still be in flight.
        The buffers are shared with CUDA if any argument is. The output `read` is about to be read, so it lies
        in memory that the host can read.
        """
        if self.buffers and not extra:
            return self._run_on_buffers(plan, results, read)
        own: list[Buffer] = []
        given = [*self.given.items(), *extra.items()]
        if not self.buffers and sum(value.nbytes for _, value in given) <= _SMALL:
            return self._run_on_small_arrays(plan, results, extra)
        try:
            buffers: dict[str, Buffer] = {}
            for name, value in given:
                if isinstance(value, Buffer):
                    buffers[name] = value
                else:
                    _check_size(plan, name, value)
                    buffers[name] = plan.device.buffer(np.ascontiguousarray(value))
                    own.append(buffers[name])
            shared = self.buffers and any(buffer.shared for buffer in buffers.values())
            for name, array in plan.outputs.items():
                if name not in buffers:
                    at_host = name == read and not shared
                    buffers[name] = plan.device.empty(array.shape, array.dtype, host=at_host, shared=shared)
                    if not self.buffers or name not in results:
                        own.append(buffers[name])
            plan.launcher.run(buffers)
            outputs = tuple(buffers[name] for name in results)
            return outputs if self.buffers else tuple(output.read() for output in outputs)
        finally:
            # In this order the next call finds the memory again, each for the same array.
            for buffer in reversed(own):
                buffer.close()

    def run_counted(self, plan: Plan, target: str, total: str) -> Buffer:
        """Run a plan on buffers that fills a part of its output `target`, as `Launcher.call_counted`."""
        buffers: dict[str, Buffer] = self.given  # type: ignore[assignment]
        return plan.launcher.call_counted(buffers, target, plan.new_outputs[target], total)

    def _run_on_small_arrays(
        self, plan: Plan, results: tuple[str, ...], extra: dict[str, npt.NDArray[Any]]
    ) -> tuple[Result, ...]:
        inputs: dict[str, npt.NDArray[Any]] = {**self.given, **extra}  # type: ignore[dict-item]
        for name, array in inputs.items():
            if array.dtype.hasobject or not array.dtype.isnative:
                checked_array(array, name)  # raises the error
        return tuple(plan.launcher.run_on_arrays(inputs, plan.new_outputs, results))

    def _run_on_buffers(self, plan: Plan, results: tuple[str, ...], read: str) -> tuple[Buffer, ...]:
        buffers: dict[str, Buffer] = self.given.copy()  # type: ignore[assignment]
        shared = False
        for buffer in self.given.values():
            shared = shared or buffer.shared  # type: ignore[union-attr]
        device, unused = plan.device, None
        for name, array in plan.outputs.items():
            if name not in buffers:
                host = name == read and not shared
                buffers[name] = device.undefined(array.shape, array.dtype, array.nbytes, host, shared)
                if name not in results:
                    unused = buffers[name]
        plan.launcher.run(buffers)
        if unused is not None:
            unused.close()
        if len(results) == 1:
            return (buffers[results[0]],)
        return tuple(buffers[name] for name in results)


def _check_size(plan: Plan, name: str, array: npt.NDArray[Any]) -> None:
    """Raise `Unsupported` if the device cannot bind so large an array.

    This comes before the array is copied: one of `numpy.broadcast_to` may be far larger than its memory.
    """
    most = int(plan.device.capabilities.limits["maxStorageBufferRange"])
    if array.nbytes > most:
        raise Unsupported(
            f"{name} has {array.nbytes} bytes, and {plan.device.name} binds {most} at most; split it into"
            " parts.",
            [f"maxStorageBufferRange of {array.nbytes} (it is {most})"],
        )


def _converted(name: str, value: Any, device: Device | None) -> Result:
    """Return an argument as an array or a buffer with elements."""
    if isinstance(value, Buffer):
        return value if value.nbytes else value.read()
    if on_cuda(value):
        return (device or default_device()).from_dlpack(value)
    return as_array(value, name)


def scalar_of(result: Result) -> Any:
    """Return the only element of a result, and close its buffer."""
    if not isinstance(result, Buffer):
        return result[()]
    with result:
        return result.read()[()]


def as_array(value: Any, name: str) -> npt.NDArray[Any]:
    """Return an argument in the host's memory, or an empty buffer, as an array."""
    if isinstance(value, Buffer) and not value.nbytes:
        return value.read()
    try:
        return np.asarray(as_host(value, name))
    except InvalidDispatch:
        raise
    except (ValueError, OverflowError) as error:
        raise InvalidDispatch(f"{name} is no array, and cannot be converted to one: {error}") from error


def check_device(device: Device | None) -> None:
    """Raise `InvalidDispatch` if `device` is neither None nor a `Device`."""
    if device is not None and not isinstance(device, Device):
        raise InvalidDispatch(f"device must be a result of vkgroup.open, or None; {device!r} was given.")


def _device_of(buffers: list[Buffer], device: Device | None) -> Device:
    """Return the device that all buffers belong to."""
    if len(buffers) == 1 and device is None:
        user = buffers[0].device.user
        owner = user() if user is not None else None
        if owner is not None:
            return owner  # type: ignore[no-any-return]
    owner = device or Device.of(buffers[0])
    if owner is None:
        raise InvalidDispatch(
            "The buffer's device no longer exists; keep a reference to the result of vkgroup.open."
        )
    if not all(owner.owns(buffer) for buffer in buffers):
        raise InvalidDispatch(
            "The buffers belong to different devices, or not to `device`; pass buffers of one device."
        )
    return owner
