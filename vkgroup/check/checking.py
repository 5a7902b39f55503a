"""Check of one shader: inputs, runs on the reference device and on real ones, comparison, findings."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from vkgroup.base import phases
from vkgroup.base.choices import CHECK_STEP_LIMIT, CHECK_TIMEOUT
from vkgroup.base.errors import InvalidInput, OutOfMemory, Unsupported
from vkgroup.base.phases import DeadlineReached, phase
from vkgroup.check.allowances import allowances_of, with_allowances
from vkgroup.check.barriers import BarrierStudy
from vkgroup.check.causes import by_cause, by_instruction, by_lane_order, with_quad_rule, with_subgroup_count
from vkgroup.check.device_jobs import DispatchJob
from vkgroup.check.diagnosis import findings_of
from vkgroup.check.differences import run_and_compare
from vkgroup.check.findings import Allowance, Finding
from vkgroup.check.flow import used_axes
from vkgroup.check.fragments import check_fragments
from vkgroup.check.generation import make_inputs
from vkgroup.check.influence import influence_of
from vkgroup.check.inputs import Key
from vkgroup.check.limits import split_workgroups
from vkgroup.check.permitted import PermittedExecutions
from vkgroup.check.questions import Questions, generated_values
from vkgroup.check.report import BarrierResult, Question, Report, lines_of_sites
from vkgroup.check.request import (
    CheckRequest,
    Guarantees,
    default_constants,
    generated_size,
    require_no_addresses,
    sizes_of_modes,
    undeclared_size,
    unset_constants,
    values_of,
)
from vkgroup.check.runs import CheckedDispatch
from vkgroup.check.search import TrialSearch
from vkgroup.check.state import CheckState
from vkgroup.check.tracing import traces_of
from vkgroup.check.trial_set import differing, options_of
from vkgroup.check.trials import CheckTrial, Trier
from vkgroup.compiler import TargetEnvironment
from vkgroup.device import DeviceInfo
from vkgroup.device.launch import compile_only_refusal
from vkgroup.device.limits import local_size_problems
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.dispatch.slots import check_kinds
from vkgroup.dispatch.stages import notes_of, pack_specialization
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.spirv import Module

MAX_INVOCATIONS = 1 << 22
"""Maximum number of invocations of a dispatch, which limits time and memory."""


@dataclass(frozen=True)
class PreparedShader:
    """A shader that is ready to be checked."""

    search: TrialSearch  # the trials of other inputs
    trial: CheckTrial  # the trial whose inputs were chosen
    notes: list[str]  # remarks on the given options and on values that were chosen

    def constants(self, trial: CheckTrial) -> dict[int | str, Any]:
        """Return the specialization constants of a trial by id, as its runs used them."""
        return {entry.id: entry.value for entry in values_of(trial.dispatch.program.module)}


def prepare(request: CheckRequest, groups: tuple[int, int, int] | None = None) -> PreparedShader:
    """Return a compute shader with all its inputs; `groups` are chosen workgroups, if none are given.

    Raises InvalidInput or InvalidDispatch if an input is invalid, Unsupported if one cannot be generated.
    """
    module, entry, given = request.module, request.entry, request.specialization
    sizes = request.run_sizes
    notes = [*notes_of([module], given), *sizes_of_modes(entry)]
    generated = generated_size(entry, module, given)
    constants = module.reflection.specialization_constants
    specialization = {**generated, **given}
    values, _ = pack_specialization(constants, specialization)
    with phase("preparing the shader for the reference device"):
        program = ExecutableShader(module, request.entry_point, values)
    if over := local_size_problems(entry, values, capabilities_of()):
        text = f"The reference device does not run this local size; it would need {', '.join(over)}."
        if entry.local_size is not None and entry.local_size.is_specializable:
            text += " Give its specialization constants with --spec."
        raise Unsupported(text, over)
    request.host.require_size(sizes, program.local_size)
    chosen = groups_of(request.groups, program) if groups is None else groups
    with phase("generating the inputs"):
        inputs = make_inputs(request, chosen, program.module, program.local_size)
    first = CheckedDispatch(
        program,
        chosen,
        inputs,
        request.seed,
        request.step_limit,
        request.timeout,
        chose_groups=request.groups is None,
    )
    trier = Trier(
        request,
        first,
        unset_constants(module, generated, is_complete=bool(given) or inputs.are_given),
        default_constants(module, specialization),
    )
    with phase("trying values of the inputs on the reference device"):
        search = TrialSearch(trier)
        search, further = split_workgroups(search)
        trial = search.run()
        for numbers in further:
            search.further.append(search.try_({**trial.numbers, **numbers}))
    trial = trier.fit_sizes(trial, sizes)
    changed = _changed_constants(search.first, trial)
    used: dict[int | str, int] = {
        number: value for number, (_, value) in changed.items() if number in generated
    }
    notes += undeclared_size(entry, module, given, {**generated, **used})
    for number, (name, value) in changed.items():
        if number not in generated:
            notes.append(f"{name} (id {number}) = {value} was chosen: its default is 0.")
    return PreparedShader(search, trial, notes)


def _changed_constants(first: CheckTrial, chosen: CheckTrial) -> dict[int, tuple[str, int]]:
    """Return name and value of the specialization constants that the search has set, by id."""
    return {
        identifier: (number.name, value)
        for number, value in differing(first, chosen)
        if (identifier := number.constant_id) is not None
    }


def groups_of(given: Sequence[int] | None, program: ExecutableShader) -> tuple[int, int, int]:
    """Return the workgroup counts: the given ones, else several in each dimension that the shader uses."""
    if given is not None:
        if not 1 <= len(given) <= 3 or min(given) < 1:
            raise InvalidInput(f"groups must be one to three positive numbers, not {tuple(given)}")
        x, y, z = (int(number) for number in (*given, 1, 1)[:3])
        invocations = x * y * z * math.prod(program.local_size)
        if invocations > MAX_INVOCATIONS:
            raise InvalidInput(
                f"The dispatch has {invocations} invocations; check supports at most {MAX_INVOCATIONS}."
                " Give fewer groups."
            )
        return x, y, z
    return chosen_groups(program.module)


def chosen_groups(module: Module) -> tuple[int, int, int]:
    """Return workgroup counts for a shader: several in each dimension that it uses."""
    used = used_axes(module)
    if not any(used) and not influence_of(module).uses_atomic_results():
        # All workgroups write the same values: one is enough.
        return 1, 1, 1
    if sum(used) > 1:
        x, y, z = (2 if axis else 1 for axis in used)
        return x, y, z
    return (1, 4, 1) if used[1] else (1, 1, 4) if used[2] else (4, 1, 1)


def check(
    shader: Module | str | os.PathLike[str],
    *,
    sizes: Sequence[int] | None = None,
    groups: Sequence[int] | None = None,
    inputs: Mapping[Key, Any] | None = None,
    outputs: Sequence[Key] = (),
    push: Mapping[str, Any] | None = None,
    specialization: Mapping[int | str, Any] | None = None,
    entry_point: str | None = None,
    defines: Mapping[str, str | int] | None = None,
    target: TargetEnvironment | str | None = None,
    seed: int = 0,
    devices: Sequence[DeviceInfo] = (),
    skip_idle_devices: bool = False,
    timeout: float = CHECK_TIMEOUT,
    step_limit: int = CHECK_STEP_LIMIT,
    host: Guarantees | None = None,
    name: str | None = None,
    command: str = "",
    compiler: str = "",
    size: Sequence[int] | None = None,
    sources: Path | None = None,
    barriers: bool = False,
    allow: Sequence[Allowance] = (),
    traces: bool = False,
) -> Report:
    """Check whether a compute shader or a fragment shader is correct at every subgroup size.

    Parameters
    ----------
    shader : a module, or the file of one: GLSL, HLSL, ``.spv`` or ``.spvasm``.
    sizes : subgroup sizes; None for `vkgroup.base.choices.CHECK_SIZES` and the sizes of `devices`.
    groups : workgroup counts in up to three dimensions; None chooses them from the shader.
    inputs : arrays by binding name, number in set 0, or (set, number); the rest is generated. A list of
        arrays is for an array of descriptors. A mapping gives members of a block: ``{"u": {"width": 29}}`` or
        ``{"u.width": 29}``.
    outputs : bindings whose contents are undefined before the run.
    push, specialization : push constants by name, specialization constants by id or name.
    entry_point, defines : as for `vkgroup.compile`.
    target : the target that a file is compiled or validated for; None for `vkgroup.compiler.DEFAULT_TARGET`,
        and for that of its own version if it is SPIR-V.
    seed : seed of the generated inputs and of the shuffled lanes.
    devices : real devices on which the shader also runs.
    skip_idle_devices : whether to leave out, and name, a device whose driver executes nothing.
    timeout : time limit of one run in seconds.
    step_limit : limit of loop iterations; a longer loop is reported as a hang.
    host : guarantees of the host that runs the shader, which restrict the runs; None for none.
    name : the shader's name in the report.
    command : the command that repeats the check, without sizes and devices.
    compiler : the compiler that made `shader`, with its version, for the report; that of a file is known.
    size : of a fragment shader: width and height of the target in pixels; None for the default.
    sources : the folder in which files that a module names as its sources may be read; None for every folder.
    barriers : whether each barrier and atomic is also removed or weakened: `Report.barriers`.
    allow : findings that are allowed, besides those of comments in the source.
    traces : whether the steps around each finding of a compute shader are recorded: `Report.traces`.

    Returns
    -------
    The findings and the coverage.

    Raises
    ------
    CompileError, InvalidModule, InvalidInput, InvalidDispatch
        The shader or an input is invalid.
    Unsupported
        The reference device or this tool cannot run the shader. The error names what is missing.
    NoDevice
        One of `devices` is compile-only, or a driver without its GPU that is not to be skipped.

    Examples
    --------
    >>> report = check("sum.comp", sizes=(8, 32))
    >>> [finding.kind for finding in report.findings]
    """
    given: dict[str, Any] = {name: value for name, value in locals().items() if value is not None}
    return perform(CheckRequest(**given))


def perform(request: CheckRequest) -> Report:
    """Return the findings and the coverage of a check; the errors are those of `check`."""
    for device in request.devices:
        if device.is_compile_only:
            raise compile_only_refusal(device)
    check_kinds(request.module.reflection.bindings)
    require_no_addresses(request.module)
    allowances = allowances_of(request)
    is_draw = request.entry.stage == "fragment"
    if is_draw and request.barriers:
        raise InvalidInput("--barriers is for compute shaders; this is a fragment shader.")
    if request.size is not None and not is_draw:
        raise InvalidInput("--size is the size of a draw; give --groups for a compute shader.")
    report = check_fragments(request) if is_draw else _check_dispatch(request)
    return with_allowances(report, allowances)


def _check_dispatch(request: CheckRequest) -> Report:
    """Return the findings and the coverage of a check of a compute shader."""
    prepared = prepare(request)
    examined = [_examine(request, prepared, prepared.trial, request.devices)]
    for trial in prepared.search.supplements():
        first = examined[0]
        if first.interrupted is None and not first.state.late and not first.state.no_verdict:
            further = _examine(request, prepared, trial, ())
            kept = [finding for finding in further.findings if not finding.weak]
            changes, asked = differing(trial, prepared.trial), further.questions
            if kept and any(number.constant_id is not None for number, _ in changes):
                # Another constant of the pipeline makes another shader, which may not fit the other inputs.
                kept, asked = [], (*asked, Question(generated_values(changes), tuple(kept)))
            examined.append(replace(further, findings=kept, questions=asked))
    first = examined[0]
    ended = first.interrupted is None and not first.state.late and not first.state.no_verdict
    if ended:
        known = [finding for each in examined for finding in each.findings if not finding.weak]
        permitted = PermittedExecutions(first.state, known, prepared.search.trier, first.trial)
        try:
            first.findings.extend(permitted.findings())
        except DeadlineReached:
            first.state.note_deadline(verdict=True)
        except KeyboardInterrupt as end:
            examined[0] = replace(first, interrupted=end)
    every = [run for each in examined for run in each.state.runs]
    missing = lines_of_sites(every, prepared.search.missing_in, first.state.places)
    results: Sequence[BarrierResult] = ()
    if request.barriers and not ended:
        first.state.notes.append("--barriers: nothing was tried, since the check itself did not end")
    elif request.barriers and examined[0].interrupted is None and not first.state.late:
        study = BarrierStudy([each.state for each in examined], missing)
        results = study.results
        try:
            study.run()
        except KeyboardInterrupt as end:
            examined[0] = replace(examined[0], interrupted=end)
    report = replace(_report(examined, missing), barriers=tuple(results))
    if request.traces and ended:
        shown = [(each.trial.dispatch, each.findings) for each in examined]
        try:
            report = replace(report, traces=traces_of(shown, examined[0].state.runs[0].configuration))
        except (DeadlineReached, OutOfMemory):
            # The report is complete without them.
            phases.allow_writing()
        except KeyboardInterrupt as end:
            report = replace(report, interrupted=end)
    return report


@dataclass(frozen=True, eq=False)
class _Examination:
    """The runs of one trial's inputs at all sizes, and their results."""

    trial: CheckTrial
    state: CheckState
    findings: list[Finding]
    questions: tuple[Question, ...]
    interrupted: KeyboardInterrupt | None


