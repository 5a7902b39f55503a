"""Errors that stop an emulation."""

from __future__ import annotations


class EmulationError(Exception):
    """An emulation that cannot go on; `detail` says where."""

    detail = ""

    def at(self, where: str) -> EmulationError:
        """Return this error with the place where it occurred, unless it has one already."""
        self.detail = self.detail or where
        return self

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text} ({self.detail})" if self.detail else text


class MissingPart(EmulationError):
    """An instruction, a packet or a mode that the emulation does not know: no statement about the driver.

    `name`: what is unknown, such as a mnemonic.
    """

    def __init__(self, name: str, why: str = "") -> None:
        super().__init__(f"{name} is not emulated{f': {why}' if why else ''}")
        self.name = name


class UnknownLayout(EmulationError):
    """Requests of a driver that are laid out otherwise than those of the known versions of Mesa."""


class MemoryFault(EmulationError):
    """An access to an address without memory, as a page fault of the GPU."""


class HardwareRule(EmulationError):
    """Machine code against a rule of the hardware, such as a register that is read before its load ended.

    `name`: of the rule.
    """

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name
