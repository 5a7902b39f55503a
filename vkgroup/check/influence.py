"""Influence of inputs on addresses and operands, by flow-insensitive data flow.

Control flow is ignored: the number of rounds of a loop does not influence the address that it computes from
its counter. Functions, variables, pointers that are values, and shared memory are followed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from functools import cached_property, lru_cache, reduce
from itertools import chain
from operator import or_

from vkgroup.check.flow import WHOLE, ModuleCode
from vkgroup.check.inputs import DispatchInputs, Input
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.program.site import extended_name, sort_operands
from vkgroup.spirv import Call, ImageType, Instruction, Module, PointerType, SampledImageType, call_of
from vkgroup.spirv.chains import CHAINS, COPIES, STORES

Source = tuple[int, int]
"""A source of values: id of a variable and index of a block member; `WHOLE` for the whole variable."""

LENGTH = -2
"""Member index for the length of the runtime array of a buffer."""

UNKNOWN: Source = (0, WHOLE)
"""The source of what the order of invocations or the clock decides: results of atomics, and times."""

_HANDLES = ("OpLoad", "OpCopyObject", "OpImage", "OpSampledImage")
_NO_READS = (
    *("OpImage", "OpImageTexelPointer", "OpImageQueryFormat", "OpImageQueryOrder", "OpImageQuerySizeLod"),
    *("OpImageQuerySize", "OpImageQueryLod", "OpImageQueryLevels", "OpImageQuerySamples"),
)
_SELECTING = ("VariablePointers", "VariablePointersStorageBuffer")
_INPUTS = ("Input", "PushConstant", "Uniform", "StorageBuffer", "UniformConstant")
_UNORDERED = ("OpAtomic", "OpReadClock")
_FOLLOWED = (
    *("OpFunction", "OpImageTexelPointer", "OpLoad", "OpReturnValue", "OpPhi", "OpArrayLength"),
    *(*CHAINS, *STORES, *_HANDLES, *_UNORDERED),
)
"""Beginnings of the names of instructions whose influence is more than that of operands on a result."""

_NO_VALUES = ("OpName", "OpMemberName", "OpDecorate", "OpMemberDecorate", "OpLine", "OpNoLine", "OpLabel")
_SPECIALIZED = ("OpSpecConstant", "OpSpecConstantTrue", "OpSpecConstantFalse")
_MAX_ROUNDS = 32


class Influence(ModuleCode):
    """For each value and pointer of a module, the inputs that influence it.

    `by_control`: whether the conditions of branches influence what is stored in the blocks that they decide.
    """

    def __init__(self, module: Module, *, by_control: bool = False) -> None:
        super().__init__(module)
        self.body = tuple(entry for entry in self.body if entry.name not in _NO_VALUES)
        self.variables = self.declared.variables
        self.inputs = {variable.id for variable in self.variables if variable.storage_class in _INPUTS}
        #: The variables of the push constants.
        self.push = {entry.id for entry in self.variables if entry.storage_class == "PushConstant"}
        self._bits: dict[Source, int] = {}
        #: Influence on the contents of a value or a variable; on the indices of a pointer; bit sets.
        self._values: defaultdict[int, int] = defaultdict(int)
        self._indices: defaultdict[int, int] = defaultdict(int)
        #: The variable, and its member, into which each pointer points, or from which an image was loaded.
        self.roots: dict[int, Source] = {variable.id: (variable.id, WHOLE) for variable in self.variables}
        #: Where else a pointer may point.
        self._others: defaultdict[int, set[Source]] = defaultdict(set)
        #: Where the pointers may point that a variable holds or a function returns, by its id.
        self._held: defaultdict[int, set[Source]] = defaultdict(set)
        self._selects_pointers = not module.reflection.capabilities.isdisjoint(_SELECTING)
        self._function = 0
        self._by_control = by_control
        self._specialize(module.instructions)
        variables = [entry.result_id for entry in self.body if entry.name == "OpVariable"]
        self.roots |= {variable: (variable, WHOLE) for variable in variables}
        steps = [(entry, self._operands(entry)) for entry in self.body]
        values = self._values
        for _ in range(_MAX_ROUNDS):
            before = self._extent()
            for entry, operands in steps:
                if operands is None:
                    self._follow(entry)
                elif operands:
                    values[entry.result_id] |= self._any(operands)
            if before == self._extent():
                break

    def _specialize(self, instructions: Sequence[Instruction]) -> None:
        """Follow the specialization constants through the constants that are computed from them."""
        for entry in instructions:
            if entry.name == "OpFunction":
                return
            if entry.name in _SPECIALIZED:
                self._values[entry.result_id] |= self._bit((entry.result_id, WHOLE))
            elif entry.name.startswith(("OpSpecConstant", "OpConstantComposite", "OpTypeArray")):
                self._values[entry.result_id] |= self._any(entry.operands)

    def _extent(self) -> tuple[int, ...]:
        """Return numbers that grow with everything that is known."""
        values, indices = (map(int.bit_count, bits.values()) for bits in (self._values, self._indices))
        return (
            sum(values),
            sum(indices),
            len(self.roots),
            *(sum(map(len, sets.values())) for sets in (self._others, self._held)),
        )

    def roots_of(self, pointer: int) -> set[Source]:
        """Return all variables, and their members, into which a pointer may point."""
        first, others = self.roots.get(pointer), self._others.get(pointer)
        roots = set() if first is None else {first}
        return roots | others if others else roots

    def pointers_to(self, variable: int) -> set[int]:
        """Return the pointers that may point into a variable."""
        pointers = {*self.roots, *self._others}
        return {one for one in pointers if any(root == variable for root, _ in self.roots_of(one))}

    def _point(self, pointer: int, sources: set[Source]) -> None:
        """Record that a pointer may point into some variables."""
        for source in sources:
            if self.roots.setdefault(pointer, source) != source:
                self._others[pointer].add(source)

    def _bit(self, source: Source) -> int:
        return 1 << self._bits.setdefault(source, len(self._bits))

    def _any(self, ids: Iterable[int]) -> int:
        """Return the influence on any of some values."""
        return reduce(or_, map(self._values.__getitem__, ids), 0)

    def _contents(self, pointer: int) -> int:
        """Return the influence on what a pointer points to."""
        contents = self._values[pointer]
        for source in self.roots_of(pointer):
            contents |= self._values[source[0]] | (self._bit(source) if source[0] in self.inputs else 0)
        return contents

    def _operands(self, entry: Instruction) -> tuple[int, ...] | None:
        """Return the operands that decide a result, if nothing else does, else None: `_follow` knows."""
        if entry.name.startswith(_FOLLOWED) or call_of(entry) is not None:
            return None
        if self._selects_pointers and self._is_pointer(entry):
            return None
        return sort_operands(entry).values if entry.result_id else ()

    def _follow(self, entry: Instruction) -> None:
        words, name = entry.operands, entry.name
        if name == "OpFunction":
            self._function = entry.result_id
        elif name in CHAINS or name == "OpImageTexelPointer":
            self._follow_chain(entry)
        elif name == "OpLoad":
            self._values[entry.result_id] |= self._contents(words[0]) | self._indices[words[0]]
        elif name in STORES:
            source = self._contents(words[1]) if name in COPIES else self._values[words[1]]
            for root, _ in self.roots_of(words[0]) or {(words[0], WHOLE)}:
                self._values[root] |= source | self._indices[words[0]] | self._control(entry)
                if self._selects_pointers:
                    self._held[root] |= self.roots_of(words[1])
        elif call := call_of(entry):
            self._follow_call(entry, call)
        elif name == "OpReturnValue":
            self._values[self._function] |= self._values[words[0]] | self._control(entry)
            if self._selects_pointers:
                self._held[self._function] |= self.roots_of(words[0])
        elif name == "OpPhi":
            self._values[entry.result_id] |= self._any(words[::2]) | self._control(entry)
        elif name == "OpArrayLength":
            self._values[entry.result_id] |= self._bit((self.roots.get(words[0], (words[0], 0))[0], LENGTH))
        elif entry.result_id:
            bits = self._any(sort_operands(entry).values)
            if name.startswith(_UNORDERED):
                bits |= self._bit(UNKNOWN)
            if name.startswith("OpAtomic"):
                bits |= self._contents(words[0]) | self._indices[words[0]]
            self._values[entry.result_id] |= bits
        if self._selects_pointers and self._is_pointer(entry):
            self._follow_pointer(entry)
        elif name in _HANDLES and words[0] in self.roots:
            self.roots.setdefault(entry.result_id, self.roots[words[0]])

    def _is_pointer(self, entry: Instruction) -> bool:
        kind = self.declared.types.get(entry.result_type)
        return isinstance(kind, PointerType) and kind.storage_class != "PhysicalStorageBuffer"

    def _follow_pointer(self, entry: Instruction) -> None:
        """Follow a pointer that is copied, selected, loaded or returned."""
        words, result = entry.operands, entry.result_id
        of = {"OpCopyObject": words[:1], "OpSelect": words[1:], "OpPhi": words[::2]}
        for source in of.get(entry.name, ()):
            self._point(result, self.roots_of(source))
            self._indices[result] |= self._indices[source]
        holders = set[int]()
        if entry.name == "OpLoad":
            holders = {holder for holder, _ in self.roots_of(words[0])}
        elif entry.name == "OpFunctionCall":
            holders = {words[0]}
        for holder in holders:
            self._point(result, self._held[holder])
        if holders or entry.name in of:
            self._indices[result] |= self._values[result]

    def _control(self, entry: Instruction) -> int:
        """Return the influence on the branches that decide whether an instruction is executed."""
        if not self._by_control or entry.position not in self.control_flow.block_at:
            return 0
        flow = self.control_flow
        # The value of a phi depends on the block before it.
        labels = entry.operands[1::2] if entry.name == "OpPhi" else [flow.block_at[entry.position].label]
        return self._any(branch.operands[0] for label in labels for branch in flow.branches.get(label, ()))

    def _follow_chain(self, entry: Instruction) -> None:
        base, *indices = entry.operands
        self._indices[entry.result_id] |= self._indices[base] | self._any(indices)
        roots = self.roots_of(base)
        if entry.name in ("OpAccessChain", "OpInBoundsAccessChain") and indices:
            member = self.constant(indices[0], WHOLE)
            roots = {
                (root, member if known == WHOLE and root in self.inputs else known) for root, known in roots
            }
        self._point(entry.result_id, roots)
        if not roots:
            self._values[entry.result_id] |= self._values[base]

    def _follow_call(self, entry: Instruction, call: Call) -> None:
        for parameter, argument in zip(self.parameters.get(call.function, ()), call.arguments, strict=False):
            self._values[parameter] |= self._contents(argument)
            self._indices[parameter] |= self._indices[argument]
            self._point(parameter, self.roots_of(argument))
        self._values[entry.result_id] |= self._values[call.function]

    # --- uses of resources ----------------------------------------------------------------------------

    @cached_property
    def atomics(self) -> dict[Source, list[Instruction]]:
        """The atomic instructions on each member of the inputs."""
        instructions: dict[Source, list[Instruction]] = {}
        for entry in self.body:
            for root in self.roots_of(entry.operands[0]) if entry.name.startswith("OpAtomic") else ():
                instructions.setdefault(root, []).append(entry)
        return instructions

    @property
    def measured(self) -> frozenset[int]:
        """The variables of the buffers whose runtime arrays are asked for their length."""
        return frozenset(variable for variable, member in self._bits if member == LENGTH)

    def uses_atomic_results(self) -> bool:
        """Whether the shader uses the result of an atomic on an input, for example to number workgroups."""
        atomics = [each for (variable, _), each in self.atomics.items() if variable in self.inputs]
        results = {entry.result_id for entries in atomics for entry in entries} - {0}
        used = (e.operands[::2] if e.name == "OpPhi" else sort_operands(e).values for e in self.body)
        return not results.isdisjoint(chain.from_iterable(used))

    def reads_of(self, variables: Container[int]) -> list[int]:
        """Return the positions of the instructions that read the resources of the variables."""
        images = {
            variable.id
            for variable in self.variables
            if isinstance(variable.type, ImageType | SampledImageType)
        }
        return [
            entry.position
            for entry in self.body
            if entry.result_id
            and entry.operands
            and (roots := {root for root, _ in self.roots_of(entry.operands[0]) if root in variables})
            and (
                entry.name.startswith("OpAtomic")
                or (entry.name == "OpLoad" and not roots <= images)
                or (entry.name.startswith("OpImage") and entry.name not in _NO_READS)
            )
        ]

    @cached_property
    def _by_position(self) -> dict[int, Instruction]:
        return {entry.position: entry for entry in self.body}

    def on_address(self, position: int) -> frozenset[Source]:
        """Return the inputs that influence the address that an instruction accesses."""
        entry = self._by_position.get(position)
        if entry is None:
            return frozenset()
        pointers = [entry.result_id] if entry.name in CHAINS else entry.operands
        bits = reduce(or_, (self._indices[pointer] for pointer in pointers), 0)
        if entry.name.startswith("OpImage"):
            bits |= self._of_operands(entry)
        return self._sources(bits)

    def on_value(self, identifier: int) -> frozenset[Source]:
        """Return the inputs that influence a value."""
        return self._sources(self._values[identifier])

    def on_operands(self, position: int) -> frozenset[Source]:
        """Return the inputs that influence the operands of an instruction."""
        entry = self._by_position.get(position)
        return self._sources(self._of_operands(entry)) if entry is not None else frozenset()

    def _of_operands(self, entry: Instruction) -> int:
        is_branch = entry.name.startswith("OpBranch")
        return self._any(entry.operands[:1] if is_branch else sort_operands(entry).values)

    def _sources(self, bits: int) -> frozenset[Source]:
        return frozenset(source for source, number in self._bits.items() if bits >> number & 1)


_COMBINING = {
    **dict.fromkeys(("BitwiseOr", "Or"), "Or"),
    **dict.fromkeys(("BitwiseAnd", "And"), "And"),
    **dict.fromkeys(("UMin", "SMin", "FMin", "NMin", "FMinEXT"), "Min"),
    **dict.fromkeys(("UMax", "SMax", "FMax", "NMax", "FMaxEXT"), "Max"),
}
"""Operations of which a repeated operand does not change the result."""


@lru_cache(maxsize=16)
def influence_of(module: Module) -> Influence:
    """Return the influence of a module's inputs, without the control flow."""
    return Influence(module)


