"""Modules of bfloat16 from GLSL of float16: the compiler does not know the type (SPV_KHR_bfloat16)."""

from __future__ import annotations

from collections.abc import Iterable

from vkgroup.spirv import Module, grammar
from vkgroup.spirv.editor import Editor, Words

_FLOAT16, _HALF = 9, 16
_CAPABILITIES = ("BFloat16TypeKHR", "BFloat16CooperativeMatrixKHR")
_EXTENSION = "SPV_KHR_bfloat16"


def with_bfloat16(module: Module) -> Module:
    """Return a module with bfloat16 in the place of float16, everywhere."""
    return Editor(module).rewrite(
        {"OpCapability": _capability, "OpExtInstImport": _extension, "OpTypeFloat": _type}
    )


def _capability(editor: Editor, words: Words) -> Iterable[Words]:
    if words[1] != _FLOAT16:
        return [words]
    return [
        editor.instruction("OpCapability", grammar().number("Capability", name)) for name in _CAPABILITIES
    ]


def _extension(editor: Editor, words: Words) -> Iterable[Words]:
    raw = _EXTENSION.encode() + b"\0" * (4 - len(_EXTENSION) % 4)
    text = [int.from_bytes(raw[at : at + 4], "little") for at in range(0, len(raw), 4)]
    return [editor.instruction("OpExtension", *text), words]


def _type(editor: Editor, words: Words) -> Iterable[Words]:
    if words[2] != _HALF:
        return [words]
    return [editor.instruction("OpTypeFloat", words[1], _HALF, 0)]
