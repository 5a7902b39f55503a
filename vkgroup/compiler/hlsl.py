"""Corrections to HLSL's wave and quad intrinsics, for defects of glslang 13 (Shader Model 6.0).

======================= ============================================== ===========================
intrinsic               defect of glslang 13                           correction
======================= ============================================== ===========================
`WaveActiveAllEqual`    of a vector returns one Boolean instead of one overloads before the source
                        for each component
`WavePrefixSum`,        are inclusive scans                            `_scan`
`WavePrefixProduct`
`QuadReadLaneAt`        with an index that is not constant is invalid  `_quad_broadcast`
                        SPIR-V, or undefined if lanes differ
`WaveGetLaneCount`,     are not flat in pixel shaders: invalid SPIR-V  `_flatten_lanes`
`WaveGetLaneIndex`
both, in two blocks     declare two inputs: invalid SPIR-V             `merge_inputs`
all wave operations     include helper lanes                           `_exclude_helpers`
======================= ============================================== ===========================
"""

from __future__ import annotations

import re
from dataclasses import replace

from vkgroup.compiler.hlsl_prelude import PRELUDE
from vkgroup.compiler.request import CompileRequest
from vkgroup.spirv import Module, grammar
from vkgroup.spirv.binary import literal_length
from vkgroup.spirv.editor import Editor, Rewrite, Words

_BUILT_IN = 11  # Decoration (SPIR-V 3.20)
_INPUT = 1  # Storage Class (SPIR-V 3.7)
_READS = ("OpLoad", "OpAccessChain", "OpInBoundsAccessChain")

_ALL_EQUAL = re.compile(r"\bWaveActiveAllEqual\b")

_INCLUSIVE, _EXCLUSIVE = 1, 2  # Group Operation (SPIR-V 3.28)
_SCANS = tuple(f"OpGroupNonUniform{name}" for name in ("IAdd", "FAdd", "IMul", "FMul"))
_QUAD = 4
_FLAT = 14  # Decoration (SPIR-V 3.20)
_LANES = ("SubgroupSize", "SubgroupLocalInvocationId")

_VOTES = ("OpGroupNonUniformAll", "OpGroupNonUniformAny", "OpGroupNonUniformAllEqual")