@lru_cache(maxsize=16)
def combined_inputs(module: Module) -> dict[int, frozenset[str]]:
    """Return the operations, of ``"Or"``, ``"And"``, ``"Min"``, ``"Max"``, on the contents of each variable.

    Variables that influence an address are left out. Those that influence a branch are not combined by bits.
    """
    influence = influence_of(module)
    imported = influence.declared.extended_sets
    combined: dict[int, set[str]] = {}
    on_addresses, on_branches = set[int](), set[int]()
    for entry in influence.body:
        name, values = entry.name, sort_operands(entry).values
        if name.startswith(("OpAccessChain", "OpInBoundsAccessChain")):
            on_addresses |= {variable for variable, _ in influence.on_address(entry.position)}
        elif name.startswith(("OpBranchConditional", "OpSwitch")):
            on_branches |= {variable for variable, _ in influence.on_operands(entry.position)}
        elif name.startswith(("OpGroupNonUniform", "OpAtomic")) and values:
            operation = _COMBINING.get(name.removeprefix("OpGroupNonUniform").removeprefix("OpAtomic"))
            for variable, _ in influence.on_value(values[-1]) if operation else ():
                combined.setdefault(variable, set()).add(operation or "")
        elif name == "OpExtInst":
            called = extended_name("GLSL.std.450", entry.operands[1]).split()[-1]
            operation = _COMBINING.get(called) if imported[entry.operands[0]] == "GLSL.std.450" else None
            if operation:
                sides = [{variable for variable, _ in influence.on_value(value)} for value in values]
                for variable in set.intersection(*sides):
                    combined.setdefault(variable, set()).add(operation)
    return {
        variable: frozenset(operations - ({"Or", "And"} if variable in on_branches else set()))
        for variable, operations in combined.items()
        if variable not in on_addresses
    }


