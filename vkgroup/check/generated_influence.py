"""Influence of generated inputs on an event: through its operands, its address and the control flow."""

from __future__ import annotations

from functools import cached_property

from vkgroup.check.influence import Influence, influence_of
from vkgroup.check.inputs import DispatchInputs, Input
from vkgroup.reference.events import Event
from vkgroup.spirv import Instruction, Module

_BRANCHES = ("OpBranch", "OpBranchConditional", "OpSwitch")
_RETURNS = ("OpReturn", "OpReturnValue", "OpKill", "OpTerminateInvocation")


class GeneratedInfluence:
    """Tells which events of a module generated inputs can influence."""

    def __init__(self, module: Module, inputs: DispatchInputs) -> None:
        self._module, self._inputs = module, inputs

    @cached_property
    def _influence(self) -> Influence:
        return influence_of(self._module)

    @cached_property
    def _generated(self) -> dict[int, Input]:
        """The inputs with generated contents, by the ids of their variables."""
        by_place = {entry.place: entry for entry in self._inputs.bindings if entry.generated}
        bindings = self._module.reflection.bindings
        return {
            entry.id: by_place[entry.set, entry.binding]
            for entry in bindings
            if (entry.set, entry.binding) in by_place
        }

    def _is_generated(self, variable: int, member: int) -> bool:
        if variable in self._influence.push:
            members = self._inputs.generated_push
            return bool(members) and (member < 0 or member in members)
        return variable in self._generated and member not in self._generated[variable].given

    def reaches(self, event: Event) -> bool:
        """Whether generated inputs can influence an event."""
        position = event.position
        if event.cause is not None and event.cause.position >= 0:
            position = event.cause.position
        sources = self._influence.on_address(position)
        if event.kind != "bounds":
            sources |= self._influence.on_operands(position)
        return any(self._is_generated(*source) for source in sources) or any(
            start <= position <= end
            for position in self._with_calls({position})
            for start, end in self._regions
        )

    def _with_calls(self, positions: set[int]) -> set[int]:
        """Return positions with those of the calls of the functions that contain them."""
        result, pending = set[int](), set(positions)
        while pending:
            position = pending.pop()
            result.add(position)
            callee = max((at for at in self._calls if at <= position), default=-1)
            pending |= self._calls.get(callee, set()) - result
        return result

    @cached_property
    def _calls(self) -> dict[int, set[int]]:
        """The positions of the calls of each function, by the position of the function."""
        instructions = self._module.instructions
        functions = {entry.result_id: entry.position for entry in instructions if entry.name == "OpFunction"}
        calls: dict[int, set[int]] = {position: set() for position in functions.values()}
        for entry in instructions:
            if entry.name == "OpFunctionCall":
                calls[functions[entry.operands[0]]].add(entry.position)
        return calls

    @cached_property
    def _regions(self) -> list[tuple[int, int]]:
        """The first and the last position of the code that a branch on generated values controls."""
        instructions = self._module.instructions
        labels = {entry.result_id: entry.position for entry in instructions if entry.name == "OpLabel"}
        regions, loops = [], list[tuple[int, int]]()
        before: Instruction | None = None
        for number, entry in enumerate(instructions):
            if entry.name == "OpLoopMerge":
                loops.append((entry.position, labels[entry.operands[0]]))
            elif entry.name in _BRANCHES[1:] and any(
                self._is_generated(*source) for source in self._influence.on_operands(entry.position)
            ):
                start, end = entry.position, labels[entry.operands[1]]
                if before is not None and before.name == "OpSelectionMerge":
                    end = labels[before.operands[0]]
                else:
                    inside = [loop for loop in loops if loop[0] < start < loop[1]]
                    start, end = inside[-1] if inside else (start, end)
                regions.append((start, self._end(instructions[number + 1 :], end, labels)))
            before = entry
        return regions

    @staticmethod
    def _end(following: tuple[Instruction, ...], end: int, labels: dict[int, int]) -> int:
        """Return the end of a region: that of its function if invocations leave the region early."""
        leaves = False
        for entry in following:
            if entry.name == "OpFunctionEnd":
                return entry.position if leaves else end
            if entry.position < end:
                targets = [labels[word] for word in entry.operands if word in labels]
                leaves |= entry.name in _RETURNS
                leaves |= entry.name in _BRANCHES and max(targets, default=end) > end
        return end
