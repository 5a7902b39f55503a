"""The buffers and images of an Amber script on a device."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.amber.expectations import Contents
from vkgroup.amber.reading_buffers import MOST_BYTES
from vkgroup.amber.script import ATTACHMENTS, BUFFERS, IMAGES, TEXELS, Bound, Place, Script, ScriptBuffer
from vkgroup.base.errors import InvalidInput, Unsupported
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.device import Device
from vkgroup.dispatch.image import Image
from vkgroup.reference.interpreter.operations.images.memory import encode
from vkgroup.spirv import Module, StructType

_NUMBERS = {"uint": np.uint32, "int": np.int32, "float": np.float32}


class ScriptMemory:
    """The memory of a script's buffers and images, each made at its first use."""

    def __init__(self, device: Device, script: Script) -> None:
        self._device, self._script = device, script
        self._memory: dict[str, Buffer | Image] = {}
        #: The kinds of bindings of each buffer, and the size of the framebuffers that it belongs to.
        self._uses: dict[str, set[str]] = defaultdict(set)
        self._sizes: dict[str, tuple[int, int]] = {}
        for pipeline in script.pipelines.values():
            drawn = dict.fromkeys(pipeline.colors.values(), "color")
            drawn |= dict.fromkeys(pipeline.resolves, "resolve")
            drawn |= {pipeline.depth: "depth_stencil"} if pipeline.depth else {}
            bound = [(name, each.kind) for each in pipeline.bindings.values() for name in each.buffers]
            for name, kind in (*bound, *drawn.items()):
                self._uses[name].add(kind)
            self._sizes.update(dict.fromkeys(drawn, pipeline.size))
        for pipeline in script.pipelines.values():
            for name in (name for each in pipeline.bindings.values() for name in each.buffers):
                if not script.buffers[name].extent[0]:
                    self._sizes.setdefault(name, pipeline.size)

    def close(self) -> None:
        """Free the memory."""
        for memory in self._memory.values():
            memory.close()

    def contents(self, name: str) -> Contents:
        """Return what a buffer or image contains now."""
        buffer, memory = self._script.buffers[name], self._memory.get(name)
        width, height, _ = self._extent(buffer)
        data, defined = self._initial(buffer), None
        if memory is not None:
            defined = memory.defined()
            if isinstance(memory, Buffer):
                data = memory.read(np.uint8, data.size)
            else:
                data = buffer.type.bytes_of(memory.read().reshape(-1, memory.format.components))
        return Contents(buffer.type, data, defined, width, height)

    def _extent(self, buffer: ScriptBuffer) -> tuple[int, int, int]:
        """Return width, height and depth: those of the framebuffer that it belongs to, else those given."""
        return (*self._sizes[buffer.name], 1) if buffer.name in self._sizes else buffer.extent

    def _initial(self, buffer: ScriptBuffer) -> npt.NDArray[np.uint8]:
        width, height, depth = self._extent(buffer)
        nbytes = width * height * depth * buffer.type.stride
        is_drawn = self._uses[buffer.name] & set(ATTACHMENTS)
        if buffer.data is not None and (not is_drawn or nbytes == buffer.data.size):
            return buffer.data
        if nbytes > MOST_BYTES:
            raise Unsupported(f"{buffer.name} has more than {MOST_BYTES} bytes", [buffer.name])
        return np.zeros(nbytes, np.uint8)

    def of(self, name: str) -> Buffer | Image:
        """Return the memory of a buffer or image on the device; make it at the first use."""
        if name not in self._memory:
            buffer = self._script.buffers[name]
            is_image = buffer.dimension or self._uses[name] & {*IMAGES, *ATTACHMENTS}
            if is_image and self._uses[name] & {*BUFFERS, *TEXELS}:
                raise Unsupported(f"{name} is an image and a buffer, which is not supported", [name])
            self._memory[name] = self._image(buffer) if is_image else self._buffer(buffer)
        return self._memory[name]

    def _buffer(self, buffer: ScriptBuffer) -> Buffer:
        data, format_ = self._initial(buffer), buffer.type.format
        if not self._uses[buffer.name] & set(TEXELS):
            return self._device.buffer(data)
        if format_ is None or format_.packed or buffer.type.swapped:
            raise Unsupported(f"{buffer.name} is a texel buffer of {buffer.type.name}", [buffer.type.name])
        shape = (-1, format_.components) if format_.components > 1 else (-1,)
        return self._device.buffer(buffer.type.texels(data).reshape(shape))

    def _image(self, buffer: ScriptBuffer) -> Image:
        kind, uses = buffer.type, self._uses[buffer.name]
        if kind.format is None:
            raise Unsupported(f"{buffer.name} is an image of {kind.name}", [kind.name])
        if buffer.samples > 1:
            raise Unsupported(f"{buffer.name} has several samples and is read", ["SAMPLES"])
        if buffer.levels > 1 and uses & set(ATTACHMENTS):
            raise Unsupported(f"{buffer.name} is drawn to, and has levels", ["MIP_LEVELS"])
        data = self._initial(buffer)
        if data.size != math.prod(self._extent(buffer)) * kind.stride:
            raise InvalidInput(f"{buffer.name} is an image, and needs a WIDTH and a HEIGHT.")
        dimension = buffer.dimension or "2D"
        shape = self._extent(buffer)[: int(dimension[0])][::-1]
        components = (kind.format.components,) * (kind.format.components > 1)
        levels = [
            np.zeros((*(max(1, size >> level) for size in shape), *components), kind.format.dtype)
            for level in range(1, buffer.levels)
        ]
        return self._device.image(
            kind.texels(data).reshape(*shape, *components),
            format=kind.format.name,
            dimension=dimension,
            levels=levels,
            sampled="storage_image" not in uses,
        )

    def bindings(self, bindings: Mapping[Place, Bound], modules: Sequence[Module]) -> dict[Any, Any]:
        """Return what is bound where modules have bindings.

        A buffer that is smaller than a block in a module grows; its further bytes are undefined. A buffer
        that a module declares and does not use may be missing in the script; it gets zeros.
        """
        blocks: dict[Place, int] = defaultdict(int)
        unused: dict[Place, Buffer | Image] = {}
        for module in modules:
            for each in module.reflection.bindings:
                size = each.type.fixed_size if isinstance(each.type, StructType) else 0
                blocks[each.place] = max(size, blocks[each.place])
                if isinstance(each.type, StructType) and not each.read and not each.written:
                    unused[each.place] = self._unused(max(size, 16))
        used = {place: bound for place, bound in bindings.items() if place in blocks}
        for place, bound in used.items():
            for name, first, nbytes in zip(bound.buffers, bound.offsets, bound.ranges, strict=True):
                self._grow(name, first + blocks[place] if nbytes is None else 0)
        return {**unused, **{place: self._bound(bound) for place, bound in used.items()}}

    def _unused(self, nbytes: int) -> Buffer | Image:
        """Return a buffer of zeros, which belongs to no name of the script."""
        if (name := f" {nbytes}") not in self._memory:
            self._memory[name] = self._device.buffer(np.zeros(nbytes, np.uint8))
        return self._memory[name]

    def _grow(self, name: str, nbytes: int) -> None:
        memory = self.of(name)
        if isinstance(memory, Buffer) and memory.nbytes < nbytes:
            self._memory[name] = self._device.buffer(nbytes)
            self._memory[name].write(memory.read(np.uint8))
            memory.close()

    def _bound(self, bound: Bound) -> Any:
        samplers = [self._script.samplers[name] for name in bound.samplers]
        items: list[Any] = []
        for name, first, nbytes in zip(bound.buffers, bound.offsets, bound.ranges, strict=True):
            memory = self.of(name)
            if isinstance(memory, Buffer) and (first or nbytes is not None):
                length = memory.nbytes - first if nbytes is None else nbytes
                memory = memory.view(np.uint8, length, first)
            items.append(memory)
        if samplers:
            items = list(zip(items, samplers, strict=True)) if items else list(samplers)
        return items if len(items) > 1 else items[0]

    def fill(self, name: str, color: Sequence[float]) -> None:
        """Set all texels of an image to a color."""
        image = self.of(name)
        assert isinstance(image, Image)
        numbers = np.array(color).astype(_NUMBERS[image.format.kind])
        elements, _ = encode(image.format, numbers[:, None])
        texel = elements[:, 0] if image.format.components > 1 else elements[0, 0]
        image.write(np.broadcast_to(texel, image.shape).copy())

    def copy(self, source: str, target: str) -> None:
        """Copy all of a buffer or image to another one."""
        contents, buffer = self.contents(source), self._script.buffers[target]
        if buffer.data is None and not buffer.extent[0]:
            self._sizes.setdefault(target, (contents.width, contents.height))
        if contents.data.size != self._initial(buffer).size:
            raise InvalidInput(f"{source} and {target} have different sizes.")
        memory = self.of(target)
        if isinstance(memory, Buffer):
            memory.write(contents.data)
        else:
            memory.write(buffer.type.texels(contents.data).reshape(memory.shape))