def _examine(
    request: CheckRequest, prepared: PreparedShader, trial: CheckTrial, devices: Sequence[DeviceInfo]
) -> _Examination:
    """Run a trial's inputs at all sizes and on real devices, and compare the runs."""
    dispatch = trial.dispatch
    state = CheckState(request, dispatch, notes=prepared.notes)
    job = partial(DispatchJob, **state.job_parameters(dispatch.inputs, prepared.constants(trial)))
    findings, interrupted = run_and_compare(state, request.run_sizes, devices, job)
    questions = Questions(prepared.search, trial)
    try:
        runs = [*state.runs, *state.truncated]
        runs = runs if state.late else questions.errors_of(runs)
    except DeadlineReached:
        runs = state.runs
        state.note_deadline()
    except KeyboardInterrupt as end:
        runs, interrupted = state.runs, end
    findings = findings_of(runs, state.places, dispatch) + findings
    findings = by_lane_order(by_instruction(by_cause(findings, state.assumption)))
    findings = with_quad_rule(findings, state.places, request.entry.execution_modes)
    ran = {run.configuration.subgroup_size for run in state.runs}
    invocations = math.prod(dispatch.program.local_size)
    findings = with_subgroup_count(findings, ran, invocations, state.flow.built_ins.values())
    asked = questions.collect(state.places)
    return _Examination(trial, state, findings, asked, interrupted)


