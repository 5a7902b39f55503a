"""Loops that provably end: a counter moves by a constant toward a limit that does not change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from vkgroup.check.control_flow import ControlFlow
from vkgroup.reference.interpreter.program.site import sort_operands
from vkgroup.spirv import Instruction, Module, grammar
from vkgroup.spirv.declarations import Declarations

_UP = {"Less": 1, "Greater": -1}
_TURNED = {"Less": "Greater", "Greater": "Less"}
_STEPS = {"OpIAdd": 1, "OpISub": -1}
_NESTED = ("OpSelectionMerge", "OpLoopMerge")
_DEBUG = ("OpLine", "OpNoLine", "OpExtInst")
_VARYING = ("OpPhi", "OpFunctionCall", "OpAtomic", "OpGroup", "OpSubgroup", "OpImage")
_CHAINS = ("OpAccessChain", "OpInBoundsAccessChain")


@dataclass(frozen=True)
class _Loop:
    """A structured loop; all numbers are positions of instructions."""

    start: int  # the label of the header
    end: int  # the label of the merge block
    back: int  # the label of the continue target
    merge: int  # the id of the merge block

    def __contains__(self, position: int) -> bool:
        return self.start <= position < self.end


class CountedLoops:
    """The loops of a module that provably end."""

    def __init__(self, module: Module) -> None:
        self._instructions = module.instructions
        self._declared, self._flow = Declarations(module), ControlFlow(module)
        self._by_id = {entry.result_id: entry for entry in self._instructions if entry.result_id}
        names = grammar().enumeration("StorageClass")
        self._classes = {
            entry.result_id: names.get(entry.operands[0], "")
            for entry in self._instructions
            if entry.name == "OpVariable"
        }

    @cached_property
    def _loops(self) -> list[_Loop]:
        loops, label = [], -1
        for entry in self._instructions:
            if entry.name == "OpLabel":
                label = entry.position
            elif entry.name == "OpLoopMerge":
                end, back = (self._by_id[word].position for word in entry.operands[:2])
                loops.append(_Loop(label, end, back, entry.operands[0]))
        return loops

    def ends(self, position: int) -> bool:
        """Whether all loops around an instruction provably end, also those around calls of its function."""
        positions = self._flow.with_calls(position)
        around = [loop for loop in self._loops if any(at in loop for at in positions)]
        return bool(around) and all(self._is_counted(loop) for loop in around)

    def _is_counted(self, loop: _Loop) -> bool:
        """Whether the condition of a loop compares a counter with a limit."""
        inside = [entry for entry in self._instructions if entry.position in loop]
        exits = {loop.merge, *_jumps_to(loop.merge, inside)}
        merge = -1  # position of the merge instruction just before a branch
        for entry in inside:
            if entry.name == "OpBranchConditional" and exits & set(entry.operands[1:3]):
                continues = entry.operands[2] in exits
                at = merge if merge >= 0 else entry.position
                if not self._is_nested(at, loop, inside) and self._counts(
                    entry.operands[0], continues, loop, inside
                ):
                    return True
            merge = entry.position if entry.name == "OpSelectionMerge" else -1
        return False

    def _is_nested(self, position: int, loop: _Loop, inside: list[Instruction]) -> bool:
        """Whether an instruction is in a selection or loop inside a loop, or may be left out in a round."""
        for entry in inside:
            if entry.name in _NESTED and entry.position < position:
                end = self._by_id[entry.operands[0]].position
                if end not in (loop.end, -1) and position < end:
                    return True
            if entry.name.startswith("OpBranch") and entry.position < position < loop.back:
                targets = (self._by_id[word].position for word in entry.operands if word in self._by_id)
                if any(target == loop.back for target in targets):
                    return True
        return False

    def _counts(self, condition: int, continues: bool, loop: _Loop, inside: list[Instruction]) -> bool:
        """Whether a condition holds in a limited number of rounds only."""
        entry = self._by_id[condition]
        if entry.name == "OpLogicalNot":
            return self._counts(entry.operands[0], not continues, loop, inside)
        if entry.name == ("OpLogicalAnd" if continues else "OpLogicalOr"):
            return any(self._counts(word, continues, loop, inside) for word in entry.operands)
        return any(
            self._approaches(entry, sides, continues, loop, inside)
            for sides in (((0, 1), (1, 0)) if len(entry.operands) == 2 else ())
        )

    def _approaches(
        self,
        entry: Instruction,
        sides: tuple[int, int],
        continues: bool,
        loop: _Loop,
        inside: list[Instruction],
    ) -> bool:
        """Whether one side of a comparison is a counter that moves toward the other side."""
        relation = entry.name.removeprefix("OpU").removeprefix("OpS").removeprefix("OpI")
        counter, limit = (entry.operands[side] for side in sides)
        step = self._step(counter, loop, inside)
        if step == 0 or not self._is_constant(limit, loop, inside):
            return False
        if relation in ("NotEqual", "Equal"):
            return abs(step) == 1 and continues == (relation == "NotEqual")
        direction = next((word for word in _UP if relation.startswith(word)), "")
        if not direction:
            return False
        inclusive = relation.endswith("Equal")
        if not continues:
            direction, inclusive = _TURNED[direction], not inclusive
        if sides == (1, 0):
            direction = _TURNED[direction]
        return step * _UP[direction] > 0 and self._has_room(entry, limit, step, inclusive)

    def _has_room(self, entry: Instruction, limit: int, step: int, inclusive: bool) -> bool:
        """Whether the counter passes the limit without a wrap-around."""
        constant = self._declared.constants.get(limit)
        is_unsigned = entry.name.startswith("OpU")
        if constant is None:
            # The limit 0 is usual: an unsigned number cannot pass it downwards.
            return not (is_unsigned and step < 0 and (inclusive or step < -1))
        bits = getattr(constant.type, "bits", 32)
        least, most = (0, (1 << bits) - 1) if is_unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)
        value = int(constant.evaluate())
        value = value & ((1 << bits) - 1) if is_unsigned else value
        last = value if inclusive else value - (1 if step > 0 else -1)
        return least <= last + step <= most

    def _step(self, counter: int, loop: _Loop, inside: list[Instruction]) -> int:
        """Return the constant by which each round moves a value; 0 if there is none."""
        entry = self._by_id[counter]
        if entry.name in ("OpBitcast", "OpCopyObject"):
            return self._step(entry.operands[0], loop, inside)
        if entry.name == "OpPhi":
            if entry.position not in loop or self._is_nested(entry.position, loop, inside):
                return 0
            values = [word for word in entry.operands[::2] if self._by_id[word].position in loop]
            return self._difference(values[0], lambda word: word == counter) if len(values) == 1 else 0
        if entry.name != "OpLoad" or self._classes.get(entry.operands[0]) != "Function":
            return 0
        variable = entry.operands[0]
        writes = [other for other in inside if self._may_write(other, variable)]
        if len(writes) != 1 or writes[0].name != "OpStore":
            return 0
        if self._is_nested(writes[0].position, loop, inside):
            return 0
        return self._difference(
            writes[0].operands[1],
            lambda word: self._by_id[word].name == "OpLoad" and self._by_id[word].operands[0] == variable,
        )

    def _difference(self, value: int, is_counter: Callable[[int], bool]) -> int:
        """Return the constant that a value is larger than the counter; 0 if it is something else."""
        entry = self._by_id[value]
        while entry.name in ("OpBitcast", "OpCopyObject"):
            entry = self._by_id[entry.operands[0]]
        if entry.name not in _STEPS:
            return 0
        orders = ((0, 1), (1, 0)) if entry.name == "OpIAdd" else ((0, 1),)
        for own, other in orders:
            constant = self._declared.constants.get(entry.operands[other])
            if is_counter(entry.operands[own]) and constant is not None:
                number = int(constant.evaluate())
                bits = getattr(constant.type, "bits", 32)
                number -= (1 << bits) * (number >= 1 << bits - 1)
                return _STEPS[entry.name] * number
        return 0

    def _may_write(self, entry: Instruction, variable: int) -> bool:
        """Whether an instruction may write a variable: a store, or a call that gets its pointer."""
        if entry.name in _CHAINS:
            return entry.operands[0] == variable
        return entry.name not in ("OpLoad", "OpName") and variable in entry.operands

    def _is_constant(self, value: int, loop: _Loop, inside: list[Instruction]) -> bool:
        """Whether a value is the same in all rounds."""
        entry = self._by_id[value]
        if entry.position not in loop:
            return True
        if entry.name in ("OpPhi", "OpFunctionCall") or entry.name.startswith(
            ("OpAtomic", "OpGroup", "OpImage")
        ):
            return False
        if entry.name == "OpLoad":
            return self._is_unwritten(entry.operands[0], loop, inside)
        if entry.name == "OpArrayLength":
            return True
        operands = sort_operands(entry).values
        return bool(operands) and all(self._is_constant(word, loop, inside) for word in operands)

    def _is_unwritten(self, pointer: int, loop: _Loop, inside: list[Instruction]) -> bool:
        """Whether no instruction of a loop writes what a pointer points to."""
        root, indices = pointer, list[int]()
        while (entry := self._by_id[root]).name in _CHAINS:
            root, indices = entry.operands[0], [*indices, *entry.operands[1:]]
        if not all(self._is_constant(word, loop, inside) for word in indices):
            return False
        kind = self._classes.get(root)
        if kind in ("Uniform", "PushConstant", "UniformConstant", "Input", "StorageBuffer"):
            return not self._is_stored(root)
        if kind == "Function":
            loads = {other.operands[0] for other in inside if other.name == "OpLoad"}
            return not any(self._may_write(other, root) and other.result_id not in loads for other in inside)
        return False

    def _is_stored(self, variable: int) -> bool:
        """Whether any instruction may write a variable of the interface."""
        roots = {variable}
        for entry in self._instructions:
            if entry.name in _CHAINS and entry.operands[0] in roots:
                roots.add(entry.result_id)
        return any(
            (entry.name in ("OpStore", "OpCopyMemory") and entry.operands[0] in roots)
            or (entry.name.startswith(("OpAtomic", "OpFunctionCall")) and roots & set(entry.operands))
            for entry in self._instructions
        )


def _jumps_to(label: int, instructions: list[Instruction]) -> Iterator[int]:
    """Yield the labels of the blocks that do nothing but jump to a label."""
    start = 0
    for entry in instructions:
        if entry.name == "OpLabel":
            start = entry.result_id
        elif entry.name == "OpBranch" and start and entry.operands[0] == label:
            yield start
        elif entry.name not in _DEBUG:
            start = 0
