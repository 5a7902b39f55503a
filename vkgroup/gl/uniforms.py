"""Loose uniforms of a program (uniforms outside of blocks), set and read by OpenGL's names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.base.numbers import exact_numbers
from vkgroup.base.suggestions import suggestion
from vkgroup.compiler.gl.interface import GlInterface, LooseUniform, interface_of
from vkgroup.gl.tokens import InvalidOperation
from vkgroup.spirv import Module


class DefaultBlock:
    """Values of a program's loose uniforms, initially from initialisers; `version` counts changes."""

    def __init__(self, interface: GlInterface) -> None:
        self._interface = interface
        self._data = interface.initial_block()
        self.version = 0

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The contents of the block."""
        return self._data

    def __setitem__(self, name: str, value: Any) -> None:
        """Set a uniform or an element; structures and arrays of structures take mappings and lists.

        Raises `InvalidOperation`, and sets nothing, if the value does not fit (OpenGL 4.2, 2.11.7).
        """
        data = self._data.copy()
        self._set(data, name, value)
        self._data = data
        self.version += 1

    def __getitem__(self, name: str) -> Any:
        """Return the value of a uniform or of an element: a number or bool, or an array."""
        uniform, index, whole = self._find(name)
        values = uniform.read(self._data)
        if uniform.type.startswith("b"):
            values = values != 0
        shape = _shape(uniform)
        elements = values.reshape(uniform.length or 1, *shape)
        element = elements if whole and uniform.length is not None else elements[index]
        return element.item() if element.shape == () else np.array(element)

    def _find(self, name: str) -> tuple[LooseUniform, int, bool]:
        """Return the uniform of a name, its first element, and whether the name denotes all elements."""
        try:
            uniform, index = self._interface.uniform(name)
        except KeyError:
            names = [entry.name for entry in self._interface.uniforms]
            raise InvalidOperation(
                f"The program has no active uniform {name!r}.{suggestion(name, names)}"
            ) from None
        return uniform, index, uniform.name == name

    def _set(self, data: npt.NDArray[np.uint8], name: str, value: Any) -> None:
        if self._is_structure(name):
            if isinstance(value, Mapping):
                for member, item in value.items():
                    self._set(data, f"{name}.{member}", item)
                return
            if isinstance(value, Sequence):
                for index, item in enumerate(value):
                    self._set(data, f"{name}[{index}]", item)
                return
            raise InvalidOperation(
                f"The uniform {name!r} is a structure; pass a mapping from the names of its members."
            )
        uniform, index, whole = self._find(name)
        uniform.write(data, _checked(uniform, name, value, whole), index)

    def _is_structure(self, name: str) -> bool:
        """Whether a name denotes several uniforms: a structure, or an array of arrays or structures."""
        return any(entry.name.startswith((f"{name}.", f"{name}[")) for entry in self._interface.uniforms)


def _shape(uniform: LooseUniform) -> tuple[int, ...]:
    """Return the shape of one element; a matrix is an array of its columns."""
    columns, rows = uniform.shape
    if "mat" in uniform.type:
        return columns, rows
    return (rows,) if rows > 1 else ()


def _checked(uniform: LooseUniform, name: str, value: Any, whole: bool) -> npt.NDArray[Any]:
    """Return a value as an array of the uniform's type; raises `InvalidOperation` if it does not fit."""
    elements = whole and uniform.length is not None
    what = f"The uniform {name!r}, a {uniform.type}{f'[{uniform.length}]' * elements},"
    try:
        if uniform.type.startswith("b"):
            # OpenGL 4.2, 2.11.7: zero is false and everything else is true, for every function.
            array = np.asarray(exact_numbers(value, np.dtype(np.float64), what) != 0)
        else:
            array = exact_numbers(value, uniform.dtype, what)
    except InvalidDispatch as error:
        raise InvalidOperation(str(error)) from None
    shape = _shape(uniform)
    if array.ndim == 1:
        # Components in one dimension, as for Uniform…v.
        if elements and array.size % math.prod(shape) == 0:
            array = array.reshape(-1, *shape)
        elif not elements and array.size == math.prod(shape) and shape:
            array = array.reshape(shape)
    if elements and uniform.length is not None:
        if array.shape[1:] == shape and array.ndim == len(shape) + 1 and 1 <= len(array) <= uniform.length:
            return array
        raise InvalidOperation(
            f"{what} takes arrays of shape {(uniform.length, *shape)}, or of fewer elements to set the first"
            f" ones, not of shape {array.shape}."
        )
    if array.shape != shape:
        wanted = f"the shape {shape}" if shape else "a single number"
        raise InvalidOperation(f"{what} takes {wanted}, not an array of shape {array.shape}.")
    return array


class Names:
    """OpenGL's names for the slots of a module; empty for a module of another dialect.

    Blocks, images and samplers keep the names that `Device.run` uses.
    """

    def __init__(self, module: Module) -> None:
        self._interface = interface_of(module)

    def key(self, key: Any) -> Any:
        """Return the slot of the buffer with the atomic counter of a name; other keys unchanged."""
        if self._interface is not None:
            for counter in self._interface.counters:
                for buffer in self._interface.at("atomic_counter_buffer", counter.binding):
                    if counter.name == key:
                        return buffer.set, buffer.binding
        return key

    def uniforms(self, values: Mapping[str, Any]) -> dict[Any, Any]:
        """Pack the loose uniforms.

        `values`: by name; other uniforms have the values of their initialisers, or zeros.
        Returns the contents of their block, by its slot; empty if the module has none.

        Raises
        ------
        InvalidDispatch
            The module has no loose uniforms.
        InvalidOperation
            A name is not that of a uniform, or a value does not fit its type.
        """
        block = None if self._interface is None else self._interface.default_block
        if self._interface is None or block is None:
            if values:
                names = ", ".join(values)
                raise InvalidDispatch(
                    f"Values were given for {names}, but the module has no uniforms outside of blocks;"
                    " compile it with the dialect gl."
                )
            return {}
        contents = DefaultBlock(self._interface)
        for name, value in values.items():
            contents[name] = value
        # Untyped bytes fit a block of any types.
        return {(block.set, block.binding): contents.data.view("V4")}
