"""Check of one shader: inputs, runs on the reference device and on real ones, comparison, findings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy.typing as npt

from vkgroup.check.assumptions import Assumption, Experiment, find_assumption
from vkgroup.check.compare import Counts, Difference, Tolerance, compare, count_numbers, natural, tolerance_of
from vkgroup.check.diagnosis import (
    Differing,
    assumption_findings,
    difference_findings,
    failure_finding,
    findings_of,
)
from vkgroup.check.findings import (
    Configuration,
    Coverage,
    Finding,
    SourceLocations,
)
from vkgroup.check.flow import Flow
from vkgroup.check.host import Guarantees, values_of
from vkgroup.check.inputs import Key
from vkgroup.check.preparation import prepare
from vkgroup.check.questions import Questions
from vkgroup.check.refusals import require_no_addresses
from vkgroup.check.report import Report
from vkgroup.check.runs import Answer, Dispatch, Job, Run, bindings_of, outputs_of_answer, run_job
from vkgroup.check.size_constants import find_candidates
from vkgroup.choices import CHECK_SIZES, CHECK_STEP_LIMIT, CHECK_TIMEOUT
from vkgroup.compiler import Target, assemble, compile_file, validate
from vkgroup.compiler.front_ends import compiler_of
from vkgroup.device import DeviceInfo
from vkgroup.dispatch.slots import check_kinds
from vkgroup.errors import DispatchTimeout, InvalidInput, Unsupported
from vkgroup.reference.interpreter.execution.program import Program
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spirv import Module

TARGET = Target.VULKAN_1_2
"""Compilation target of shaders: the first version that allows broadcasts with non-constant ids."""


@dataclass
class _Check:
    """The state of one check."""

    dispatch: Dispatch
    places: SourceLocations
    flow: Flow
    make: Callable[[Instrument], Program]
    remake: Callable[[Module], Program]
    runs: list[Run] = field(default_factory=list)
    not_covered: list[tuple[str, str]] = field(default_factory=list)
    device_runs: list[Run] = field(default_factory=list)
    further: list[Run] = field(default_factory=list)
    tolerances: dict[Configuration, Tolerance] = field(default_factory=dict)
    unfinished: list[Configuration] = field(default_factory=list)  # runs of the reference device
    no_verdict: list[str] = field(default_factory=list)  # what is not compared because a run did not end
    internal_errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    host: Guarantees = field(default_factory=Guarantees)

    # --- on the reference device ----------------------------------------------------------------------

    def run_reference(self, sizes: Sequence[int]) -> None:
        """Run at every size, with linear and with shuffled lanes; size 32 first, then the smallest."""
        order = sorted(sizes, key=lambda size: (size != 32, size != min(sizes), size))
        hanging = 0
        local_size = self.dispatch.program.local_size
        for size in order:
            if size < QUAD_SIZE and self._uses_quads():
                self.not_covered.append((f"size {size}", "quads need subgroups of at least 4 invocations"))
                continue
            if not self.host.allows(size, local_size):
                reason = f"full subgroups need a local size in x that is a multiple (it is {local_size[0]})"
                self.not_covered.append((f"size {size}", reason))
                continue
            for shuffled in (False,) if self.host.linear_lanes else (False, True):
                configuration = Configuration(size, shuffled)
                if hanging > 1:
                    self.not_covered.append((str(configuration), "it hangs at other sizes"))
                    continue
                try:
                    run = self.dispatch.run(configuration)
                except DispatchTimeout:
                    reason = f"no end within {self.dispatch.timeout:g} s on the reference device"
                    self.not_covered.append((str(configuration), reason))
                    self.unfinished.append(configuration)
                    continue
                self.runs.append(run)
                hanging += any(event.kind == "hang" for event in run.events)
        if self.unfinished and not self.runs:
            limit = f"no end within {self.dispatch.timeout:g} s"
            self.no_verdict.append(f"{limit} on the reference device at any size")

    def _uses_quads(self) -> bool:
        return "GroupNonUniformQuad" in self.dispatch.program.module.reflection.capabilities

    @property
    def comparable(self) -> list[Run]:
        """Runs with meaningful outputs: without races, hangs, and barriers that some invocations miss."""
        return [run for run in self.runs if not run.disturbed]

    # --- comparing ------------------------------------------------------------------------------------

    def compare(self, base: Run, run: Run) -> Difference | None:
        """Return the first difference beyond rounding between two runs; None if there is none."""
        difference = compare(self.dispatch.inputs, base, run)
        if difference is None or not any(
            entry.name == "OpTypeFloat" for entry in self.dispatch.program.module.instructions
        ):
            return difference
        where = base.configuration
        if where not in self.tolerances:
            self.tolerances[where] = tolerance_of(self.dispatch, base, self.make)
        return compare(self.dispatch.inputs, base, run, self.tolerances[where])

    def differences_to(self, base: Run) -> dict[Configuration, Difference | None]:
        """Return each reference run's difference from one of them; disturbed runs are not compared."""
        return {
            run.configuration: None if run.disturbed or base.disturbed else self.compare(base, run)
            for run in self.runs
        }

    def base(self, assumption: Assumption | None) -> Run | None:
        """Return the run with which the others are compared; None if there is none."""
        if assumption is not None:
            return assumption.base
        runs = sorted(
            self.comparable,
            key=lambda run: (run.configuration.shuffled, run.configuration.subgroup_size != 32),
        )
        return runs[0] if runs else None

    # --- on real devices ------------------------------------------------------------------------------

    def run_devices(
        self, devices: Sequence[DeviceInfo], job: Callable[..., Job], findings: list[Finding]
    ) -> None:
        """Run on each device unless the shader could hang it; a failure there becomes a finding.

        A shader that does not end on the reference device at the device's size could hang the device.
        """
        bad = next(
            (event.kind for run in self.runs for event in run.events if event.kind in _DANGEROUS), None
        )
        for device in devices:
            label = f"{device.name} ({device.icd})"
            if bad is not None:
                self.not_covered.append((label, f"not run, because of the {bad} found"))
                continue
            if not self._has_end(device.subgroup_size):
                why = f"not run, because the reference device does not end at size {device.subgroup_size}"
                self.not_covered.append((label, why))
                self.no_verdict.append(f"{label}: {why}")
                continue
            device_job = job(device=device)
            answer = self._run_device(
                device_job, Configuration(device.subgroup_size, False, label, device.icd), findings
            )
            # If sizes can be required, the device is run at each of them.
            for size in answer.sizes if answer.sizes != (device.subgroup_size,) else ():
                if self.host.size_control and self.reference_at(size) is not None:
                    where = Configuration(size, False, label, device.icd, True)
                    self._run_device(replace(device_job, subgroup_size=size), where, findings)

    def _run_device(self, job: Job, where: Configuration, findings: list[Finding]) -> Answer:
        """Run once on a device and record its outputs, or the reason why there are none."""
        answer = run_job(job)
        if answer.unsupported:
            self.not_covered.append((str(where), f"it lacks {answer.unsupported}"))
        elif answer.slow:
            self.not_covered.append((str(where), answer.slow))
        elif answer.internal_error:
            self.not_covered.append((str(where), "internal error"))
            self.internal_errors.append(f"{where}: {answer.internal_error}")
        elif answer.no_end:
            why = f"no end within {job.timeout:g} s on this device, so there is nothing to compare"
            self.not_covered.append((str(where), why))
            self.no_verdict.append(f"{where}: {why}")
        elif answer.failure and self.reference_at(where.subgroup_size) is None:
            why = f"it fails, and the reference device has no defined result to compare: {answer.failure}"
            self.not_covered.append((str(where), why))
        elif answer.failure:
            findings.append(failure_finding(where, answer.failure, self.places))
        else:
            self.device_runs.append(Run(where, outputs_of_answer(self.dispatch.inputs, answer)))
        return answer

    def _has_end(self, size: int) -> bool:
        """Return whether the reference device ends at a size, or cannot run at it."""
        self.reference_at(size)
        return Configuration(size) not in self.unfinished

    def reference_at(self, size: int) -> Run | None:
        """Return the linear run of the reference device at a size; None if it has no meaningful outputs."""
        where = Configuration(size)
        for run in [*self.runs, *self.further]:
            if run.configuration == where:
                return None if run.disturbed else run
        if where in self.unfinished or (size < QUAD_SIZE and self._uses_quads()):
            return None
        try:
            self.further.append(self.dispatch.run(where))
        except DispatchTimeout:
            self.unfinished.append(where)
            return None
        except Unsupported:
            return None
        return self.reference_at(size)


