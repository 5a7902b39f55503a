"""Lowering of SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote to core SPIR-V, and checks of their types.

The older instructions have no scope operand; they work on the subgroup. Each has a core instruction of the
same meaning (SPIR-V 3.49.24, "Non-Uniform Instructions"). The five masks are the same built-ins, with the
same numbers, under another capability.
"""

from __future__ import annotations

from collections.abc import Iterator

from vkgroup.base.errors import InvalidModule
from vkgroup.spirv.binary import Instruction, text_of
from vkgroup.spirv.declarations import Declarations
from vkgroup.spirv.editor import Editor, Rewrite, Words
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.reflection import Module
from vkgroup.spirv.types import ScalarType, VectorType

EXTENSIONS = frozenset({"SPV_KHR_shader_ballot", "SPV_KHR_subgroup_vote"})
"""The extensions that `lower_legacy` replaces."""

CAPABILITIES = {"SubgroupBallotKHR": "GroupNonUniformBallot", "SubgroupVoteKHR": "GroupNonUniformVote"}
"""Their capabilities, and the replacement of each."""

_SUBGROUP = 3  # Scope (SPIR-V 3.27)
_FIRST_VERSION = (1, 3)  # of OpGroupNonUniform…
_DYNAMIC_BROADCAST = (1, 5)  # before, the id of OpGroupNonUniformBroadcast must be a constant


def lower_legacy(module: Module) -> Module:
    """Return `module` with the older ballot and vote instructions replaced by those of SPIR-V 1.3.

    =============================== ==============================================================
    `OpSubgroupBallotKHR`           `OpGroupNonUniformBallot`
    `OpSubgroupFirstInvocationKHR`  `OpGroupNonUniformBroadcastFirst`
    `OpSubgroupReadInvocationKHR`   `OpGroupNonUniformBroadcast` where the index is a constant, or the
                                    module of SPIR-V 1.5 or later; else `OpGroupNonUniformShuffle`
    `OpSubgroupAnyKHR`, …           `OpGroupNonUniformAny`, `OpGroupNonUniformAll`,
                                    `OpGroupNonUniformAllEqual`
    =============================== ==============================================================

    The built-ins `SubgroupEqMask` … `SubgroupLtMask`, `SubgroupSize` and `SubgroupLocalInvocationId` stay,
    under `GroupNonUniformBallot`. The version becomes at least 1.3. A module that declares neither
    capability is unchanged. The module must be valid.
    """
    if CAPABILITIES.keys().isdisjoint(module.reflection.capabilities):
        return module
    editor = Editor(module)
    editor.version = max(module.version, _FIRST_VERSION)
    shuffles = any(_shuffles(editor, words) for words in editor.instructions)
    rewrites: dict[str, Rewrite] = {
        "OpCapability": _capabilities(module, shuffles),
        "OpExtension": _extension,
        "OpSubgroupBallotKHR": _ballot,
        "OpSubgroupFirstInvocationKHR": _named("OpGroupNonUniformBroadcastFirst"),
        "OpSubgroupReadInvocationKHR": _read_invocation,
        "OpSubgroupAnyKHR": _named("OpGroupNonUniformAny"),
        "OpSubgroupAllKHR": _named("OpGroupNonUniformAll"),
        "OpSubgroupAllEqualKHR": _named("OpGroupNonUniformAllEqual"),
    }
    return editor.rewrite(rewrites)


def _capabilities(module: Module, shuffles: bool) -> Rewrite:
    """Return the rewrite that replaces capabilities, and declares each once."""
    known = set(module.reflection.capabilities)
    names = grammar().enumeration("Capability")

    def rewrite(editor: Editor, words: Words) -> Iterator[Words]:
        replacement = CAPABILITIES.get(names.get(words[1], ""))
        if replacement is None:
            yield words
            return
        wanted = ["GroupNonUniform", replacement]
        if shuffles and replacement == "GroupNonUniformBallot":
            wanted.append("GroupNonUniformShuffle")
        for name in wanted:
            if name not in known:
                known.add(name)
                yield editor.instruction("OpCapability", grammar().number("Capability", name))

    return rewrite


def _extension(editor: Editor, words: Words) -> list[Words]:
    return [] if text_of(words[1:]) in EXTENSIONS else [words]


def _scope(editor: Editor) -> int:
    return editor.constant(editor.integer(), _SUBGROUP)


def _named(name: str) -> Rewrite:
    """Return the rewrite that adds the scope to an instruction."""

    def rewrite(editor: Editor, words: Words) -> list[Words]:
        return [editor.instruction(name, words[1], words[2], _scope(editor), *words[3:])]

    return rewrite


