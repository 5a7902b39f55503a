"""`gl_SubGroupSizeARB`: a uniform in GL_ARB_shader_ballot, changed to the input that SPIR-V requires."""

from __future__ import annotations

from vkgroup.spirv import Module, grammar
from vkgroup.spirv.editor import Editor, Words

_UNIFORM_CONSTANT, _INPUT = 0, 1  # Storage Class (SPIR-V 3.7)
_BUILT_IN, _FLAT = 11, 14  # Decoration (SPIR-V 3.20)
_FRAGMENT = 4  # Execution Model (SPIR-V 3.3)


def sizes_as_inputs(module: Module) -> Module:
    """Return glslang's module for OpenGL with built-in uniforms changed to inputs.

    SPIR-V allows these built-ins only as inputs (SPIR-V 3.21, SubgroupSize); for Vulkan, glslang does the
    same.
    """
    if "SubgroupBallotKHR" not in module.reflection.capabilities:
        return module
    editor = Editor(module)
    codes = grammar().opcodes
    uniforms, built_ins = set(), set()
    for words in editor.instructions:
        opcode = words[0] & 0xFFFF
        if opcode == codes["OpVariable"] and words[3] == _UNIFORM_CONSTANT:
            uniforms.add(words[2])
        elif opcode == codes["OpDecorate"] and words[2] == _BUILT_IN:
            built_ins.add(words[1])
    moved = uniforms & built_ins
    if not moved:
        return module

    def variable(editor: Editor, words: Words) -> list[Words]:
        if words[2] not in moved:
            return [words]
        _, pointer = editor.definition(words[1])
        editor.add("OpVariable", editor.declare("OpTypePointer", _INPUT, pointer[3]), words[2], _INPUT)
        return []

    def entry_point(editor: Editor, words: Words) -> list[Words]:
        if words[1] == _FRAGMENT:
            for identifier in moved:
                editor.decorate(identifier, _FLAT)
        absent = sorted(moved - set(words[3:]))
        return [editor.instruction("OpEntryPoint", *words[1:], *absent)]

    return editor.rewrite({"OpVariable": variable, "OpEntryPoint": entry_point})