_DANGEROUS = ("hang", "barrier")
"""Kinds of findings after which a shader is not run on real devices, since it could hang them."""


def check(
    shader: Module | str | os.PathLike[str],
    *,
    sizes: Sequence[int] | None = None,
    groups: Sequence[int] | None = None,
    inputs: Mapping[Key, npt.NDArray[Any] | Sequence[npt.NDArray[Any]]] | None = None,
    outputs: Sequence[Key] = (),
    push: Mapping[str, Any] | None = None,
    specialization: Mapping[int | str, Any] | None = None,
    entry_point: str | None = None,
    defines: Mapping[str, str | int] | None = None,
    target: Target | str | None = None,
    seed: int = 0,
    devices: Sequence[DeviceInfo] = (),
    timeout: float = CHECK_TIMEOUT,
    step_limit: int = CHECK_STEP_LIMIT,
    host: Guarantees | None = None,
    name: str | None = None,
    command: str = "",
    compiler: str = "",
    size: Sequence[int] | None = None,
) -> Report:
    """Check whether a compute shader or a fragment shader is correct at every subgroup size.

    Parameters
    ----------
    shader : a module, or the file of one: GLSL, HLSL, ``.spv`` or ``.spvasm``.
    sizes : subgroup sizes; None for `vkgroup.choices.CHECK_SIZES` and the sizes of `devices`.
    groups : workgroup counts in up to three dimensions; None chooses them from the shader.
    inputs : arrays by binding name, number in set 0, or (set, number); the rest is generated. A list of
        arrays is for an array of descriptors.
    outputs : bindings whose contents are undefined before the run.
    push, specialization : push constants by name, specialization constants by id or name.
    entry_point, defines : as for `vkgroup.compile`.
    target : the target that a file is compiled for; None for `TARGET`, and for no target of SPIR-V.
    seed : seed of the generated inputs and of the shuffled lanes.
    devices : real devices on which the shader also runs.
    timeout : time limit of one run in seconds.
    step_limit : limit of loop iterations; a longer loop is reported as a hang.
    host : guarantees of the host that runs the shader, which restrict the runs; None for none.
    name : the shader's name in the report.
    command : the command that repeats the check, without sizes and devices.
    compiler : the compiler that made `shader`, with its version, for the report; that of a file is known.
    size : of a fragment shader: width and height of the target in pixels; None for the default.

    Returns
    -------
    The findings and the coverage.

    Raises
    ------
    CompileError, InvalidModule, InvalidInput, InvalidDispatch
        The shader or an input is invalid.
    Unsupported
        The reference device or this tool cannot run the shader. The error names what is missing.

    Examples
    --------
    >>> report = check("sum.comp", sizes=(8, 32))
    >>> [finding.kind for finding in report.findings]
    """
    module = shader if isinstance(shader, Module) else _load(Path(shader), entry_point, defines, target)
    if not isinstance(shader, Module) and not compiler:
        compiler = compiler_of(Path(shader))
    check_kinds(module.reflection.bindings)
    wanted = sizes if sizes is not None else {*CHECK_SIZES, *(device.subgroup_size for device in devices)}
    run_sizes = sorted(set(wanted) - {0})
    title = name or ("shader" if isinstance(shader, Module) else str(shader))
    require_no_addresses(module)
    if module.reflection.entry_point(entry_point).stage == "fragment":
        # Imported here, because that package uses this module.
        from vkgroup.check.fragments import FragmentOptions, check_fragments

        options = FragmentOptions(
            inputs=inputs,
            outputs=outputs,
            push=push,
            specialization=specialization or {},
            seed=seed,
            timeout=timeout,
            step_limit=step_limit,
            host=host or Guarantees(),
            command=command,
            compiler=compiler,
            size=size,
            groups=groups,
        )
        if sizes is None:
            run_sizes = [number for number in run_sizes if number >= QUAD_SIZE]
        return check_fragments(module, entry_point, title, run_sizes, devices, options)
    if size is not None:
        raise InvalidInput("--size is the size of a draw; give --groups for a compute shader.")
    prepared = prepare(
        module,
        entry_point,
        groups=groups,
        inputs=inputs,
        outputs=outputs,
        push=push,
        specialization=specialization or {},
        seed=seed,
        timeout=timeout,
        step_limit=step_limit,
        sizes=run_sizes,
        host=host or Guarantees(),
    )
    dispatch, program = prepared.dispatch, prepared.dispatch.program
    state = _Check(
        dispatch,
        SourceLocations(program.module, title),
        Flow(program.module),
        lambda instrument: Program(module, entry_point, prepared.values, instrument),
        lambda changed: Program(changed, entry_point),
        host=host or Guarantees(),
        notes=prepared.notes,
    )
    given = dispatch.inputs.push if module.reflection.push_constants is not None else b""
    job = partial(
        Job,
        module=module,
        entry_point=program.entry.name,
        specialization=prepared.specialization,
        groups=dispatch.groups,
        bindings=bindings_of(dispatch.inputs),
        push=given,
        writable=frozenset(entry.place for entry in dispatch.inputs.bindings if entry.binding.writable),
        timeout=timeout,
        local_size=program.local_size,
        full_subgroups=state.host.full_subgroups,
    )
    findings, interrupted = _run_and_compare(state, run_sizes, devices, job)
    questions = Questions(prepared.search, prepared.trial)
    try:
        runs = questions.errors_of(state.runs)
    except KeyboardInterrupt as end:
        runs, interrupted = state.runs, end
    by_nature = natural(state.flow)
    findings = findings_of(runs, state.places, dispatch.inputs, by_nature) + findings
    findings.sort(key=lambda entry: (entry.weak, entry.place.line, entry.place.position))
    if command:
        findings = [entry.repeated_by(command) for entry in findings]
    covered = replace(_coverage(state), compiler=compiler)
    return Report(
        title,
        tuple(findings),
        covered,
        bindings_of(dispatch.inputs),
        given,
        interrupted,
        no_verdict=tuple(state.no_verdict),
        internal_errors=tuple(state.internal_errors),
        questions=questions.collect(state.places, by_nature, dispatch.inputs),
    )


