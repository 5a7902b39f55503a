"""Lowering of SPV_KHR_shader_ballot and SPV_KHR_subgroup_vote to the group instructions of core SPIR-V.

The older instructions have no scope operand; they work on the subgroup. Each has a core instruction of the
same meaning (SPIR-V 3.49.24, "Non-Uniform Instructions"). The five masks are the same built-ins, with the
same numbers, under another capability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from vkgroup.errors import InvalidModule
from vkgroup.spirv.binary import text_of
from vkgroup.spirv.editor import Editor, Rewrite, Words
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.reflection import Module

EXTENSIONS = frozenset({"SPV_KHR_shader_ballot", "SPV_KHR_subgroup_vote"})
"""The extensions that `lower_legacy` replaces."""

CAPABILITIES = {"SubgroupBallotKHR": "GroupNonUniformBallot", "SubgroupVoteKHR": "GroupNonUniformVote"}
"""Their capabilities, and the replacement of each."""

_SUBGROUP = 3  # Scope (SPIR-V 3.27)
_FIRST_VERSION = (1, 3)  # of OpGroupNonUniform…
_DYNAMIC_BROADCAST = (1, 5)  # before, the id of OpGroupNonUniformBroadcast must be a constant


def uses_legacy(module: Module) -> bool:
    """Return whether the module declares either capability, so that `lower_legacy` changes it."""
    return not CAPABILITIES.keys().isdisjoint(module.reflection.capabilities)


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
    under `GroupNonUniformBallot`. A module of SPIR-V before 1.3 becomes one of 1.3. A module that declares
    neither capability stays as it is. The module is taken to be valid.
    """
    if not uses_legacy(module):
        return module
    editor = Editor(module)
    editor.version = max(module.version, _FIRST_VERSION)
    shuffles = any(_shuffles(editor, words) for words in editor.instructions)
    rewrites: dict[str, Rewrite] = {
        "OpCapability": _Capabilities(module, shuffles),
        "OpExtension": _extension,
        "OpSubgroupBallotKHR": _ballot,
        "OpSubgroupFirstInvocationKHR": _named("OpGroupNonUniformBroadcastFirst"),
        "OpSubgroupReadInvocationKHR": _read_invocation,
        "OpSubgroupAnyKHR": _named("OpGroupNonUniformAny"),
        "OpSubgroupAllKHR": _named("OpGroupNonUniformAll"),
        "OpSubgroupAllEqualKHR": _named("OpGroupNonUniformAllEqual"),
    }
    return editor.rewrite(rewrites)


class _Capabilities:
    """Replaces capabilities, and declares each once."""

    def __init__(self, module: Module, shuffles: bool) -> None:
        self._shuffles = shuffles
        self._known = set(module.reflection.capabilities)
        self._names = grammar().enumeration("Capability")

    def __call__(self, editor: Editor, words: Words) -> Iterator[Words]:
        replacement = CAPABILITIES.get(self._names.get(words[1], ""))
        if replacement is None:
            yield words
            return
        wanted = ["GroupNonUniform", replacement]
        if self._shuffles and replacement == "GroupNonUniformBallot":
            wanted.append("GroupNonUniformShuffle")
        for name in wanted:
            if name not in self._known:
                self._known.add(name)
                yield editor.instruction("OpCapability", grammar().number("Capability", name))


def _extension(editor: Editor, words: Words) -> list[Words]:
    return [] if text_of(words[1:]) in EXTENSIONS else [words]


def _scope(editor: Editor) -> int:
    return editor.constant(editor.integer(), _SUBGROUP)


def _named(name: str) -> Rewrite:
    """Return the rewrite to an instruction that differs only in its scope."""

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


_WORD = 32

#: Extensions that also allow values of 16 bits.
_HALVES = frozenset({"SPV_AMD_gpu_shader_half_float", "SPV_AMD_gpu_shader_int16"})


def check_legacy(module: Module) -> None:
    """Check the types of the older ballot and vote instructions.

    A predicate is a Boolean; a ballot is a vector of four 32-bit integers; what is read of another
    invocation is a scalar of a 32-bit integer or float type, and of the result's type
    (SPV_KHR_shader_ballot, "Group Instructions"; SPV_KHR_subgroup_vote likewise).

    Raises InvalidModule: an instruction has another type; says which and what it must be.
    """
    codes = {grammar().opcodes[name]: name for name in _RULES}
    present = module.words[module.instruction_starts] & 0xFFFF
    if not np.isin(present, list(codes)).any():
        return
    types = _Types(module)
    for words in types.editor.instructions:
        name = codes.get(words[0] & 0xFFFF)
        wrong = _RULES[name](types, words) if name is not None else ""
        if wrong:
            raise InvalidModule(f"{name} %{words[2]}: {wrong}")


class _Types:
    """The types of a module, as kind, bits and components."""

    def __init__(self, module: Module) -> None:
        self.editor = Editor(module)
        self.widths = {_WORD, 16} if _HALVES & module.reflection.extensions else {_WORD}

    def kind(self, type_: int) -> tuple[str, int, int]:
        """Return ("int", 32, 4) for a vector of four 32-bit integers; ("", 0, 0) for no scalar or vector."""
        name, words = self.editor.definition(type_)
        if name == "OpTypeVector":
            kind, bits, _ = self.kind(words[2])
            return kind, bits, words[3]
        if name == "OpTypeBool":
            return "bool", 1, 1
        if name in ("OpTypeInt", "OpTypeFloat"):
            return name.removeprefix("OpType").lower(), words[2], 1
        return "", 0, 0

    def of(self, value: int) -> tuple[str, int, int]:
        """Return the kind of a value's type."""
        return self.kind(self.editor.type_of.get(value, 0))


def _check_ballot(types: _Types, words: Words) -> str:
    if types.kind(words[1]) != ("int", _WORD, 4):
        return "the result type must be a vector of four 32-bit integers"
    return _check_predicate(types, words)


def _check_predicate(types: _Types, words: Words) -> str:
    return "" if types.of(words[3]) == ("bool", 1, 1) else "the predicate must be a Boolean"


def _check_vote(types: _Types, words: Words) -> str:
    if types.kind(words[1]) != ("bool", 1, 1):
        return "the result type must be a Boolean"
    return _check_predicate(types, words)


def _check_value(types: _Types, words: Words) -> str:
    kind, bits, components = types.kind(words[1])
    if kind not in ("int", "float") or bits not in types.widths or components != 1:
        return "the result type must be a scalar of a 32-bit integer or float type"
    if types.editor.type_of.get(words[3]) != words[1]:
        return "the value must be of the result's type"
    return ""


def _check_read(types: _Types, words: Words) -> str:
    kind, _, components = types.of(words[4])
    wrong = "the index must be an integer" if (kind, components) != ("int", 1) else ""
    return _check_value(types, words) or wrong


_RULES: dict[str, Callable[[_Types, Words], str]] = {
    "OpSubgroupBallotKHR": _check_ballot,
    "OpSubgroupFirstInvocationKHR": _check_value,
    "OpSubgroupReadInvocationKHR": _check_read,
    "OpSubgroupAllKHR": _check_vote,
    "OpSubgroupAnyKHR": _check_vote,
    "OpSubgroupAllEqualKHR": _check_vote,
}
