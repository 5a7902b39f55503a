"""Errors that vkgroup raises: the public names of `vkgroup.base.errors`."""

from __future__ import annotations

from vkgroup.base.errors import (
    CompileError,
    CompilerUnavailable,
    DeviceLost,
    Diagnostic,
    DispatchTimeout,
    DriverCrash,
    DriverError,
    DriverFetchError,
    InternalError,
    InvalidDispatch,
    InvalidInput,
    InvalidModule,
    LinkError,
    NoDevice,
    NotShareable,
    NotValidated,
    OutOfMemory,
    Unsupported,
    ValidationError,
    VkgroupError,
)

__all__ = [
    "CompileError",
    "CompilerUnavailable",
    "DeviceLost",
    "Diagnostic",
    "DispatchTimeout",
    "DriverCrash",
    "DriverError",
    "DriverFetchError",
    "InternalError",
    "InvalidDispatch",
    "InvalidInput",
    "InvalidModule",
    "LinkError",
    "NoDevice",
    "NotShareable",
    "NotValidated",
    "OutOfMemory",
    "Unsupported",
    "ValidationError",
    "VkgroupError",
]