def _run_and_compare(
    state: _Check, sizes: Sequence[int], devices: Sequence[DeviceInfo], job: Callable[..., Job]
) -> tuple[list[Finding], KeyboardInterrupt | None]:
    """Run at all sizes and on all devices; return the findings of comparisons, and the Ctrl-C that came."""
    dispatch, findings = state.dispatch, list[Finding]()
    try:
        state.run_reference(sizes)
        state.run_devices(devices, job, findings)
        experiment = Experiment(dispatch, state.flow, state.remake, state.compare)
        candidates = find_candidates(state.flow)
        assumption = find_assumption(candidates, state.runs, state.differences_to, experiment)
        findings += assumption_findings(assumption, state.places) if assumption is not None else []
        differing, lanes_matter = _compare_all(state, assumption)
        findings += difference_findings(differing, dispatch, state.flow, state.places, lanes_matter)
    except DispatchTimeout:
        comparison = (
            f"no end within {dispatch.timeout:g} s when the reference device repeats a run to compare it"
        )
        state.not_covered.append(("the comparison", comparison))
        state.no_verdict.append(comparison)
    except KeyboardInterrupt as end:
        state.not_covered.append(("everything else", "interrupted"))
        return findings, end
    return findings, None


def _compare_all(state: _Check, assumption: Assumption | None) -> tuple[Differing, frozenset[int]]:
    """Return the runs that differ, and the sizes at which shuffled lanes change the reference's results."""
    differing: list[tuple[Run, Run, Difference]] = []
    base = state.base(assumption)
    if base is None or base.disturbed:
        return differing, frozenset()
    for run in state.comparable:
        if run is base or (assumption is not None and assumption.explains(run.configuration)):
            continue
        difference = state.compare(base, run)
        if difference is not None:
            differing.append((base, run, difference))
    for run in state.device_runs:
        # A device is compared with the reference at its own size, even if that result is wrong itself.
        like = state.reference_at(run.configuration.subgroup_size)
        difference = state.compare(like, run) if like is not None else None
        if like is not None and difference is not None:
            differing.append((like, run, difference))
    lanes_matter = frozenset(
        like.configuration.subgroup_size
        for like, run, _ in differing
        if run.configuration.device
        for other in state.comparable
        if other.configuration == replace(like.configuration, shuffled=True) and state.compare(like, other)
    )
    return differing, lanes_matter


