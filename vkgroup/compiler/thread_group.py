"""GL_NV_shader_thread_group in the GL dialect: `#extension` lines are replaced by includes of a GLSL header.

The header is ``shaders/include/nv_shader_thread_group.glsl``. A directive in a skipped branch includes
nothing, so the list of included files shows whether the extension was enabled.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import replace

from vkgroup.base import files
from vkgroup.base.errors import CompileError
from vkgroup.compiler.includes import Dependencies
from vkgroup.compiler.request import CompileRequest
from vkgroup.spirv import Module
from vkgroup.spirv.editor import add_source_extension

EXTENSION = "GL_NV_shader_thread_group"
"""The extension's name; modules compiled with it contain it as an `OpSourceExtension`."""

_HEADER = "nv_shader_thread_group.glsl"
_HEADER_DISABLED = "nv_shader_thread_group_disabled.glsl"

#: Extensions that the header enables, and disables again unless the source enables them too.
_ENABLED_BY_HEADER = (
    "GL_KHR_shader_subgroup_basic",
    "GL_KHR_shader_subgroup_ballot",
    "GL_KHR_shader_subgroup_quad",
    "GL_NV_shader_sm_builtins",
    "GL_EXT_spirv_intrinsics",
)

_MACRO = f"vkgroup_has_{EXTENSION}"
"""Macro that replaces the extension's own in conditions: a source cannot define names that begin with GL_."""

_DIRECTIVE = re.compile(
    rf"^[ \t]*#[ \t]*extension[ \t]+{EXTENSION}[ \t]*:[ \t]*"
    r"(?P<behavior>require|enable|warn|disable)[ \t]*(?=$|//|/\*)",
    re.MULTILINE,
)
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b[^\n]*", re.MULTILINE)

# A line comment that ends with a backslash continues on the next line (GLSL 4.60, 3.2).
_COMMENT = re.compile(r"//(?:[^\n\\]|\\.)*|/\*.*?(?:\*/|\Z)", re.DOTALL)

_SHADER = re.compile(r"^#define VKGROUP_SHADER (\w+)$", re.MULTILINE)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b(?! <nv_shader_thread_group)", re.MULTILINE)
_EXTENSION = re.compile(r"^[ \t]*#[ \t]*extension[ \t]+(\w+)", re.MULTILINE)

#: A function of the header; the group is its name in the extension's document.
_FUNCTION = re.compile(r"\bvkgroup_s[0-9a-f]{8}_((?:gl_)?\w+NV)\b")

_VARIABLE = re.compile(r"\bgl_(?:Thread|Warp|SM|HelperThread)\w*NV\b")

#: Messages of glslang for a call as an assignment target or in place of a declared name.
_OF_A_CALL = re.compile(r"l-value|L-value|unexpected LEFT_PAREN")


def prepared(request: CompileRequest) -> CompileRequest:
    """Return the request with each directive of the extension replaced by an include of the header.

    Line numbers do not change. The directives "enable", "require" and "warn" have the same effect: support is
    checked when the module is used with a device.
    """
    source = request.source
    if EXTENSION not in source:
        return request
    while (directive := _DIRECTIVE.search(_without_comments(source))) is not None:
        if directive["behavior"] == "disable":
            lines = [f"#include <{_HEADER_DISABLED}>"]
        else:
            settings = _settings(source, request.stage.name)
            lines = [*(f"#define {name}" for name in settings), f"#include <{_HEADER}>"]
        # Relative to __LINE__, because the source may contain another "#line".
        lines.append(f"#line __LINE__ - {len(lines) - 1}")
        source = source[: directive.start()] + "\n".join(lines) + source[directive.end("behavior") :]
        source = _without_comment_at_version(source)
    if source == request.source:
        return request
    source = _CONDITION.sub(lambda line: re.sub(rf"\b{EXTENSION}\b", _MACRO, line[0]), source)
    return replace(
        request,
        source=source,
        defines=(*request.defines, (_MACRO, "1")),
        include_paths=(*request.include_paths, files.shaders() / "include"),
    )


def _settings(source: str, stage: str) -> list[str]:
    """Return the macro definitions that describe the source to the header.

    The content of other included files is unknown here; they are assumed to use every feature.
    """
    bare = _without_comments(source)
    includes = _INCLUDE.search(bare) is not None
    # An earlier replaced directive has already defined the shader's name.
    known = _SHADER.search(bare)
    shader = known[1] if known else "s" + hashlib.blake2b(bare.encode(), digest_size=4).hexdigest()
    settings = [f"VKGROUP_SHADER {shader}", f"VKGROUP_STAGE_{stage}"]
    if includes or "quadSwizzle" in bare:
        settings.append("VKGROUP_USES_quads")
    if includes or "gl_HelperThreadNV" in bare:
        settings.append("VKGROUP_USES_helpers")
    named = set(_EXTENSION.findall(bare))
    if any(name.startswith("GL_KHR_shader_subgroup_") for name in named):
        named.add("GL_KHR_shader_subgroup_basic")
    settings += (f"VKGROUP_KEEPS_{name}" for name in _ENABLED_BY_HEADER if includes or name in named)
    return settings


def _without_comments(source: str, count: int = 0) -> str:
    """Return the source with all comments, or the first `count`, replaced by blanks; line ends stay."""
    return _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), source, count=count)


def _without_comment_at_version(source: str) -> str:
    """Return the source with blanks for a comment that starts on the ``#version`` line.

    The include directive must be on the line directly after ``#version``.
    """
    line = re.compile(r"^[ \t]*#[ \t]*version[ \t]+[^\n]*/\*", re.MULTILINE).search(source)
    if line is None:
        return source
    start = line.end() - 2
    return source[:start] + _without_comments(source[start:], count=1)


def restore(error: CompileError, source: str) -> CompileError:
    """Return the error with the header's names replaced by those of the extension's document.

    The header implements variables as calls; the line in the original source shows which variable a message
    is about.
    """
    lines = source.splitlines()
    diagnostics = []
    for item in error.diagnostics:
        message = _FUNCTION.sub(r"\1", item.message)
        if _OF_A_CALL.search(message) and 0 < item.line <= len(lines):
            variables = dict.fromkeys(_VARIABLE.findall(lines[item.line - 1]))
            message += "".join(f" ({name} is built in and read-only)" for name in variables)
        diagnostics.append(replace(item, message=message))
    return CompileError(str(error.args[0]), diagnostics)


def mark(module: Module, dependencies: Dependencies) -> Module:
    """Return the module, marked if it includes the header: its warps may have at most 32 threads."""
    included = any(os.path.basename(path) == _HEADER for path in dependencies.present)
    return add_source_extension(module, EXTENSION) if included else module