class GeneratedInfluence:
    """Tells which events of a module generated inputs can influence."""

    def __init__(self, module: Module, inputs: DispatchInputs) -> None:
        self._module, self._inputs = module, inputs
        self._influence = influence_of(module)

    @cached_property
    def _generated(self) -> dict[int, Input]:
        """The inputs with generated contents, by the ids of their variables."""
        by_place = {entry.place: entry for entry in self._inputs.bindings if entry.generated}
        bindings = self._module.reflection.bindings
        return {entry.id: by_place[entry.place] for entry in bindings if entry.place in by_place}

    def _is_generated(self, variable: int, member: int) -> bool:
        if variable in self._influence.push:
            members = self._inputs.generated_push
            return bool(members) and (member < 0 or member in members)
        return variable in self._generated and member not in self._generated[variable].given

    def reaches(self, event: Event) -> bool:
        """Whether generated inputs can influence an event."""
        position = event.origin
        sources = self._influence.on_address(position)
        if event.kind != "bounds":
            sources |= self._influence.on_operands(position)
        flow = self._influence.control_flow
        for each in flow.with_calls(position):
            for branch in flow.branches[flow.block_at[each].label] if each in flow.block_at else ():
                sources |= self._influence.on_operands(branch.position)
        return any(self._is_generated(*source) for source in sources)
