"""Source to module: the options checked, the cache asked, a compiler run, the result validated."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TypedDict, Unpack

from vkgroup import resources, spirv
from vkgroup.choices import COMPILERS, DIALECTS
from vkgroup.compiler import cache as module_cache
from vkgroup.compiler import extensions, hlsl, thread_group
from vkgroup.compiler.apart import compile_apart
from vkgroup.compiler.diagnostics import hint_at_opengl
from vkgroup.compiler.existing import ASSEMBLY, WORDS, assemble_source, finish, read_module
from vkgroup.compiler.gl_interface import interface_of, with_interface
from vkgroup.compiler.gl_limits import Limit, limits_of
from vkgroup.compiler.gl_program import build_program
from vkgroup.compiler.glslang import compile_glslang, glslang_identity
from vkgroup.compiler.includes import Dependencies
from vkgroup.compiler.optimizer import LEVELS, legalize
from vkgroup.compiler.shaderc import compile_shaderc, shaderc_identity
from vkgroup.compiler.source import Request, clean, failure, read
from vkgroup.compiler.target import Target
from vkgroup.compiler.tools import tools_version
from vkgroup.errors import CompileError, Diagnostic, InvalidModule
from vkgroup.spec.stages import STAGE_NAMES, STAGES, Stage
from vkgroup.spirv import Module, rename_entry_point, set_source

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def compile_source(
    source: str,
    *,
    stage: str,
    name: str = "<string>",
    dialect: str = "vulkan",
    defines: Mapping[str, str | int] | None = None,
    include_paths: Sequence[str | os.PathLike[str]] = (),
    target: Target = Target.VULKAN_1_1,
    optimize: str | bool = False,
    debug: bool = False,
    entry_point: str = "main",
    compiler: str = "glslang",
    cache: bool = True,
    lower_legacy: bool = False,
    limits: Mapping[str, Limit] | None = None,
) -> Module:
    """Compile GLSL or HLSL to a module that SPIRV-Tools has validated.

    Parameters
    ----------
    source : the text; GLSL without ``#version`` is taken for 4.60.
    stage : name or suffix of the stage, for example ``"compute"`` or ``"comp"``; SPIR-V says it itself.
    name : what diagnostics call the source. Where it is a path, ``#include "…"`` looks beside it
        before the include paths.
    dialect : ``"vulkan"`` (GL_KHR_vulkan_glsl), ``"gl"`` (GLSL as OpenGL takes it; how a host finds
        uniforms, counters and bindings says `gl_interface.interface_of`), ``"hlsl"``, or ``"spirv"``
        (assembly, for which no option of a compiler counts).
    defines : macros, name and value.
    include_paths : folders where ``#include`` looks, in order.
    target : Vulkan version the module is for. Mesh and ray-tracing shaders for Vulkan 1.1 are of SPIR-V 1.4,
        which devices of that version take by VK_KHR_spirv_1_4.
    optimize : False, ``"performance"`` (or True), or ``"size"``.
    debug : whether to keep line numbers and source in the module.
    entry_point : the entry point's name in the module; in HLSL also in the source.
    compiler : ``"glslang"`` (in this process; HLSL in one of its own) or ``"shaderc"`` (libshaderc, or
        ``glslc``).
    cache : whether to use the cache on disk.
    lower_legacy : whether to replace the instructions of SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote by
        those of SPIR-V 1.3, for devices that lack the extensions; see `vkgroup.spirv.lower_legacy`.
    limits : of the implementation, for the dialect ``"gl"``: numbers, or three of them, by OpenGL's names
        (``"MAX_COMPUTE_WORK_GROUP_SIZE"``). They are the values of GLSL's constants
        (``gl_MaxComputeWorkGroupSize``), and the shader is checked against them. Without them constants have
        the least values that ARB_compute_shader allows.

    Raises
    ------
    CompileError
        `diagnostics` has file, line and message of each finding; also where the compiler made
        a module that breaks SPIR-V's rules for `target`. In the dialect ``"gl"`` a LinkError where the
        shader makes no program by itself.
    CompilerUnavailable
        The compiler is not installed; says what to install.

    Examples
    --------
    >>> module = compile_source("void main() {}", stage="compute")
    >>> module.reflection.entry_points[0].stage
    'compute'
    """
    request = request_of(
        source, stage, name, dialect, defines, include_paths, target, optimize, debug, entry_point
    )
    request = replace(request, lower_legacy=lower_legacy, limits=limits_of(limits))
    if dialect == "spirv":
        return assemble_source(request.source, name, target, lower=lower_legacy, optimize=request.optimize)
    if dialect == "gl":
        return compile_program([request], compiler, cache)[request.stage.name]
    return _compile(request, compiler, cache)


class CompileOptions(TypedDict, total=False):
    """What `compile_file` hands on to `compile_source`; see there."""

    defines: Mapping[str, str | int] | None
    include_paths: Sequence[str | os.PathLike[str]]
    target: Target
    optimize: str | bool
    debug: bool
    entry_point: str
    compiler: str
    cache: bool
    lower_legacy: bool
    limits: Mapping[str, Limit] | None


def compile_file(
    path: str | os.PathLike[str],
    *,
    stage: str | None = None,
    dialect: str | None = None,
    **options: Unpack[CompileOptions],
) -> Module:
    """Compile a file; the other options are those of `compile_source`.

    Parameters
    ----------
    path : the suffix tells the stage: ``.comp``, ``.vert``, …, also before ``.glsl`` or ``.hlsl``. SPIR-V is
        taken as assembly (``.spvasm``) and as words (``.spv``).
    stage : needed where the suffix does not tell it.
    dialect : None takes ``"hlsl"`` for ``.hlsl``, ``"spirv"`` for ``.spvasm`` and ``"vulkan"`` for the rest.

    Raises
    ------
    CompileError
        Also where the file cannot be read, or its stage is not known.
    CompilerUnavailable
        The compiler is not installed; says what to install.
    """
    file = Path(path)
    suffixes = [suffix[1:] for suffix in file.suffixes]
    if file.suffix == WORDS:
        return _read(file, **options)
    if file.suffix == ASSEMBLY or dialect == "spirv":
        text = read(file)
        return compile_source(text, stage=stage or "compute", name=str(path), dialect="spirv", **options)
    if dialect is None:
        dialect = "hlsl" if suffixes[-1:] == ["hlsl"] else "vulkan"
    if suffixes[-1:] in (["glsl"], ["hlsl"]):
        suffixes.pop()
    stage = stage or (suffixes[-1] if suffixes else "")
    if stage not in STAGE_NAMES:
        known = ", ".join(f".{entry.suffix}" for entry in STAGES)
        raise failure(
            str(path),
            0,
            f"the name does not tell the stage: give it (--stage; in Python: stage=), or use one of {known}",
        )
    return compile_source(read(file), stage=stage, name=str(path), dialect=dialect, **options)


def _read(file: Path, **options: Unpack[CompileOptions]) -> Module:
    """Read a module's words; of the options those count that need no source."""
    return read_module(
        file,
        options.get("target", Target.VULKAN_1_1),
        lower=options.get("lower_legacy", False),
        optimize=_level(options.get("optimize", False)),
    )


