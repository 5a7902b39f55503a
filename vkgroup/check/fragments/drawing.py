"""Draws of a checked fragment shader on the reference device, in the form of the runs of a compute shader.

The scene is two triangles with slanted edges and generated inputs of the fragment shader. They cover a part
of a target of odd width and height. Therefore quads at all edges, also at the common edge, have helper
invocations, and the last subgroup of a primitive is partial. The triangles do not overlap: each pixel has at
most one fragment that is no helper invocation.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidInput, Unsupported
from vkgroup.check.fields import interface_name
from vkgroup.check.findings import RunParameters
from vkgroup.check.fragments.helpers import leaving_out
from vkgroup.check.influence import influence_of
from vkgroup.check.inputs import GIVEN, DispatchInputs, Input
from vkgroup.check.runs import CheckedDispatch, CheckedRun, Place
from vkgroup.compiler import compile_source
from vkgroup.dispatch.attachments import ColorOutput, color_outputs
from vkgroup.reference.drawing import ColorTarget, Draw, VertexData, draw
from vkgroup.reference.events import Event, FragmentInvocation, Invocation
from vkgroup.reference.interpreter import ExecutionOutcome
from vkgroup.reference.interpreter.execution.models import ExecutionModel
from vkgroup.reference.interpreter.execution.observers import InstructionTrace, Observer
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.execution.work import WorkBudget
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.spirv import Binding, EntryPoint, ImageType, Module, ScalarType, StageVariable, VectorType

DEFAULT_SIZE = (15, 9)
"""Width and height of the target in pixels."""

MAX_PIXELS = 1 << 16
"""Maximum number of pixels of the target, which limits time and memory."""

_CORNERS = np.array([[-1, -0.75], [0.875, -1], [-0.75, 1], [1, 0.875]])
"""Corners in clip coordinates. They are multiples of 1/8, so that no coordinate is rounded."""

_TRIANGLES = np.array([0, 1, 2, 1, 3, 2])
_FLAT_VALUES = 8
_SLANT = 0.25
_GRADIENT_BITS = 3


@dataclass(frozen=True)
class CheckedScene:
    """A draw without the fragment shader."""

    size: tuple[int, int]  # width and height of the target in pixels
    vertex: ExecutableShader  # the generated vertex shader
    vertices: VertexData  # positions and values of the fragment shader's inputs
    inputs: tuple[str, ...]  # a description of each generated input


def make_scene(fragment: EntryPoint, size: tuple[int, int], seed: int) -> CheckedScene:
    """Return the scene for a fragment shader.

    Floats are linear in x and y, from 0 to 1, and exact: their derivatives are equal in all fragments.
    Lines of equal values are slanted, so that a comparison of a float with a constant diverges within quads.
    Flat inputs are random, one value for each triangle: floats from 0 to 1, integers from 0 to 7.

    Raises InvalidInput if the target is empty or too large, and Unsupported for an input that is no scalar or
    vector of 32 bits.
    """
    width, height = size
    if min(size) < 1 or width * height > MAX_PIXELS:
        raise InvalidInput(f"The size {width}x{height} is invalid: check draws 1 to {MAX_PIXELS} pixels.")
    clip = _CORNERS[_TRIANGLES]
    pixels = (clip + 1) / 2 * size
    ramps = np.stack([_ramp(pixels, 0), _ramp(pixels, 1)], axis=1)
    random = np.random.default_rng(seed)
    values = {}
    origins = []
    for item in fragment.variables.inputs:
        scalar = _scalar_of(item)
        components = [_component(item, scalar, number, ramps, random) for number in range(item.components)]
        values[item.location] = np.stack(components, axis=1).astype(scalar.dtype)
        flat = "random, one value for each triangle" if item.interpolation == "flat" else "0 to 1, linear"
        origins.append(f"input {interface_name(item.name) or item.location}: {flat}")
    positions = np.concatenate([clip, np.zeros((len(clip), 1)), np.ones((len(clip), 1))], axis=1)
    free = 1 + max(values, default=-1)
    attributes = {**values, free: positions.astype(np.float32)}
    vertex = ExecutableShader(compile_source(_vertex_shader(fragment, free), stage="vertex"))
    return CheckedScene(size, vertex, VertexData(attributes, len(clip)), tuple(origins))


def _ramp(pixels: npt.NDArray[np.float64], axis: int) -> npt.NDArray[np.float64]:
    """Return values from 0 to 1 that grow along an axis, and slower along the other: (vertices,)."""
    along = pixels[:, axis] + _SLANT * pixels[:, 1 - axis]
    unit = 2.0 ** -(np.ceil(np.log2(along.max())) + _GRADIENT_BITS)
    # A multiple of a power of two, so that float32 holds all values and gradients exactly.
    return np.asarray(along * (np.floor(1 / (along.max() * unit)) * unit))


def _vertex_shader(fragment: EntryPoint, position: int) -> str:
    """Return the GLSL vertex shader that passes its inputs on; `position` is the location of the position."""
    lines = ["#version 450", f"layout(location = {position}) in vec4 position;"]
    body = ["    gl_Position = position;"]
    for item in fragment.variables.inputs:
        assert isinstance(item.type, ScalarType | VectorType)
        place, kind = f"layout(location = {item.location})", item.type.glsl
        qualifier = "" if item.interpolation == "smooth" else f"{item.interpolation} "
        lines.append(f"{place} in {kind} given_{item.location};")
        lines.append(f"{place} {qualifier}out {kind} passed_{item.location};")
        body.append(f"    passed_{item.location} = given_{item.location};")
    return "\n".join([*lines, "void main()", "{", *body, "}", ""])


def _scalar_of(item: StageVariable) -> ScalarType:
    """Return the type of an input's components."""
    name = interface_name(item.name) or f"location {item.location}"
    if item.auxiliary in ("patch", "primitive") or item.component:
        raise Unsupported(
            f"The input {name} is one of each primitive or begins at a later component;"
            " check cannot generate it.",
            [item.auxiliary or "component"],
        )
    scalar = item.scalar
    if scalar is None or scalar.bits != 32 or not isinstance(item.type, ScalarType | VectorType):
        raise Unsupported(
            f"The input {name} is no scalar or vector of 32 bits; check cannot generate it.", [str(item.type)]
        )
    return scalar


