"""The buffers and images of an Amber script on a device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.amber.expectations import Contents
from vkgroup.amber.script import Bound, Place, Script, ScriptBuffer
from vkgroup.base.errors import InvalidInput, Unsupported
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.device import Device
from vkgroup.dispatch.image import Image
from vkgroup.reference.interpreter.operations.images.memory import encode
from vkgroup.spirv import Module, StructType

_IMAGES = frozenset(("color", "depth", "resolve", "storage_image", "sampled_image", "combined_image_sampler"))
_TEXELS = frozenset(("uniform_texel_buffer", "storage_texel_buffer"))


class ScriptMemory:
    """The memory of a script's buffers and images, each made at its first use."""

    def __init__(self, device: Device, script: Script) -> None:
        self.device, self.script = device, script
        self.uses = _uses(script)
        self._memory: dict[str, Buffer | Image] = {}

    def close(self) -> None:
        """Free the memory."""
        for memory in self._memory.values():
            memory.close()

    def contents(self, name: str) -> Contents:
        """Return what a buffer or image contains now."""
        buffer = self.script.buffers[name]
        width, height, _ = self.extent(buffer)
        memory = self._memory.get(name)
        if memory is None:
            return Contents(buffer.type, self._initial(buffer), None, width, height)
        defined = memory.defined()
        if isinstance(memory, Buffer):
            size = self._initial(buffer).size
            return Contents(buffer.type, memory.read(np.uint8, size), defined, width, height)
        texels = memory.read().reshape(-1, memory.format.components)
        return Contents(buffer.type, buffer.type.bytes_of(texels), defined, width, height)

    def extent(self, buffer: ScriptBuffer) -> tuple[int, int, int]:
        """Return width, height and depth: those of the framebuffer if it is drawn to, else those given."""
        pipelines = self.script.pipelines.values()
        for each in pipelines:
            if buffer.name in (*each.colors.values(), each.depth, *each.resolves):
                return (*each.size, 1)
        for each in pipelines:
            bound = [name for place in each.bindings.values() for name in place.buffers]
            if not buffer.extent[0] and buffer.name in bound:
                return (*each.size, 1)
        return buffer.extent

    def _initial(self, buffer: ScriptBuffer) -> npt.NDArray[np.uint8]:
        width, height, depth = self.extent(buffer)
        nbytes = width * height * depth * buffer.type.stride
        drawn = self.uses.get(buffer.name, frozenset()) & {"color", "depth", "resolve"}
        if buffer.data is not None and (not drawn or nbytes == buffer.data.size):
            return buffer.data
        return np.zeros(nbytes, np.uint8)

    def memory(self, name: str) -> Buffer | Image:
        """Return the memory of a buffer or image on the device; make it at the first use."""
        if name not in self._memory:
            buffer = self.script.buffers[name]
            is_image = bool(self.uses.get(name, frozenset()) & _IMAGES) or buffer.is_image
            self._memory[name] = self._image(buffer) if is_image else self._buffer(buffer)
        return self._memory[name]

    def _buffer(self, buffer: ScriptBuffer) -> Buffer:
        data = self._initial(buffer)
        if not self.uses.get(buffer.name, frozenset()) & _TEXELS:
            return self.device.buffer(data)
        format_ = buffer.type.format
        if format_ is None or format_.packed or buffer.type.swapped:
            raise Unsupported(f"{buffer.name} is a texel buffer of {buffer.type.name}", [buffer.type.name])
        shape = (-1, format_.components) if format_.components > 1 else (-1,)
        return self.device.buffer(buffer.type.texels(data).reshape(shape))

    def _image(self, buffer: ScriptBuffer) -> Image:
        kind, uses = buffer.type, self.uses.get(buffer.name, frozenset())
        if kind.format is None:
            raise Unsupported(f"{buffer.name} is an image of {kind.name}", [kind.name])
        if buffer.samples > 1:
            raise Unsupported(f"{buffer.name} has several samples and is read", ["SAMPLES"])
        width, height, depth = self.extent(buffer)
        dimension = buffer.dimension or "2D"
        shape: tuple[int, ...] = {"1D": (width,), "2D": (height, width), "3D": (depth, height, width)}[
            dimension
        ]
        components = (kind.format.components,) * (kind.format.components > 1)
        texels = kind.texels(self._initial(buffer)).reshape(*shape, *components)
        levels = [
            np.zeros((*(max(1, size >> level) for size in shape), *components), kind.dtype)
            for level in range(1, buffer.levels)
        ]
        if levels and uses & {"color", "depth"}:
            raise Unsupported(f"{buffer.name} is drawn to, and has levels", ["MIP_LEVELS"])
        name = "D16" if uses & {"depth"} and kind.format.name == "R16" else kind.format.name
        return self.device.image(
            texels, format=name, dimension=dimension, levels=levels, sampled="storage_image" not in uses
        )

    def bindings(self, bindings: Mapping[Place, Bound], modules: Sequence[Module]) -> dict[Any, Any]:
        """Return what is bound at the places that modules have."""
        blocks: dict[Place, int] = {}
        for module in modules:
            for each in module.reflection.bindings:
                size = each.type.fixed_size if isinstance(each.type, StructType) else 0
                blocks[each.place] = max(size, blocks.get(each.place, 0))
        return {
            place: self._bound(bound, blocks[place]) for place, bound in bindings.items() if place in blocks
        }

    def _bound(self, bound: Bound, size: int) -> Any:
        """Return what is bound; the bytes that a buffer lacks for a block of `size` bytes are undefined."""
        samplers = [self.script.samplers[name] for name in bound.samplers]
        if not bound.buffers:
            return samplers if len(samplers) > 1 else samplers[0]
        if bound.level:
            raise Unsupported("BASE_MIP_LEVEL is not supported", ["BASE_MIP_LEVEL"])
        items: list[Any] = []
        for name, first, nbytes in zip(bound.buffers, bound.offsets, bound.ranges, strict=True):
            memory = self.memory(name)
            if isinstance(memory, Buffer) and memory.nbytes < first + size and nbytes is None:
                held, memory = memory, self.device.buffer(first + size)
                memory.write(held.read(np.uint8))
                held.close()
                self._memory[name] = memory
            if isinstance(memory, Buffer) and (first or nbytes is not None):
                length = memory.nbytes - first if nbytes is None else nbytes
                memory = memory.view(np.uint8, length, first)
            items.append(memory)
        if samplers:
            items = list(zip(items, samplers, strict=True))
        return items if len(items) > 1 else items[0]

    def fill(self, name: str, color: tuple[float, ...]) -> None:
        """Set all texels of an image to a color."""
        image = self.memory(name)
        assert isinstance(image, Image)
        kinds = {"uint": np.uint32, "int": np.int32, "float": np.float32}
        elements, _ = encode(image.format, np.array(color).astype(kinds[image.format.kind])[:, None])
        texel = elements[:, 0] if image.format.components > 1 else elements[0, 0]
        image.write(np.broadcast_to(texel, image.shape).copy())

    def copy(self, source: str, target: str) -> None:
        """Copy all of a buffer or image to another one."""
        contents, buffer = self.contents(source), self.script.buffers[target]
        if contents.data.size != self._initial(buffer).size:
            raise InvalidInput(f"{source} and {target} have different sizes.")
        memory = self.memory(target)
        if isinstance(memory, Buffer):
            memory.write(contents.data)
        else:
            memory.write(buffer.type.texels(contents.data).reshape(memory.shape))


def _uses(script: Script) -> dict[str, frozenset[str]]:
    """Return the kinds of bindings of each buffer."""
    uses: dict[str, set[str]] = {}
    for pipeline in script.pipelines.values():
        pairs = [(name, bound.kind) for bound in pipeline.bindings.values() for name in bound.buffers]
        pairs += [(name, "color") for name in pipeline.colors.values()]
        pairs += [(name, "resolve") for name in pipeline.resolves]
        pairs += [(pipeline.depth, "depth")] if pipeline.depth else []
        for name, kind in pairs:
            uses.setdefault(name, set()).add(kind)
    return {name: frozenset(kinds) for name, kinds in uses.items()}
