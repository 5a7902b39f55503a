"""SPIR-V input: binary files and assembly text."""

from __future__ import annotations

import re
from pathlib import Path

from vkgroup.compiler.optimizer import optimize as optimize_module
from vkgroup.compiler.source import clean, failure
from vkgroup.compiler.target import Target
from vkgroup.compiler.tools import assemble, validate
from vkgroup.spirv import Module, lower_legacy, set_version

WORDS, ASSEMBLY = ".spv", ".spvasm"
"""File suffixes of SPIR-V binaries and of SPIR-V assembly."""

_VERSION = re.compile(r"(?:\s*;[^\n]*\n)*?\s*;[ \t]*Version:[ \t]*(\d+)\.(\d+)")


def assemble_source(
    source: str, name: str, target: Target, *, lower: bool = False, optimize: str | None = None
) -> Module:
    """Assemble and validate a module; on request lower and optimize it.

    The SPIR-V version is taken from a comment ``; Version: 1.0`` at the beginning of the text, as
    `vkgroup.compiler.disassemble` writes it. Without the comment it is the newest version of the target.

    Raises
    ------
    CompileError
        The text is not valid assembly.
    InvalidModule
        The module breaks SPIR-V's rules for `target`.
    """
    source = clean(source, name)
    module = assemble(source, target, name=name)
    version = _VERSION.match(source)
    if version is not None:
        module = set_version(module, (int(version[1]), int(version[2])))
    return finish(module, target, lower=lower, optimize=optimize)


def read_module(path: Path, target: Target, *, lower: bool = False, optimize: str | None = None) -> Module:
    """Read a module from a binary file and validate it; on request lower and optimize it.

    Raises
    ------
    CompileError
        The file cannot be read.
    InvalidModule
        The file is not a module, or the module is invalid for `target`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise failure(str(path), 0, f"cannot be read: {error.strerror or error}") from None
    return finish(Module.from_bytes(data), target, lower=lower, optimize=optimize)


def finish(module: Module, target: Target, *, lower: bool, optimize: str | None) -> Module:
    """Validate a module; on request lower its legacy ballots and votes and optimize it, and validate again.

    Raises
    ------
    InvalidModule
        The module is invalid for `target`, before or after lowering or optimization.
    """
    validate(module, target)
    if lower:
        module = lower_legacy(module)
        validate(module, target)
    if optimize:
        module = optimize_module(module, optimize, target=target)
        validate(module, target)
    return module
