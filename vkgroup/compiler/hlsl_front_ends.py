"""Shared parts of the compilers of HLSL: entry points, options, and which of them has which intrinsic."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from vkgroup.base.errors import CompileError
from vkgroup.compiler.request import CompileRequest

_FUNCTION = r"(?:\s*\[[^\]]*\])*\s*[\w<>, ]+?\s+(\w+)\s*\("
_ENTRY_POINT = re.compile(r'\[\s*shader\s*\(\s*"(\w+)"\s*\)\s*\]' + _FUNCTION)
"""The stage and the name of a function with the attribute ``[shader("…")]``."""

_NUMTHREADS = re.compile(r"\[\s*numthreads\s*\([^)]*\)\s*\]" + _FUNCTION)
"""The name of a function with the attribute ``[numthreads(…)]``."""


_NO_ENTRY_POINT = re.compile("entry point not found|(matching|missing) entry point", re.IGNORECASE)

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*", re.DOTALL | re.MULTILINE)
_DEFINED = re.compile(r"(\w+)\s*\([^;{}]*\)\s*(?::\s*\w+\s*)?$")
"""The name of a function in front of its body."""

_LATER_INTRINSICS = {
    **dict.fromkeys(("WaveMatch", "IsHelperLane"), ("dxc", "slang")),
    **{f"WaveMultiPrefix{name}": ("slang",) for name in ("Sum", "Product", "BitAnd", "BitOr", "BitXor")},
    "WaveMultiPrefixCountBits": (),
    **dict.fromkeys(("QuadAny", "QuadAll"), ("slang",)),
    **dict.fromkeys(("GetGroupWaveIndex", "GetGroupWaveCount"), ()),
    **dict.fromkeys(("WaveGetWaveIndex", "WaveGetNumWaves", "WaveRotate", "WaveShuffle"), ("slang",)),
}
"""The compilers that make SPIR-V of the intrinsics that not all have: DXC 1.8 and Slang 2026.12."""

_INTRINSIC = re.compile(rf"\b({'|'.join(_LATER_INTRINSICS)})\b")


def with_intrinsic_hint(error: CompileError, request: CompileRequest, compiler: str) -> CompileError:
    """Return the error of a source of HLSL or Slang with the compiler that has an intrinsic this one lacks.

    `compiler`: its name, as in ``--compiler``.
    """
    diagnostics = list(error.diagnostics)
    own = functions_of(request.source)
    for number, entry in enumerate(diagnostics):
        # Slang names the entry point that uses what it lacks.
        where = (
            _COMMENT.sub(" ", request.source) if "features that are not available" in entry.message else ""
        )
        for name in dict.fromkeys(_INTRINSIC.findall(f"{entry.message} {where}")):
            if name in own:
                continue
            if compiler in (having := _LATER_INTRINSICS[name]):
                continue
            compilers = f"--compiler {' or '.join(having)}" if having else "no compiler here"
            hint = f"{compilers} has {name}"
            diagnostics[number] = replace(entry, message=f"{entry.message}; {hint}")
        if _NO_ENTRY_POINT.search(entry.message) and request.entry_point not in own:
            names = _candidates(request) or own
            hint = f"the source has {', '.join(names) or 'no function'}; choose with --entry-point"
            diagnostics[number] = replace(entry, message=f"{entry.message}; {hint}")
    return type(error)(str(error.args[0]), diagnostics)


_WAVE_SIZE = re.compile(r"\[\s*WaveSize\s*\(([^)]*)\)\s*\]" + _FUNCTION)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\w+)[ \t]*$", re.MULTILINE)


def wave_sizes(source: str, entry_point: str, defines: Mapping[str, str]) -> tuple[int, int] | str | None:
    """Return the least and the greatest size of ``[WaveSize(…)]`` (Shader Model 6.6, 6.8) of an entry point.

    Compilers check the attribute, but SPIR-V has no place for it. None without it; its words if a size is
    neither a number nor a macro of one.
    """
    text = _COMMENT.sub(" ", source)
    macros = {**{match[1]: match[2] for match in _MACRO.finditer(source)}, **defines}
    found = {match[2]: match[1] for match in _WAVE_SIZE.finditer(text)}
    words = found.get(entry_point) or (next(iter(found.values())) if len(found) == 1 else "")
    if not words:
        return None
    sizes = [macros.get(word.strip(), word.strip()).rstrip("uU") for word in words.split(",")]
    if not all(size.isdigit() for size in sizes):
        return words
    return int(sizes[0]), int(sizes[min(1, len(sizes) - 1)])


def functions_of(source: str) -> list[str]:
    """Return the names of the functions that a source defines, without methods."""
    names, depth, start = [], 0, 0
    text = _COMMENT.sub(" ", source)
    for match in re.finditer(r"[{};]", text):
        if match[0] == "{":
            if depth == 0 and (found := _DEFINED.search(text[start : match.start()].rstrip())):
                names.append(found[1])
            depth += 1
        elif match[0] == "}":
            depth -= 1
        if depth == 0:
            start = match.end()
    return names


def entry_points(source: str) -> list[tuple[str, str]]:
    """Return stage (Slang's name) and name of each function with the attribute ``[shader("…")]``."""
    return [(match[1], match[2]) for match in _ENTRY_POINT.finditer(source)]


def entry_point_of(request: CompileRequest) -> str:
    """Return the function that is the entry point of a request.

    If that is ``main``, the default, and the source has no such function, it is the only function with
    ``[shader("…")]`` of the stage, or else the only one with ``[numthreads(…)]`` of a compute shader, or else
    the only function.
    """
    if request.entry_point != "main" or re.search(r"\bmain\s*\(", _COMMENT.sub(" ", request.source)):
        return request.entry_point
    marked = _candidates(request) or functions_of(request.source)
    return marked[0] if len(marked) == 1 else request.entry_point


def _candidates(request: CompileRequest) -> list[str]:
    """Return the functions that are marked as entry points of the stage; none if none is."""
    marked = [name for stage, name in entry_points(request.source) if _stage_of(stage) == request.stage.name]
    if not marked and request.stage.name == "compute":
        marked = _NUMTHREADS.findall(request.source)
    return marked


_OTHER_NAMES = {
    **{"pixel": "fragment", "hull": "tessellation_control", "domain": "tessellation_evaluation"},
    **{"raygeneration": "raygen", "anyhit": "any_hit", "closesthit": "closest_hit", "amplification": "task"},
}


def _stage_of(name: str) -> str:
    """Return the stage of a name in ``[shader("…")]``."""
    return _OTHER_NAMES.get(name, name)


def stage_of_source(source: str) -> str | None:
    """Return the stage of a source whose functions with ``[shader("…")]`` all have one; else None.

    Without such functions it is a compute shader if it has ``[numthreads(…)]``; mesh shaders have that too.
    """
    stages = {_stage_of(stage) for stage, _ in entry_points(source)}
    if not stages and _NUMTHREADS.search(source) and "outputtopology" not in source:
        return "compute"
    return stages.pop() if len(stages) == 1 else None


def common_arguments(request: CompileRequest) -> list[str]:
    """Return the options that both compilers have: shifts of registers, macros, and folders of includes."""
    arguments: list[str] = []
    for name, shift in request.register_shifts:
        arguments += [f"-fvk-{name}-shift", str(shift), "all"]
    for name, value in request.defines:
        arguments += ["-D", f"{name}={value}"]
    folders = [request.folder] if request.folder is not None else []
    for path in (*folders, *request.include_paths):
        arguments += ["-I", str(path.absolute())]
    return arguments
