"""Programs of the GL dialect for `Device.run` and `Device.draw`: bindings and uniforms by OpenGL's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vkgroup.compiler.gl.interface import interface_of
from vkgroup.errors import InvalidDispatch
from vkgroup.gl.uniforms import DefaultBlock
from vkgroup.spirv import Module


class Names:
    """OpenGL's names for the slots of a module; empty for a module of another dialect.

    Blocks, images and samplers go by the names that they have for `Device.run` anyway.

    Parameters
    ----------
    module : of any dialect.
    """

    def __init__(self, module: Module) -> None:
        self._interface = interface_of(module)

    def key(self, key: Any) -> Any:
        """Return the slot of the buffer that has an atomic counter of that name; any other key unchanged."""
        if self._interface is not None:
            for counter in self._interface.counters:
                for buffer in self._interface.at("atomic_counter_buffer", counter.binding):
                    if counter.name == key:
                        return buffer.set, buffer.binding
        return key

    def uniforms(self, values: Mapping[str, Any]) -> dict[Any, Any]:
        """Pack the loose uniforms.

        Parameters
        ----------
        values : by name; the others have the values of their initialisers, or zeros.

        Returns
        -------
        The contents of their block, by its slot; empty where the module has none.

        Raises
        ------
        InvalidDispatch
            The module has no loose uniforms.
        InvalidOperation
            There is no uniform of a name, or a value does not fit its type.
        """
        block = None if self._interface is None else self._interface.default_block
        if self._interface is None or block is None:
            if values:
                names = ", ".join(values)
                raise InvalidDispatch(
                    f"Values were given for {names}, and the module has no loose uniforms, as OpenGL has:"
                    " compile with the dialect gl."
                )
            return {}
        contents = DefaultBlock(self._interface)
        for name, value in values.items():
            contents[name] = value
        # Bytes without a type go into a block of any types.
        return {(block.set, block.binding): contents.data.view("V4")}
