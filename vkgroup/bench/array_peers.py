"""Common part of the array packages as peers: a function of theirs, on their arrays, timed by their clock."""

from __future__ import annotations

import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.bench.definition import Arrays, Data, Prepared
from vkgroup.device.cuda import find_device
from vkgroup.dispatch import Device

Function = Callable[..., Mapping[str, Any]]
"""Called with the package's module and its arrays by name; returns results by the names of our outputs."""

NVIDIA = 0x10DE
"""NVIDIA's number among the makers of PCI devices, `VkPhysicalDeviceProperties.vendorID`."""


class ArrayPeer(ABC):
    """A peer that is a package of arrays; see `vkgroup.bench.definition.Peer`.

    Attributes
    ----------
    name : of the peer, and of the module to import.
    clock : what it measures with.
    """

    name: str
    clock: str

    def available(self, device: Device) -> str | None:
        """Return why it cannot run on the same device, in one sentence; None where it can."""
        if importlib.util.find_spec(self.name) is None:
            return f"{self.name} is not installed (pip install 'vkgroup[peers]')."
        return self.refusal(device)

    @abstractmethod
    def refusal(self, device: Device) -> str | None:
        """Return why the package, which is installed, cannot run on the device; None where it can."""

    def version(self) -> str:
        """Return the package's version."""
        return str(self.module().__version__)

    def module(self) -> Any:
        """Return the package, imported."""
        return importlib.import_module(self.name)

    @abstractmethod
    def place(self, device: Device) -> ArrayPlace:
        """Return where the package's arrays go to be on the same device."""

    def prepare(self, device: Device, function: Function, data: Data) -> Prepared:
        """Put a set of inputs on the device, ready for `function`."""
        return PreparedArrays(self.module(), self.place(device), function, data)


class CudaPeer(ArrayPeer):
    """A package of arrays for CUDA, on the NVIDIA GPU that is the device.

    CUDA's driver is asked which of its devices that is, not the package, whose numbers are the same: CuPy 14
    did not give the UUID of one H200 that the driver gave.

    Attributes
    ----------
    title : how the package writes its own name.
    no_cuda : what to say where it finds no CUDA.
    """

    clock = "CUDA events"
    title: str
    no_cuda: str

    def refusal(self, device: Device) -> str | None:
        """Return why the package, which is installed, cannot run on the device; None where it can."""
        capabilities = device.capabilities
        if capabilities.vendor_id != NVIDIA or not capabilities.is_gpu:
            return f"{self.title} runs on NVIDIA's GPUs here, and {device.name} is none."
        if not self.module().cuda.is_available():
            return self.no_cuda
        if find_device(capabilities.uuid) is None:
            return f"{self.title} has no CUDA device with the UUID of {device.name}."
        return None

    def place(self, device: Device) -> ArrayPlace:
        """Return where the package's arrays go to be on the same device."""
        found = find_device(device.capabilities.uuid)
        assert found is not None, "asked only where it is available"
        return self.on(self.module(), found.ordinal)

    @abstractmethod
    def on(self, module: Any, ordinal: int) -> ArrayPlace:
        """Return CUDA's device of that number as the package sees it."""


class ArrayPlace(ABC):
    """A device as a package of arrays sees it."""

    @abstractmethod
    def put(self, array: npt.NDArray[Any]) -> Any:
        """Return the package's array of the same values on the device."""

    @abstractmethod
    def get(self, result: Any) -> npt.NDArray[Any]:
        """Return a result as a NumPy array."""

    @abstractmethod
    def timed(self, call: Callable[[], Mapping[str, Any]]) -> tuple[Mapping[str, Any], float]:
        """Call, wait until all is done, and return the results and the seconds."""


class PreparedArrays:
    """A function with its inputs in place; see `vkgroup.bench.definition.Prepared`."""

    def __init__(self, module: Any, place: ArrayPlace, function: Function, data: Data) -> None:
        self._module, self._place, self._function = module, place, function
        self._inputs = {name: place.put(array) for name, array in data.inputs.items()}
        self._results: Mapping[str, Any] = {}

    def poison(self) -> None:
        """Forget the last results: every call makes new ones."""
        self._results = {}

    def time(self) -> float:
        """Call it once; seconds."""
        # First, so that the package can use their memory again.
        self._results = {}
        self._results, seconds = self._place.timed(lambda: self._function(self._module, **self._inputs))
        return seconds

    def outputs(self) -> Arrays:
        """Return what the last call gave, as NumPy arrays."""
        return {name: self._place.get(result) for name, result in self._results.items()}

    def close(self) -> None:
        """Let go of the arrays."""
        self._inputs, self._results = {}, {}


def writable(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array, or a copy where it must not be written to: packages share memory with NumPy."""
    return np.require(array, requirements=["C", "W"])
