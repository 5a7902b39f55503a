"""Resources bound to the slots of a pipeline: made from arrays or given by the caller, and read back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import DriverError, InvalidDispatch, Unsupported
from vkgroup.base.lifetime import Closeable
from vkgroup.base.sampler import Sampler
from vkgroup.device.base import DeviceBase
from vkgroup.dispatch.acceleration import AccelerationStructure, Instance, geometry_of
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.checks import check_value, items_of, split
from vkgroup.dispatch.dlpack import Borrowed, as_host, on_cuda
from vkgroup.dispatch.image import Image, choose_format
from vkgroup.dispatch.slots import Slot, assign
from vkgroup.reference.events import Event


class ArrayBuffer(ABC):
    """Memory that holds a copy of a caller's array while the array is bound."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self.nbytes, self.dtype, self.shape = array.nbytes, array.dtype, array.shape

    @abstractmethod
    def read(self) -> npt.NDArray[Any]:
        """Copy the bytes back into a new array."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the memory was freed."""

    @abstractmethod
    def close(self) -> None:
        """Give the memory back."""


Resource = Buffer | Image | ArrayBuffer | AccelerationStructure


def keys_of(slots: tuple[Slot, ...]) -> dict[Any, Any]:
    """Return the key in the results of each slot, by its names and numbers."""
    keys: dict[Any, Any] = {}
    for slot in slots:
        keys[slot.set, slot.binding] = slot.key
        keys.update(dict.fromkeys(slot.names, slot.key))
        if slot.set == 0:
            keys[slot.binding] = slot.key
    return keys


