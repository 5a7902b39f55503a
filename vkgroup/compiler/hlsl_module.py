"""Corrections to modules compiled from HLSL: scans, quad reads, flat lane inputs, capabilities."""

from __future__ import annotations

from vkgroup.spirv import Module, grammar
from vkgroup.spirv.editor import Editor, Rewrite, Words

_INCLUSIVE, _EXCLUSIVE = 1, 2  # Group Operation (SPIR-V 3.28)
_SCANS = tuple(f"OpGroupNonUniform{name}" for name in ("IAdd", "FAdd", "IMul", "FMul"))
_QUAD = 4
_BUILT_IN, _FLAT = 11, 14  # Decoration (SPIR-V 3.20)
_LANES = ("SubgroupSize", "SubgroupLocalInvocationId")

#: Instructions that need a capability, by capability.
_NEEDED_FOR = {
    "GroupNonUniformVote": ("OpGroupNonUniformAll", "OpGroupNonUniformAny", "OpGroupNonUniformAllEqual"),
}


def mend_scans_and_quads(module: Module) -> Module:
    """Return `module` with inclusive scans made exclusive, and with quad reads from non-constant indices.

    `WavePrefixSum` and `WavePrefixProduct` combine the values of the lanes below the current lane; no scan of
    Shader Model 6.0 includes the current lane. The index of `QuadReadLaneAt` may be computed and may differ
    between the lanes of a quad.
    """
    rewrites: dict[str, Rewrite] = dict.fromkeys(_SCANS, _scan)
    rewrites["OpGroupNonUniformQuadBroadcast"] = _quad_broadcast
    return Editor(module).rewrite(rewrites)


def _scan(editor: Editor, words: Words) -> list[Words]:
    return [[*words[:4], _EXCLUSIVE, *words[5:]]] if words[4] == _INCLUSIVE else [words]


def _quad_broadcast(editor: Editor, words: Words) -> list[Words]:
    """Return instructions that read all four lanes and select the one of the index."""
    _, type_, result, scope, value, index = words
    if editor.definition(index)[0].startswith(("OpConstant", "OpSpecConstant")):
        return [words]
    index_type = editor.type_of[index]
    unsigned = editor.integer()
    made: list[Words] = []
    chosen = 0
    for lane in range(_QUAD):
        read = editor.fresh()
        constant = editor.constant(unsigned, lane)
        made.append(editor.instruction("OpGroupNonUniformQuadBroadcast", type_, read, scope, value, constant))
        if lane == 0:
            chosen = read
            continue
        before, chosen = chosen, result if lane == _QUAD - 1 else editor.fresh()
        equal, compare = _equals(editor, index, editor.constant(index_type, lane), type_)
        made += [*compare, editor.instruction("OpSelect", type_, chosen, equal, read, before)]
    return made


def _equals(editor: Editor, index: int, lane: int, type_: int) -> tuple[int, list[Words]]:
    """Return the id of the condition ``index == lane`` for OpSelect on `type_`, and its instructions.

    For vectors the condition is a vector too, as OpSelect requires before SPIR-V 1.4.
    """
    boolean, equal = editor.declare("OpTypeBool"), editor.fresh()
    made = [editor.instruction("OpIEqual", boolean, equal, index, lane)]
    name, definition = editor.definition(type_)
    if name != "OpTypeVector":
        return equal, made
    count, condition = definition[3], editor.fresh()
    vector = editor.vector(boolean, count)
    made.append(editor.instruction("OpCompositeConstruct", vector, condition, *[equal] * count))
    return condition, made


def flatten_lanes(module: Module) -> Module:
    """Return a fragment shader with lane index and wave size decorated Flat, which integer inputs need."""
    editor = Editor(module)
    built_ins = grammar().enumeration("BuiltIn")
    decorations = [entry for entry in module.instructions if entry.name == "OpDecorate"]
    flat = {entry.operands[0] for entry in decorations if entry.operands[1] == _FLAT}
    for entry in decorations:
        variable, decoration = entry.operands[:2]
        if decoration == _BUILT_IN and built_ins[entry.operands[2]] in _LANES and variable not in flat:
            editor.decorate(variable, _FLAT)
    return editor.rewrite({})


def drop_unused_capabilities(module: Module) -> Module:
    """Return `module` without capabilities that were needed only by removed functions."""
    used = {instruction.name for instruction in module.instructions}
    doubles = any(
        instruction.name == "OpTypeFloat" and instruction.operands[0] == 64
        for instruction in module.instructions
    )
    unused = {name for name, needing in _NEEDED_FOR.items() if used.isdisjoint(needing)}
    if not doubles:
        unused.add("Float64")
    names = grammar().enumeration("Capability")

    def capability(editor: Editor, words: Words) -> list[Words]:
        return [] if names.get(words[1]) in unused else [words]

    return Editor(module).rewrite({"OpCapability": capability})
