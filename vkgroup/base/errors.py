"""Exceptions of vkgroup.

The command line maps them to exit codes (see `vkgroup.cli`): bad input and internal errors are 2, a missing
device or capability is 3. Only errors for which `is_device_error` holds may become verdicts on a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class VkgroupError(Exception):
    """Base class of all exceptions of vkgroup."""


@dataclass(frozen=True)
class Diagnostic:
    """One message of a compiler.

    Attributes
    ----------
    severity : {"error", "warning"}
    file : the file's name as the user gave it, or ``"<string>"``.
    line : line in `file`, counted from 1; 0 if unknown.
    column : column counted from 1; 0 if unknown.
    message : description of the problem, without file and line.
    """

    severity: str
    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        location = self.file
        if self.line:
            location += f":{self.line}"
            if self.column:
                location += f":{self.column}"
        return f"{location}: {self.severity}: {self.message}"


class CompileError(VkgroupError):
    """A source that does not compile; `diagnostics` has each message with its file and line."""

    def __init__(self, message: str, diagnostics: Sequence[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        # Once each: a file that includes itself gives the same error hundreds of times.
        lines = [super().__str__(), *dict.fromkeys(str(d) for d in self.diagnostics)]
        return "\n".join(lines)


class LinkError(CompileError):
    """Sources that compile separately but cannot be linked into a program."""


class CompilerUnavailable(VkgroupError):
    """The requested compiler cannot be loaded; the message names what to install."""


class NotValidated(UserWarning):
    """A module that was not validated, because the validator is too old for it."""


class InvalidModule(VkgroupError):
    """Data that is not a SPIR-V module, or a module that the SPIR-V validator rejects."""


class Unsupported(VkgroupError):
    """The device lacks a capability that the work needs.

    Attributes
    ----------
    missing : features, limits or extensions by their Vulkan names, each with the device's value.
    """

    def __init__(self, message: str, missing: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.missing = tuple(missing)


class NotEmulated(Unsupported):
    """The emulation of an absent GPU lacks an instruction or a packet; `missing` has its name."""


class NotShareable(VkgroupError, BufferError):
    """Memory that cannot be shared with another array library as requested (DLPack)."""


class InvalidDispatch(VkgroupError, ValueError):
    """Invalid arguments of a dispatch or draw: wrong bindings, types, shapes, sizes or groups."""


class InvalidInput(VkgroupError, ValueError):
    """A file, folder or argument that a tool cannot use; the message says what to give instead."""


class InternalError(VkgroupError):
    """An error of vkgroup or of the host, such as exhausted memory; it is never a verdict on a device."""


class NoDevice(VkgroupError):
    """No device can be opened; the message says what was searched, where, and how to install one."""


class DriverFetchError(VkgroupError):
    """A software driver could not be fetched; the message says what to install instead."""


class DriverError(VkgroupError):
    """A Vulkan call failed; `result` is the name of the VkResult."""

    def __init__(self, message: str, result: str = "") -> None:
        super().__init__(message)
        self.result = result


class OutOfMemory(DriverError):
    """Host or device memory is exhausted; nothing was allocated."""


class DeviceLost(DriverError):
    """The device was lost; every object made from it is unusable."""


class DriverCrash(DriverError):
    """The driver's process ended during a call on an isolated device; a new process starts at the next call.

    The message names the driver, what it executed, and how the process ended.
    """


class DispatchTimeout(DriverError):
    """Work did not finish within its time limit; the device must be treated as lost."""


class ValidationError(DriverError):
    """The Khronos validation layer reported an error (``VKGROUP_VALIDATION=1``)."""


def is_device_error(error: BaseException) -> bool:
    """Return whether an exception is evidence against the device.

    It is if the driver crashed or reported that a call failed, the device was lost, or its work did not end
    within the time limit. Every device may run out of memory at any time (Vulkan 1.4, "Return Codes"), so
    `OutOfMemory` is no evidence. `ValidationError` reports wrong use of Vulkan by vkgroup.
    """
    if isinstance(error, OutOfMemory | ValidationError):
        return False
    return isinstance(error, DeviceLost | DispatchTimeout | DriverCrash) or (
        isinstance(error, DriverError) and bool(error.result)
    )


def describe(error: BaseException) -> str:
    """Return the type and the message of an exception in one text."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
