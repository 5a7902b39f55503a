"""Conditional rendering: commands discarded by the result of a query (OpenGL 4.2, 2.16)."""

from __future__ import annotations

import numpy as np

from vkgroup.dispatch import Buffer
from vkgroup.dispatch.sources import Condition
from vkgroup.gl.errors import InvalidOperation, InvalidValue
from vkgroup.gl.tokens import Name, is_inverted

Query = Buffer | bool | int
"""The result of a query: itself, or a buffer that has it."""


class ConditionalRendering:
    """Whether a context's commands are to be discarded."""

    def __init__(self) -> None:
        self._condition: Condition | bool | None = None

    def begin(self, query: Query, mode: Name, offset: int) -> None:
        """Begin; see `Context.begin_conditional_render`."""
        inverted = is_inverted(mode)
        if self._condition is not None:
            raise InvalidOperation("Conditional rendering has begun already; end it first.")
        if isinstance(query, bool | int | np.bool_ | np.integer):
            self._condition = bool(query) != inverted
            return
        if not isinstance(query, Buffer):
            raise InvalidOperation(f"A query is a Buffer, a truth value or a whole number; not {query!r}.")
        if query.closed:
            raise InvalidOperation("The condition's buffer has been closed; make a new one.")
        whole = isinstance(offset, int | np.integer)
        if not whole or offset < 0 or offset % 4 or offset + 4 > query.nbytes:
            raise InvalidValue(
                f"The offset is a multiple of four inside of the buffer ({query.nbytes} bytes);"
                f" {offset!r} was given."
            )
        self._condition = Condition(query, int(offset), inverted)

    def end(self) -> None:
        """End; see `Context.end_conditional_render`."""
        if self._condition is None:
            raise InvalidOperation("Conditional rendering has not begun.")
        self._condition = None

    @property
    def discards(self) -> bool:
        """Whether commands are discarded independently of any buffer."""
        return self._condition is False

    @property
    def condition(self) -> Condition | None:
        """The condition in a buffer that decides about commands; None without one."""
        if not isinstance(self._condition, Condition):
            return None
        if self._condition.buffer.closed:
            raise InvalidOperation("The condition's buffer has been closed; make a new one.")
        return self._condition