def _ballot(editor: Editor, words: Words) -> list[Words]:
    """Rewrite a ballot: the core result is a vector of unsigned integers; the older one may be signed."""
    _, type_, result, predicate = words
    unsigned = editor.vector(editor.integer(), 4)
    if type_ == unsigned:
        return [editor.instruction("OpGroupNonUniformBallot", type_, result, _scope(editor), predicate)]
    bits = editor.fresh()
    return [
        editor.instruction("OpGroupNonUniformBallot", unsigned, bits, _scope(editor), predicate),
        editor.instruction("OpBitcast", type_, result, bits),
    ]


def _read_invocation(editor: Editor, words: Words) -> list[Words]:
    """Rewrite a read: the core id is unsigned; the older index may be signed and need not be constant."""
    _, type_, result, value, index = words
    before: list[Words] = []
    constant = _is_constant(editor, index)
    name, definition = editor.definition(editor.type_of[index])
    if name == "OpTypeInt" and definition[3]:
        unsigned = editor.integer(definition[2])
        if constant:
            index = editor.constant(unsigned, *editor.definition(index)[1][3:])
        else:
            signed, index = index, editor.fresh()
            before = [editor.instruction("OpBitcast", unsigned, index, signed)]
    broadcasts = constant or editor.version >= _DYNAMIC_BROADCAST
    core = "OpGroupNonUniformBroadcast" if broadcasts else "OpGroupNonUniformShuffle"
    return [*before, editor.instruction(core, type_, result, _scope(editor), value, index)]


def _is_constant(editor: Editor, identifier: int) -> bool:
    """Return whether an index can be the constant of a broadcast; a signed one must be an OpConstant."""
    name, _ = editor.definition(identifier)
    _, type_ = editor.definition(editor.type_of[identifier])
    return name == "OpConstant" or (name.startswith(("OpConstant", "OpSpecConstant")) and not type_[3])


def _shuffles(editor: Editor, words: Words) -> bool:
    """Return whether an instruction becomes a shuffle."""
    if grammar().name(words[0] & 0xFFFF) != "OpSubgroupReadInvocationKHR":
        return False
    return editor.version < _DYNAMIC_BROADCAST and not _is_constant(editor, words[4])


_RESULTS = {
    "OpSubgroupBallotKHR": "a vector of four 32-bit integers",
    "OpSubgroupFirstInvocationKHR": "a scalar of a 32-bit integer or float type",
    "OpSubgroupReadInvocationKHR": "a scalar of a 32-bit integer or float type",
    **dict.fromkeys(("OpSubgroupAllKHR", "OpSubgroupAnyKHR", "OpSubgroupAllEqualKHR"), "a Boolean"),
}
"""Required result types (SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote, "Group Instructions")."""

#: Extensions that also allow values of 16 bits.
_HALVES = frozenset({"SPV_AMD_gpu_shader_half_float", "SPV_AMD_gpu_shader_int16"})


def check_legacy(module: Module) -> None:
    """Check the types of the older ballot and vote instructions, which SPIRV-Tools does not check.

    Besides the result types in `_RESULTS`, a predicate is a Boolean, an index an integer, and a value that is
    read has the result's type. Raises InvalidModule with the instruction and its required type.
    """
    checked = module.instructions_of(grammar().opcodes[name] for name in _RESULTS)
    if not checked:
        return
    types = Declarations(module).types
    widths = {32, 16} if _HALVES & module.reflection.extensions else {32}

    def problem(entry: Instruction) -> str:
        wanted, result = _RESULTS[entry.name], types.get(entry.result_type)
        operands = [types.get(module.type_of(operand)) for operand in entry.operands]
        numbers = ("int", "uint", "float")
        fits = {
            "a Boolean": result == ScalarType("bool", 1),
            "a vector of four 32-bit integers": isinstance(result, VectorType)
            and result.count == 4
            and result.component in (ScalarType("int", 32), ScalarType("uint", 32)),
        }.get(wanted, isinstance(result, ScalarType) and result.kind in numbers and result.bits in widths)
        if not fits:
            return f"the result type must be {wanted}"
        if not entry.name.endswith("InvocationKHR"):
            return "" if operands[0] == ScalarType("bool", 1) else "the predicate must be a Boolean"
        if module.type_of(entry.operands[0]) != entry.result_type:
            return "the value must be of the result's type"
        index = operands[-1]
        is_integer = isinstance(index, ScalarType) and index.kind in ("int", "uint")
        return "" if is_integer or len(operands) == 1 else "the index must be an integer"

    for entry in checked:
        if wrong := problem(entry):
            raise InvalidModule(f"{entry.name} %{entry.result_id}: {wrong}")
