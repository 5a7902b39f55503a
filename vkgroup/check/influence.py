"""Influence of generated inputs on addresses and operands, by flow-insensitive data flow.

Control flow is ignored: the number of rounds of a loop does not influence the address that it computes from
its counter. Functions, variables and shared memory are followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache

import numpy as np

from vkgroup.check.flow import WHOLE
from vkgroup.reference.interpreter.program.site import extended_name, sort_operands
from vkgroup.spirv import Instruction, Module, grammar
from vkgroup.spirv.declarations import Declarations

Source = tuple[int, int]
"""A source of values: id of a variable and index of a block member; `WHOLE` for the whole variable."""

LENGTH = -2
"""Member index for the length of the runtime array of a buffer."""

UNKNOWN: Source = (0, WHOLE)
"""The source of what the order of invocations or the clock decides: results of atomics, and times."""

CHAINS = ("OpAccessChain", "OpInBoundsAccessChain", "OpPtrAccessChain", "OpInBoundsPtrAccessChain")
_INPUTS = ("Input", "PushConstant", "Uniform", "StorageBuffer", "UniformConstant")
_NO_VALUES = ("OpName", "OpMemberName", "OpDecorate", "OpMemberDecorate", "OpLine", "OpNoLine", "OpLabel")
_SPECIALIZED = ("OpSpecConstant", "OpSpecConstantTrue", "OpSpecConstantFalse")
_MAX_ROUNDS = 32


class Influence:
    """For each value and pointer of a module, the inputs that influence it.

    `by_control`: whether the conditions of branches influence what is stored inside of their constructs.
    """

    def __init__(self, module: Module, *, by_control: bool = False) -> None:
        declared = Declarations(module)
        instructions = module.instructions
        start = next((k for k, entry in enumerate(instructions) if entry.name == "OpFunction"), 0)
        self.body = [entry for entry in instructions[start:] if entry.name not in _NO_VALUES]
        self._constants = declared.constants
        names = grammar().enumeration("BuiltIn")
        #: The names of built-in variables by id.
        self.built_ins = {
            variable.id: names[number]
            for variable in declared.variables
            if (number := declared.decoration(variable.id, "BuiltIn")) is not None
        }
        self.variables = declared.variables
        self.inputs = {variable.id for variable in declared.variables if variable.storage_class in _INPUTS}
        #: The variables of the push constants.
        self.push = {entry.id for entry in declared.variables if entry.storage_class == "PushConstant"}
        self._bits: dict[Source, int] = {}
        #: Influence on the contents of a value or a variable; on the indices of a pointer; bit sets.
        self._values: dict[int, int] = {}
        self._indices: dict[int, int] = {}
        self._roots: dict[int, Source] = {}
        self._parameters: dict[int, list[int]] = {}
        self._function = 0
        for variable in declared.variables:
            self._roots[variable.id] = (variable.id, WHOLE)
        self._conditions = _conditions_of(self.body) if by_control else {}
        self._specialize(instructions)
        self._settle()

    def _specialize(self, instructions: Sequence[Instruction]) -> None:
        """Follow the specialization constants through the constants that are computed from them."""
        for entry in instructions:
            if entry.name == "OpFunction":
                return
            if entry.name in _SPECIALIZED:
                self._add(entry.result_id, self._bit((entry.result_id, WHOLE)))
            elif entry.name.startswith(("OpSpecConstant", "OpConstantComposite", "OpTypeArray")):
                for operand in entry.operands:
                    self._add(entry.result_id, self._values.get(operand, 0))

    def _settle(self) -> None:
        """Follow all instructions until nothing changes."""
        for entry in self.body:
            if entry.name == "OpFunction":
                parameters = self._parameters[entry.result_id] = []
            elif entry.name == "OpFunctionParameter":
                parameters.append(entry.result_id)
            elif entry.name == "OpVariable":
                self._roots[entry.result_id] = (entry.result_id, WHOLE)
        for _ in range(_MAX_ROUNDS):
            before = self._extent()
            for entry in self.body:
                self._follow(entry)
            if before == self._extent():
                break

    def _extent(self) -> tuple[int, int, int]:
        """Return numbers that grow with everything that is known."""
        return (
            sum(map(int.bit_count, self._values.values())),
            sum(map(int.bit_count, self._indices.values())),
            len(self._roots),
        )

    def _bit(self, source: Source) -> int:
        return 1 << self._bits.setdefault(source, len(self._bits))

    def _add(self, identifier: int, bits: int) -> None:
        if bits:
            self._values[identifier] = self._values.get(identifier, 0) | bits

    def _contents(self, pointer: int) -> int:
        """Return the influence on what a pointer points to."""
        root = self._roots.get(pointer)
        if root is None:
            return self._values.get(pointer, 0)
        own = self._bit(root) if root[0] in self.inputs else 0
        return own | self._values.get(root[0], 0) | self._values.get(pointer, 0)

    def _follow(self, entry: Instruction) -> None:
        words, name = entry.operands, entry.name
        if name == "OpFunction":
            self._function = entry.result_id
        elif name in CHAINS or name == "OpImageTexelPointer":
            self._follow_chain(entry)
        elif name == "OpLoad":
            self._add(entry.result_id, self._contents(words[0]) | self._indices.get(words[0], 0))
            if words[0] in self._roots:
                self._roots.setdefault(entry.result_id, self._roots[words[0]])
        elif name in ("OpStore", "OpCopyMemory"):
            source = self._contents(words[1]) if name == "OpCopyMemory" else self._values.get(words[1], 0)
            root = self._roots.get(words[0], (words[0], WHOLE))
            self._add(root[0], source | self._indices.get(words[0], 0) | self._control(entry))
        elif name == "OpFunctionCall":
            self._follow_call(entry)
        elif name == "OpReturnValue":
            self._add(self._function, self._values.get(words[0], 0) | self._control(entry))
        elif name == "OpPhi":
            for operand in words[::2]:
                self._add(entry.result_id, self._values.get(operand, 0) | self._control(entry))
        elif name == "OpArrayLength":
            self._add(entry.result_id, self._bit((self._roots.get(words[0], (words[0], 0))[0], LENGTH)))
        elif entry.result_id:
            bits = 0
            for operand in sort_operands(entry).values:
                bits |= self._values.get(operand, 0)
            if name.startswith(("OpAtomic", "OpReadClock")):
                bits |= self._bit(UNKNOWN)
            if name.startswith("OpAtomic"):
                bits |= self._contents(words[0]) | self._indices.get(words[0], 0)
            self._add(entry.result_id, bits)

    def _control(self, entry: Instruction) -> int:
        """Return the influence on the branches that decide whether an instruction is executed."""
        bits = 0
        for condition in self._conditions.get(entry.position, ()):
            bits |= self._values.get(condition, 0)
        return bits

    def _follow_chain(self, entry: Instruction) -> None:
        base, *indices = entry.operands
        bits = self._indices.get(base, 0)
        for index in indices:
            bits |= self._values.get(index, 0)
        self._indices[entry.result_id] = self._indices.get(entry.result_id, 0) | bits
        root = self._roots.get(base)
        if root is not None:
            if root[1] == WHOLE and indices and root[0] in self.inputs:
                constant = self._constants.get(indices[0])
                is_index = entry.name != "OpImageTexelPointer"
                root = (root[0], int(constant.evaluate()) if constant is not None and is_index else WHOLE)
            self._roots[entry.result_id] = root
        else:
            self._add(entry.result_id, self._values.get(base, 0))

    def _follow_call(self, entry: Instruction) -> None:
        function, *arguments = entry.operands
        for parameter, argument in zip(self._parameters.get(function, ()), arguments, strict=False):
            self._add(parameter, self._contents(argument))
            if argument in self._roots:
                self._roots.setdefault(parameter, self._roots[argument])
            if argument in self._indices:
                self._indices[parameter] = self._indices.get(parameter, 0) | self._indices[argument]
        self._add(entry.result_id, self._values.get(function, 0))

    @cached_property
    def _by_position(self) -> dict[int, Instruction]:
        return {entry.position: entry for entry in self.body}

    def on_address(self, position: int) -> frozenset[Source]:
        """Return the inputs that influence the address that an instruction accesses."""
        entry = self._by_position.get(position)
        if entry is None:
            return frozenset()
        pointers = [entry.result_id] if entry.name in CHAINS else list(entry.operands)
        bits = 0
        for pointer in pointers:
            bits |= self._indices.get(pointer, 0)
        if entry.name.startswith("OpImage"):
            bits |= self._of_operands(entry)
        return self._sources(bits)

    def on_value(self, identifier: int) -> frozenset[Source]:
        """Return the inputs that influence a value."""
        return self._sources(self._values.get(identifier, 0))

    def on_operands(self, position: int) -> frozenset[Source]:
        """Return the inputs that influence the operands of an instruction."""
        entry = self._by_position.get(position)
        return self._sources(self._of_operands(entry)) if entry is not None else frozenset()

    def _of_operands(self, entry: Instruction) -> int:
        bits = 0
        operands = entry.operands[:1] if entry.name.startswith("OpBranch") else sort_operands(entry).values
        for operand in operands:
            bits |= self._values.get(operand, 0)
        return bits

    def _sources(self, bits: int) -> frozenset[Source]:
        return frozenset(source for source, number in self._bits.items() if bits >> number & 1)


def is_import(entry: Instruction, name: bytes) -> bool:
    """Whether an instruction imports the set of extended instructions with a name."""
    words = np.array(entry.operands, "<u4")
    return entry.name == "OpExtInstImport" and words.tobytes().split(b"\0")[0] == name


_COMBINING = {
    **dict.fromkeys(("BitwiseOr", "Or"), "Or"),
    **dict.fromkeys(("BitwiseAnd", "And"), "And"),
    **dict.fromkeys(("UMin", "SMin", "FMin", "NMin", "FMinEXT"), "Min"),
    **dict.fromkeys(("UMax", "SMax", "FMax", "NMax", "FMaxEXT"), "Max"),
}
"""Operations of which a repeated operand does not change the result."""


def _conditions_of(body: Sequence[Instruction]) -> dict[int, set[int]]:
    """Return the conditions of the constructs around each store, phi and return, by position.

    A phi has those of the construct that ends at its block, or of the loop that begins there.
    """
    around: list[tuple[int, set[int]]] = []  # merge block and conditions of each construct
    found: dict[int, list[set[int]]] = {}
    ended: list[set[int]] = []
    phis: list[int] = []
    for entry in body:
        name = entry.name
        if name == "OpFunction":
            around = []
        elif name == "OpLabel":
            ended, phis = [], []
            while around and around[-1][0] == entry.result_id:
                ended.append(around.pop()[1])
        elif name in ("OpSelectionMerge", "OpLoopMerge"):
            around.append((entry.operands[0], set()))
            for position in phis if name == "OpLoopMerge" else ():
                found[position].append(around[-1][1])
        elif name in ("OpBranchConditional", "OpSwitch") and around:
            around[-1][1].add(entry.operands[0])
        elif name in ("OpStore", "OpCopyMemory", "OpPhi", "OpReturnValue"):
            found[entry.position] = [conditions for _, conditions in around]
            if name == "OpPhi":
                found[entry.position] += ended
                phis.append(entry.position)
    return {position: set().union(*conditions) for position, conditions in found.items()}


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
    glsl = next((entry.result_id for entry in module.instructions if is_import(entry, b"GLSL.std.450")), None)
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
            operation = _COMBINING.get(called) if entry.operands[0] == glsl else None
            if operation:
                sides = [{variable for variable, _ in influence.on_value(value)} for value in values]
                for variable in set.intersection(*sides):
                    combined.setdefault(variable, set()).add(operation)
    return {
        variable: frozenset(operations - ({"Or", "And"} if variable in on_branches else set()))
        for variable, operations in combined.items()
        if variable not in on_addresses
    }