def request_of(
    source: str,
    stage: str,
    name: str,
    dialect: str,
    defines: Mapping[str, str | int] | None,
    include_paths: Sequence[str | os.PathLike[str]],
    target: Target,
    level: str | bool,
    debug: bool,
    entry_point: str,
) -> Request:
    """Check the options and bring each into one form."""
    if dialect not in DIALECTS:
        raise CompileError(f"no dialect {dialect!r}; there are: {', '.join(DIALECTS)}")
    if not _IDENTIFIER.fullmatch(entry_point):
        raise CompileError(f"{entry_point!r} cannot name an entry point")
    kind = _stage(stage)
    return Request(
        source=clean(source, name),
        name=name,
        stage=kind,
        dialect=dialect,
        target=target.for_stage(kind),
        optimize=_level(level),
        debug=debug,
        entry_point=entry_point,
        defines=_defines(defines),
        include_paths=tuple(Path(path) for path in include_paths),
    )


def _level(level: str | bool) -> str | None:
    """Return the optimiser's level by its name; None for no optimisation."""
    if level is not False and level is not True and level not in LEVELS:
        raise CompileError(f"no optimisation {level!r}; there are: {', '.join(LEVELS)}")
    return "performance" if level is True else level or None


def _stage(name: str) -> Stage:
    stage = STAGE_NAMES.get(name)
    if stage is None:
        known = ", ".join(entry.name for entry in STAGES)
        raise CompileError(f"no stage {name!r}; there are: {known}")
    return stage


def _defines(defines: Mapping[str, str | int] | None) -> tuple[tuple[str, str], ...]:
    found = []
    for name, value in (defines or {}).items():
        text = str(int(value)) if isinstance(value, int) else value
        if not _IDENTIFIER.fullmatch(name):
            raise CompileError(f"{name!r} cannot name a macro")
        if any(character in text for character in "\n\r\0") or not text.isascii():
            raise CompileError(f"the value of macro {name} must be one line of ASCII, not {text!r}")
        found.append((name, text))
    return tuple(found)


def _compile(request: Request, compiler: str, use_cache: bool) -> Module:
    """Return the module from the cache, or make it and keep it there."""
    if compiler not in COMPILERS:
        raise CompileError(f"no compiler {compiler!r}; there are: {', '.join(COMPILERS)}")
    key = _key(request, compiler) if use_cache else None
    module = module_cache.load(key) if key else None
    if module is None:
        module, dependencies = _build(request, compiler)
        if key:
            module_cache.store(key, module, dependencies)
    return module


