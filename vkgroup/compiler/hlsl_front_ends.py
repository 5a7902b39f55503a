"""Shared parts of DXC and Slang: entry points with ``[shader("compute")]``, command-line options."""

from __future__ import annotations

import re

from vkgroup.compiler.request import CompileRequest

_FUNCTION = r"(?:\s*\[[^\]]*\])*\s*[\w<>, ]+?\s+(\w+)\s*\("
_ENTRY_POINT = re.compile(r'\[\s*shader\s*\(\s*"(\w+)"\s*\)\s*\]' + _FUNCTION)
"""The stage and the name of a function with the attribute ``[shader("…")]``."""

_NUMTHREADS = re.compile(r"\[\s*numthreads\s*\([^)]*\)\s*\]" + _FUNCTION)
"""The name of a function with the attribute ``[numthreads(…)]``."""


def entry_points(source: str) -> list[tuple[str, str]]:
    """Return stage (Slang's name) and name of each function with the attribute ``[shader("…")]``."""
    return [(match[1], match[2]) for match in _ENTRY_POINT.finditer(source)]


def entry_point_of(request: CompileRequest) -> str:
    """Return the function that is the entry point of a request.

    If that is ``main``, the default, and the source has no such function, it is the only function with
    ``[shader("…")]`` of the stage, or else the only one with ``[numthreads(…)]`` of a compute shader.
    """
    if request.entry_point != "main" or re.search(r"\bmain\s*\(", request.source):
        return request.entry_point
    marked = [name for stage, name in entry_points(request.source) if _stage_of(stage) == request.stage.name]
    if not marked and request.stage.name == "compute":
        marked = _NUMTHREADS.findall(request.source)
    return marked[0] if len(marked) == 1 else request.entry_point


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