_WAVE = tuple(
    f"OpGroupNonUniform{name}"
    for name in (
        *("Elect", "All", "Any", "AllEqual", "Ballot", "Broadcast", "BroadcastFirst", "Shuffle"),
        *("IAdd", "FAdd", "IMul", "FMul", "SMin", "UMin", "FMin", "SMax", "UMax", "FMax"),
        *("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
    )
)
#: Instructions that precede the first executed instruction of a function.
_HEADS = ("OpFunctionParameter", "OpLabel", "OpVariable", "OpLine", "OpNoLine")

_SUBGROUP = 3  # Scope (SPIR-V 3.27)
_HELPER_INVOCATION = 23  # BuiltIn (SPIR-V 3.21)
_PRIVATE = 6  # Storage Class (SPIR-V 3.7)
_WHOLE_INTERFACE = (1, 4)  # since this SPIR-V version, entry points list all global variables
_FRAGMENT = 4  # Execution Model (SPIR-V 3.3)


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


def prepared(request: CompileRequest) -> CompileRequest:
    """Return the request with `PRELUDE` if its source uses `WaveActiveAllEqual` or includes files."""
    if not request.has_includes and not _ALL_EQUAL.search(request.source):
        return request
    return replace(request, source=PRELUDE + request.source)


def mended(module: Module) -> Module:
    """Return a legalized module with its wave and quad operations as HLSL defines them.

    The module may be invalid only in quad broadcasts with an index that is not constant.
    """
    module = _mend_scans_and_quads(merge_inputs(module))
    if any(point.stage == "fragment" for point in module.reflection.entry_points):
        module = _exclude_helpers(_flatten_lanes(module))
    return _drop_unused_capabilities(module)


def _mend_scans_and_quads(module: Module) -> Module:
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


def _flatten_lanes(module: Module) -> Module:
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


def _drop_unused_capabilities(module: Module) -> Module:
    """Return `module` without capabilities that were needed only by removed functions."""
    used = {instruction.name for instruction in module.instructions}
    unused = {"GroupNonUniformVote"} if used.isdisjoint(_VOTES) else set()
    if not any(
        instruction.name == "OpTypeFloat" and instruction.operands[0] == 64
        for instruction in module.instructions
    ):
        unused.add("Float64")
    names = grammar().enumeration("Capability")

    def capability(editor: Editor, words: Words) -> list[Words]:
        return [] if names.get(words[1]) in unused else [words]

    return Editor(module).rewrite({"OpCapability": capability})


def _exclude_helpers(module: Module) -> Module:
    """Return a fragment shader's module with helper lanes excluded from wave operations.

    In Vulkan, helper invocations execute group operations like other invocations. In HLSL, helper lanes
    do not participate in wave operations by default, and the result in a helper lane is undefined (Shader
    Model 6.7, "WaveOpsIncludeHelperLanes", on the default; `WaveReadLaneAt`, remarks). They do participate in
    quad operations and derivatives.

    Therefore a wave operation of a fragment shader is executed only by lanes that are not helpers, if any of
    these is active. If only helpers are active, they execute the operation: otherwise a loop that waits until
    the wave agrees might never end.
    """
    used = {instruction.name for instruction in module.instructions}
    if used.isdisjoint(_WAVE):
        return module
    return _Guard(module).guarded()


class _Guard:
    """Puts a branch around each wave operation.

    A block is split at each wave operation: the first part ends with the branch, the second begins with an
    OpPhi of the result. Other OpPhi instructions that name the block as predecessor then name its last part.
    """

    def __init__(self, module: Module) -> None:
        self._editor = editor = Editor(module)
        codes = grammar().opcodes
        self._wave = {codes[name] for name in _WAVE}
        self._codes = codes
        self._heads = {codes[name] for name in _HEADS}
        self._boolean = editor.declare("OpTypeBool")
        pointer = editor.declare("OpTypePointer", _INPUT, self._boolean)
        self._helper = editor.variable(pointer, _INPUT)
        editor.decorate(self._helper, _BUILT_IN, _HELPER_INVOCATION)
        self._interface = [self._helper]
        self._state = self._helper
        self._begins = False
        if "DemoteToHelperInvocation" in module.reflection.capabilities:
            self._watch_demotion(module.version)
        self._votes = "GroupNonUniformVote" in module.reflection.capabilities
        self._entries: set[int] = set()
        self._out: list[Words] = []
        self._last: dict[int, int] = {}
        self._choices: list[int] = []
        self._block = self._part = 0
        # The merge instruction of each loop's header, by the header's label.
        self._merges: dict[int, Words] = {}
        label = 0
        for words in editor.instructions:
            if words[0] & 0xFFFF == codes["OpLabel"]:
                label = words[1]
            elif words[0] & 0xFFFF == codes["OpLoopMerge"]:
                self._merges[label] = words

    def _watch_demotion(self, version: tuple[int, int]) -> None:
        """Add a variable that records whether the lane is a helper; demoted lanes become helpers.

        After a demotion the built-in variable is undefined. Reading the current state
        (OpIsHelperInvocationEXT, a volatile built-in) crashes lavapipe 22.3, and SwiftShader ignores it.
        """
        editor = self._editor
        pointer = editor.declare("OpTypePointer", _PRIVATE, self._boolean)
        self._state = editor.variable(pointer, _PRIVATE)
        if version >= _WHOLE_INTERFACE:
            self._interface.append(self._state)

    def guarded(self) -> Module:
        """Return the module with every wave operation guarded."""
        for words in self._editor.instructions:
            opcode = words[0] & 0xFFFF
            if self._begins and opcode not in self._heads:
                self._begin()
            if opcode in self._wave:
                self._operation(words)
            else:
                self._other(opcode, words)
        self._name_parents()
        return self._editor.joined(self._out)

    def _other(self, opcode: int, words: Words) -> None:
        """Emit an instruction that is not a wave operation, with the necessary changes and insertions."""
        codes, editor = self._codes, self._editor
        if opcode == codes["OpLabel"]:
            self._block = self._part = words[1]
        elif opcode == codes["OpLoopMerge"] and self._block not in self._merges:
            return
        elif opcode == codes["OpFunction"]:
            self._begins = words[2] in self._entries and self._state != self._helper
        elif opcode == codes["OpEntryPoint"] and words[1] == _FRAGMENT:
            self._entries.add(words[2])
            words = editor.instruction("OpEntryPoint", *words[1:], *self._interface)
        elif opcode == codes["OpDemoteToHelperInvocation"]:
            self._out.append(editor.instruction("OpStore", self._state, editor.true()))
        elif opcode == codes["OpCapability"] and not self._votes:
            self._votes = True
            self._out.append(
                editor.instruction("OpCapability", grammar().number("Capability", "GroupNonUniformVote"))
            )
        elif opcode == codes["OpPhi"]:
            self._choices.append(len(self._out))
        self._out.append(words)
        self._last[self._block] = self._part

    def _name_parents(self) -> None:
        """Make the original OpPhi instructions name the last parts of split blocks as predecessors."""
        for position in self._choices:
            words = self._out[position]
            parents = [self._last.get(label, label) for label in words[4::2]]
            pairs = zip(words[3::2], parents, strict=True)
            self._out[position] = [*words[:3], *(word for pair in pairs for word in pair)]

    def _operation(self, words: Words) -> None:
        """Emit a wave operation inside a branch that helper lanes skip."""
        self._part_header()
        editor, boolean, type_, result = self._editor, self._boolean, words[1], words[2]
        helper, other, others, skip, inside, after, made = (editor.fresh() for _ in range(7))
        scope = editor.constant(editor.integer(), _SUBGROUP)
        before, self._part = self._part, after
        self._out += [
            editor.instruction("OpLoad", boolean, helper, self._state),
            editor.instruction("OpLogicalNot", boolean, other, helper),
            editor.instruction("OpGroupNonUniformAny", boolean, others, scope, other),
            editor.instruction("OpLogicalAnd", boolean, skip, helper, others),
            editor.instruction("OpSelectionMerge", after, 0),
            editor.instruction("OpBranchConditional", skip, after, inside),
            editor.instruction("OpLabel", inside),
            [*words[:2], made, *words[3:]],
            editor.instruction("OpBranch", after),
            editor.instruction("OpLabel", after),
            editor.instruction("OpPhi", type_, result, made, inside, editor.null(type_), before),
        ]
        self._last[self._block] = after

    def _begin(self) -> None:
        """Store the built-in's value at the start of the entry point, before any demotion."""
        self._begins = False
        editor, helper = self._editor, self._editor.fresh()
        self._out += [
            editor.instruction("OpLoad", self._boolean, helper, self._helper),
            editor.instruction("OpStore", self._state, helper),
        ]

    def _part_header(self) -> None:
        """End a loop header before its first wave operation, so that the OpLoopMerge stays in its block."""
        merge = self._merges.pop(self._block, None)
        if merge is None:
            return
        self._part = self._editor.fresh()
        self._out += [
            merge,
            self._editor.instruction("OpBranch", self._part),
            self._editor.instruction("OpLabel", self._part),
        ]
