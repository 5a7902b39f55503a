"""Request of a compilation: target, source text and its checks, and the messages of compilers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from vkgroup.base.errors import CompileError, Diagnostic, InvalidInput
from vkgroup.base.files import read_bytes
from vkgroup.base.suggestions import suggestion
from vkgroup.compiler.gl_limits import Limits
from vkgroup.spec.stages import Stage

_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b", re.MULTILINE)

# ``#version`` after spaces and comments only (GLSL 4.60 §3.3), up to the end of its line.
_VERSION = re.compile(r"(?:\s|//[^\n]*\n|/\*.*?\*/)*#[ \t]*version[ \t]+(\d+)([^\n]*)(?:\n|$)", re.DOTALL)

#: GLSL version of a source without ``#version``.
DEFAULT_VERSION = 460

_BYTE_ORDER_MARK = "\ufeff"

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


class TargetEnvironment(Enum):
    """Environment that a module is compiled and validated for.

    The value is Vulkan version, SPIR-V version (Vulkan 1.3, appendix "Vulkan Environment for
    SPIR-V", "Versions and Formats"), and SPIRV-Tools' name of the pair.
    """

    VULKAN_1_0 = ((1, 0), (1, 0), "vulkan1.0")
    VULKAN_1_1 = ((1, 1), (1, 3), "vulkan1.1")
    #: Vulkan 1.1 with ``VK_KHR_spirv_1_4``, which mesh and ray-tracing shaders need there.
    VULKAN_1_1_SPIRV_1_4 = ((1, 1), (1, 4), "vulkan1.1spv1.4")
    VULKAN_1_2 = ((1, 2), (1, 5), "vulkan1.2")
    VULKAN_1_3 = ((1, 3), (1, 6), "vulkan1.3")
    VULKAN_1_4 = ((1, 4), (1, 6), "vulkan1.4")

    @property
    def vulkan_version(self) -> tuple[int, int]:
        """Vulkan version, for example ``(1, 1)``."""
        return self.value[0]

    @property
    def spirv_version(self) -> tuple[int, int]:
        """SPIR-V version, for example ``(1, 3)``."""
        return self.value[1]

    @property
    def environment(self) -> str:
        """SPIRV-Tools' name, for example ``"vulkan1.1"``."""
        return self.value[2]

    def for_stage(self, stage: Stage) -> TargetEnvironment:
        """Return the target for a shader of a stage: mesh and ray-tracing shaders need SPIR-V 1.4."""
        newer = self is TargetEnvironment.VULKAN_1_1 and stage.since > self.spirv_version
        return TargetEnvironment.VULKAN_1_1_SPIRV_1_4 if newer else self

    @classmethod
    def of(cls, name: TargetEnvironment | str) -> TargetEnvironment:
        """Return the target with a name such as ``"vulkan1.3"`` or ``"1.3"``; a target is returned unchanged.

        Raises InvalidInput: there is no such target. The message lists the names.
        """
        if isinstance(name, TargetEnvironment):
            return name
        for target in cls:
            if name in (target.environment, target.environment.removeprefix("vulkan")):
                return target
        names = [target.environment for target in cls]
        raise InvalidInput(f"Unknown target {name!r}.{suggestion(name, names)}")

    @classmethod
    def for_api_version(cls, version: int | tuple[int, ...]) -> TargetEnvironment:
        """Return the newest target that a device of this Vulkan version supports.

        The version is packed as in ``VkPhysicalDeviceProperties.apiVersion``, or (major, minor, …).
        """
        if isinstance(version, int):
            # VK_API_VERSION_MAJOR and _MINOR (Vulkan 1.3 §42.2.1)
            major_minor = ((version >> 22) & 0x7F, (version >> 12) & 0x3FF)
        else:
            major_minor = (version[0], version[1])
        plain = [target for target in cls if target is not cls.VULKAN_1_1_SPIRV_1_4]
        fitting = [target for target in plain if target.vulkan_version <= major_minor]
        return fitting[-1] if fitting else cls.VULKAN_1_0

    @classmethod
    def for_spirv(cls, version: tuple[int, int]) -> TargetEnvironment:
        """Return the target that a module of this SPIR-V version, for example ``(1, 3)``, belongs to.

        It is the first Vulkan version that accepts the SPIR-V version; for SPIR-V 1.6 and later it is the
        newest Vulkan version.
        """
        if version >= (1, 6):
            return cls.VULKAN_1_4
        return next(target for target in cls if version <= target.spirv_version)


DEFAULT_TARGET = TargetEnvironment.VULKAN_1_2
"""Target of sources without a given one: the first that allows broadcasts with non-constant ids."""


@dataclass(frozen=True)
class CompileRequest:
    """All inputs of a compilation."""

    source: str  # text with line feeds as line ends and without a byte-order mark
    name: str  # name of the source in diagnostics and in the module
    # `stage`, `dialect`, `target`, `optimize`, `debug`, `entry_point`, `lower_legacy`: see `compile_source`
    stage: Stage
    dialect: str
    target: TargetEnvironment
    optimize: str | None
    debug: bool
    entry_point: str
    defines: tuple[tuple[str, str], ...]  # name and value of each macro
    include_paths: tuple[Path, ...]  # folders for ``#include``, in order
    limits: Limits = ()  # implementation limits by OpenGL name; for the GL dialect
    lower_legacy: bool = False
    register_shifts: tuple[tuple[str, int], ...] = ()  # for HLSL and Slang, by class of registers
    path: str = ""  # the name as the file system has it, which need not be UTF-8; empty if it is `name`
    confined_to: Path | None = None  # the folder that all included files must lie in; None for any
    robustness: bool = True  # for WGSL: whether accesses are kept inside of arrays
    workgroup_zeros: bool = True  # for WGSL: whether workgroup memory is zero at the start

    @property
    def folder(self) -> Path | None:
        """Folder that ``#include "…"`` in `source` searches first; None for text without a file."""
        path = self.path or self.name
        return Path(path).parent if os.path.dirname(path) or os.path.isfile(path) else None

    @property
    def has_includes(self) -> bool:
        """Whether the source has an ``#include`` line, including those in skipped branches."""
        return "include" in self.source and _INCLUDE.search(self.source) is not None


def find_version(source: str) -> re.Match[str] | None:
    """Return the match of the ``#version`` line: group 1 is the number, group 2 the rest of the line."""
    return _VERSION.match(source)


def failure(name: str, line: int, message: str) -> CompileError:
    """Return a CompileError with a single message at one location."""
    return CompileError(f"{name} does not compile", [Diagnostic("error", name, line, 0, message)])


def failure_of_log(name: str, diagnostics: list[Diagnostic], log: str) -> CompileError:
    """Return the error of a compiler's log; a log without messages also gives an error."""
    if not diagnostics:
        diagnostics = [
            Diagnostic("error", name, 0, 0, log.strip() or "the compiler failed without a message")
        ]
    return CompileError(f"{name} does not compile", diagnostics)


def clean(text: str, name: str) -> str:
    """Return the text without a byte-order mark and with ``\\n`` line ends.

    Raises CompileError: the text is empty, contains a NUL character, or cannot be encoded as UTF-8.
    """
    text = text.removeprefix(_BYTE_ORDER_MARK)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.strip():
        raise failure(name, 0, "the source is empty")
    end = text.find("\0")
    if end >= 0:
        raise failure(name, text.count("\n", 0, end) + 1, "the source contains a NUL character; remove it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            raise failure(
                name, line, f"the source contains a character that UTF-8 cannot encode ({error.reason})"
            ) from None
    return text


def decode(data: bytes, name: str) -> str:
    """Return the text of UTF-8 bytes after `clean`.

    Raises CompileError: the bytes are not UTF-8, or `clean` raises the error.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise failure(
            name, line, f"the source is not UTF-8 (byte {data[error.start]:#04x}: {error.reason})"
        ) from None
    return clean(text, name)


def read(path: Path) -> str:
    """Return the text of a source file.

    Raises InvalidInput: the file cannot be read. Raises CompileError: it is not text.
    """
    try:
        data = read_bytes(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}") from None
    return decode(data, str(path))


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
