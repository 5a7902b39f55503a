"""Capability and decorations of non-uniform descriptors that glslang 13 leaves out."""

from __future__ import annotations

from vkgroup.conformance.descriptor_indexing.kinds import Kind
from vkgroup.spirv import Module
from vkgroup.spirv.editor import Editor
from vkgroup.spirv.grammar import grammar


def completed(module: Module, kind: Kind) -> Module:
    """Return a module with the capability of indices that are not uniform, and with images marked.

    For arrays of samplers glslang declares no capability, which the index would have to be uniform without
    (VUID-RuntimeSpirv-SampledImageArrayNonUniformIndexing-10135). What OpSampledImage makes of an image and a
    sampler it leaves undecorated, though that is the operand through which memory is accessed
    (VUID-RuntimeSpirv-subgroupSize-10149).
    """
    editor = Editor(module)
    number = grammar().number("Decoration", "NonUniform")
    sampled = grammar().opcodes["OpSampledImage"]
    for words in editor.instructions:
        if words[0] & 0xFFFF == sampled:
            editor.decorate(words[2], number)
    name = f"{kind.feature}ArrayNonUniformIndexing"
    instructions = list(editor.instructions)
    if name not in module.reflection.capabilities:
        declared = editor.instruction("OpCapability", grammar().number("Capability", name))
        instructions.insert(0, declared)
    return editor.joined(instructions)
