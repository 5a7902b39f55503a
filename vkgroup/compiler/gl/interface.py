"""Interface of a GL-dialect program for its host: uniforms, atomic counters and binding points by GL names.

Vulkan has neither loose uniforms nor atomic counters, and all kinds of resources share one space of bindings.
The compiler assigns set and binding to each resource. The interface is stored in the module as text that
devices ignore (`interface_of`), so it is available after caching, in files and in other processes.

=======================  ===  =====================================================================
kind                     set  binding
=======================  ===  =====================================================================
storage_block            0    the declared binding point; the next free one if that is taken
atomic_counter_buffer    0    `COUNTER_BINDINGS` + the binding point of the buffer
uniform_block            1    the declared binding point; the next free one if that is taken
default_block            1    `DEFAULT_BLOCK_BINDING`: all loose uniforms of the program, in std140
sampler                  2    the declared binding point; the next free one if that is taken
image                    3    the declared binding point; the next free one if that is taken
=======================  ===  =====================================================================
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import blake2b

import msgspec
import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, InvalidModule
from vkgroup.spec.types import SCALARS, Scalar
from vkgroup.spirv import Module
from vkgroup.spirv.binary import BEFORE_STRINGS, literal, text_of
from vkgroup.spirv.editor import Editor, Words

#: Kinds of resources with separate binding points in OpenGL, in the order of their sets.
KINDS = ("storage_block", "atomic_counter_buffer", "uniform_block", "default_block", "sampler", "image")

#: Descriptor set by kind.
SETS = {
    "storage_block": 0,
    "atomic_counter_buffer": 0,
    "uniform_block": 1,
    "default_block": 1,
    "sampler": 2,
    "image": 3,
}

#: First binding in set 0 of the buffers of atomic counters.
COUNTER_BINDINGS = 64

#: Binding in set 1 of the block with the loose uniforms.
DEFAULT_BLOCK_BINDING = 64


@dataclass(frozen=True)
class LooseUniform:
    """An active loose uniform, or a part of it that OpenGL counts as a uniform (GL 4.3, 7.3.1)."""

    # GL's name, for example ``"scale"``, ``"lights[1].color"``; an array of numbers or vectors is one
    # uniform, named without ``[0]``
    name: str
    type: str  # GLSL's name of one element, for example ``"vec3"``, ``"bool"``, ``"mat4x3"``
    length: int | None  # number of elements; None if not an array
    location: int  # GL's location; array elements have consecutive locations
    offset: int  # bytes from the start of the default block
    array_stride: int  # bytes from one element to the next; 0 if not an array
    matrix_stride: int  # bytes from one column to the next; 0 if not a matrix
    # components of all elements in order (matrices in column-major order), from the initializer; zeros
    # without an initializer
    initial: tuple[float | int | bool, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Columns and rows of one element: (1, 1) for a scalar, (1, n) for a vector."""
        digits = self.type.rpartition("mat")[2] if "mat" in self.type else ""
        if digits:
            columns, _, rows = digits.partition("x")
            return int(columns), int(rows or columns)
        return 1, int(self.type[-1]) if "vec" in self.type else 1

    @property
    def scalar(self) -> Scalar:
        """The type of the components."""
        prefix, vector, _ = self.type.replace("mat", "vec").partition("vec")
        if not vector:
            return SCALARS[self.type]
        return next(scalar for scalar in SCALARS.values() if scalar.vector_prefix == prefix + vector)

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """NumPy type of one component in the block; a bool is stored as a 32-bit number, 0 or 1."""
        letter = {"float": "f", "int": "i"}.get(self.scalar.kind, "u")
        return np.dtype(f"<{letter}{self.scalar.bits // 8}")

    @property
    def components(self) -> int:
        """Number of components of all elements."""
        columns, rows = self.shape
        return columns * rows * (self.length or 1)

    def write(self, block: npt.NDArray[np.uint8], values: npt.ArrayLike, first: int = 0) -> None:
        """Write values into the contents of the default block.

        Parameters
        ----------
        block : the block's bytes, shape (size,).
        values : components of one or more elements, flat or in any shape with the same order. Matrices are in
            column-major order, as for glUniformMatrix without transposition.
        first : index of the first array element to write. Values beyond the end of the array are ignored, as
            by glUniform.

        Raises InvalidDispatch: the number of components is not a multiple of an element's, or several
        elements are given for a uniform that is not an array.
        """
        columns, rows = self.shape
        flat = np.asarray(values).reshape(-1)
        if flat.size == 0 or flat.size % (columns * rows):
            raise InvalidDispatch(
                f"uniform {self.name} needs {columns * rows} components per element, not {flat.size}"
            )
        length = self.length or 1
        elements = flat.reshape(-1, columns, rows)[: max(length - first, 0)]
        if self.length is None and (flat.size != columns * rows or first):
            raise InvalidDispatch(f"uniform {self.name} is not an array: give one {self.type}")
        if self.scalar.kind == "bool":
            elements = elements != 0
        for number, element in enumerate(elements.astype(self.dtype), first):
            for column, values_of_column in enumerate(element):
                data = np.frombuffer(values_of_column.tobytes(), np.uint8)
                block[self._bytes_of(number, column)] = data

    def read(self, block: npt.NDArray[np.uint8]) -> npt.NDArray[np.generic]:
        """Return the values in the contents of the default block, shape (components,)."""
        columns = [
            np.frombuffer(block[self._bytes_of(number, column)].tobytes(), self.dtype)
            for number in range(self.length or 1)
            for column in range(self.shape[0])
        ]
        return np.concatenate(columns)

    def _bytes_of(self, element: int, column: int) -> slice:
        """Return the position in the block of one column of an array element."""
        start = self.offset + element * self.array_stride + column * self.matrix_stride
        return slice(start, start + self.shape[1] * self.dtype.itemsize)


