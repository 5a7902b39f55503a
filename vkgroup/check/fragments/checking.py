"""Check of one fragment shader: scene, draws at every subgroup size, comparison, findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy.typing as npt

from vkgroup.base.errors import DispatchTimeout, InvalidInput
from vkgroup.check.diagnosis import findings_of
from vkgroup.check.divergence import natural
from vkgroup.check.findings import Finding, SourceLocations
from vkgroup.check.flow import DataFlow
from vkgroup.check.fragments.devices import DrawJob, FragmentCheck, draw_parameters
from vkgroup.check.fragments.drawing import FragmentDraw
from vkgroup.check.fragments.helpers import HelperExperiment, leaving_out, with_helpers
from vkgroup.check.fragments.rules import with_rules
from vkgroup.check.fragments.scene import DEFAULT_SIZE, make_scene
from vkgroup.check.fragments.targets import with_attachments, without_attachments
from vkgroup.check.generation import make_inputs
from vkgroup.check.host import Guarantees
from vkgroup.check.inputs import Key
from vkgroup.check.report import Report
from vkgroup.check.runs import bindings_of
from vkgroup.check.state import coverage_of, run_and_compare
from vkgroup.device import DeviceInfo
from vkgroup.dispatch.specialization import pack_specialization
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spirv import Module

_NO_QUAD = f"fragments are shaded in quads, which need subgroups of at least {QUAD_SIZE} invocations"


@dataclass(frozen=True)
class FragmentOptions:
    """The options of `vkgroup.check.check` that apply to fragment shaders, under the same names."""

    inputs: Mapping[Key, npt.NDArray[Any] | Sequence[npt.NDArray[Any]]] | None
    outputs: Sequence[Key]
    push: Mapping[str, Any] | None
    specialization: Mapping[int | str, Any]
    seed: int
    timeout: float
    step_limit: int
    host: Guarantees
    command: str
    compiler: str
    size: Sequence[int] | None  # width and height of the target in pixels; None for `DEFAULT_SIZE`
    groups: Sequence[int] | None  # must be None: a draw has no workgroups
    sources: Path | None  # the folder in which sources may be read; None for every folder


def check_fragments(
    module: Module,
    entry_point: str | None,
    title: str,
    sizes: Sequence[int],
    devices: Sequence[DeviceInfo],
    options: FragmentOptions,
) -> Report:
    """Check a fragment shader on the reference device; the parameters are those of `vkgroup.check.check`.

    Raises
    ------
    InvalidInput
        An option is invalid, or does not apply to fragment shaders.
    Unsupported
        The reference device cannot draw with the shader, or an input cannot be generated.
    """
    _require_options(options)
    if all(size < QUAD_SIZE for size in sizes):
        raise InvalidInput(f"No subgroup size can be run: {_NO_QUAD}.")
    values, _ = pack_specialization(module.reflection.specialization_constants, options.specialization)

    def make(instrument: Instrument | None = None) -> ExecutableShader:
        return ExecutableShader(module, entry_point, values, instrument)

    draw, origins = _prepare(make(), make(leaving_out()), options)
    state = FragmentCheck(
        draw,
        SourceLocations(draw.program.module, title, options.sources),
        DataFlow(draw.program.module),
        lambda instrument: make(leaving_out(instrument)),
        lambda changed: ExecutableShader(changed, entry_point, None, leaving_out()),
        not_covered=[(f"size {size}", _NO_QUAD) for size in sizes if size < QUAD_SIZE],
        host=options.host,
        taking_part=make(with_helpers),
    )
    shown = without_attachments(draw.inputs)
    given = draw.inputs.push if module.reflection.push_constants is not None else b""
    job = partial(
        DrawJob,
        module=module,
        entry_point=draw.program.entry.name,
        specialization=options.specialization,
        groups=draw.groups,
        bindings=bindings_of(shown),
        push=given,
        writable=frozenset(entry.place for entry in shown.bindings if entry.binding.writable),
        timeout=options.timeout,
        local_size=(1, 1, 1),
        **draw_parameters(draw, draw.program.entry),
    )
    findings, interrupted = run_and_compare(
        state, [size for size in sizes if size >= QUAD_SIZE], devices, job
    )
    if interrupted is None:
        try:
            findings += HelperExperiment(draw, state.places, make, state.compare).findings(state.comparable)
        except DispatchTimeout:
            state.no_verdict.append(f"helper invocations: no end within {options.timeout:g} s")
    own = findings_of(state.runs, state.places, draw.inputs, natural(state.flow))
    findings += [with_rules(finding, state.places, module) for finding in own]
    covered = replace(
        coverage_of(state),
        compiler=options.compiler,
        inputs=tuple(origins),
        drawn=f"two triangles in {draw.scene.size[0]}x{draw.scene.size[1]} pixels",
    )
    return Report(
        title,
        tuple(_in_order(findings, options.command)),
        covered,
        bindings_of(shown),
        given,
        interrupted,
        no_verdict=tuple(state.no_verdict),
        internal_errors=tuple(state.internal_errors),
    )


def _require_options(options: FragmentOptions) -> None:
    """Raise InvalidInput for options that do not apply to fragment shaders."""
    if options.groups is not None:
        raise InvalidInput("A fragment shader has no workgroups; give --size W,H instead of --groups.")
    if options.host.full_subgroups:
        raise InvalidInput(
            "Full subgroups cannot be required for fragment shaders; leave out --full-subgroups."
        )
    if options.size is not None and len(options.size) != 2:
        raise InvalidInput(f"size has a width and a height, not {tuple(options.size)}.")


def _prepare(
    as_written: ExecutableShader, without_helpers: ExecutableShader, options: FragmentOptions
) -> tuple[FragmentDraw, list[str]]:
    """Return the draw with all inputs, and the descriptions of the inputs."""
    size = (DEFAULT_SIZE if options.size is None else options.size)[:2]
    width, height = int(size[0]), int(size[1])
    scene = make_scene(as_written.entry, (width, height), options.seed)
    # As for a compute shader with one invocation for each pixel.
    inputs = make_inputs(
        as_written.module,
        (width, height, 1),
        (1, 1, 1),
        given=options.inputs,
        fresh=options.outputs,
        push=options.push,
        seed=options.seed,
    )
    draw = FragmentDraw(
        without_helpers,
        (1, 1, 1),
        with_attachments(inputs, as_written.entry, scene.size),
        options.seed,
        options.step_limit,
        options.timeout,
        scene=scene,
        as_written=as_written,
    )
    return draw, [*scene.inputs, *inputs.origins]


def _in_order(findings: list[Finding], command: str) -> list[Finding]:
    """Return findings in the order of their lines, with the command that repeats each."""
    ordered = sorted(findings, key=lambda entry: (entry.place.line, entry.place.position))
    return [entry.repeated_by(command) for entry in ordered] if command else ordered
