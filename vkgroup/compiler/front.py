"""Compile a source, a file or a program: documented options, their checks, the language of a file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict, Unpack

from vkgroup.base.choices import DIALECTS, SOURCE_DIALECTS
from vkgroup.base.errors import CompileError, InvalidInput
from vkgroup.base.files import printable, require_exists
from vkgroup.base.phases import phase
from vkgroup.base.suggestions import nearest
from vkgroup.compiler.build import compile_program, compile_request
from vkgroup.compiler.gl.rules import link_error
from vkgroup.compiler.gl_limits import Limit, limits_of
from vkgroup.compiler.hlsl_front_ends import stage_of_source
from vkgroup.compiler.optimizer import ASSEMBLY, LEVELS, WORDS, assemble_source, read_module
from vkgroup.compiler.registers import shifts_of
from vkgroup.compiler.request import DEFAULT_TARGET, CompileRequest, TargetEnvironment, clean, failure, read
from vkgroup.compiler.wgsl import entry_point_of
from vkgroup.spec.stages import STAGE_NAMES, STAGES
from vkgroup.spirv import Module

_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)

#: Name of a macro, with parameters for a function-like one.
_MACRO = re.compile(r"[A-Za-z_]\w*(\( *([A-Za-z_]\w*( *, *[A-Za-z_]\w*)*)? *\))?", re.ASCII)

_OTHER_LANGUAGES = {
    ".metal": "this is Metal's language, which vkgroup does not compile; pass GLSL, HLSL, Slang or SPIR-V",
    ".cl": "this is OpenCL C, which vkgroup does not compile; clspv makes SPIR-V for Vulkan of it",
    ".cu": "this is CUDA C++, which vkgroup does not compile; pass GLSL, HLSL, Slang or SPIR-V",
}
"""What to do with files of other languages, by suffix."""

_WGSL = re.compile(
    r"^\s*(@(compute|vertex|fragment|workgroup_size|group|binding)\b|fn\s+\w+\s*\()", re.MULTILINE
)
"""The beginning of a declaration in WGSL; GLSL has no attributes, and a comment of it compiles."""

_IS_WGSL = "this is WGSL: name the file .wgsl, or give --dialect wgsl (in Python: dialect=)"


def compile_source(
    source: str,
    *,
    stage: str,
    name: str = "<string>",
    dialect: str = "vulkan",
    defines: Mapping[str, str | int] | None = None,
    include_paths: Sequence[str | os.PathLike[str]] = (),
    target: TargetEnvironment | str | None = None,
    default_target: TargetEnvironment = DEFAULT_TARGET,
    optimize: str | bool = False,
    debug: bool = False,
    entry_point: str = "main",
    compiler: str = "glslang",
    cache: bool = True,
    lower_legacy: bool = False,
    limits: Mapping[str, Limit] | None = None,
    register_shifts: Mapping[str, int] | None = None,
    confined_to: Path | None = None,
    robustness: bool = True,
    workgroup_zeros: bool = True,
) -> Module:
    """Compile GLSL, HLSL, Slang or WGSL to a module that SPIRV-Tools has validated.

    Parameters
    ----------
    source : the source text; GLSL without ``#version`` is compiled as version 4.60.
    stage : name or suffix of the stage, for example ``"compute"`` or ``"comp"``; not needed for SPIR-V.
    name : name of the source in diagnostics. If it is a path, ``#include "…"`` searches its folder before
        the include paths.
    dialect : ``"vulkan"`` (GL_KHR_vulkan_glsl), ``"gl"`` (GLSL for OpenGL; `gl.interface.interface_of`
        returns its uniforms, counters and bindings), ``"hlsl"``, ``"slang"``, ``"wgsl"``, or
        ``"spirv"`` (assembly; compiler options have no effect).
    defines : macro values by name; the name of a function-like macro includes its parameters, as in
        ``{"TWICE(x)": "((x) * 2)"}``. In WGSL the values of ``override`` declarations.
    include_paths : folders that ``#include`` searches, in order.
    target : Vulkan version of the module: a `TargetEnvironment` or its name (``"vulkan1.3"``, ``"1.3"``).
        None means `default_target`, and for SPIR-V the version that its SPIR-V version belongs to.
        Mesh and ray tracing shaders for Vulkan 1.1 use SPIR-V 1.4, which needs VK_KHR_spirv_1_4.
    default_target : the target if `target` is None, of GLSL, HLSL, Slang, and of SPIR-V assembly without a
        version (``; Version: 1.0``): Vulkan 1.2.
    optimize : False, ``"performance"`` (or True), or ``"size"``.
    debug : whether the module contains line numbers and the source.
    entry_point : the entry point's name in the module; in HLSL and WGSL also in the source. In WGSL
        ``"main"`` also means the only entry point of the stage.
    compiler : ``"glslang"``, ``"glslang-13"``, ``"shaderc"``, ``"slang"``, ``"dxc"`` or ``"tint"``; they run
        in another process. See `vkgroup.compiler.front_ends.front_end`.
    cache : whether to use the cache on disk.
    lower_legacy : whether to replace the instructions of SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote by
        those of SPIR-V 1.3, for devices that lack the extensions; see `vkgroup.spirv.legacy`.
    limits : implementation limits for the dialect ``"gl"``: one number or three numbers by OpenGL name
        (``"MAX_COMPUTE_WORK_GROUP_SIZE"``). They set GLSL's constants (``gl_MaxComputeWorkGroupSize``), and
        the shader is checked against them. The default is the minimum that ARB_compute_shader allows.
    register_shifts : what is added to HLSL's register numbers, by class (``"b"``, ``"t"``, ``"s"``,
        ``"u"``), as DXC's ``-fvk-b-shift``. By default glslang's bindings are shifted only if two classes
        have one binding (``register(b0)`` and ``register(u0)``) and the source has no ``[[vk::binding]]``;
        the classes then follow each other in this order.
    confined_to : the folder that all included files must lie in, for sources that someone else wrote; None
        for any.
    robustness : for WGSL: whether accesses are kept inside of arrays, as browsers do.
    workgroup_zeros : for WGSL: whether workgroup memory is set to zero first, as browsers do.

    Raises
    ------
    CompileError
        The source does not compile, or the compiled module is invalid for `target`. `diagnostics` has file,
        line and message of each error. In the dialect ``"gl"``, `LinkError` if the shader alone is not a
        complete program.
    CompilerUnavailable
        The compiler is not installed. The error names what to install.
    InvalidInput
        There is no target of that name.

    Examples
    --------
    >>> module = compile_source("void main() {}", stage="compute")
    >>> module.reflection.entry_points[0].stage
    'compute'
    """
    request = _request(
        source,
        stage,
        name,
        dialect,
        defines=defines,
        include_paths=include_paths,
        target=target,
        default_target=default_target,
        optimize=optimize,
        debug=debug,
        entry_point=entry_point,
        lower_legacy=lower_legacy,
        limits=limits,
        register_shifts=register_shifts,
        confined_to=confined_to,
        robustness=robustness,
        workgroup_zeros=workgroup_zeros,
    )
    if dialect == "spirv":
        given = TargetEnvironment.of(target) if target else None
        return assemble_source(
            request.source, name, given, default_target, lower=lower_legacy, level=request.optimize
        )
    if dialect == "gl":
        return compile_program([request], compiler, cache)[request.stage.name]
    return compile_request(request, compiler, cache)


class LinkOptions(TypedDict, total=False):
    """Options of `compile_source` that apply to all shaders of a program."""

    defines: Mapping[str, str | int] | None
    include_paths: Sequence[str | os.PathLike[str]]
    target: TargetEnvironment | str | None
    default_target: TargetEnvironment
    optimize: str | bool
    debug: bool
    lower_legacy: bool
    limits: Mapping[str, Limit] | None
    register_shifts: Mapping[str, int] | None
    confined_to: Path | None
    robustness: bool
    workgroup_zeros: bool


class CompileOptions(LinkOptions, total=False):
    """Options of `compile_source` that `compile_file` passes on."""

    entry_point: str
    compiler: str
    cache: bool


def compile_file(
    path: str | os.PathLike[str],
    *,
    stage: str | None = None,
    dialect: str | None = None,
    **options: Unpack[CompileOptions],
) -> Module:
    """Compile a file; the other options are those of `compile_source`.

    `path`: the file. Its suffix determines the stage: ``.comp``, ``.vert``, …, also before ``.glsl`` or
    ``.hlsl``. SPIR-V may be assembly (``.spvasm``) or binary (``.spv``).
    `stage`: the stage, if the suffix does not determine it.
    `dialect`: None means ``"hlsl"`` for ``.hlsl``, ``"slang"`` for ``.slang``, ``"spirv"`` for
        ``.spvasm``, and
        ``"vulkan"`` for others. HLSL and Slang may give the stage by ``[shader("compute")]``.

    Raises
    ------
    CompileError
        As for `compile_source`, and if the stage is unknown.
    InvalidInput
        The file does not exist, or cannot be read.
    CompilerUnavailable
        The compiler is not installed. The error names what to install.
    """
    file = Path(path)
    require_exists(file)
    if file.is_dir():
        raise InvalidInput(f"{path} is a folder: name a shader.")
    suffixes = [suffix[1:] for suffix in file.suffixes]
    if file.suffix == WORDS:
        return _read(file, **options)
    if file.suffix == ASSEMBLY or dialect == "spirv":
        text = read(file)
        return compile_source(text, stage=stage or "compute", name=str(path), dialect="spirv", **options)
    if file.suffix in _OTHER_LANGUAGES:
        raise failure(str(path), 0, _OTHER_LANGUAGES[file.suffix])
    if dialect is None:
        dialect = SOURCE_DIALECTS.get(file.suffix, "vulkan")
    if suffixes[-1:] in (["glsl"], ["hlsl"], ["slang"], ["wgsl"]):
        suffixes.pop()
    given, stage = stage, stage or (suffixes[-1] if suffixes else "")
    if not stage and dialect in SOURCE_DIALECTS.values():
        text = read(file)
        if dialect == "wgsl":
            stage = entry_point_of(text, "", options.get("entry_point", "main"), str(path)).stage
        else:
            stage = stage_of_source(text) or ""
    if not given and stage not in STAGE_NAMES:
        known = ", ".join(f".{entry.suffix}" for entry in STAGES)
        raise failure(
            str(path),
            0,
            f"the suffix does not determine the stage: give --stage (in Python: stage=), or use {known}",
        )
    text = read(file)
    try:
        return compile_source(text, stage=stage, name=str(path), dialect=dialect, **options)
    except CompileError:
        if dialect == "vulkan" and _WGSL.search(text):
            raise failure(str(path), 0, _IS_WGSL) from None
        raise


def _read(file: Path, **options: Unpack[CompileOptions]) -> Module:
    """Return the module of a SPIR-V binary; only options that need no source have an effect."""
    target = options.get("target")
    with phase(f"validating {printable(str(file))}"):
        return read_module(
            file,
            TargetEnvironment.of(target) if target else None,
            lower=options.get("lower_legacy", False),
            level=_level(options.get("optimize", False)),
        )


def _request(
    source: str,
    stage: str,
    name: str,
    dialect: str,
    *,
    entry_point: str = "main",
    **options: Unpack[LinkOptions],
) -> CompileRequest:
    """Return the checked and normalized options."""
    if dialect not in DIALECTS:
        raise CompileError(
            f"unknown dialect {dialect!r}; choose one of: {', '.join(DIALECTS)}.{nearest(dialect, DIALECTS)}"
        )
    if dialect != "wgsl" and not _IDENTIFIER.fullmatch(entry_point):
        raise CompileError(f"{entry_point!r} is not a valid name of an entry point")
    kind = STAGE_NAMES.get(stage)
    if kind is None:
        known = [entry.name for entry in STAGES]
        raise CompileError(
            f"unknown stage {stage!r}; choose one of: {', '.join(known)}.{nearest(stage, known)}"
        )
    target = options.get("target") or options.get("default_target", DEFAULT_TARGET)
    return CompileRequest(
        source=clean(source, name),
        name=printable(name),
        path=name,
        stage=kind,
        dialect=dialect,
        target=TargetEnvironment.of(target).for_stage(kind),
        optimize=_level(options.get("optimize", False)),
        debug=options.get("debug", False),
        entry_point=entry_point,
        defines=_defines(options.get("defines")),
        include_paths=tuple(Path(path) for path in options.get("include_paths", ())),
        limits=limits_of(options.get("limits")),
        lower_legacy=options.get("lower_legacy", False),
        register_shifts=shifts_of(options.get("register_shifts")),
        confined_to=options.get("confined_to"),
        robustness=dialect != "wgsl" or options.get("robustness", True),
        workgroup_zeros=dialect != "wgsl" or options.get("workgroup_zeros", True),
    )


def _level(level: str | bool) -> str | None:
    """Return the optimizer level of a name; None for no optimization."""
    if level is not False and level is not True and level not in LEVELS:
        raise CompileError(f"unknown optimization {level!r}; choose one of: {', '.join(LEVELS)}")
    return "performance" if level is True else level or None


def _defines(defines: Mapping[str, str | int] | None) -> tuple[tuple[str, str], ...]:
    macros = []
    for name, value in (defines or {}).items():
        text = str(int(value)) if isinstance(value, int) else value
        if not _MACRO.fullmatch(name):
            raise CompileError(
                f"{name!r} is not a valid macro name; write NAME, or NAME(x,y) with parameters"
            )
        if any(character in text for character in "\n\r\0") or not text.isascii():
            raise CompileError(f"the value of macro {name} must be one line of ASCII, not {text!r}")
        macros.append((name, text))
    return tuple(macros)


def link(
    shaders: Sequence[tuple[str, str, str]],
    *,
    dialect: str = "gl",
    compiler: str = "glslang",
    cache: bool = True,
    **options: Unpack[LinkOptions],
) -> dict[str, Module]:
    """Compile shaders and link them into a program (OpenGL 4.3, 7.3; ARB_compute_shader, 2.11.3).

    Several shaders of one stage are combined: they share the global functions and variables that they
    declare, and exactly one shader defines ``main``. Interfaces that stages share by name (uniforms, blocks,
    outputs that are the next stage's inputs) have the same binding or location in all stages.

    `shaders`: source, stage and name of each shader; diagnostics use the name.
    `dialect`: ``"gl"``; sources of other dialects are not linked, see `compile_source`.
    `compiler`, `cache`, `options`: see `compile_source`; they apply to all shaders.

    Returns
    -------
    The modules by stage. Each contains the interface of the whole program: `interface.interface_of`.

    Raises CompileError: a shader does not compile. Raises LinkError: the shaders compile but do not link: no
    workgroup size or different ones, no ``main`` or several, a compute shader with other stages, conflicting
    declarations, or a limit is exceeded. Raises CompilerUnavailable: the compiler is not installed; the
    message says what to install.
    """
    if dialect != "gl":
        raise CompileError(
            f"dialect {dialect!r} cannot be linked; only dialect 'gl' can (other sources: compile_source)"
        )
    if not shaders:
        raise link_error(["the program has no shaders: give at least one"])
    requests = [_request(source, stage, name, dialect, **options) for source, stage, name in shaders]
    return compile_program(requests, compiler, cache)
