"""Lowering of SPIR-V for OpenGL to SPIR-V for Vulkan: each stage of a program, following the program's plan.

Loose uniforms become members of a uniform block, and atomic counters become elements of storage buffers. All
variables receive the set, binding or location of the plan. Built-ins and coordinates that differ are
converted.

An access chain into a moved variable is removed, and a new chain is created at each use from the variable and
all indices. Chains of chains therefore need no special treatment.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from vkgroup.compiler.gl.blocks import BlockTypes, holds_opaque, is_opaque
from vkgroup.compiler.gl.coordinates import clip_depth, point_coordinates
from vkgroup.compiler.gl.interface import with_interface
from vkgroup.compiler.gl.plan import ResourcePlan, counter_buffer, kind_of_opaque, opaque_parts
from vkgroup.compiler.gl.stage import GlStage, GlVariable
from vkgroup.spirv.binary import BEFORE_NAMES, literal_length, text_of
from vkgroup.spirv.editor import Editor, Rewrite, Words
from vkgroup.spirv.grammar import grammar
from vkgroup.spirv.reflection import Module
from vkgroup.spirv.types import PointerType, StructType, Type, dimensions, innermost

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


#: Vulkan's names of built-ins. Both vertex indices include the draw's first vertex; only InstanceIndex
#: includes the first instance, so a host must draw from instance 0.
_BUILT_INS = {"VertexId": "VertexIndex", "InstanceId": "InstanceIndex"}

#: In both APIs row 0 is y = 0, and y grows with the clip coordinate's y; "lower" and "upper" only refer to
#: the presented image.
_EXECUTION_MODES = {"OriginLowerLeft": "OriginUpperLeft"}

#: Stages that can be the last before clipping, in reverse order of execution.
_CLIPPED = ("geometry", "tessellation_evaluation", "vertex")

#: Capabilities of atomic counters in OpenGL, which buffers do not need.
_CAPABILITIES = ("AtomicStorage", "AtomicStorageOps")
_COUNTER_EXTENSION = "SPV_KHR_shader_atomic_counter_ops"

_PLACING = ("Location", "DescriptorSet", "Binding", "Offset")
_KEPT_BY_PARTS = ("NonWritable", "NonReadable", "Coherent", "Volatile", "Restrict")


def lower(stage: GlStage, plan: ResourcePlan) -> Module:
    """Return a stage's module for Vulkan, with the interface of the whole program stored in it."""
    module = _Lowering(stage, plan).run()
    last = next((name for name in _CLIPPED if name in plan.interface.stages), None)
    if stage.name == last:
        module = clip_depth(module)
    if stage.name == "fragment":
        module = point_coordinates(module)
    return with_interface(module, plan.interface)


