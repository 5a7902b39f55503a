"""Check of one fragment shader: draws at every subgroup size and on real devices, comparison, findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import DispatchTimeout, InvalidInput, OutOfMemory, Unsupported
from vkgroup.base.phases import DeadlineReached
from vkgroup.check.causes import by_cause
from vkgroup.check.comparison import Difference, Tolerance, compare, pairs_of, widen
from vkgroup.check.device_jobs import DispatchJob
from vkgroup.check.diagnosis import findings_of
from vkgroup.check.differences import run_and_compare
from vkgroup.check.findings import Finding, FindingKind, Note, RunParameters
from vkgroup.check.fragments.drawing import (
    ATTACHMENTS,
    DEFAULT_SIZE,
    FragmentDraw,
    make_scene,
    with_attachments,
    without_attachments,
)
from vkgroup.check.fragments.helpers import (
    HINT,
    RULE,
    is_optional,
    leaving_out,
    with_help,
    with_helpers,
    with_rules,
)
from vkgroup.check.generation import make_inputs
from vkgroup.check.images import extents_for
from vkgroup.check.influence import UNKNOWN, Source, influence_of
from vkgroup.check.permitted import PermittedExecutions
from vkgroup.check.report import Report, lines_of_sites
from vkgroup.check.request import CheckRequest
from vkgroup.check.rounding import SAFETY, tolerance_of
from vkgroup.check.runs import CheckedRun
from vkgroup.check.sites import Sites
from vkgroup.check.state import CheckState
from vkgroup.device import Capabilities
from vkgroup.dispatch.attachments import color_outputs
from vkgroup.dispatch.device import Device
from vkgroup.dispatch.stages import pack_specialization
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spirv import Module

_INTERPOLATION = 2.0**-16
"""Assumed relative error of interpolated inputs, for which Vulkan gives no limit."""

_RANDOM_DRAWS = 6


@dataclass(frozen=True)
class DrawJob(DispatchJob):
    """One draw on one device, at the subgroup size that the device chooses."""

    size: tuple[int, int] = (1, 1)
    vertex: Module | None = None  # the vertex shader
    vertices: Mapping[int, npt.NDArray[Any]] = field(default_factory=dict)  # its inputs by location
    colors: Mapping[int, Any] = field(default_factory=dict)  # keys of the color attachments in the results

    def prepare(self, device: Device) -> None:
        """Do nothing: a draw compiles when it starts."""

    def start(self, device: Device) -> dict[tuple[int, int], Any]:
        """Draw on an open device; return the arrays of the writable bindings and attachments."""
        if len(self.module.reflection.entry_points) != 1:
            raise Unsupported(
                "Draws need a module with one entry point.", ["modules with several entry points"]
            )
        results = device.draw(
            self.module,
            self.size,
            self.resources(device),
            vertex=self.vertex,
            vertices=self.vertices,
            push=self.push or None,
            specialization=self.specialization,
            timeout=self.timeout,
        )
        written = {place: results[place] for place in self.bindings if place in self.writable}
        return {**written, **{(ATTACHMENTS, location): results[key] for location, key in self.colors.items()}}

    def sizes(self, capabilities: Capabilities) -> tuple[int, ...]:
        """Return no size: none is required of devices."""
        return ()


@dataclass
class FragmentCheck(CheckState):
    """The state of the check of a fragment shader."""

    device_tolerances: dict[RunParameters, Tolerance] = field(default_factory=dict)

    @cached_property
    def taking_part(self) -> ExecutableShader:
        """The shader in which helper invocations take part in all group operations."""
        program = self.dispatch.program
        return ExecutableShader(program.module, program.entry.name, None, with_helpers)

    def compare(self, base: CheckedRun, run: CheckedRun) -> Difference | None:
        """Return the first difference beyond rounding.

        A real device may interpolate inexactly, and may let helper invocations take part in group operations.
        """
        if not run.configuration.device:
            return super().compare(base, run)
        draw = self.dispatch
        assert isinstance(draw, FragmentDraw)
        where = base.configuration
        if where not in self.device_tolerances and compare(draw.inputs, base, run) is not None:
            rounded = tolerance_of(draw, base)
            _add_interpolation(draw, base, rounded)
            self.device_tolerances[where] = rounded
        difference = compare(draw.inputs, base, run, self.device_tolerances.get(where))
        if difference is None:
            return None
        other = draw.run(where, program=self.taking_part)
        is_legal = compare(draw.inputs, other, run, self.device_tolerances.get(where)) is None
        return None if is_legal else difference


def _add_interpolation(draw: FragmentDraw, base: CheckedRun, tolerance: Tolerance) -> None:
    """Allow errors of interpolation, too: those of draws with changed vertex values.

    An integer that changes may have any value.
    """
    random = np.random.default_rng(draw.seed)
    for _ in range(_RANDOM_DRAWS):
        moved = replace(draw, scene=_moved(draw, random)).run(base.configuration, program=draw.program)
        for place, _, number, one, other in pairs_of(draw.inputs, base, moved):
            with np.errstate(invalid="ignore", over="ignore"):
                change = SAFETY * np.abs(other.astype(np.float64) - one.astype(np.float64))
            is_any = np.isnan(change) if one.dtype.kind == "f" else one != other
            widen(tolerance, (place, number.name), np.where(is_any, np.inf, change))


def _moved(draw: FragmentDraw, random: np.random.Generator) -> Any:
    """Return the scene with every float input moved a little at each vertex; positions stay."""
    vertices = draw.scene.vertices
    position = max(vertices.attributes)
    attributes = {}
    for location, values in vertices.attributes.items():
        moves = location != position and values.dtype.kind == "f"
        factor = 1 + _INTERPOLATION * random.uniform(-1, 1, values.shape) if moves else 1
        attributes[location] = (values * factor).astype(values.dtype)
    return replace(draw.scene, vertices=replace(vertices, attributes=attributes))


_ROUNDS = 4
"""Maximum number of draws after which generated images grow."""

_NO_QUAD = f"fragments are shaded in quads, which need subgroups of at least {QUAD_SIZE} invocations"


def check_fragments(request: CheckRequest) -> Report:
    """Check a fragment shader on the reference device and on real devices.

    Raises InvalidInput for an option that is invalid or does not apply to fragment shaders, and Unsupported
    if the reference device cannot draw with the shader, or an input cannot be generated.
    """
    if request.groups is not None:
        raise InvalidInput("A fragment shader has no workgroups; give --size W,H instead of --groups.")
    if request.host.full_subgroups:
        raise InvalidInput(
            "Full subgroups cannot be required for fragment shaders; leave out --full-subgroups."
        )
    if request.size is not None and len(request.size) != 2:
        raise InvalidInput(f"size has a width and a height, not {tuple(request.size)}.")
    sizes = request.run_sizes
    if all(size < QUAD_SIZE for size in sizes):
        raise InvalidInput(f"No subgroup size can be run: {_NO_QUAD}.")
    draw, origins = _prepare(request)
    not_covered = [(f"size {size}", _NO_QUAD) for size in sizes if size < QUAD_SIZE]
    state = FragmentCheck(request, draw, not_covered=not_covered)
    shown, outputs = without_attachments(draw.inputs), color_outputs(draw.program.entry)
    job = partial(
        DrawJob,
        **state.job_parameters(shown, request.specialization),
        size=draw.scene.size,
        vertex=draw.scene.vertex.module,
        vertices=draw.scene.vertices.attributes,
        colors={item.location: item.name or ("location", item.location) for item in outputs},
    )
    findings, interrupted = run_and_compare(
        state, [size for size in sizes if size >= QUAD_SIZE], request.devices, job
    )
    findings = list(map(with_help, findings))
    if interrupted is None:
        try:
            findings += _helper_findings(state)
        except DispatchTimeout:
            state.no_verdict.append(f"helper invocations: no end within {request.timeout:g} s")
    own = findings_of(state.runs, state.places, draw)
    findings += [with_rules(finding, state.places, request.module) for finding in own]
    findings = by_cause(findings, state.assumption)
    if interrupted is None and not state.late and not state.no_verdict:
        try:
            findings += PermittedExecutions(state, findings).findings()
        except DeadlineReached:
            state.note_deadline(verdict=True)
        except KeyboardInterrupt as end:
            interrupted = end
    findings.sort(key=lambda entry: (entry.weak, entry.place.line, entry.place.position))
    drawn = f"two triangles in {draw.scene.size[0]}x{draw.scene.size[1]} pixels"
    covered = replace(
        state.coverage(), inputs=tuple(origins), drawn=drawn, not_executed=_not_executed(state, request)
    )
    return state.report(findings, covered, shown, interrupted)


def _not_executed(state: FragmentCheck, request: CheckRequest) -> tuple[str, ...]:
    """Return the lines with operations that can be reached and that no fragment executed."""
    module, given = state.dispatch.program.module, request.given_members
    influence = influence_of(module)
    inputs = {entry.binding.id: entry for entry in state.dispatch.inputs.bindings}
    push = next((each.id for each in influence.variables if each.storage_class == "PushConstant"), 0)

    def is_fixed(source: Source) -> bool:
        variable, member = source
        if variable in inputs:
            return inputs[variable].binding.kind == "uniform_buffer" and not inputs[variable].generated
        if variable in influence.built_ins:
            return "Subgroup" in influence.built_ins[variable]
        if variable in influence.inputs:
            return variable == push and member in given
        return source != UNKNOWN

    sites = Sites(module, state.dispatch.program.entry)
    return lines_of_sites(state.runs, partial(sites.missing, fixed=is_fixed), state.places)


def _helper_findings(state: FragmentCheck) -> list[Finding]:
    """Return a finding for each group instruction through which helper invocations change outputs."""
    dispatch = state.dispatch
    differing: list[tuple[CheckedRun, CheckedRun, Difference]] = []
    for run in state.comparable:
        taking_part = dispatch.run(run.configuration, program=state.taking_part)
        if (difference := state.compare(run, taking_part)) is not None:
            differing.append((run, taking_part, difference))
    if not differing:
        return []
    found = {-1: differing[0][2]}
    for entry in dispatch.program.module.instructions:
        if is_optional(entry.name):
            # Only this instruction leaves helper invocations out.
            program = dispatch.program.instrumented(leaving_out(positions={entry.position}))
            for run, taking_part, _ in differing:
                alone = dispatch.run(run.configuration, program=program)
                if (difference := state.compare(alone, taking_part)) is not None:
                    found[entry.position] = difference
                    break
    return [
        Finding(
            FindingKind.DIFFERS,
            "the output depends on whether helper invocations take part in this subgroup operation",
            state.places[position],
            (
                Note(
                    f"{difference.label} is {difference.second} if they take part, and {difference.first} if"
                    " they do not"
                ),
                Note(f"rule: {RULE}"),
            ),
            remedy=HINT,
            configurations=tuple(run.configuration for run, _, _ in differing),
            element=difference.label,
        )
        for position, difference in found.items()
        if position >= 0 or len(found) == 1
    ]


def _prepare(request: CheckRequest) -> tuple[FragmentDraw, list[str]]:
    """Return the draw with all inputs, and the descriptions of the inputs."""
    constants = request.module.reflection.specialization_constants
    values, _ = pack_specialization(constants, request.specialization)
    as_written = ExecutableShader(request.module, request.entry_point, values)
    without_helpers = as_written.instrumented(leaving_out())
    size = (DEFAULT_SIZE if request.size is None else request.size)[:2]
    width, height = int(size[0]), int(size[1])
    scene = make_scene(as_written.entry, (width, height), request.seed)
    # As for a compute shader with one invocation for each pixel.
    make = partial(make_inputs, request, (1, 1, 1), as_written.module, (width, height, 1))
    inputs = make()
    draw = FragmentDraw(
        without_helpers,
        (1, 1, 1),
        with_attachments(inputs, as_written.entry, scene.size),
        request.seed,
        request.step_limit,
        request.timeout,
        scene=scene,
        as_written=as_written,
    )
    growing = [entry for entry in inputs.bindings if entry.extent is not None]
    for _ in range(_ROUNDS if growing else 0):
        try:
            needed = draw.run(RunParameters(32)).needed
        except (DispatchTimeout, OutOfMemory):
            break
        extents = extents_for(growing, needed, inputs.extents, draw.groups)
        if extents == inputs.extents:
            break
        inputs = make(extents=extents)
        draw = replace(draw, inputs=with_attachments(inputs, as_written.entry, scene.size))
    return draw, [*scene.inputs, *inputs.origins]
