"""Influence of inputs on addresses and operands, by flow-insensitive data flow, and the sites of a shader.

Control flow is ignored: the number of rounds of a loop does not influence the address that it computes from
its counter. Functions, variables and shared memory are followed. Sites are stores, barriers, atomics and
subgroup operations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, reduce
from operator import or_

from vkgroup.check.flow import CHAINS, WHOLE, ModuleCode
from vkgroup.check.inputs import DispatchInputs, Input
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.program.site import extended_name, sort_operands
from vkgroup.spirv import Call, EntryPoint, ImageType, Instruction, Module, SampledImageType, call_of

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
_INPUTS = ("Input", "PushConstant", "Uniform", "StorageBuffer", "UniformConstant")
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
        self._function = 0
        self._by_control = by_control
        self._specialize(module.instructions)
        variables = [entry.result_id for entry in self.body if entry.name == "OpVariable"]
        self.roots |= {variable: (variable, WHOLE) for variable in variables}
        for _ in range(_MAX_ROUNDS):
            before = self._extent()
            for entry in self.body:
                self._follow(entry)
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

    def _extent(self) -> tuple[int, int, int]:
        """Return numbers that grow with everything that is known."""
        values, indices = (map(int.bit_count, bits.values()) for bits in (self._values, self._indices))
        return sum(values), sum(indices), len(self.roots)

    def _bit(self, source: Source) -> int:
        return 1 << self._bits.setdefault(source, len(self._bits))

    def _any(self, ids: Iterable[int]) -> int:
        """Return the influence on any of some values."""
        return reduce(or_, map(self._values.__getitem__, ids), 0)

    def _contents(self, pointer: int) -> int:
        """Return the influence on what a pointer points to."""
        root = self.roots.get(pointer)
        if root is None:
            return self._values[pointer]
        own = self._bit(root) if root[0] in self.inputs else 0
        return own | self._values[root[0]] | self._values[pointer]

    def _follow(self, entry: Instruction) -> None:
        words, name = entry.operands, entry.name
        if name == "OpFunction":
            self._function = entry.result_id
        elif name in CHAINS or name == "OpImageTexelPointer":
            self._follow_chain(entry)
        elif name == "OpLoad":
            self._values[entry.result_id] |= self._contents(words[0]) | self._indices[words[0]]
        elif name in ("OpStore", "OpCopyMemory"):
            source = self._contents(words[1]) if name == "OpCopyMemory" else self._values[words[1]]
            root = self.roots.get(words[0], (words[0], WHOLE))
            self._values[root[0]] |= source | self._indices[words[0]] | self._control(entry)
        elif call := call_of(entry):
            self._follow_call(entry, call)
        elif name == "OpReturnValue":
            self._values[self._function] |= self._values[words[0]] | self._control(entry)
        elif name == "OpPhi":
            self._values[entry.result_id] |= self._any(words[::2]) | self._control(entry)
        elif name == "OpArrayLength":
            self._values[entry.result_id] |= self._bit((self.roots.get(words[0], (words[0], 0))[0], LENGTH))
        elif entry.result_id:
            bits = self._any(sort_operands(entry).values)
            if name.startswith(("OpAtomic", "OpReadClock")):
                bits |= self._bit(UNKNOWN)
            if name.startswith("OpAtomic"):
                bits |= self._contents(words[0]) | self._indices[words[0]]
            self._values[entry.result_id] |= bits
        if name in _HANDLES and words[0] in self.roots:
            self.roots.setdefault(entry.result_id, self.roots[words[0]])

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
        root = self.roots.get(base)
        if root is not None:
            if root[1] == WHOLE and indices and root[0] in self.inputs and entry.name in CHAINS:
                root = (root[0], self.constant(indices[0], WHOLE))
            self.roots[entry.result_id] = root
        else:
            self._values[entry.result_id] |= self._values[base]

    def _follow_call(self, entry: Instruction, call: Call) -> None:
        for parameter, argument in zip(self.parameters.get(call.function, ()), call.arguments, strict=False):
            self._values[parameter] |= self._contents(argument)
            self._indices[parameter] |= self._indices[argument]
            if argument in self.roots:
                self.roots.setdefault(parameter, self.roots[argument])
        self._values[entry.result_id] |= self._values[call.function]

    # --- uses of resources ----------------------------------------------------------------------------

    @cached_property
    def atomics(self) -> dict[Source, list[Instruction]]:
        """The atomic instructions on each member of the inputs."""
        instructions: dict[Source, list[Instruction]] = {}
        for entry in self.body:
            if entry.name.startswith("OpAtomic") and entry.operands[0] in self.roots:
                instructions.setdefault(self.roots[entry.operands[0]], []).append(entry)
        return instructions

    @property
    def measured(self) -> frozenset[int]:
        """The variables of the buffers whose runtime arrays are asked for their length."""
        return frozenset(variable for variable, member in self._bits if member == LENGTH)

    def uses_atomic_results(self) -> bool:
        """Whether the shader uses the result of an atomic on an input, for example to number workgroups."""
        atomics = [each for (variable, _), each in self.atomics.items() if variable in self.inputs]
        results = {entry.result_id for entries in atomics for entry in entries} - {0}
        return any(results & set(sort_operands(entry).values) for entry in self.body)

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
            and (variable := self.roots.get(entry.operands[0], UNKNOWN)[0]) in variables
            and (
                entry.name.startswith("OpAtomic")
                or (entry.name == "OpLoad" and variable not in images)
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


Fixed = Callable[[Source], bool]
"""A function that says whether an input has the only value, or all values, that it can have."""

_OWN = ("Function", "Private", "Output", "Input")
_GROUPS = ("OpGroupNonUniform", "OpSubgroup", "OpCooperativeMatrix")
_STORES = ("OpStore", "OpCopyMemory")
_OTHERS = ("OpControlBarrier", "OpImageWrite")


class Sites:
    """The sites of one entry point of a module."""

    def __init__(self, module: Module, entry: EntryPoint) -> None:
        self._influence = Influence(module, by_control=True)
        self._flow = self._influence.control_flow
        declared = self._influence.declared
        self._own = {variable.id for variable in declared.variables if variable.storage_class in _OWN}
        for instruction in self._influence.body:
            name = instruction.name
            if name == "OpVariable" or (name in CHAINS and instruction.operands[0] in self._own):
                self._own.add(instruction.result_id)
        #: The variables that the shader writes and other invocations may read.
        self._written = {self._root(one) for one in self._influence.body if self._is_store(one)} - {0}
        self._start = next(one.id for one in declared.entry_points if one.interface == entry.interface)

    @cached_property
    def _sites(self) -> dict[int, frozenset[int]]:
        """The positions of the sites of each block, by its label."""
        return {
            label: frozenset(entry.position for entry in block.body if self._is_site(entry))
            for label, block in self._flow.blocks.items()
        }

    def _root(self, entry: Instruction) -> int:
        """Return the variable that an instruction accesses; 0 if it is not known."""
        return self._influence.roots.get(entry.operands[0], (0, 0))[0]

    def _is_store(self, entry: Instruction) -> bool:
        is_atomic = entry.name.startswith("OpAtomic")
        return is_atomic or (entry.name in _STORES and entry.operands[0] not in self._own)

    def _is_site(self, entry: Instruction) -> bool:
        # A read of what others write may be a race, or undefined.
        is_read = entry.name == "OpLoad" and self._root(entry) in self._written
        return is_read or self._is_store(entry) or entry.name in _OTHERS or entry.name.startswith(_GROUPS)

    def missing(self, executed: Mapping[int, int], fixed: Fixed) -> frozenset[int]:
        """Return the positions of the sites that can be reached and were not executed.

        `executed`: what was executed, by position, as in `CheckedRun.executed`.
        `fixed`: a branch whose condition only such inputs decide cannot go another way than it went.
        """
        missing, seen = set[int](), set[int]()
        todo = [block.label for block in self._flow.functions[self._start].blocks[:1]]
        while todo:
            label = todo.pop()
            if label in seen:
                continue
            seen.add(label)
            block = self._flow.blocks[label]
            missing |= self._sites[label] - executed.keys()
            calls = (call.function for entry in block.body if (call := call_of(entry)))
            todo += [first.label for call in calls for first in self._flow.functions[call].blocks[:1]]
            following = self._flow.successors(block)
            end = block.terminator.position
            if len(following) > 1 and end in executed and all(map(fixed, self._influence.on_operands(end))):
                following = [label for label in following if self._is_executed(label, executed)]
            todo += following
        return frozenset(missing)

    def _is_executed(self, label: int, executed: Mapping[int, int]) -> bool:
        return any(entry.position in executed for entry in self._flow.blocks[label].instructions)

    def frontier(self, executed: Mapping[int, int], covered: Mapping[int, int]) -> frozenset[Source]:
        """Return the inputs that decide the executed branches with a way that is not covered."""
        return frozenset[Source]().union(
            *(
                self._influence.on_operands(block.terminator.position)
                for block in self._flow.blocks.values()
                if len(following := self._flow.successors(block)) > 1
                and block.terminator.position in executed
                and not all(self._is_executed(label, covered) for label in following)
            )
        )