@dataclass(frozen=True)
class Resource:
    """A variable of a buffer, image or texture, with its descriptor set and binding in Vulkan."""

    kind: str  # one of `KINDS`
    # GL's name: the name of a block, else the variable's name (``"material.albedo"`` for a member). Empty for
    # counter buffers and the default block, which have no name
    name: str
    # the initial GL binding point: image unit, texture unit, or index of a buffer binding; 0 if the source
    # declares none. A host may choose another (glUniform1i, glUniformBlockBinding). -1 for the default block
    gl_binding: int
    explicit: bool  # whether the source declares the binding point
    # `set`, `binding`: descriptor set and binding in Vulkan
    set: int
    binding: int
    # number of descriptors, which have consecutive GL binding points; None if not an array
    length: int | None
    type: str  # GLSL's name of an image or sampler; empty for buffers
    format: str  # SPIR-V's name of an image's format, for example ``"Rgba8"``; empty without a format
    size: int  # minimum size of a buffer in bytes, without a runtime array; 0 for other resources
    stages: tuple[str, ...]  # the stages that use the resource


@dataclass(frozen=True)
class AtomicCounter:
    """An ``atomic_uint``: `offset` bytes into the counter buffer bound at `binding`."""

    name: str  # the variable's name
    binding: int  # GL binding point of the counter buffer
    offset: int  # bytes from the start of that buffer; array elements are 4 bytes apart
    length: int | None  # number of counters; None if not an array