def _component(
    item: StageVariable,
    scalar: ScalarType,
    number: int,
    ramps: npt.NDArray[np.float64],
    random: np.random.Generator,
) -> npt.NDArray[Any]:
    """Return one component of an input at every vertex, (vertices,)."""
    if item.interpolation == "flat":
        values = random.integers(0, _FLAT_VALUES, len(ramps))
        return values / _FLAT_VALUES if scalar.kind == "float" else values
    across, down = ramps.T
    functions = (across, down, 1 - across, 1 - down, (across + down) / 2, (1 + across - down) / 2)
    chosen: npt.NDArray[Any] = functions[(4 * item.location + number) % len(functions)]
    return chosen


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

    def remade(self, module: Module) -> ExecutableShader:
        """Return the program of a changed module, without helper invocations."""
        return super().remade(module).instrumented(leaving_out())

    def instrumented(
        self, instrument: Instrument, positions: Container[int] | None = None
    ) -> ExecutableShader:
        """Return the program with an instrument, without helper invocations."""
        return super().instrumented(leaving_out(instrument), positions)

    def run(
        self,
        configuration: RunParameters,
        *,
        races: bool = True,
        program: ExecutableShader | None = None,
        with_outputs: bool = True,
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
        observer: Observer | None = None,
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
        colors = [
            ColorTarget(place[1], each[0]) for place, each in resources.items() if place[0] == ATTACHMENTS
        ]
        drawn = draw(
            self.scene.vertex,
            program or self.program,
            Draw(self.scene.size, self.scene.vertices, colors=colors),
            resources,
            self.inputs.push,
            configuration.subgroup_size,
            vertex_size=_VERTEX_SIZE,
            shuffle=self.seed if configuration.shuffled else None,
            mix_primitives=configuration.shuffled,
            deadline=self.timeout,
            step_limit=self.step_limit,
            observer=observer or trace,
            model=ExecutionModel.of(configuration.model),
        )
        if configuration not in self._invocations and drawn.invocation is not None:
            count = drawn.fragments + drawn.helpers
            self._invocations[configuration] = [drawn.invocation(number) for number in range(count)]
        traced = trace.executed if trace is not None else {}
        return ExecutionOutcome(drawn.events, traced, drawn.executed, drawn.partings)

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
            each.position
            for each in stores
            if any(root in outputs for root, _ in influence.roots_of(each.operands[0]))
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
    # Three components have no format in Vulkan that can be drawn to.
    format_ = replace(output.format, components=output.components)
    name = interface_name(output.name) or f"color {output.location}"
    kind = ImageType(ScalarType(output.kind, 32), "2D", False, False, False, True, format_.name)
    binding = Binding(
        ATTACHMENTS, output.location, name, "storage_image", kind, 1, False, True, False, True, id=-1
    )
    shape = (size[1], size[0], *([format_.components] if format_.components > 1 else []))
    return Input(binding, (np.zeros(shape, format_.dtype),), True, GIVEN, format_)
