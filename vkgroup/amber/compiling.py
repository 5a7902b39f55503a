"""Compilation of the shaders of an Amber script."""

from __future__ import annotations

import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from vkgroup.amber.script import AttachedShader, Script
from vkgroup.base.errors import CompileError, InvalidInput, InvalidModule
from vkgroup.compiler import DEFAULT_TARGET, TargetEnvironment, compile_source
from vkgroup.spirv import Module

_TARGETS = {
    "spv1.0": TargetEnvironment.VULKAN_1_0,
    "spv1.1": TargetEnvironment.VULKAN_1_1,
    "spv1.2": TargetEnvironment.VULKAN_1_1,
    "spv1.3": TargetEnvironment.VULKAN_1_1,
    "spv1.4": TargetEnvironment.VULKAN_1_1_SPIRV_1_4,
    "spv1.5": TargetEnvironment.VULKAN_1_2,
    "spv1.6": TargetEnvironment.VULKAN_1_3,
}
"""The environment of each version of SPIR-V: the first Vulkan version that accepts it."""


_VERSION = re.compile(r"^;[ \t]*Version:.*$", re.MULTILINE)
"""A comment that sets the version of assembly here, and not in Amber."""


def compile_attached(script: Script, attached: AttachedShader, *, debug: bool = False) -> Module:
    """Compile a shader of a pipeline; line numbers are those of the script.

    Without TARGET_ENV, the environment is the script's: SPIR-V 1.0, or 1.4 with VK_KHR_spirv_1_4; if the
    shader does not compile for it, the next one for which it does. Khronos' suite chooses it outside of the
    script.

    Raises CompileError, CompilerUnavailable or InvalidModule as `compile_source`.
    """
    shader = attached.shader
    if shader.dialect == "hex":
        return Module.from_bytes(_words(shader.source))
    if "#include" in shader.source and script.files:
        with TemporaryDirectory() as folder:
            for name, text in script.files.items():
                path = Path(folder, name)
                if not path.resolve().is_relative_to(Path(folder).resolve()):
                    raise InvalidInput(f"{shader.file}: a VIRTUAL_FILE cannot be outside: {name}.")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return _compiled(script, attached, debug, folder)
    return _compiled(script, attached, debug)


def _compiled(script: Script, attached: AttachedShader, debug: bool, *include_paths: str) -> Module:
    """Compile a source, for the first target for which it compiles."""
    shader = attached.shader
    name = shader.target or script.spirv
    first = _TARGETS.get(name) or TargetEnvironment.of(name)
    compile_for = partial(
        compile_source,
        _VERSION.sub(";", shader.source) if shader.dialect == "spirv" else shader.source,
        stage=attached.stage,
        name=str(shader.file),
        dialect=shader.dialect,
        entry_point=attached.entry_point if shader.dialect == "hlsl" else "main",
        debug=debug,
        include_paths=include_paths,
    )
    if shader.target:
        return compile_for(target=first)
    try:
        return compile_for(target=first)
    except (CompileError, InvalidModule) as error:
        for target in (TargetEnvironment.VULKAN_1_1, TargetEnvironment.VULKAN_1_1_SPIRV_1_4, DEFAULT_TARGET):
            with suppress(CompileError, InvalidModule):
                return compile_for(target=target)
        raise error from None


def _words(text: str) -> bytes:
    """Return the bytes of words in base 16."""
    try:
        return np.array([int(word, 16) for word in text.split()], np.uint32).tobytes()
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"SPIRV-HEX has words of 32 bits in base 16: {error}.") from None
