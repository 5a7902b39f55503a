"""Modules of checked requests: cache look-up, compiler run, validation, optimization."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from vkgroup import spirv
from vkgroup.base import files
from vkgroup.base.errors import CompileError, Diagnostic, InvalidModule
from vkgroup.base.phases import phase
from vkgroup.compiler import cache as module_cache
from vkgroup.compiler import hlsl, hlsl_front_ends, thread_group
from vkgroup.compiler.front_ends import front_end
from vkgroup.compiler.gl.interface import interface_of, with_interface
from vkgroup.compiler.gl.program import build_program
from vkgroup.compiler.includes import Dependencies
from vkgroup.compiler.optimizer import finish, legalize
from vkgroup.compiler.registers import shifted
from vkgroup.compiler.request import CompileRequest, hint_at_opengl
from vkgroup.compiler.tools import tools_version, validates
from vkgroup.spirv import Module, rename_entry_point
from vkgroup.spirv.editor import set_source


def compile_request(request: CompileRequest, compiler: str, use_cache: bool) -> Module:
    """Return the module from the cache, or compile it and add it to the cache."""
    key = _key(request, compiler) if use_cache else None
    module = module_cache.load(key) if key else None
    if module is None:
        with phase(f"compiling {request.name}"):
            module, dependencies = _build(request, compiler)
        if key:
            module_cache.store(key, module, dependencies)
    return module


def _key(request: CompileRequest, compiler: str) -> str | None:
    """Return the cache key; None if the compiler's version is unknown, or the module is not validated."""
    if not validates():
        return None
    identity = front_end(compiler, request.dialect).identity
    if identity is None:
        return None
    search_paths = ""
    if request.has_includes:
        # Relative paths depend on the working directory.
        folders = [str(path) for path in (request.folder or "", *request.include_paths)]
        search_paths = "\0".join([os.getcwd(), *folders])
    return module_cache.key_of(
        _revision(),
        identity,
        tools_version(),
        request.source,
        request.stage.name,
        request.dialect,
        request.target.name,
        request.optimize or "",
        "lowered" if request.lower_legacy else "",
        # The source's name is part of the module only with debug lines.
        request.name if request.debug else "",
        "debug" if request.debug else "",
        request.entry_point,
        "\0".join(f"{name} {value}" for name, value in request.defines),
        repr((request.limits, request.register_shifts, request.robustness, request.workgroup_zeros)),
        str(request.confined_to or ""),
        search_paths,
    )


@cache
def _revision() -> str:
    """Return the digest of all files that decide the compiled module, as part of the cache key."""
    folders = (Path(__file__).parent, Path(spirv.__file__).parent, files.shaders() / "include")
    sources = sorted(
        file
        for folder in folders
        for file in folder.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    )
    return module_cache.key_of(*(text for file in sources for text in (file.name, file.read_text("utf-8"))))


def _rewritten(request: CompileRequest, compiler: str) -> CompileRequest:
    """Return the request with the source changed for glslang, if the GL dialect or HLSL needs it."""
    if request.dialect == "hlsl" and compiler not in ("slang", "dxc"):
        return hlsl.prepared(request)
    return thread_group.prepared(request) if request.dialect == "gl" else request


def _build(request: CompileRequest, compiler: str) -> tuple[Module, Dependencies]:
    """Compile and validate; on request optimize and validate again."""
    chosen = front_end(compiler, request.dialect)
    rewritten, by_glslang = _rewritten(request, compiler), compiler not in ("slang", "dxc")
    if request.dialect == "hlsl" and by_glslang:
        rewritten = replace(rewritten, entry_point=hlsl_front_ends.entry_point_of(request))
    try:
        module, dependencies = chosen.compile(rewritten)
    except CompileError as error:
        restored = thread_group.restore(error, request.source)
        if request.dialect in ("hlsl", "slang"):
            used = "slang" if request.dialect == "slang" else compiler
            restored = hlsl_front_ends.with_intrinsic_hint(restored, request, used)
        raise (hint_at_opengl(restored) if request.dialect == "vulkan" else restored) from None
    module = thread_group.mark(module, dependencies)
    if rewritten.entry_point != request.entry_point:
        module = rename_entry_point(module, request.entry_point)
    if request.dialect == "hlsl" and by_glslang:
        module = hlsl.mended(legalize(module, request.target))
        module = shifted(module, request.source, request.register_shifts)
    elif request.dialect == "hlsl" and not request.register_shifts:  # else they have added the shifts
        module = shifted(module, request.source, ())
    return _finished(module, request, chosen.name), dependencies


def compile_program(requests: Sequence[CompileRequest], compiler: str, use_cache: bool) -> dict[str, Module]:
    """Return the modules of a GL program by stage, from the cache or compiled and added to it."""
    keys = _program_keys(requests, compiler) if use_cache else {}
    cached = {stage: module_cache.load(key) for stage, key in keys.items()}
    modules = {stage: module for stage, module in cached.items() if module is not None}
    if keys and len(modules) == len(keys):
        return modules
    try:
        with phase(f"compiling {requests[0].name}"):
            rewritten = [_rewritten(request, compiler) for request in requests]
            built, dependencies = build_program(rewritten, compiler)
    except CompileError as error:
        raise _restored(error, requests) from None
    first = {request.stage.name: request for request in reversed(requests)}
    modules = {}
    for stage, module in built.items():
        interface = interface_of(module)
        name = front_end(compiler, "gl").name
        module = _finished(thread_group.mark(module, dependencies), first[stage], name)
        # The optimizer may remove the interface record, because nothing refers to it.
        modules[stage] = module if interface is None else with_interface(module, interface)
        if keys:
            module_cache.store(keys[stage], modules[stage], dependencies)
    return modules


def _restored(error: CompileError, requests: Sequence[CompileRequest]) -> CompileError:
    """Return a program's error of the same class with locations in the original sources."""
    files = {diagnostic.file for diagnostic in error.diagnostics}
    source = next((request.source for request in requests if request.name in files), "")
    return type(error)(str(error.args[0]), thread_group.restore(error, source).diagnostics)


def _program_keys(requests: Sequence[CompileRequest], compiler: str) -> dict[str, str]:
    """Return the cache key of each stage of a program; empty if the compiler's version is unknown."""
    parts = [_key(request, compiler) for request in requests]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return {}
    return {request.stage.name: module_cache.key_of(request.stage.name, *known) for request in requests}


def _finished(module: Module, request: CompileRequest, compiler: str) -> Module:
    """Set the names of entry point and source; validate; on request optimize and validate again."""
    if request.dialect not in ("hlsl", "slang", "wgsl") and request.entry_point != "main":
        module = rename_entry_point(module, request.entry_point)
    if request.debug:
        # Both compilers store the preprocessed source and corrupt characters that are not ASCII.
        module = set_source(module, request.name, request.source)
    try:
        return finish(module, request.target, lower=request.lower_legacy, level=request.optimize)
    except InvalidModule as error:
        message = f"{compiler} produced an invalid module: {error}"
        raise CompileError(
            f"{request.name} does not compile", [Diagnostic("error", request.name, 0, 0, message)]
        ) from None
