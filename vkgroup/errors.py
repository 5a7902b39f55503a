"""Every error that vkgroup raises on purpose: one tree, one meaning each.

The command line maps the tree to its exit codes (see `vkgroup.cli`): bad input is 2, a
missing device or capability is 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class VkgroupError(Exception):
    """Base of all errors that vkgroup raises on purpose."""


@dataclass(frozen=True)
class Diagnostic:
    """One message of a compiler.

    Attributes
    ----------
    severity : {"error", "warning"}
    file : the file's name as the user gave it, or ``"<string>"``.
    line : line in `file`, counted from 1; 0 where the compiler gave none.
    column : column counted from 1; 0 where the compiler gave none.
    message : what is wrong, without file and line.
    """

    severity: str
    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        place = self.file
        if self.line:
            place += f":{self.line}"
            if self.column:
                place += f":{self.column}"
        return f"{place}: {self.severity}: {self.message}"


class CompileError(VkgroupError):
    """A source that does not compile; `diagnostics` has each message with its file and line."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        lines = [super().__str__(), *(str(d) for d in self.diagnostics)]
        return "\n".join(lines)


class LinkError(CompileError):
    """Sources that compile, each on its own, and make no program together."""


class CompilerUnavailable(VkgroupError):
    """A compiler that was asked for cannot be loaded; says what to install."""


class InvalidModule(VkgroupError):
    """Bytes that are no SPIR-V module, or one that the SPIR-V validator refuses."""


class Unsupported(VkgroupError):
    """The device lacks something the work needs.

    Attributes
    ----------
    missing : the features, limits or extensions by their Vulkan names, each with what the device has.
    """

    def __init__(self, message: str, missing: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.missing = tuple(missing)


class NotShareable(VkgroupError, BufferError):
    """Memory that another array library cannot be given as it asked for it (DLPack)."""


class InvalidDispatch(VkgroupError, ValueError):
    """Work that makes no sense: wrong bindings, types, shapes, sizes or groups."""


class InvalidInput(VkgroupError, ValueError):
    """A file, folder or argument given to a tool that it cannot use; says what to give instead."""


class NoDevice(VkgroupError):
    """No device to open; says what was looked for, where, and how to get one."""


class DriverFetchError(VkgroupError):
    """A software driver could not be fetched; says what to install instead."""


class DriverError(VkgroupError):
    """A Vulkan call failed; `result` is the VkResult's name."""

    def __init__(self, message: str, result: str = "") -> None:
        super().__init__(message)
        self.result = result


class OutOfMemory(DriverError):
    """Host or device memory is exhausted; nothing was allocated."""


class DeviceLost(DriverError):
    """The device was lost; every object made from it is unusable."""


class DispatchTimeout(DriverError):
    """Work did not finish in the time it was given; the device must be treated as lost."""


class ValidationError(DriverError):
    """The Khronos validation layer reported an error (``VKGROUP_VALIDATION=1``)."""
