"""State of a check: runs on the reference device and on real devices, and their comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from vkgroup.base import phases
from vkgroup.base.errors import DispatchTimeout, NoDevice, Unsupported
from vkgroup.base.phases import CodeOwner, phase
from vkgroup.check.assumptions import Assumption
from vkgroup.check.comparison import Difference, Tolerance, compare, count_numbers
from vkgroup.check.counted_loops import CountedLoops
from vkgroup.check.device_jobs import (
    DispatchJob,
    JobAnswer,
    bindings_of,
    images_of,
    outputs_of_answer,
    run_job,
)
from vkgroup.check.diagnosis import (
    failure_finding,
)
from vkgroup.check.findings import (
    RACES,
    Coverage,
    Finding,
    FindingKind,
    RunParameters,
    SourceLocations,
)
from vkgroup.check.flow import DataFlow
from vkgroup.check.independence import ENOUGH, are_alike, is_independent
from vkgroup.check.inputs import DispatchInputs
from vkgroup.check.report import Question, Report
from vkgroup.check.request import CheckRequest, values_of
from vkgroup.check.rounding import tolerance_of
from vkgroup.check.runs import CheckedDispatch, CheckedRun
from vkgroup.check.spellings import in_language
from vkgroup.device import DeviceInfo

LEFT_OUT = "left out: "
"""Beginning of the reason why a device that executes nothing is not covered."""

_DANGEROUS = ("hang", "barrier", "abort")
"""Kinds of findings after which a shader is not run on real devices, since it could hang them."""

_OF_ACCESSES = (*RACES, FindingKind.BOUNDS)
"""Kinds of findings that the end of a run before its last instruction does not cause."""


@dataclass
class CheckState:
    """The state of one check."""

    request: CheckRequest
    dispatch: CheckedDispatch
    runs: list[CheckedRun] = field(default_factory=list)
    not_covered: list[tuple[str, str]] = field(default_factory=list)
    device_runs: list[CheckedRun] = field(default_factory=list)
    further: list[CheckedRun] = field(default_factory=list)
    tolerances: dict[RunParameters, Tolerance] = field(default_factory=dict)
    unfinished: list[RunParameters] = field(default_factory=list)  # runs of the reference device
    truncated: list[CheckedRun] = field(default_factory=list)  # their accesses before the step limit
    no_verdict: list[str] = field(default_factory=list)  # what is not compared because a run did not end
    internal_errors: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    late: bool = False  # whether the deadline was reached
    assumption: Assumption | None = None  # the assumed subgroup size that the runs confirm

    def __post_init__(self) -> None:
        module = self.dispatch.program.module
        self.places = SourceLocations(module, self.request.title, self.request.sources)
        self.flow = DataFlow(module)
        self.counted = CountedLoops(module)
        self.host = self.request.host

    def note_deadline(self, *, verdict: bool = False) -> None:
        """Note that everything else was not done because the deadline was reached.

        `verdict`: whether all sizes were compared before.
        """
        self.late = True
        text = phases.status().late
        phases.allow_writing()
        self.not_covered.append(("everything else", text))
        if not verdict:
            self.no_verdict.append(text)

    # --- on the reference device ----------------------------------------------------------------------

    def run_reference(self, sizes: Sequence[int]) -> None:
        """Run at every size, with linear and with shuffled lanes; size 32 first, then the smallest."""
        order = sorted(sizes, key=lambda size: (size != 32, size != min(sizes), size))
        hanging, stands_for_all = 0, False
        limit = f"no end within {self.dispatch.timeout:g} s on the reference device"
        for size in order:
            if reason := self.host.lacking(self.dispatch.program, size):
                self.not_covered.append((f"size {size}", reason))
                continue
            for shuffled in (False,) if self.host.linear_lanes else (False, True):
                configuration = RunParameters(size, shuffled)
                if stands_for_all:
                    self.runs.append(replace(self.runs[0], configuration=configuration))
                    continue
                if len(self.truncated) > 1:
                    self._leave_out(configuration)
                    continue
                if hanging > 1:
                    self.not_covered.append((str(configuration), "it hangs at other sizes"))
                    continue
                try:
                    with phase(f"executing on the reference device at {configuration}"):
                        run = self.dispatch.run(configuration)
                except DispatchTimeout:
                    self.not_covered.append((str(configuration), limit))
                    self.unfinished.append(configuration)
                    continue
                hangs = [event.position for event in run.events if event.kind == "hang"]
                if hangs and all(map(self.counted.ends, hangs)):
                    self._leave_out(configuration)
                    events = tuple(event for event in run.events if event.kind in _OF_ACCESSES)
                    self.truncated.append(replace(run, events=events))
                    continue
                self.runs.append(run)
                hanging += bool(hangs)
                if len(self.runs) == ENOUGH and are_alike(self.runs):
                    stands_for_all = is_independent(self.dispatch.program)
        if stands_for_all and len(self.runs) > ENOUGH:
            ran = " and ".join({str(run.configuration.subgroup_size): None for run in self.runs[:ENOUGH]})
            text = f"nothing in the shader depends on subgroups: runs at size {ran} stand for the others"
            self.notes.append(text)
        if self.truncated and not self.runs:
            self.no_verdict.append(self._more_rounds)
        elif self.unfinished and not self.runs:
            self.no_verdict.append(f"{limit} at any size; give more time (--timeout) or less work (--groups)")
        elif not self.runs:
            reasons = list(dict.fromkeys(reason for _, reason in self.not_covered))
            raise Unsupported(
                f"The shader runs at none of the subgroup sizes {', '.join(map(str, order))}:"
                f" {'; '.join(reasons)}. Choose others (--subgroup-size).",
                reasons,
            )

    @property
    def _more_rounds(self) -> str:
        return f"a loop has more than {self.dispatch.step_limit} rounds, but it ends: raise --step-limit"

    def _leave_out(self, configuration: RunParameters) -> None:
        """Note that a run did not reach the end of a loop."""
        self.not_covered.append((str(configuration), self._more_rounds))
        self.unfinished.append(configuration)

    @property
    def comparable(self) -> list[CheckedRun]:
        """Runs with meaningful outputs: without races, hangs, and barriers that some invocations miss."""
        return [run for run in self.runs if not run.disturbed]

    # --- comparing ------------------------------------------------------------------------------------

    def compare(self, base: CheckedRun, run: CheckedRun) -> Difference | None:
        """Return the first difference beyond rounding between two runs; None if there is none."""
        difference = compare(self.dispatch.inputs, base, run)
        if difference is None or not self.dispatch.has_floats:
            return difference
        where = base.configuration
        if where not in self.tolerances:
            self.tolerances[where] = tolerance_of(self.dispatch, base)
        return compare(self.dispatch.inputs, base, run, self.tolerances[where])

    def differences_to(self, base: CheckedRun) -> dict[RunParameters, Difference | None]:
        """Return each reference run's difference from one of them; disturbed runs are not compared."""
        return {
            run.configuration: None if run.disturbed or base.disturbed else self.compare(base, run)
            for run in self.runs
        }

    def base(self, assumption: Assumption | None) -> CheckedRun | None:
        """Return the run with which the others are compared; None if there is none."""
        if assumption is not None:
            return assumption.base
        in_order = [run for run in self.comparable if not run.configuration.shuffled] or self.comparable
        return min(in_order, key=lambda run: run.configuration.subgroup_size != 32, default=None)

    def coverage(self) -> Coverage:
        """Return what the runs covered."""
        inputs, base = self.dispatch.inputs, self.base(None)
        counts: dict[str, Any] = dict.fromkeys(("compared", "undefined", "ordered", "rounded"), 0)
        if base is not None:
            tolerance = self.tolerances.get(base.configuration, {})
            counts = count_numbers(inputs, base, [*self.comparable, *self.device_runs], tolerance)
        return Coverage(
            configurations=tuple(run.configuration for run in [*self.runs, *self.device_runs]),
            not_covered=tuple(self.not_covered),
            **counts,
            groups=self.dispatch.groups,
            local_size=self.dispatch.program.local_size,
            inputs=inputs.origins,
            specialization=values_of(self.dispatch.program.module),
            notes=tuple(self.notes),
            assumed=tuple(self.host.sentences()),
        )

    # --- on real devices ------------------------------------------------------------------------------

    def run_devices(
        self, devices: Sequence[DeviceInfo], job: Callable[..., DispatchJob], findings: list[Finding]
    ) -> None:
        """Run on each device unless the shader could hang it; a failure there becomes a finding.

        A shader that does not end on the reference device at the device's size could hang the device.
        """
        bad = next(
            (event.kind for run in self.runs for event in run.events if event.kind in _DANGEROUS), None
        )
        for device in devices:
            choice = device.choice if device.own_process else device.icd
            label = f"{device.name} ({choice}{', emulated' * device.emulated})"
            if bad is not None:
                self.not_covered.append((label, f"not run, because of the {bad} found"))
                continue
            self.reference_at(device.subgroup_size)
            if RunParameters(device.subgroup_size) in self.unfinished:
                why = f"not run, because the reference device does not end at size {device.subgroup_size}"
                self.not_covered.append((label, why))
                self.no_verdict.append(f"{label}: {why}")
                continue
            device_job = job(device=device)
            answer = self._run_device(
                device_job, RunParameters(device.subgroup_size, False, label, choice), findings
            )
            # If sizes can be required, the device is run at each of them.
            for size in answer.sizes if answer.sizes != (device.subgroup_size,) else ():
                if self.host.size_control and self.reference_at(size) is not None:
                    where = RunParameters(size, False, label, choice, True)
                    self._run_device(replace(device_job, subgroup_size=size), where, findings)

    def _run_device(self, job: DispatchJob, where: RunParameters, findings: list[Finding]) -> JobAnswer:
        """Run once on a device and record its outputs, or the reason why there are none."""
        with phase(f"executing on {where}", CodeOwner.EXECUTION):
            answer = run_job(job)
        why = answer.slow or answer.not_emulated
        if answer.idle:
            if not self.request.skip_idle_devices:
                raise NoDevice(answer.idle)
            why = f"{LEFT_OUT}{answer.idle}"
        elif answer.unsupported:
            why = f"it lacks {answer.unsupported}"
        elif answer.internal_error:
            why = "internal error"
            self.internal_errors.append(f"{where}: {answer.internal_error}")
        elif answer.no_end:
            why = f"no end within {job.timeout:g} s on this device, so there is nothing to compare"
            self.no_verdict.append(f"{where}: {why}")
        elif answer.failure and self.reference_at(where.subgroup_size) is None:
            why = f"it fails, and the reference device has no defined result to compare: {answer.failure}"
        elif answer.failure:
            findings.append(failure_finding(where, answer.failure, self.places))
        elif not why:
            self.device_runs.append(CheckedRun(where, outputs_of_answer(self.dispatch.inputs, answer)))
        if why:
            self.not_covered.append((str(where), why))
        return answer

    def reference_at(self, size: int) -> CheckedRun | None:
        """Return the linear run of the reference device at a size; None if it has no meaningful outputs."""
        where = RunParameters(size)
        for run in [*self.runs, *self.further]:
            if run.configuration == where:
                return None if run.disturbed else run
        if where in self.unfinished or self.host.lacking(self.dispatch.program, size):
            return None
        try:
            self.further.append(self.dispatch.run(where))
        except DispatchTimeout:
            self.unfinished.append(where)
            return None
        except Unsupported:
            return None
        return self.reference_at(size)

    # --- for devices and the report -------------------------------------------------------------------

    def job_parameters(
        self, inputs: DispatchInputs, specialization: Mapping[int | str, Any]
    ) -> dict[str, Any]:
        """Return the parameters of `DispatchJob` except the device.

        `inputs`: the inputs without those that the host generates for draws.
        `specialization`: given and generated specialization constants, by id or name.
        """
        return {
            "module": self.request.module,
            "entry_point": self.dispatch.program.entry.name,
            "specialization": specialization,
            "groups": self.dispatch.groups,
            "bindings": bindings_of(inputs),
            "push": self._push(inputs),
            "writable": frozenset(entry.place for entry in inputs.bindings if entry.binding.writable),
            "timeout": self.request.timeout,
            "local_size": self.dispatch.program.local_size,
            "full_subgroups": self.host.full_subgroups,
            "images": images_of(inputs),
        }

    def _push(self, inputs: DispatchInputs) -> bytes:
        return inputs.push if self.request.module.reflection.push_constants is not None else b""

    def report(
        self,
        findings: Sequence[Finding],
        covered: Coverage,
        inputs: DispatchInputs,
        interrupted: KeyboardInterrupt | None,
        questions: tuple[Question, ...] = (),
    ) -> Report:
        """Return the report; `findings` are in its order, `inputs` as for `job_parameters`."""
        if self.request.command:
            findings = [finding.repeated_by(self.request.command) for finding in findings]
        return Report(
            self.request.title,
            tuple(map(in_language, findings)),
            replace(covered, compiler=self.request.compiler_name),
            bindings_of(inputs),
            self._push(inputs),
            interrupted,
            images=images_of(inputs),
            no_verdict=tuple(self.no_verdict),
            internal_errors=tuple(self.internal_errors),
            questions=questions,
        )
