"""One variable for each built-in input, where glslang's HLSL front end declares several.

Every block and function that calls `WaveGetLaneCount` or `WaveGetLaneIndex` declares its own input. Vulkan
allows one per built-in and entry point (VUID-StandaloneSpirv-OpEntryPoint-09658).
"""

from __future__ import annotations

from vkgroup.spirv import Module
from vkgroup.spirv.binary import literal_length
from vkgroup.spirv.editor import Editor, Rewrite, Words

_BUILT_IN = 11  # Decoration (SPIR-V 3.20)
_INPUT = 1  # Storage Class (SPIR-V 3.7)
_READS = ("OpLoad", "OpAccessChain", "OpInBoundsAccessChain")


def merge_inputs(module: Module) -> Module:
    """Return a legalized module in which built-in inputs of one type are one variable."""
    merged = _merged(module)
    if not merged:
        return module

    def drop(position: int) -> Rewrite:
        return lambda _, words: [] if words[position] in merged else [words]

    def read(_: Editor, words: Words) -> list[Words]:
        return [[*words[:3], merged.get(words[3], words[3]), *words[4:]]]

    def entry(editor: Editor, words: Words) -> list[Words]:
        start = 3 + literal_length(words[3:])
        # The interface may lack an input that is not read; the one that replaces others may be read now.
        interface = dict.fromkeys(merged.get(variable, variable) for variable in words[start:])
        return [editor.instruction("OpEntryPoint", *words[1:start], *interface)]

    rewrites = dict.fromkeys(("OpName", "OpDecorate"), drop(1)) | dict.fromkeys(_READS, read)
    return Editor(module).rewrite({**rewrites, "OpVariable": drop(2), "OpEntryPoint": entry})


def _merged(module: Module) -> dict[int, int]:
    """Return, for each input that is not the first of its built-in and type, the first one."""
    built_ins: dict[int, int] = {}
    types: dict[int, int] = {}
    for instruction in module.instructions:
        if instruction.name == "OpDecorate" and instruction.operands[1] == _BUILT_IN:
            built_ins[instruction.operands[0]] = instruction.operands[2]
        elif instruction.name == "OpVariable" and instruction.operands[0] == _INPUT:
            types[instruction.result_id] = instruction.result_type
    first: dict[tuple[int, int], int] = {}
    merged: dict[int, int] = {}
    for variable, built_in in built_ins.items():
        if variable in types:
            kept = first.setdefault((built_in, types[variable]), variable)
            if kept != variable:
                merged[variable] = kept
    return merged