def _report(examined: Sequence[_Examination], missing: tuple[str, ...]) -> Report:
    """Return the report on all inputs, with those of the first examination that has findings.

    `missing`: the lines that no run executed, as in `Coverage.not_executed`.
    """
    main = next((each for each in examined if each.findings), examined[0])
    findings, questions = list(main.findings), {question.text: question for question in main.questions}
    known = {(finding.kind, finding.place.file, finding.place.line) for finding in findings}
    for further in examined:
        if further is main:
            continue
        options = options_of(main.trial, further.trial)
        for finding in further.findings:
            if (finding.kind, finding.place.file, finding.place.line) not in known:
                runs = tuple(replace(run, options=options) for run in finding.configurations)
                findings.append(replace(finding, configurations=runs))
        questions = {question.text: question for question in further.questions} | questions
        main.state.notes.append(f"it also ran with {' '.join(options)}, to execute more of the shader")
    known |= {(finding.kind, finding.place.file, finding.place.line) for finding in findings}
    asked = [
        question
        for question in questions.values()
        if not {(part.kind, part.place.file, part.place.line) for part in question.findings} <= known
    ]
    findings.sort(key=lambda entry: (entry.weak, entry.place.line, entry.place.position))
    coverages = [each.state.coverage() for each in examined]
    covered = replace(
        coverages[examined.index(main)],
        configurations=coverages[0].configurations,
        not_covered=coverages[0].not_covered,
        compared=sum(coverage.compared for coverage in coverages),
        not_executed=missing,
    )
    main.state.no_verdict = examined[0].state.no_verdict
    inputs = main.state.dispatch.inputs
    interrupted = next(filter(None, (each.interrupted for each in examined)), None)
    return main.state.report(findings, covered, inputs, interrupted, tuple(asked))
