"""Peers that are array packages: functions on the package's arrays, timed by the package's clock."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench.definition import Arrays, Data, PreparedCandidate
from vkgroup.device.cuda import find_device
from vkgroup.dispatch import Device

Function = Callable[..., Mapping[str, Any]]
"""Function of the package's module and its arrays by name; returns results by names of outputs."""

NVIDIA = 0x10DE
"""NVIDIA's PCI vendor id, as in `VkPhysicalDeviceProperties.vendorID`."""


class ArrayPeer(ABC):
    """A peer that is an array package; `name` is also that of its module."""

    name: str
    clock: str

    def available(self, device: Device) -> str | None:
        """Return why the peer cannot run on the same device, in one sentence, or None if it can."""
        if importlib.util.find_spec(self.name) is None:
            return f"{self.name} is not installed (pip install 'vkgroup[peers]')."
        return self.why_unavailable(device)

    @abstractmethod
    def why_unavailable(self, device: Device) -> str | None:
        """Return why the installed package cannot run on the device, or None if it can."""

    def version(self) -> str:
        """Return the package's version."""
        return str(self.module().__version__)

    def module(self) -> Any:
        """Import and return the package."""
        return importlib.import_module(self.name)

    @abstractmethod
    def array_device(self, device: Device) -> ArrayDevice:
        """Return the package's own name or object for the same device."""

    def prepare(self, device: Device, function: Function, data: Data) -> PreparedCandidate:
        """Copy a set of inputs to the device, ready for `function`."""
        return PreparedArrays(self.module(), self.array_device(device), function, data)


class CudaPeer(ArrayPeer):
    """An array package for CUDA, on the same NVIDIA GPU as the Vulkan device.

    The CUDA driver determines the number of that device, and the package uses the same numbers. The package
    itself is not queried, since CuPy 14 did not return the UUID of an H200, although the driver did. `title`
    is the package's name in messages, and `no_cuda` the message if it finds no CUDA.
    """

    clock = "CUDA events"
    title: str
    no_cuda: str

    def why_unavailable(self, device: Device) -> str | None:
        """Return the reason, as `ArrayPeer.why_unavailable`."""
        capabilities = device.capabilities
        if capabilities.vendor_id != NVIDIA or not capabilities.is_gpu:
            return f"{self.title} runs only on NVIDIA GPUs here, and {device.name} is none."
        if not self.module().cuda.is_available():
            return self.no_cuda
        if find_device(capabilities.uuid) is None:
            return f"{self.title} has no CUDA device with the UUID of {device.name}."
        return None

    def array_device(self, device: Device) -> ArrayDevice:
        """Return the package's CUDA device."""
        cuda_device = find_device(device.capabilities.uuid)
        assert cuda_device is not None, "the peer is available"
        return self.cuda_device(self.module(), cuda_device.ordinal)

    @abstractmethod
    def cuda_device(self, module: Any, ordinal: int) -> ArrayDevice:
        """Return the package's object for the CUDA device of that number."""


class ArrayDevice(ABC):
    """A device of an array package."""

    @abstractmethod
    def put(self, array: npt.NDArray[Any]) -> Any:
        """Return the package's array of the same values on the device."""

    @abstractmethod
    def get(self, result: Any) -> npt.NDArray[Any]:
        """Return a result as a NumPy array."""

    @abstractmethod
    def timed(self, call: Callable[[], Mapping[str, Any]]) -> tuple[Mapping[str, Any], float]:
        """Call a function, wait until its work is done, and return the results and the time in seconds."""


class PreparedArrays:
    """A function with its inputs on the device; see `vkgroup.bench.definition.PreparedCandidate`."""

    def __init__(self, module: Any, device: ArrayDevice, function: Function, data: Data) -> None:
        self._module, self._device, self._function = module, device, function
        self._inputs = {name: device.put(array) for name, array in data.inputs.items()}
        self._results: Mapping[str, Any] = {}

    def overwrite_outputs(self) -> None:
        """Release the last results, since every call creates new ones."""
        self._results = {}

    def time(self) -> float:
        """Call the function once and return the time in seconds."""
        # Release the last results first, so that the package can reuse their memory.
        self._results = {}
        self._results, seconds = self._device.timed(lambda: self._function(self._module, **self._inputs))
        return seconds

    def outputs(self) -> Arrays:
        """Return the results of the last call as NumPy arrays."""
        return {name: self._device.get(result) for name, result in self._results.items()}

    def close(self) -> None:
        """Release the arrays."""
        self._inputs, self._results = {}, {}


def writable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array, or a copy of a read-only array, since packages share memory with NumPy."""
    return np.require(array, requirements=["C", "W"])
