"""Bindings of the reference device: the memories of everything that is bound."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from vkgroup.device.commands import checked_timeout
from vkgroup.dispatch.bindings import ArrayBuffer, Bindings, Resource
from vkgroup.dispatch.events import Event
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.slots import Slot
from vkgroup.dispatch.textures import texel_format
from vkgroup.reference.device import memory
from vkgroup.reference.device.buffer import CopiedArray, ReferenceBuffer
from vkgroup.reference.device.image import ReferenceImage
from vkgroup.reference.interpreter.operations.images import ImageMemory
from vkgroup.reference.interpreter.operations.memory import Memory

if TYPE_CHECKING:
    from vkgroup.reference.device.device import Host


class ReferenceBindings(Bindings):
    """The memories of everything that is bound, and what went wrong with them."""

    _images = ReferenceImage

    device: Host
    _places: dict[tuple[int, int], Sequence[Any]] | None = None
    _events: tuple[Event, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether the bindings were freed."""
        return self._places is None

    def _array_buffer(self, array: npt.NDArray[Any]) -> ArrayBuffer:
        return CopiedArray(array)

    def _create(self) -> None:
        self._places = {}
        for slot, resources in self.resources.items():
            memories = [_memory_of(slot, resource) for resource in resources]
            samplers = self.samplers[slot]
            found = (
                list(zip(memories, samplers, strict=True)) if memories and samplers else memories or samplers
            )
            self._places[slot.set, slot.binding] = found

    def _repeated(
        self, run: Callable[[float | None], tuple[Event, ...]], timeout: float | None, repeat: int = 1
    ) -> None:
        """Do something several times, and keep what went wrong; it is given the seconds that are left."""
        end = None if timeout is None else time.monotonic() + checked_timeout(timeout)
        events: list[Event] = []
        buffers = [entry for entries in self.resources.values() for entry in entries]
        views = [entry for entry in buffers if isinstance(entry, ReferenceBuffer)]
        for view in views:
            view.begin()
        for _ in range(repeat):
            events += run(None if end is None else max(end - time.monotonic(), 1e-3))
        for view in views:
            view.end()
        self._events = tuple(events)

    @property
    def events(self) -> tuple[Event, ...]:
        """What went wrong in the last run."""
        return self._events

    def defined(self, *, ordered: bool = False) -> dict[Any, Any]:
        """Tell which elements of the results the specifications define.

        Parameters
        ----------
        ordered : whether elements that depend on the order of atomics count as not defined.
        """
        self.require_open()
        found: dict[Any, Any] = {}
        for slot, own in self._writable():
            arrays = [defined_texels(entry, ordered) for entry in own]
            found[slot.key] = arrays[0] if slot.count == 1 else arrays
        return found

    def close(self) -> None:
        """Free what was made for arrays; the caller's buffers stay."""
        self._places = None
        super().close()


def _name_of(slot: Slot) -> str:
    return slot.names[0] if slot.names else f"set {slot.set}, binding {slot.binding}"


def _memory_of(slot: Slot, resource: Resource) -> Memory:
    """Return a resource's memory, which from now on goes by the name that the shader has for it."""
    assert isinstance(resource, ReferenceBuffer | ReferenceImage | CopiedArray)
    assert resource.memory is not None
    if not isinstance(resource, ReferenceImage):
        if slot.texels is not None:
            resource.memory = _as_texels(slot, resource, resource.memory)
        resource.memory.kind = "buffer" if slot.texels is None else "image"
    resource.memory.name = _name_of(slot)
    return resource.memory


def _as_texels(slot: Slot, resource: ReferenceBuffer | CopiedArray, memory: Memory) -> ImageMemory:
    """Return the same bytes as a texel buffer, which is a buffer's memory from then on."""
    format_ = texel_format(slot, resource)
    extent = (memory.nbytes // format_.nbytes, 1, 1)
    found = ImageMemory(memory.data, memory.name, format_, dimension="Buffer", extent=extent)
    found.refine(memory.granule)
    memory.refine(found.granule)
    found.causes, found.address = memory.causes, memory.address
    return found


def defined_texels(entry: ArrayBuffer | Image, ordered: bool) -> npt.NDArray[Any]:
    """Tell which elements of what is bound are defined, in the shape of its array."""
    assert isinstance(entry, CopiedArray | ReferenceImage)
    assert entry.memory is not None
    return memory.defined(entry.memory, entry.dtype, entry.shape, ordered=ordered)
