"""Loops that provably end: a counter moves by a constant toward a limit that does not change."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from typing import NamedTuple

from vkgroup.check.control_flow import control_flow_of
from vkgroup.check.influence import influence_of
from vkgroup.reference.interpreter.program.site import sort_operands
from vkgroup.spirv import Instruction, Module, call_of, grammar
from vkgroup.spirv.chains import CHAINS, STORES, VARIABLES

_UP = {"Less": 1, "Greater": -1}
_TURNED = {"Less": "Greater", "Greater": "Less"}
_STEPS = {"OpIAdd": 1, "OpISub": -1}
_VARYING = ("OpPhi", "OpFunctionCall", "OpAtomic", "OpGroup", "OpImage", "OpCooperativeMatrix")


class _Loop(NamedTuple):
    """A structured loop."""

    header: int  # the label of its header
    labels: frozenset[int]  # its blocks, nested ones included
    inside: tuple[Instruction, ...]  # their instructions


class CountedLoops:
    """The loops of a module that provably end."""

    def __init__(self, module: Module) -> None:
        self._influence = influence_of(module)
        self._instructions = self._influence.instructions
        self._declared, self._flow = module.declarations, control_flow_of(module)
        self._by_id = {entry.result_id: entry for entry in self._instructions if entry.result_id}
        names = grammar().enumeration("StorageClass")
        self._classes = {
            entry.result_id: names.get(entry.operands[0], "")
            for entry in self._instructions
            if entry.name in VARIABLES
        }

    @cached_property
    def _loops(self) -> list[_Loop]:
        loops = []
        for block in self._flow.blocks.values():
            if block.continue_target:
                labels = self._flow.reached([block.label], {block.merge})
                inside = (entry for label in labels for entry in self._flow.blocks[label].instructions)
                loops.append(_Loop(block.label, labels, tuple(inside)))
        return loops

    def ends(self, position: int) -> bool:
        """Whether all loops around an instruction provably end, also those around calls of its function."""
        around = self._around(position)
        return bool(around) and all(self._is_counted(loop) for loop in around)

    def is_in_loop(self, position: int) -> bool:
        """Whether a loop is around an instruction, or around a call of its function."""
        return bool(self._around(position))

    def _around(self, position: int) -> list[_Loop]:
        positions = self._flow.with_calls(position)
        return [loop for loop in self._loops if any(self._is_in(at, loop) for at in positions)]

    def _is_in(self, position: int, loop: _Loop) -> bool:
        return position in self._flow.block_at and self._flow.block_at[position].label in loop.labels

    def _repeats(self, loop: _Loop, labels: Collection[int], without: int = 0) -> bool:
        """Whether a loop can come back to its header from some blocks without passing another block."""
        outside = self._flow.blocks.keys() - loop.labels
        return loop.header in labels or any(
            loop.header in self._flow.successors(self._flow.blocks[label])
            for label in self._flow.reached(labels, {*outside, loop.header, without})
        )

    def _is_in_every_round(self, label: int, loop: _Loop) -> bool:
        """Whether a loop executes a block once in each round that another one follows."""
        if any(label in other.labels < loop.labels for other in self._loops):
            return False
        following = self._flow.successors(self._flow.blocks[loop.header])
        return label == loop.header or not self._repeats(loop, following, label)

    def _is_counted(self, loop: _Loop) -> bool:
        """Whether the condition of a loop compares a counter with a limit."""
        for block in (self._flow.blocks[label] for label in loop.labels):
            condition, *targets = block.terminator.operands if len(self._flow.successors(block)) == 2 else [0]
            stays = [self._repeats(loop, [target]) for target in targets[:2]]
            if (
                block.terminator.name == "OpBranchConditional"
                and stays[0] != stays[1]
                and self._is_in_every_round(block.label, loop)
                and self._counts(condition, stays[0], loop)
            ):
                return True
        return False

    def _counts(self, condition: int, continues: bool, loop: _Loop) -> bool:
        """Whether a condition holds in a limited number of rounds only."""
        entry = self._by_id[condition]
        if entry.name == "OpLogicalNot":
            return self._counts(entry.operands[0], not continues, loop)
        if entry.name == ("OpLogicalAnd" if continues else "OpLogicalOr"):
            return any(self._counts(word, continues, loop) for word in entry.operands)
        orders = ((0, 1), (1, 0)) if len(entry.operands) == 2 else ()
        return any(self._approaches(entry, sides, continues, loop) for sides in orders)

    def _approaches(self, entry: Instruction, sides: tuple[int, int], continues: bool, loop: _Loop) -> bool:
        """Whether one side of a comparison is a counter that moves toward the other side."""
        relation = entry.name.removeprefix("OpU").removeprefix("OpS").removeprefix("OpI")
        counter, limit = (entry.operands[side] for side in sides)
        step = self._step(counter, loop)
        if step == 0 or not self._is_constant(limit, loop):
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

    def _step(self, counter: int, loop: _Loop) -> int:
        """Return the constant by which each round moves a value; 0 if there is none."""
        entry = self._by_id[counter]
        if entry.name in ("OpBitcast", "OpCopyObject"):
            return self._step(entry.operands[0], loop)
        if entry.name == "OpPhi":
            block = self._flow.block_at[entry.position]
            if block.label not in loop.labels or not self._is_in_every_round(block.label, loop):
                return 0
            values = [word for word in entry.operands[::2] if self._is_in(self._by_id[word].position, loop)]
            return self._difference(values[0], lambda word: word == counter) if len(values) == 1 else 0
        if entry.name != "OpLoad" or self._classes.get(entry.operands[0]) != "Function":
            return 0
        variable = entry.operands[0]
        writes = [other for other in loop.inside if self._may_write(other, variable)]
        if len(writes) != 1 or writes[0].name != "OpStore":
            return 0
        if not self._is_in_every_round(self._flow.block_at[writes[0].position].label, loop):
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
        if entry.name in CHAINS:
            return entry.operands[0] == variable
        return entry.name not in ("OpLoad", "OpName") and variable in entry.operands

    def _is_constant(self, value: int, loop: _Loop) -> bool:
        """Whether a value is the same in all rounds."""
        entry = self._by_id[value]
        if not self._is_in(entry.position, loop):
            return True
        if entry.name.startswith(_VARYING):
            return False
        if entry.name == "OpLoad":
            return self._is_unwritten(entry.operands[0], loop)
        if entry.name == "OpArrayLength":
            return True
        operands = sort_operands(entry).values
        return bool(operands) and all(self._is_constant(word, loop) for word in operands)

    def _executed_in(self, loop: _Loop) -> list[Instruction]:
        """Return the instructions of a loop and of all functions that it calls."""
        executed, called = list(loop.inside), set[int]()
        for entry in executed:
            call = call_of(entry)
            if call is not None and call.function not in called:
                called.add(call.function)
                blocks = self._flow.functions[call.function].blocks
                executed += [inside for block in blocks for inside in block.instructions]
        return executed

    def _is_unwritten(self, pointer: int, loop: _Loop) -> bool:
        """Whether no instruction of a loop writes what a pointer points to."""
        root, indices = pointer, list[int]()
        while (entry := self._by_id[root]).name in CHAINS:
            root, indices = entry.operands[0], [*indices, *entry.operands[1:]]
        if not all(self._is_constant(word, loop) for word in indices):
            return False
        kind = self._classes.get(root)
        if kind in ("Uniform", "PushConstant", "UniformConstant", "Input", "StorageBuffer", "Private"):
            pointers = self._influence.pointers_to(root)
            return not any(
                (entry.name in STORES and entry.operands[0] in pointers)
                or (entry.name.startswith(("OpAtomic", "OpFunctionCall")) and pointers & set(entry.operands))
                # No other invocation writes a private variable.
                for entry in (self._executed_in(loop) if kind == "Private" else self._instructions)
            )
        if kind == "Function":
            loads = {other.operands[0] for other in loop.inside if other.name == "OpLoad"}
            return not any(
                self._may_write(other, root) and other.result_id not in loads for other in loop.inside
            )
        return False
