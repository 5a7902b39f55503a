"""Slots: numbers of the values that a program computes or has as constants."""

from __future__ import annotations

from vkgroup.errors import InvalidModule


class Slots:
    """The numbering of slots.

    Attributes
    ----------
    count : slots so far.
    """

    def __init__(self) -> None:
        self.count = 0
        self._constants: dict[int, int] = {}

    def new(self) -> int:
        """Return the number of a slot that nothing uses yet."""
        self.count += 1
        return self.count - 1

    def of_constant(self, identifier: int) -> int:
        """Return the slot of a constant."""
        if identifier not in self._constants:
            self._constants[identifier] = self.new()
        return self._constants[identifier]

    def of(self, identifier: int, own: dict[int, int]) -> int:
        """Return the slot of an id in a function, whose own ids are in `own`, or of a constant."""
        slot = own.get(identifier, self._constants.get(identifier))
        if slot is None:
            raise InvalidModule(f"%{identifier} is used, and nothing here makes it")
        return slot
