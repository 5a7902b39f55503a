"""Diagnostics with file, line and message from the logs of the compilers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from vkgroup.errors import CompileError, Diagnostic

# "ERROR: 0:5: 'x' : undeclared identifier", "ERROR: inc/a.glsl:3: …", "ERROR: Linking … stage: …".
_GLSLANG = re.compile(r"(?P<severity>ERROR|WARNING): (?:(?P<file>.+?):(?P<line>\d+): )?(?P<message>.*)")

# "<stdin>:5: error: …", "a.glsl:3:7: warning: …", "glslc: error: …".
_SHADERC = re.compile(
    r"(?P<file>.+?):(?:(?P<line>\d+):)?(?:(?P<column>\d+):)? ?(?P<severity>error|warning): (?P<message>.*)"
)

# Error counts, and locations that repeat the line before.
_SUMMARY = re.compile(
    r"(ERROR: )?\d+ (compilation )?(errors?|warnings?)( and \d+ errors?)?( generated)?\..*"
    r"|\(\d+\): error at column \d+, HLSL parsing failed\."
)

# Messages of GLSL for Vulkan about constructs that OpenGL accepts.
_OPENGL = re.compile(
    r"not allowed when using GLSL for Vulkan|SPIR-V requires location|layout\(binding=X\)"
    r"|'gl_(VertexID|InstanceID)' : undeclared|extension not supported: GL_NV_shader_thread_group"
)


def from_glslang(log: str, name: str) -> list[Diagnostic]:
    """Return the diagnostics of glslang's log; its source string 0 is the file `name`."""

    def rename(file: str) -> str:
        # "#line N S" in the source changes the string number, but the number still refers to this source.
        return name if not file or file.isdigit() else file

    return _read(log, _GLSLANG, rename)


def from_shaderc(log: str, rename: Callable[[str], str]) -> list[Diagnostic]:
    """Return the diagnostics of shaderc's log; `rename` returns the user's name for a file."""
    return _read(log, _SHADERC, rename)


def hint_at_opengl(error: CompileError) -> CompileError:
    """Return the error with a hint at the dialect gl if a Vulkan shader uses OpenGL constructs."""
    diagnostics = list(error.diagnostics)
    for number, entry in enumerate(diagnostics):
        if entry.severity == "error" and _OPENGL.search(entry.message):
            hint = 'was it written for OpenGL? That is --dialect gl (in Python: dialect="gl")'
            diagnostics[number] = replace(entry, message=f"{entry.message}; {hint}")
            return type(error)(str(error.args[0]), diagnostics)
    return error


def _read(log: str, pattern: re.Pattern[str], rename: Callable[[str], str]) -> list[Diagnostic]:
    """Return the diagnostics of a log; a line without `pattern` continues the previous message."""
    diagnostics: list[Diagnostic] = []
    last_file = ""
    for line in log.splitlines():
        if not line.strip() or _SUMMARY.fullmatch(line.strip()):
            continue
        match = pattern.fullmatch(line)
        if match is None:
            if diagnostics:
                more = line.removeprefix(f"{last_file}:").strip()
                diagnostics[-1] = replace(diagnostics[-1], message=f"{diagnostics[-1].message} {more}")
            continue
        parts = match.groupdict()
        last_file = parts["file"] or ""
        diagnostics.append(
            Diagnostic(
                severity=parts["severity"].lower(),
                file=rename(last_file),
                line=int(parts["line"] or 0),
                column=int(parts.get("column") or 0),
                # glslang puts the offending token first, in quotes that may be empty.
                message=parts["message"].strip().removeprefix("'' : ").removeprefix("'' :  "),
            )
        )
    return diagnostics
