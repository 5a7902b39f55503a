"""Loose uniforms of a program, set and read by OpenGL's names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.compiler.gl.interface import GlInterface, Uniform
from vkgroup.dispatch.blocks import exact_numbers, suggestion
from vkgroup.errors import InvalidDispatch
from vkgroup.gl.errors import InvalidOperation


class DefaultBlock:
    """The values of a program's loose uniforms; after linking, those of their initialisers.

    Attributes
    ----------
    version : counts the changes.
    """

    def __init__(self, interface: GlInterface) -> None:
        self._interface = interface
        self._data = interface.initial_block()
        self.version = 0

    @property
    def data(self) -> npt.NDArray[np.uint8]:
        """The contents of the block."""
        return self._data

    def __setitem__(self, name: str, value: Any) -> None:
        """Set a uniform, an element of one, or a structure or array of structures from mappings and lists.

        Raises
        ------
        InvalidOperation
            There is no such uniform, or the value does not fit its type (OpenGL 4.2, 2.11.7); nothing is set.
        """
        data = self._data.copy()
        self._set(data, name, value)
        self._data = data
        self.version += 1

    def __getitem__(self, name: str) -> Any:
        """Return the value of a uniform or of an element: a number or bool, or an array.

        Raises
        ------
        InvalidOperation
            There is no such uniform.
        """
        uniform, index, whole = self._find(name)
        values = uniform.read(self._data)
        if uniform.type.startswith("b"):
            values = values != 0
        shape = _shape(uniform)
        elements = values.reshape(uniform.length or 1, *shape)
        element = elements if whole and uniform.length is not None else elements[index]
        return element.item() if element.shape == () else np.array(element)

    def _find(self, name: str) -> tuple[Uniform, int, bool]:
        """Find a uniform, the element that is meant, and whether all of them are."""
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
                f"The uniform {name!r} is a structure; give a mapping from its members' names."
            )
        uniform, index, whole = self._find(name)
        uniform.write(data, _checked(uniform, name, value, whole), index)

    def _is_structure(self, name: str) -> bool:
        """Whether a name stands for several uniforms: a structure, or an array of arrays or structures."""
        return any(entry.name.startswith((f"{name}.", f"{name}[")) for entry in self._interface.uniforms)


def _shape(uniform: Uniform) -> tuple[int, ...]:
    """Return the shape of one element; a matrix is an array of its columns."""
    columns, rows = uniform.shape
    if "mat" in uniform.type:
        return columns, rows
    return (rows,) if rows > 1 else ()


def _checked(uniform: Uniform, name: str, value: Any, whole: bool) -> npt.NDArray[Any]:
    """Return a value as an array of the uniform's type; refuse what is none."""
    what = f"The uniform {name!r}, a {_glsl(uniform, whole)},"
    try:
        if uniform.type.startswith("b"):
            # OpenGL 4.2, 2.11.7: zero is false and everything else is true, for every function.
            array = np.asarray(value)
            array = exact_numbers(array, np.dtype(np.float64), what) != 0
        else:
            array = exact_numbers(value, uniform.dtype, what)
    except InvalidDispatch as error:
        raise InvalidOperation(str(error)) from None
    shape = _shape(uniform)
    elements = whole and uniform.length is not None
    if array.ndim == 1:
        # The components one after the other, as Uniform…v takes them.
        if elements and array.size % math.prod(shape) == 0:
            array = array.reshape(-1, *shape)
        elif not elements and array.size == math.prod(shape) and shape:
            array = array.reshape(shape)
    if elements and uniform.length is not None:
        if array.shape[1:] == shape and array.ndim == len(shape) + 1 and 1 <= len(array) <= uniform.length:
            return array
        raise InvalidOperation(
            f"{what} takes arrays of shape {(uniform.length, *shape)}, or of fewer elements to set the first"
            f" ones; the shape {array.shape} was given."
        )
    if array.shape != shape:
        wanted = f"the shape {shape}" if shape else "a single number"
        raise InvalidOperation(f"{what} takes {wanted}; the shape {array.shape} was given.")
    return array


def _glsl(uniform: Uniform, whole: bool) -> str:
    return uniform.type + (f"[{uniform.length}]" if whole and uniform.length is not None else "")
