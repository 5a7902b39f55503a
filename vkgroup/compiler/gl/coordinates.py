"""Conversion of OpenGL coordinates to Vulkan: depth of clip space, origin of point coordinates.

Clip-space z ranges from -w to w in OpenGL and from 0 to w in Vulkan (GL 4.3, 13.5; Vulkan 1.4, 24.2).
Clip-space y grows with the rows of the image in both, if row 0 is OpenGL's lowest row; gl_FragCoord is
unchanged. The origin of gl_PointCoord is at the greatest y in OpenGL (GL 4.3, 14.4.1) and at the least y in
Vulkan.
"""

from __future__ import annotations

from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.editor import Editor, Words
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.interface import built_ins_of
from vkgroup.spirv.reflection import Module
from vkgroup.spirv.types import ArrayType

_ONE_HALF, _ONE = 0x3F000000, 0x3F800000
_OUTPUT = 3
_STAGE_THAT_EMITS = "Geometry"


def clip_depth(module: Module) -> Module:
    """Return the module with gl_Position.z replaced by (z + w) / 2 for each finished vertex.

    A vertex is finished when the entry point returns; in a geometry shader, when it is emitted. With the
    depth range 0 to 1, OpenGL's default, the resulting depth is the same.
    """
    declared, editor = Declarations(module), Editor(module)
    position = _position(declared)
    if position is None:
        return module
    entry = declared.entry_points[0]
    current = [0]

    def enter(_: Editor, words: Words) -> list[Words]:
        current[0] = words[2]
        return [words]

    def finish(_: Editor, words: Words) -> list[Words]:
        return [*_conversion(editor, *position), words] if current[0] == entry.id else [words]

    def emit(_: Editor, words: Words) -> list[Words]:
        return [*_conversion(editor, *position), words]

    if entry.execution_model == _STAGE_THAT_EMITS:
        return editor.rewrite({"OpEmitVertex": emit, "OpEmitStreamVertex": emit})
    return editor.rewrite({"OpFunction": enter, "OpReturn": finish})


def _position(declared: Declarations) -> tuple[int, int | None] | None:
    """Return the output variable with the position, and its member index (None if it is not a block)."""
    for variable in declared.variables:
        if variable.storage_class == "Output" and not isinstance(variable.type, ArrayType):
            for member, name in built_ins_of(declared, variable).items():
                if name == "Position":
                    return variable.id, member
    return None


def _conversion(editor: Editor, variable: int, member: int | None) -> list[Words]:
    """Return instructions that convert the depth of the position."""
    number = editor.declare("OpTypeFloat", 32)
    vector = editor.vector(number, 4)
    made: list[Words] = []

    def add(name: str, type_: int, *operands: int) -> int:
        made.append(editor.instruction(name, type_, result := editor.fresh(), *operands))
        return result

    pointer = variable
    if member is not None:
        index = editor.constant(editor.integer(), member)
        pointer = add("OpAccessChain", editor.declare("OpTypePointer", _OUTPUT, vector), variable, index)
    position = add("OpLoad", vector, pointer)
    depth = add("OpCompositeExtract", number, position, 2)
    homogeneous = add("OpCompositeExtract", number, position, 3)
    doubled = add("OpFAdd", number, depth, homogeneous)
    halved = add("OpFMul", number, doubled, editor.constant(number, _ONE_HALF))
    changed = add("OpCompositeInsert", vector, halved, position, 2)
    return [*made, editor.instruction("OpStore", pointer, changed)]


def point_coordinates(module: Module) -> Module:
    """Return a fragment shader's module with y replaced by 1 - y in each load of gl_PointCoord."""
    declared, editor = Declarations(module), Editor(module)
    coordinates = next(
        (
            variable.id
            for variable in declared.variables
            if built_ins_of(declared, variable).get(None) == "PointCoord"
        ),
        None,
    )
    if coordinates is None:
        return module
    number = editor.declare("OpTypeFloat", 32)
    vector = editor.vector(number, 2)
    indices: dict[int, int] = {}

    def chain(_: Editor, words: Words) -> list[Words]:
        if words[3] != coordinates:
            return [words]
        indices[words[2]] = words[4]
        return []

    def load(_: Editor, words: Words) -> list[Words]:
        if words[3] != coordinates and words[3] not in indices:
            return [words]
        loaded, old, new, changed = (editor.fresh() for _ in range(4))
        unit = editor.constant(number, _ONE)
        made = [
            editor.instruction("OpLoad", vector, loaded, coordinates),
            editor.instruction("OpCompositeExtract", number, old, loaded, 1),
            editor.instruction("OpFSub", number, new, unit, old),
        ]
        if words[3] == coordinates:
            return [*made, editor.instruction("OpCompositeInsert", vector, words[2], new, loaded, 1)]
        made.append(editor.instruction("OpCompositeInsert", vector, changed, new, loaded, 1))
        index = indices[words[3]]
        return [*made, editor.instruction("OpVectorExtractDynamic", number, words[2], changed, index)]

    return editor.rewrite({"OpAccessChain": chain, "OpInBoundsAccessChain": chain, "OpLoad": load})


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