def _coverage(state: _Check) -> Coverage:
    runs = state.comparable
    base = state.base(None)
    counts = Counts()
    if base is not None:
        tolerance = state.tolerances.get(base.configuration, {})
        counts = count_numbers(state.dispatch.inputs, base, [*runs, *state.device_runs], tolerance)
    return Coverage(
        configurations=tuple(run.configuration for run in [*state.runs, *state.device_runs]),
        not_covered=tuple(state.not_covered),
        **asdict(counts),
        groups=state.dispatch.groups,
        local_size=state.dispatch.program.local_size,
        inputs=state.dispatch.inputs.origins,
        specialization=values_of(state.dispatch.program.module),
        notes=tuple(state.notes),
        assumed=tuple(state.host.sentences()),
    )


def _load(
    path: Path,
    entry_point: str | None,
    defines: Mapping[str, str | int] | None,
    target: Target | str | None,
) -> Module:
    """Return the module of a file: compiled with debug lines and without optimisation, or read as SPIR-V."""
    if path.suffix not in (".spv", ".spvasm"):
        return compile_file(
            path,
            debug=True,
            target=target or TARGET,
            entry_point=entry_point or "main",
            defines=defines or {},
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    if path.suffix == ".spvasm":
        module = assemble(data.decode("utf-8", "replace"), target or TARGET, name=str(path))
    else:
        module = Module.from_bytes(data)
    validate(module, target or Target.VULKAN_1_4)
    return module