class _Lowering:
    """Lowering of one stage."""

    def __init__(self, stage: GlStage, plan: ResourcePlan) -> None:
        self._stage, self._plan, self._editor = stage, plan, stage.editor
        self._types = BlockTypes(stage.editor, stage.declared)
        self._variables = {variable.id: variable for variable in stage.variables}
        self._removed: set[int] = set()
        self._globals: list[int] = []
        self._dropped = _structures_with_opaques(stage)

    def run(self) -> Module:
        """Rewrite the declarations, then the functions; return the module."""
        block, members = self._default_block()
        parts, buffers = self._parts(), self._counter_buffers()
        moved = Moved(
            self._stage, self._types, self._removed, block, members, parts, buffers, self._storage_class
        )
        self._place()
        self._editor.instructions[:] = self._instructions()
        return self._editor.rewrite(moved.rewrites())

    # New variables ---------------------------------------------------------------------------------

    def _default_block(self) -> tuple[int, dict[str, int]]:
        """Declare the members of the default block that are used; return variable and member indices."""
        members: list[tuple[str, int, int]] = []
        indices: dict[str, int] = {}
        for variable in self._stage.variables:
            if variable.kind != "loose":
                continue
            self._removed.add(variable.id)
            if variable.used and self._plan.loose[variable.name].in_block:
                indices[variable.name] = len(members)
                offset = self._plan.loose[variable.name].offset
                members.append((variable.name, self._stage.pointee(variable.id), offset))
        if not members:
            return 0, indices
        structure = self._types.structure("gl_DefaultUniformBlock", members)
        self._types.decorate(structure, "Block")
        return self._declare("Uniform", structure, "", self._plan.slots["default_block", ""]), indices

    def _parts(self) -> dict[Part, int]:
        """Declare a variable for each opaque part of a structure and each array of arrays of opaque types.

        In Vulkan, descriptors can be in one-dimensional arrays, but not in structures.
        """
        variables: dict[Part, int] = {}
        for variable in self._stage.variables:
            if variable.kind not in ("loose", "image", "sampler") or not variable.used:
                continue
            if variable.kind != "loose" and len(dimensions(variable.type)) < 2:
                continue
            self._removed.add(variable.id)
            decorations = self._stage.declared.decorations.get(variable.id, {})
            for name, path, kind in opaque_parts(variable.name, variable.type):
                type_ = self._stage.opaque_type(variable.id, path)
                if dimensions(kind):
                    type_ = self._types.array_of(type_, math.prod(dimensions(kind)))
                slot = self._plan.slots[kind_of_opaque(kind), name]
                variables[variable.name, path] = self._declare("UniformConstant", type_, name, slot)
                for decoration in _KEPT_BY_PARTS:
                    if decoration in decorations:
                        self._types.decorate(variables[variable.name, path], decoration)
        return variables

    def _counter_buffers(self) -> dict[int, int]:
        """Declare a buffer for each binding point of the stage's counters."""
        buffers: dict[int, int] = {}
        for variable in self._stage.variables:
            if variable.kind != "counter":
                continue
            self._removed.add(variable.id)
            binding = variable.binding or 0
            if variable.used and binding not in buffers:
                structure = self._types.counters()
                self._types.name(structure, f"gl_AtomicCounterBuffer{binding}")
                self._types.decorate(
                    structure, "Block" if self._storage_class != "Uniform" else "BufferBlock"
                )
                slot = self._plan.slots["atomic_counter_buffer", counter_buffer(binding)]
                buffers[binding] = self._declare(self._storage_class, structure, "", slot)
        return buffers

    @property
    def _storage_class(self) -> str:
        """Storage class of storage buffers: StorageBuffer since SPIR-V 1.3, before that Uniform."""
        return "StorageBuffer" if self._editor.version >= (1, 3) else "Uniform"

    def _declare(self, storage: str, type_: int, name: str, slot: tuple[int, int]) -> int:
        variable = self._types.variable(storage, type_)
        self._globals.append(variable)
        self._types.name(variable, name)
        self._types.put(variable, slot)
        return variable

    def _place(self) -> None:
        """Decorate all remaining variables with set and binding or with a location."""
        for variable in self._stage.variables:
            location = self._plan.locations.get((self._stage.name, variable.id))
            if location is not None:
                self._types.decorate(variable.id, "Location", location)
            elif variable.kind in ("image", "sampler") and not variable.used:
                self._removed.add(variable.id)
            elif variable.id not in self._removed and (variable.kind, variable.name) in self._plan.slots:
                self._types.put(variable.id, self._plan.slots[variable.kind, variable.name])

    # The rest of the declarations ------------------------------------------------------------------

    def _instructions(self) -> list[Words]:
        """Return all instructions, with declarations changed and new instructions in their sections."""
        sections: tuple[list[Words], list[Words], list[Words]] = ([], [], [])
        section = 0
        in_functions = False
        for words in self._editor.instructions:
            name = grammar().name(words[0] & 0xFFFF)
            in_functions = in_functions or name == "OpFunction"
            # Sections: instructions up to the names, annotations, types and the rest.
            is_annotation = "Decorat" in name or name == "OpModuleProcessed"
            section = max(section, 0 if name in _FIRST else 1 if is_annotation else 2)
            changed = words if in_functions else self._declaration(name, words)
            if changed is not None:
                sections[section].append(changed)
        first, annotations, rest = sections
        return [*first, *self._types.names, *annotations, *self._types.decorations, *rest]

    def _declaration(self, name: str, words: Words) -> Words | None:
        """Return a changed declaration; None removes the instruction."""
        table = grammar()
        if name == "OpCapability" and table.enumerant("Capability", words[1]) in _CAPABILITIES:
            return None
        if name == "OpExtension" and text_of(words[1:]) == _COUNTER_EXTENSION:
            return None
        if name == "OpTypePointer" and table.enumerant("StorageClass", words[2]) == "AtomicCounter":
            return None
        if name == "OpVariable" and words[2] in self._removed:
            return None
        if name in _WITH_ID_FIRST and words[1] in self._dropped:
            return None
        if name == "OpEntryPoint":
            return self._entry_point(words)
        if name == "OpExecutionMode":
            return [*words[:2], _renamed("ExecutionMode", words[2], _EXECUTION_MODES), *words[3:]]
        if name in ("OpName", "OpDecorate", "OpDecorateId") and words[1] in self._removed:
            return None
        if name == "OpDecorate":
            return self._decoration(words)
        if name == "OpMemberDecorate" and table.enumerant("Decoration", words[3]) == "BuiltIn":
            return [*words[:4], _renamed("BuiltIn", words[4], _BUILT_INS)]
        return words

    def _decoration(self, words: Words) -> Words | None:
        decoration = grammar().enumerant("Decoration", words[2])
        if decoration == "BuiltIn":
            return [*words[:3], _renamed("BuiltIn", words[3], _BUILT_INS)]
        variable = self._variables.get(words[1])
        is_resource = variable is not None and variable.kind not in ("input", "output")
        return None if is_resource and decoration in _PLACING else words

    def _entry_point(self, words: Words) -> Words:
        """Return OpEntryPoint with its list of interface variables updated."""
        end = 3 + literal_length(words[3:])
        interface = [variable for variable in words[end:] if variable not in self._removed]
        # Since SPIR-V 1.4 the list has all global variables, before that only inputs and outputs.
        if self._editor.version >= (1, 4):
            interface += self._globals
        return self._editor.instruction("OpEntryPoint", *words[1:end], *interface)


def _structures_with_opaques(stage: GlStage) -> frozenset[int]:
    """Return the ids of structures with opaque members, and of arrays of and pointers to these."""
    identifiers = set()
    for identifier, kind in stage.declared.types.items():
        pointee = kind.pointee if isinstance(kind, PointerType) else kind
        if pointee is not None and isinstance(innermost(pointee), StructType) and holds_opaque(pointee):
            identifiers.add(identifier)
    return frozenset(identifiers)


#: Instructions that declare, name or decorate the id that is their first operand.
_WITH_ID_FIRST = frozenset(
    (
        *("OpTypeStruct", "OpTypeArray", "OpTypePointer"),
        *("OpName", "OpMemberName", "OpDecorate", "OpMemberDecorate"),
    )
)


def _renamed(kind: str, number: int, names: Mapping[str, str]) -> int:
    """Return the number of an enumerant after renaming by `names`."""
    wanted = names.get(grammar().enumerant(kind, number))
    return number if wanted is None else grammar().number(kind, wanted)


#: Instructions of the sections up to the names (SPIR-V 2.4).
_FIRST = frozenset((*BEFORE_NAMES, "OpName", "OpMemberName"))
