"""GL_NV_shader_thread_group in sources of the GL dialect: its `#extension` lines become a header's includes.

The header is GLSL (``shaders/include/nv_shader_thread_group.glsl``). As an include it is left out where the
directive is, and what was included tells whether the extension was on.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import replace
from pathlib import Path

from vkgroup import resources
from vkgroup.compiler.extensions import REWRITERS, Use, replace_directive, without_comments
from vkgroup.compiler.includes import Dependencies
from vkgroup.errors import CompileError
from vkgroup.spirv import Module
from vkgroup.spirv.source_extensions import add_source_extension

EXTENSION = "GL_NV_shader_thread_group"
"""The extension's name; a module that was compiled with it on carries it as an `OpSourceExtension`."""

_HEADER = "nv_shader_thread_group.glsl"
_HEADER_DISABLED = "nv_shader_thread_group_disabled.glsl"

#: What the header enables for itself, and disables again unless the source enables it too.
_ENABLED_BY_HEADER = (
    "GL_KHR_shader_subgroup_basic",
    "GL_KHR_shader_subgroup_ballot",
    "GL_KHR_shader_subgroup_quad",
    "GL_NV_shader_sm_builtins",
    "GL_EXT_spirv_intrinsics",
)

_SHADER = re.compile(r"^#define VKGROUP_SHADER (\w+)$", re.MULTILINE)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b(?! <nv_shader_thread_group)", re.MULTILINE)
_EXTENSION = re.compile(r"^[ \t]*#[ \t]*extension[ \t]+(\w+)", re.MULTILINE)

#: The header's functions, by the names that the document gives them.
_FUNCTION = re.compile(r"\bvkgroup_s[0-9a-f]{8}_((?:gl_)?\w+NV)\b")

_VARIABLE = re.compile(r"\bgl_(?:Thread|Warp|SM|HelperThread)\w*NV\b")

#: What glslang says where a call is assigned to, or stands where a name is declared.
_OF_A_CALL = re.compile(r"l-value|L-value|unexpected LEFT_PAREN")


def rewrite(use: Use) -> str:
    """Put the header in the place of a directive; see `vkgroup.compiler.extensions.Rewriter`.

    A device's lack of something is found when the module meets the device, so enabling is requiring here; and
    a warning would have no reader.
    """
    if use.behaviour == "disable":
        lines = [f"#include <{_HEADER_DISABLED}>"]
    else:
        lines = [*(f"#define {name}" for name in _settings(use)), f"#include <{_HEADER}>"]
    return _without_comment_at_version(replace_directive(use, "\n".join(lines)))


def _settings(use: Use) -> list[str]:
    """Return the macros that tell the header what it is included by.

    What another included file does is not known here, so everything is expected of one.
    """
    bare = without_comments(use.source)
    includes = _INCLUDE.search(bare) is not None
    # A directive that was replaced before has named the shader.
    known = _SHADER.search(bare)
    shader = known[1] if known else "s" + hashlib.blake2b(bare.encode(), digest_size=4).hexdigest()
    settings = [f"VKGROUP_SHADER {shader}", f"VKGROUP_STAGE_{use.stage}"]
    if includes or "quadSwizzle" in bare:
        settings.append("VKGROUP_USES_quads")
    if includes or "gl_HelperThreadNV" in bare:
        settings.append("VKGROUP_USES_helpers")
    named = set(_EXTENSION.findall(bare))
    if any(name.startswith("GL_KHR_shader_subgroup_") for name in named):
        named.add("GL_KHR_shader_subgroup_basic")
    settings += (f"VKGROUP_KEEPS_{name}" for name in _ENABLED_BY_HEADER if includes or name in named)
    return settings


def _without_comment_at_version(source: str) -> str:
    """Blank a comment that begins on the line of ``#version``, right behind which an include needs a line."""
    line = re.compile(r"^[ \t]*#[ \t]*version[ \t]+[^\n]*/\*", re.MULTILINE).search(source)
    if line is None:
        return source
    start = line.end() - 2
    return source[:start] + without_comments(source[start:], count=1)


def include_folder() -> Path:
    """Return the folder of the header, for the end of the include paths."""
    return resources.shaders() / "include"


def restore(error: CompileError, source: str) -> CompileError:
    """Return the error with the document's names in the place of the header's.

    Parameters
    ----------
    source : as its author wrote it. The compiler does not know variables, but calls; what the author did to
        a variable is told by its line.
    """
    lines = source.splitlines()
    found = []
    for item in error.diagnostics:
        message = _FUNCTION.sub(r"\1", item.message)
        if _OF_A_CALL.search(message) and 0 < item.line <= len(lines):
            variables = dict.fromkeys(_VARIABLE.findall(lines[item.line - 1]))
            message += "".join(f" ({name} is built in and read-only)" for name in variables)
        found.append(replace(item, message=message))
    return CompileError(str(error.args[0]), found)


def mark(module: Module, dependencies: Dependencies) -> Module:
    """Return the module, marked if the header went into it: its warps may have 32 threads at most."""
    included = any(os.path.basename(path) == _HEADER for path in dependencies.present)
    return add_source_extension(module, EXTENSION) if included else module


REWRITERS[EXTENSION] = rewrite
