"""Sites of a shader: stores, barriers, atomics and subgroup operations, and which of them can be reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from vkgroup.check.flow import CHAINS
from vkgroup.check.influence import Influence, Source
from vkgroup.spirv import EntryPoint, Instruction, Module
from vkgroup.spirv.declarations import Declarations

Fixed = Callable[[Source], bool]
"""A function that says whether an input has the only value, or all values, that it can have."""

_OWN = ("Function", "Private", "Output", "Input")
_GROUPS = ("OpGroupNonUniform", "OpSubgroup", "OpCooperativeMatrix")
_OTHERS = ("OpControlBarrier", "OpImageWrite", "OpImageSparseTexelsResident")


@dataclass
class _Block:
    """A basic block."""

    instructions: list[Instruction] = field(default_factory=list)
    sites: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)  # the functions that it calls

    @property
    def end(self) -> Instruction:
        """The terminator."""
        return self.instructions[-1]

    @property
    def successors(self) -> list[int]:
        """The labels of the blocks that may follow."""
        name, words = self.end.name, self.end.operands
        if name == "OpBranch":
            return [words[0]]
        if name == "OpBranchConditional":
            return list(words[1:3])
        return [words[1], *words[3::2]] if name == "OpSwitch" else []


class Sites:
    """The sites of one entry point of a module."""

    def __init__(self, module: Module, entry: EntryPoint) -> None:
        declared = Declarations(module)
        self._influence = Influence(module, by_control=True)
        self._blocks: dict[int, _Block] = {}
        self._first: dict[int, int] = {}
        own = {variable.id for variable in declared.variables if variable.storage_class in _OWN}
        for instruction in self._influence.body:
            name = instruction.name
            if name == "OpVariable" or (name in CHAINS and instruction.operands[0] in own):
                own.add(instruction.result_id)
        self._collect(module, own)
        self._start = next(one.id for one in declared.entry_points if one.interface == entry.interface)

    def _collect(self, module: Module, own: set[int]) -> None:
        """Record the blocks of all functions."""
        function, block = 0, _Block()
        for instruction in module.instructions:
            name = instruction.name
            if name == "OpFunction":
                function = instruction.result_id
            elif name == "OpLabel":
                block = self._blocks[instruction.result_id] = _Block()
                self._first.setdefault(function, instruction.result_id)
            elif function:
                block.instructions.append(instruction)
                if name == "OpFunctionCall":
                    block.calls.append(instruction.operands[0])
                is_store = name in ("OpStore", "OpCopyMemory") and instruction.operands[0] not in own
                if is_store or name in _OTHERS or name.startswith(("OpAtomic", *_GROUPS)):
                    block.sites.append(instruction.position)

    def missing(self, executed: Mapping[int, int], fixed: Fixed) -> frozenset[int]:
        """Return the positions of the sites that can be reached and were not executed.

        `executed`: what was executed, by position, as in `CheckedRun.executed`.
        `fixed`: a branch whose condition only such inputs decide cannot go another way than it went.
        """
        missing, todo, seen = set[int](), [self._first[self._start]], set[int]()
        while todo:
            label = todo.pop()
            if label in seen:
                continue
            seen.add(label)
            block = self._blocks[label]
            missing |= {position for position in block.sites if position not in executed}
            todo += [self._first[function] for function in block.calls if function in self._first]
            following = block.successors
            is_branch = len(following) > 1 and block.end.position in executed
            if is_branch and all(map(fixed, self._influence.on_operands(block.end.position))):
                following = [label for label in following if self._is_executed(label, executed)]
            todo += following
        return frozenset(missing)

    def _is_executed(self, label: int, executed: Mapping[int, int]) -> bool:
        return any(entry.position in executed for entry in self._blocks[label].instructions)

    def frontier(self, executed: Mapping[int, int], covered: Mapping[int, int]) -> frozenset[Source]:
        """Return the inputs that decide the executed branches with a way that is not covered."""
        sources = frozenset[Source]()
        for block in self._blocks.values():
            following = block.successors if block.instructions else []
            is_branch = len(following) > 1 and block.end.position in executed
            if is_branch and not all(self._is_executed(label, covered) for label in following):
                sources |= self._influence.on_operands(block.end.position)
        return sources
