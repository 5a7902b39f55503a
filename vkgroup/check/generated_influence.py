"""Influence of generated inputs on an event: through its operands, its address and the control flow."""

from __future__ import annotations

from functools import cached_property

from vkgroup.check.influence import influence_of
from vkgroup.check.inputs import DispatchInputs, Input
from vkgroup.reference.events import Event
from vkgroup.spirv import Module


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
        flow = self._influence.control_flow
        for each in flow.with_calls(position):
            for branch in flow.branches[flow.block_at[each].label] if each in flow.block_at else ():
                sources |= self._influence.on_operands(branch.position)
        return any(self._is_generated(*source) for source in sources)
