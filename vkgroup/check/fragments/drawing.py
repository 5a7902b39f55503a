"""Runs of a fragment shader on the reference device, in the form of the runs of a compute shader."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vkgroup.base.formats import TexelFormat
from vkgroup.check.fields import interface_name
from vkgroup.check.findings import RunParameters
from vkgroup.check.fragments.helpers import leaving_out
from vkgroup.check.fragments.scene import CheckedScene
from vkgroup.check.influence import influence_of
from vkgroup.check.inputs import GIVEN, DispatchInputs, Input
from vkgroup.check.runs import CheckedDispatch, CheckedRun, Place
from vkgroup.dispatch.attachments import ColorOutput, color_outputs
from vkgroup.reference.drawing import ColorTarget, Draw, draw
from vkgroup.reference.events import Event, FragmentInvocation, Invocation
from vkgroup.reference.interpreter import ExecutionOutcome
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.execution.work import WorkBudget
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.reference.interpreter.values.event_log import InstructionTrace
from vkgroup.spirv import Binding, EntryPoint, ImageType, Module, ScalarType

_VERTEX_SIZE = 32
"""Subgroup size of the generated vertex shader, which has no subgroup operations."""

_Key = tuple[tuple[int, int, int], tuple[int, int, int]]


@dataclass(frozen=True)
class FragmentDraw(CheckedDispatch):
    """A draw without its configuration.

    `program` leaves helper invocations out of group operations wherever a device may do so. Its outputs
    are compared. `as_written` is the shader without this change, in which helper invocations take part.
    Its events are reported.

    With shuffled lanes, quads are assigned to subgroups at random, and both triangles share subgroups.
    """

    scene: CheckedScene = field(kw_only=True)
    as_written: ExecutableShader = field(kw_only=True)
    #: Invocations of each configuration, by number.
    _invocations: dict[RunParameters, list[FragmentInvocation]] = field(default_factory=dict, compare=False)

    def remade(self, instrument: Instrument | None = None, module: Module | None = None) -> ExecutableShader:
        """Return the program with an instrument, or that of a changed module, without helper invocations."""
        return super().remade(leaving_out(instrument), module)

    def run(
        self, configuration: RunParameters, *, races: bool = True, program: ExecutableShader | None = None
    ) -> CheckedRun:
        """Run once, or twice if no other program is given: for the outputs and for the events."""
        if program is not None:
            return super().run(configuration, races=False, program=program)
        reported = super().run(configuration, races=False, program=self.as_written)
        compared = super().run(configuration, races=False, program=self.program)
        hangs = [event for event in compared.events if event.kind == "hang"]
        events = tuple(_errors([*reported.events, *hangs]))
        return replace(compared, events=events, reached=reported.reached, needed=reported.needed)

    def execute(
        self,
        configuration: RunParameters,
        resources: dict[tuple[int, int], list[Any]],
        *,
        races: bool = False,
        watch: set[_Key] | None = None,
        program: ExecutableShader | None = None,
        work: WorkBudget | None = None,
    ) -> ExecutionOutcome:
        """Draw on the given resources; `watch` has (0, 0, 0) and (x, y, 0) of fragments to trace."""
        trace = None
        if watch:
            numbers = enumerate(self._all_invocations(configuration))
            trace = InstructionTrace(
                {
                    number: (who.workgroup, who.local)
                    for number, who in numbers
                    if not who.is_helper and (who.workgroup, who.local) in watch
                }
            )
        drawn = draw(
            self.scene.vertex,
            program or self.program,
            Draw(self.scene.size, self.scene.vertices, colors=color_targets(resources)),
            resources,
            self.inputs.push,
            configuration.subgroup_size,
            vertex_size=_VERTEX_SIZE,
            shuffle=self.seed if configuration.shuffled else None,
            mix_primitives=configuration.shuffled,
            deadline=self.timeout,
            step_limit=self.step_limit,
            trace=trace,
        )
        if configuration not in self._invocations and drawn.invocation is not None:
            count = drawn.fragments + drawn.helpers
            self._invocations[configuration] = [drawn.invocation(number) for number in range(count)]
        return ExecutionOutcome(drawn.events, trace.executed if trace is not None else {}, drawn.executed)

    def _all_invocations(self, configuration: RunParameters) -> list[FragmentInvocation]:
        """Return all invocations of the fragment stage by number, helper invocations included."""
        if configuration not in self._invocations:
            self.execute(configuration, self.inputs.resources())
        return self._invocations.get(configuration, [])

    def invocation(self, configuration: RunParameters, number: int) -> Invocation:
        """Return an invocation by its number in a run."""
        return self._all_invocations(configuration)[number]

    def example_invocations(self, configuration: RunParameters, most: int) -> list[Invocation]:
        """Return up to `most` invocations that are no helper invocations."""
        fragments: list[Invocation] = [
            who for who in self._all_invocations(configuration) if not who.is_helper
        ]
        return fragments[:most]

    def known_writer(
        self, configuration: RunParameters, place: Place, offset: int
    ) -> tuple[Invocation, int] | None:
        """Return the fragment of a byte of a color attachment, and the last store to the output variable."""
        if place[0] != ATTACHMENTS:
            return None
        nbytes = next(
            entry.format.nbytes
            for entry in self.inputs.bindings
            if entry.place == place[:2] and entry.format is not None
        )
        y, x = divmod(offset // nbytes, self.scene.size[0])
        who = next(
            (
                who
                for who in self._all_invocations(configuration)
                if (who.x, who.y) == (x, y) and not who.is_helper
            ),
            None,
        )
        return None if who is None else (who, self._store(place[1]))

    def _store(self, location: int) -> int:
        """Return the position of the last store to the output of a location; -1 if there is none."""
        influence = influence_of(self.program.module)
        outputs = {
            variable.id
            for variable in influence.variables
            if variable.storage_class == "Output"
            and influence.declared.decoration(variable.id, "Location") == location
        }
        stores = [entry for entry in influence.body if entry.name == "OpStore"]
        written = [
            each.position for each in stores if influence.roots.get(each.operands[0], (0, 0))[0] in outputs
        ]
        return max(written, default=-1)


def _errors(events: list[Event]) -> Iterator[Event]:
    """Yield the events that are errors of the shader.

    An atomic in a helper invocation returns an undefined value. A branch of the same invocation that depends
    on it has no effect on any output; effects on other invocations are separate events. A fragment whose
    loop does not end writes no color.
    """
    hangs = any(event.kind == "hang" for event in events)
    for event in events:
        who = event.invocation
        of_helper = isinstance(who, FragmentInvocation) and who.is_helper
        is_harmless = (of_helper and event.reason == "helper") or (hangs and event.reason == "uninitialised")
        if not is_harmless:
            yield event


ATTACHMENTS = -1
"""The set of color attachments in the inputs and outputs of a run; the binding is the location."""


def with_attachments(inputs: DispatchInputs, entry: EntryPoint, size: tuple[int, int]) -> DispatchInputs:
    """Return inputs with an entry for each color output of a fragment shader, cleared to zero.

    Raises Unsupported: no attachment can hold an output.
    """
    attachments = [_attachment(output, size) for output in color_outputs(entry)]
    return replace(inputs, bindings=(*inputs.bindings, *attachments))


def without_attachments(inputs: DispatchInputs) -> DispatchInputs:
    """Return inputs without the entries of color attachments."""
    return replace(
        inputs, bindings=tuple(entry for entry in inputs.bindings if entry.place[0] != ATTACHMENTS)
    )


def _attachment(output: ColorOutput, size: tuple[int, int]) -> Input:
    """Return the input of a color attachment, with as many components as the shader writes."""
    format_ = _format_of(output)
    name = interface_name(output.name) or f"color {output.location}"
    kind = ImageType(ScalarType(output.kind, 32), "2D", False, False, False, True, format_.name)
    binding = Binding(
        ATTACHMENTS, output.location, name, "storage_image", kind, 1, False, True, False, True, id=-1
    )
    shape = (size[1], size[0], *([format_.components] if format_.components > 1 else []))
    return Input(binding, (np.zeros(shape, format_.dtype),), True, GIVEN, format_)


def _format_of(output: ColorOutput) -> TexelFormat:
    """Return the format of an attachment; three components have no format in Vulkan that can be drawn to."""
    format_ = output.format
    if output.components == format_.components:
        return format_
    return replace(format_, components=output.components)


def color_targets(resources: Mapping[tuple[int, int], Sequence[Any]]) -> list[ColorTarget]:
    """Return the color attachments among the resources of a run."""
    return [
        ColorTarget(place[1], resource[0]) for place, resource in resources.items() if place[0] == ATTACHMENTS
    ]
