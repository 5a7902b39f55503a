"""A SPIR-V module: its words, its instructions, and the reflection of its declarations."""

from __future__ import annotations

from functools import cached_property

from vkgroup.spirv.binary import Binary
from vkgroup.spirv.reflection import Reflection, reflect


class Module(Binary):
    """An immutable SPIR-V module, equal to another of the same words.

    It is made by `from_bytes`, which checks the header and that the instructions fill the words exactly.
    `vkgroup.compiler.validate` checks the rest.
    """

    @cached_property
    def reflection(self) -> Reflection:
        """What the module declares: entry points, bindings, constants, capabilities.

        Raises
        ------
        InvalidModule
            The declarations contradict themselves.
        """
        return reflect(self)

    @property
    def debug_source(self) -> str | None:
        """The source text in the module (`OpSource`); None where it has none."""
        return self.reflection.source
