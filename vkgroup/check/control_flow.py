"""Control flow of a module: its blocks, what may follow each, and the branches that decide on it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, lru_cache

from vkgroup.reference.interpreter.program.flow import (
    END,
    BasicBlock,
    post_dominators,
    read_functions,
    selector_words,
    successors,
)
from vkgroup.spirv import Instruction, Module, call_of


@lru_cache(maxsize=16)
def control_flow_of(module: Module) -> ControlFlow:
    """Return the control flow of a module."""
    return ControlFlow(module)


class ControlFlow:
    """The functions of a module by id, their blocks by label, and the block of each position."""

    def __init__(self, module: Module) -> None:
        self.functions = read_functions(module)[1]
        self.blocks = {block.label: block for each in self.functions.values() for block in each.blocks}
        self.block_at = {
            entry.position: block for block in self.blocks.values() for entry in block.instructions
        }

    def successors(self, block: BasicBlock) -> list[int]:
        """Return the labels of the blocks that may follow."""
        is_switch = block.terminator.name == "OpSwitch"
        return successors(block.terminator, selector_words(block.terminator, self.blocks) if is_switch else 1)

    def reached(self, labels: Iterable[int], without: Iterable[int]) -> frozenset[int]:
        """Return the labels of the blocks that can be reached from some blocks without passing others."""
        todo, left_out, seen = list(labels), frozenset(without), set[int]()
        while todo:
            label = todo.pop()
            if label not in seen and label not in left_out:
                seen.add(label)
                todo += self.successors(self.blocks[label])
        return frozenset(seen)

    @cached_property
    def branches(self) -> dict[int, list[Instruction]]:
        """By label of a block, the branches that decide whether it is executed, or how often."""
        found: dict[int, list[Instruction]] = {label: [] for label in self.blocks}
        for function in self.functions.values():
            numbers = {block.label: number for number, block in enumerate(function.blocks)}
            after = [[numbers[label] for label in self.successors(block)] for block in function.blocks]
            for block, end in zip(function.blocks, post_dominators(after), strict=True):
                following = self.successors(block)
                end_label = function.blocks[end].label if end != END else 0
                for label in self.reached(following, {end_label}) if len(following) > 1 else ():
                    found[label].append(block.terminator)
        return found

    @cached_property
    def _calls(self) -> dict[int, list[int]]:
        """By label of a block, the positions of the calls of its function."""
        calls: dict[int, list[int]] = {function: [] for function in self.functions}
        for block in self.blocks.values():
            for entry in block.body:
                if call := call_of(entry):
                    calls[call.function].append(entry.position)
        return {block.label: calls[each.id] for each in self.functions.values() for block in each.blocks}

    def with_calls(self, position: int) -> list[int]:
        """Return a position, and those of the calls of its function and of the functions with these calls."""
        positions = [position]
        for each in positions:
            if each in self.block_at:
                calls = self._calls[self.block_at[each].label]
                positions += [call for call in calls if call not in positions]
        return positions