class Bindings(Closeable):
    """Resources by slot.

    `device`: the device of the resources.
    `slots`: the slots that are filled.
    `resources`, `samplers`: those bound to each slot.
    """

    _images: type[Image]
    _structures: type[AccelerationStructure]

    def __init__(self, device: DeviceBase, slots: tuple[Slot, ...], bindings: Mapping[Any, Any]) -> None:
        self.device, self.slots = device, slots
        self.resources: dict[Slot, list[Resource]] = {}
        self.samplers: dict[Slot, list[Sampler]] = {}
        self._own: list[ArrayBuffer | Image] = []
        self._own_structures: list[AccelerationStructure] = []
        self._closings = -1
        self._borrowed: list[Borrowed] = []
        assigned = assign(slots, bindings)
        try:
            for slot, value in assigned.items():
                assigned[slot] = self._on_device(slot, value)
                check_value(slot, assigned[slot], device)
        except (DriverError, InvalidDispatch, Unsupported):
            self._give_up()
            raise
        with device.making(self):
            for slot, value in assigned.items():
                self._fill(slot, value)
            self._create()

    def _on_device(self, slot: Slot, value: Any) -> Any:
        """Return a slot's value, with arrays of other libraries on the GPU replaced by buffers."""
        items = items_of(slot, value)
        foreign = [not isinstance(item, Buffer) and on_cuda(item) for item in items]
        if not any(foreign):
            return value
        if slot.image is not None or slot.kind == "acceleration_structure":
            what = "an image" if slot.image is not None else "an acceleration structure"
            raise InvalidDispatch(
                f"{slot.label} is {what}; an array on a GPU can stand for a buffer. Give tensor.cpu()."
            )
        for number, item in enumerate(items):
            if foreign[number]:
                borrowed = self._borrow(slot, item)
                self._borrowed.append(borrowed)
                items[number] = borrowed.buffer
        return items[0] if slot.count == 1 else items

    def _borrow(self, slot: Slot, value: Any) -> Borrowed:
        """Take another library's array on the GPU; `InvalidDispatch` where the device cannot."""
        as_host(value, slot.label)
        raise InvalidDispatch(f"{slot.label} is given an array that is not in the host's memory.")

    def _give_up(self) -> None:
        for borrowed in self._borrowed:
            borrowed.close()
        self._borrowed = []

    def _fill(self, slot: Slot, value: Any) -> None:
        """Make the resources of a slot from its value."""
        resources = self.resources[slot] = []
        samplers = self.samplers[slot] = []
        for item in items_of(slot, value):
            memory, sampler = split(slot, item)
            if sampler is not None:
                samplers.append(sampler)
            if slot.kind != "sampler":
                resources.append(self._resource(slot, memory))

    def _resource(self, slot: Slot, value: Any) -> Resource:
        if isinstance(value, Buffer | Image | AccelerationStructure):
            return value
        if slot.kind == "acceleration_structure":
            # A scene with one instance of the geometry in the array.
            bottom = self._structures(self.device, geometry_of(value, slot.label))
            self._own_structures.append(bottom)
            top = self._structures(self.device, Instance(bottom))
            self._own_structures.append(top)
            return top
        kind, array = slot.image, np.asarray(as_host(value, slot.label))
        own: ArrayBuffer | Image
        if kind is not None:
            own = self._images(
                self.device,
                array.shape,
                choose_format(kind, array, slot.label),
                dimension=kind.dimension,
                arrayed=kind.arrayed,
                sampled=not kind.storage,
            )
            self._own.append(own)
            own.write(array)
        else:
            own = self._array_buffer(array)
            self._own.append(own)
        return own

    @abstractmethod
    def _array_buffer(self, array: npt.NDArray[Any]) -> ArrayBuffer:
        """Copy an array into memory of the device."""

    @abstractmethod
    def _create(self) -> None:
        """Make everything that the work needs besides the resources."""

    @property
    @abstractmethod
    def closed(self) -> bool:
        """Whether the bindings were freed."""

    def require_open(self) -> None:
        """Raise where the device or anything bound is closed."""
        closings = self.device.closings
        self.device.require_open()
        if self.closed:
            raise DriverError("The pipeline or its bindings are closed; bind anew.")
        if any(resource.closed for resources in self.resources.values() for resource in resources):
            raise DriverError("A bound buffer, image or acceleration structure is closed; bind anew.")
        self._closings = closings

    def results(self) -> dict[Any, Any]:
        """Read back every array that a shader may have written, by the binding's name."""
        self.require_open()
        results: dict[Any, Any] = {}
        for slot, resources in self.resources.items():
            if slot.writable:
                arrays = [array for entry in resources for array in self._result(entry)]
                if arrays:
                    results[slot.key] = arrays[0] if slot.count == 1 else arrays
        self.device.raise_validation_errors()
        return results

    def _result(self, resource: Resource) -> list[Any]:
        """Return the array that a resource stood for; nothing for the caller's own."""
        for own in self._own:
            if own is resource:
                return [own.read()]
        for borrowed in self._borrowed:
            if borrowed.buffer is resource:
                borrowed.give_back()
                return [borrowed.source]
        return []

    def result_keys(self) -> dict[Any, Any]:
        """Return the key in the results of each binding, by its names and numbers."""
        return keys_of(self.slots)

    def _writable(self) -> Iterator[tuple[Slot, list[ArrayBuffer | Image]]]:
        """Yield the slots that a shader may have written, with the resources that stand for arrays."""
        for slot, resources in self.resources.items():
            own = [entry for entry in self._own if any(entry is resource for resource in resources)]
            if slot.writable and own:
                yield slot, own

    def defined(self, *, ordered: bool = False) -> dict[Any, Any] | None:
        """Return bool arrays in the shapes of `results`: the elements that the specifications define.

        With `ordered`, elements that depend on the order of atomics count as undefined. None means that the
        device does not know.
        """
        return None

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of the last run; empty where the device reports none."""
        return ()

    def close(self) -> None:
        """Free the memory made for arrays; the caller's buffers stay open."""
        self.device.forget(self)
        for own in self._own:
            own.close()
        for structure in reversed(self._own_structures):
            structure.close()
        self._own, self._own_structures = [], []
        self._give_up()
        self._holding = False