@dataclass(frozen=True)
class GlInterface:
    """Interface of a linked GL program for its host."""

    stages: tuple[str, ...]  # the program's stages, for example ``("compute",)``
    uniforms: tuple[LooseUniform, ...]  # active loose uniforms, by offset
    # active buffers, images, samplers, counter buffers, and the default block if there is one
    resources: tuple[Resource, ...]
    counters: tuple[AtomicCounter, ...]  # active atomic counters
    default_block_size: int  # bytes of the default block; 0 if no loose uniform is active
    # workgroup size of a compute program (COMPUTE_WORK_GROUP_SIZE), else None
    local_size: tuple[int, int, int] | None
    attributes: tuple[tuple[str, int], ...]  # locations of a vertex shader's inputs by name
    outputs: tuple[tuple[str, int], ...]  # locations of a fragment shader's outputs by name

    @cached_property
    def _uniforms_by_name(self) -> dict[str, LooseUniform]:
        return {uniform.name: uniform for uniform in self.uniforms}

    def uniform(self, name: str) -> tuple[LooseUniform, int]:
        """Return a loose uniform and the array index at the end of its name (0 without an index).

        Examples of names: ``"weights"``, ``"weights[2]"``, ``"lights[1].color"``. Raises KeyError if no
        active uniform has this name.
        """
        if not isinstance(name, str):
            raise KeyError(name)
        if name in self._uniforms_by_name:
            return self._uniforms_by_name[name], 0
        base, bracket, index = name.removesuffix("]").rpartition("[")
        uniform = self._uniforms_by_name.get(base) if bracket and index.isdigit() else None
        if uniform is None or uniform.length is None or int(index) >= uniform.length:
            raise KeyError(name)
        return uniform, int(index)

    def resource(self, name: str) -> Resource:
        """Return an active block, image or sampler by name; raise KeyError if there is none."""
        for resource in self.resources:
            if name and resource.name == name:
                return resource
        raise KeyError(name)

    def at(self, kind: str, gl_binding: int) -> tuple[Resource, ...]:
        """Return the resources of a kind whose binding points include a GL binding point."""
        return tuple(
            resource
            for resource in self.resources
            if resource.kind == kind
            and resource.gl_binding <= gl_binding < resource.gl_binding + (resource.length or 1)
        )

    @property
    def default_block(self) -> Resource | None:
        """The block of the loose uniforms; None if no loose uniform is active."""
        return next((resource for resource in self.resources if resource.kind == "default_block"), None)

    def initial_block(self) -> npt.NDArray[np.uint8]:
        """Return the default block's contents after linking, shape (default_block_size,)."""
        block = np.zeros(self.default_block_size, np.uint8)
        for uniform in self.uniforms:
            uniform.write(block, uniform.initial)
        return block

    def to_json(self) -> str:
        """Return the interface as JSON text."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> GlInterface:
        """Return the record of a text that `to_json` returned."""
        # Initial values may be NaN or infinite, which json writes and msgspec does not read.
        return msgspec.convert(json.loads(text), cls)


def interface_of(module: Module) -> GlInterface | None:
    """Return the interface stored in a module of the GL dialect; None for other modules.

    Raises InvalidModule: the stored interface is damaged.
    """
    starts = module.instruction_starts
    record = b""
    for start in starts[(module.words[starts] & 0xFFFF) == _OP_STRING].tolist():
        length = int(module.words[start]) >> 16
        text = module.words[start + 2 : start + length].tobytes().rstrip(b"\0")
        record += text.removeprefix(_MARK) if text.startswith(_MARK) else b""
    if not record:
        return None
    text = record[_DIGITS:]
    if record[:_DIGITS] != _digest(text):
        raise InvalidModule(
            "the module's record of its uniforms and binding points is damaged: compile the source again"
        )
    return GlInterface.from_json(text.decode())


def _digest(text: bytes) -> bytes:
    """Return the checksum at the start of a stored interface."""
    return blake2b(text, digest_size=_DIGITS // 2).hexdigest().encode()


def with_interface(module: Module, interface: GlInterface) -> Module:
    """Return `module` with an interface stored in it, replacing an existing one.

    The text is stored in OpString instructions that no instruction refers to (SPIR-V 2.4, section 7a: debug
    instructions).
    """
    text = interface.to_json().encode()
    text = _digest(text) + text
    step = 4 * (0xFFFF - 3) - len(_MARK)
    editor = Editor(module)
    editor.instructions = [words for words in editor.instructions if not _is_record(words)]
    added = [
        editor.instruction("OpString", editor.fresh(), *literal(_MARK + text[start : start + step]))
        for start in range(0, len(text), step)
    ]
    return editor.joined(editor.inserted(BEFORE_STRINGS, added))


def _is_record(words: Words) -> bool:
    return words[0] & 0xFFFF == _OP_STRING and text_of(words[2:]).encode().startswith(_MARK)


_OP_STRING = 7
_MARK = b"vkgroup.gl "
#: Hexadecimal digits of the checksum at the start of a stored interface.
_DIGITS = 16
