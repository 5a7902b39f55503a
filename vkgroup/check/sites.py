"""Sites of a shader: stores, barriers, atomics and subgroup operations, which runs must execute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from vkgroup.check.influence import Influence, Source
from vkgroup.spirv import EntryPoint, Instruction, Module, call_of
from vkgroup.spirv.chains import CHAINS, STORES

Fixed = Callable[[Source], bool]
"""A function that says whether an input has the only value, or all values, that it can have."""

_OWN = ("Function", "Private", "Output", "Input")
_GROUPS = ("OpGroupNonUniform", "OpSubgroup", "OpCooperativeMatrix")
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
        self._written = set[int]().union(
            *(self._roots(one) for one in self._influence.body if self._is_store(one))
        )
        self._start = next(one.id for one in declared.entry_points if one.interface == entry.interface)

    @cached_property
    def _sites(self) -> dict[int, frozenset[int]]:
        """The positions of the sites of each block, by its label."""
        return {
            label: frozenset(entry.position for entry in block.body if self._is_site(entry))
            for label, block in self._flow.blocks.items()
        }

    def _roots(self, entry: Instruction) -> set[int]:
        """Return the variables that an instruction may access."""
        return {root for root, _ in self._influence.roots_of(entry.operands[0])}

    def _is_store(self, entry: Instruction) -> bool:
        is_atomic = entry.name.startswith("OpAtomic")
        return is_atomic or (entry.name in STORES and entry.operands[0] not in self._own)

    def _is_site(self, entry: Instruction) -> bool:
        # A read of what others write may be a race, or undefined.
        is_read = entry.name == "OpLoad" and not self._written.isdisjoint(self._roots(entry))
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