def _key(request: Request, compiler: str) -> str | None:
    """Return the key of the cache; None where the compiler's version cannot be known."""
    identity = _glslang_identity() if compiler == "glslang" else shaderc_identity()
    if identity is None:
        return None
    places = ""
    if request.has_includes:
        # Relative folders mean other files in another working directory.
        folders = [str(path) for path in (request.folder or "", *request.include_paths)]
        places = "\0".join([os.getcwd(), *folders])
    return module_cache.key_of(
        _revision(),
        identity,
        _tools_identity(),
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
        repr(request.limits),
        places,
    )


@cache
def _revision() -> str:
    """Return the digest of all that makes modules here: with another, the same input makes another module."""
    folders = (Path(__file__).parent, Path(spirv.__file__).parent, resources.shaders() / "include")
    files = sorted(file for folder in folders for file in folder.iterdir() if file.is_file())
    return module_cache.key_of(*(text for file in files for text in (file.name, file.read_text("utf-8"))))


@cache
def _glslang_identity() -> str:
    return glslang_identity()


@cache
def _tools_identity() -> str:
    return tools_version()


def _rewritten(request: Request) -> Request:
    """Let the rewriters of extensions at a source of the GL dialect, and HLSL's at HLSL."""
    if request.dialect == "hlsl":
        return hlsl.prepared(request)
    if request.dialect != "gl":
        return request
    source = extensions.rewrite(request.source, request.stage.name, dict(request.defines))
    if source == request.source:
        return request
    macros = ((extensions.macro_of(name), "1") for name in extensions.REWRITERS)
    return replace(
        request,
        source=source,
        defines=(*request.defines, *macros),
        include_paths=(*request.include_paths, thread_group.include_folder()),
    )


def _build(request: Request, compiler: str) -> tuple[Module, Dependencies]:
    """Compile, validate, and (on request) optimise and validate again."""
    apart = compile_apart if request.dialect == "hlsl" else compile_glslang
    run = apart if compiler == "glslang" else compile_shaderc
    try:
        module, dependencies = run(_rewritten(request))
    except CompileError as error:
        restored = thread_group.restore(error, request.source)
        raise (hint_at_opengl(restored) if request.dialect == "vulkan" else restored) from None
    module = thread_group.mark(module, dependencies)
    if request.dialect == "hlsl":
        module = hlsl.mended(legalize(module, request.target))
    return _finished(module, request, compiler), dependencies


def compile_program(requests: Sequence[Request], compiler: str, use_cache: bool) -> dict[str, Module]:
    """Return the modules of a program in the GL dialect by stage, from the cache or made and kept there."""
    if compiler not in COMPILERS:
        raise CompileError(f"no compiler {compiler!r}; there are: {', '.join(COMPILERS)}")
    keys = _program_keys(requests, compiler) if use_cache else {}
    cached = {stage: module_cache.load(key) for stage, key in keys.items()}
    modules = {stage: module for stage, module in cached.items() if module is not None}
    if keys and len(modules) == len(keys):
        return modules
    try:
        built, dependencies = build_program([_rewritten(request) for request in requests], compiler)
    except CompileError as error:
        raise _restored(error, requests) from None
    first = {request.stage.name: request for request in reversed(requests)}
    modules = {}
    for stage, module in built.items():
        interface = interface_of(module)
        module = _finished(thread_group.mark(module, dependencies), first[stage], compiler)
        # The optimiser may drop what nothing refers to.
        modules[stage] = module if interface is None else with_interface(module, interface)
        if keys:
            module_cache.store(keys[stage], modules[stage], dependencies)
    return modules


def _restored(error: CompileError, requests: Sequence[Request]) -> CompileError:
    """Return the error of a program in the words of its sources, still of its kind."""
    files = {diagnostic.file for diagnostic in error.diagnostics}
    source = next((request.source for request in requests if request.name in files), "")
    return type(error)(str(error.args[0]), thread_group.restore(error, source).diagnostics)


def _program_keys(requests: Sequence[Request], compiler: str) -> dict[str, str]:
    """Return the key of each stage of a program; none where the compiler's version cannot be known."""
    parts = [_key(request, compiler) for request in requests]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return {}
    return {request.stage.name: module_cache.key_of(request.stage.name, *known) for request in requests}


def _finished(module: Module, request: Request, compiler: str) -> Module:
    """Name the entry point and the source, validate, and (on request) optimise and validate again."""
    if request.dialect != "hlsl" and request.entry_point != "main":
        module = rename_entry_point(module, request.entry_point)
    if request.debug:
        # Both compilers write down what is left of the source after preprocessing, and mangle
        # every character that is not ASCII.
        module = set_source(module, request.name, request.source)
    try:
        return finish(module, request.target, lower=request.lower_legacy, optimize=request.optimize)
    except InvalidModule as error:
        message = f"{compiler} made a module that is {error}"
        raise CompileError(
            f"{request.name} does not compile", [Diagnostic("error", request.name, 0, 0, message)]
        ) from None
