"""Rewriting of instructions that access moved variables: loose uniforms, counters, opaque members.

An access chain into a moved variable is removed, and a new chain is created at each use from the variable and
all indices. Chains of chains therefore need no special treatment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vkgroup.compiler.gl.blocks import BlockTypes
from vkgroup.compiler.gl.layout import is_opaque
from vkgroup.compiler.gl.stage import GlStage, GlVariable
from vkgroup.spirv.editor import Editor, Rewrite, Words
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.types import StructType, Type, dimensions, innermost

_ATOMIC_COUNTER_MEMORY, _UNIFORM_MEMORY = 0x400, 0x40

Part = tuple[str, tuple[int, ...]]
"""A loose uniform's name, and the member indices of an opaque part of it."""


class Moved:
    """Mapping from removed variables to the variables and members that replace them."""

    def __init__(
        self,
        stage: GlStage,
        types: BlockTypes,
        removed: set[int],
        block: int,  # id of the default block's variable; 0 if there is none
        members: Mapping[str, int],  # member index in the default block by loose uniform
        parts: Mapping[Part, int],  # variable by opaque part
        buffers: Mapping[int, int],  # variable of the counter buffer by binding point
        storage: str,  # storage class of the counter buffers
    ) -> None:
        self._stage, self._editor, self._types = stage, stage.editor, types
        self._removed, self._block, self._members = removed, block, members
        self._parts, self._buffers, self._storage = parts, buffers, storage
        self._variables = {variable.id: variable for variable in stage.variables}
        self._pointers: dict[int, tuple[int, tuple[int, ...]]] = {}

    def rewrites(self) -> dict[str, Rewrite]:
        """Return the rewrites by instruction, for `Editor.rewrite`."""
        atomics = [name for name in grammar().opcodes if name.startswith("OpAtomic")]
        return {
            "OpAccessChain": self._chain,
            "OpInBoundsAccessChain": self._chain,
            "OpCopyObject": self._chain,
            "OpLoad": self._load,
            "OpImageTexelPointer": self._through(3),
            **{name: self._through(3) for name in atomics},
            "OpAtomicStore": self._through(1),
            "OpMemoryBarrier": self._barrier(2),
            "OpControlBarrier": self._barrier(3),
        }

    def _origin(self, pointer: int) -> tuple[int, tuple[int, ...]] | None:
        """Return variable and indices of a pointer into a moved variable; None for other pointers."""
        return (pointer, ()) if pointer in self._removed else self._pointers.get(pointer)

    def _chain(self, _: Editor, words: Words) -> list[Words]:
        origin = self._origin(words[3])
        if origin is None:
            return [words]
        self._pointers[words[2]] = (origin[0], (*origin[1], *words[4:]))
        return []

    def _through(self, operand: int) -> Rewrite:
        """Return the rewrite of instructions whose pointer is the word at position `operand`."""

        def rewrite(_: Editor, words: Words) -> list[Words]:
            origin = self._origin(words[operand])
            if origin is None:
                return [words]
            made, pointer, _stored = self._pointer(*origin)
            return [*made, [*words[:operand], pointer, *words[operand + 1 :]]]

        return rewrite

    def _load(self, _: Editor, words: Words) -> list[Words]:
        origin = self._origin(words[3])
        if origin is None:
            return [words]
        made, pointer, stored = self._pointer(*origin)
        if stored == words[1]:
            return [*made, [*words[:3], pointer, *words[4:]]]
        loaded = self._editor.fresh()
        load = [words[0], stored, loaded, pointer, *words[4:]]
        return [*made, load, *self._types.converted(loaded, words[1], words[2])]

    def _barrier(self, operand: int) -> Rewrite:
        """Return a rewrite that makes barriers for atomic counters apply to buffers instead."""

        def rewrite(editor: Editor, words: Words) -> list[Words]:
            semantics = self._types.literal(words[operand])
            if semantics is None or not semantics & _ATOMIC_COUNTER_MEMORY:
                return [words]
            changed = (semantics & ~_ATOMIC_COUNTER_MEMORY) | _UNIFORM_MEMORY
            return [[*words[:operand], editor.constant(editor.integer(), changed), *words[operand + 1 :]]]

        return rewrite

    # Pointers --------------------------------------------------------------------------------------

    def _pointer(self, identifier: int, indices: tuple[int, ...]) -> tuple[list[Words], int, int]:
        """Return instructions of the new pointer, its id, and the id of the type that it points to."""
        variable = self._variables[identifier]
        if variable.kind == "counter":
            return self._counter(variable, indices)
        kind = self._stage.pointee(identifier)
        members: list[int] = []
        numbers: list[int] = []
        path: list[int] = []
        for index in indices:
            name, words = self._editor.definition(kind)
            if name == "OpTypeStruct":
                member = self._types.literal(index)
                assert member is not None
                members.append(member)
                position = self._types.position(kind, member)
                # Members with only opaque parts are not in the block.
                path += [] if position is None else [self._types.index(position)]
                kind = words[2 + member]
            else:
                numbers.append(index)
                path.append(index)
                kind = words[2]
        if is_opaque(innermost(self._stage.declared.type(kind))):
            return self._opaque(variable, tuple(members), numbers, kind)
        stored = self._types.stored(kind)
        chain = [self._types.index(self._members[variable.name]), *path]
        made, pointer = self._types.chain("Uniform", stored, self._block, chain)
        return made, pointer, stored

    def _opaque(
        self, variable: GlVariable, members: tuple[int, ...], numbers: list[int], kind: int
    ) -> tuple[list[Words], int, int]:
        part, sizes = self._parts[variable.name, members], _sizes(variable.type, members)
        if not sizes:
            return [], part, kind
        made, index = self._types.linear(sizes, numbers)
        chain, pointer = self._types.chain("UniformConstant", kind, part, [index])
        return [*made, *chain], pointer, kind

    def _counter(self, variable: GlVariable, indices: tuple[int, ...]) -> tuple[list[Words], int, int]:
        first = (variable.offset or 0) // 4
        made, index = self._types.linear(dimensions(variable.type), indices, first)
        unsigned, buffer = self._editor.integer(), self._buffers[variable.binding or 0]
        chain, pointer = self._types.chain(self._storage, unsigned, buffer, [self._types.index(0), index])
        return [*made, *chain], pointer, unsigned


def _sizes(kind: Type, members: Iterable[int]) -> tuple[int, ...]:
    """Return the lengths of all arrays that contain a part, outermost first."""
    sizes = dimensions(kind)
    for member in members:
        structure = innermost(kind)
        assert isinstance(structure, StructType)
        kind = structure.members[member].type
        sizes += dimensions(kind)
    return sizes
