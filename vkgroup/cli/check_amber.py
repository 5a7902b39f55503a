"""``vkgroup check F.amber``: check the shaders of Amber scripts; a script's buffers are the host's values."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.amber import ScriptOutcome, ScriptStatus, read_script, run_script
from vkgroup.amber.compiling import compile_attached
from vkgroup.amber.running import ScriptRun
from vkgroup.amber.script import AttachedShader, Script, ScriptPipeline
from vkgroup.base.choices import CHECK_SIZES
from vkgroup.base.errors import InvalidInput, VkgroupError
from vkgroup.base.phases import DeadlineReached, status
from vkgroup.check import CheckRequest, Guarantees, Report, perform
from vkgroup.check.diagnosis import OF_SIZES
from vkgroup.check.fields import fields_of, take
from vkgroup.check.outcome import ConfigurationOutcome, OutcomeKind, of_error, of_late, of_report
from vkgroup.cli import deadline, output
from vkgroup.cli.amber import scripts_of
from vkgroup.cli.check_folder import Library, execute_library
from vkgroup.cli.check_request import ChosenDevices
from vkgroup.cli.console import Console
from vkgroup.cli.deadline import RUN_PART
from vkgroup.cli.options import OPTIONS
from vkgroup.cli.options.table import changed
from vkgroup.cli.settings import Settings
from vkgroup.device import DeviceInfo
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.image import Image
from vkgroup.reference.interpreter.operations.images.memory import decode
from vkgroup.spirv import Module, StructType
from vkgroup.workers.opening import open_device, select

_OWN = (
    *("shader", "scripts", "devices", "subgroup_size", "timeout", "memory", "step_limit", "seed", "strict"),
    *("lanes", "reconvergence", "progress", "size_control", "json", "jobs", "junit", "annotations"),
)
"""The options of ``vkgroup check`` that scripts have."""

_SEVERITY = (
    *(OutcomeKind.FINDINGS, OutcomeKind.ERROR, OutcomeKind.NO_COMPILE, OutcomeKind.NO_VERDICT),
    *(OutcomeKind.QUESTIONS, OutcomeKind.WEAK, OutcomeKind.NOT_COVERED, OutcomeKind.IN_PART),
    OutcomeKind.CLEAN,
)
"""Kinds of outcomes, the worst first."""


def execute(arguments: argparse.Namespace) -> int:
    """Check the scripts that the command line names; return the exit code."""
    given = changed(OPTIONS["check"].options, arguments)
    if foreign := [option.name for option in given if option.key not in _OWN]:
        raise InvalidInput(f"An Amber script is complete: omit {', '.join(foreign)}.")
    settings = [
        Settings(argparse.Namespace(**{**vars(arguments), "shader": script}), name=str(script))
        for script in scripts_of(arguments)
    ]
    return execute_library(ScriptLibrary(arguments, settings, Console(file=output.people(arguments.json))))


class ScriptLibrary(Library):
    """The checks of Amber scripts, and their outcomes by index; of one alone, all lines are printed."""

    def _work(self, devices: ChosenDevices) -> tuple[ScriptCheckSession, list[Any]]:
        """Return the first message to the workers, and the jobs."""
        options = argparse.Namespace(**{name: vars(self.arguments)[name] for name in _OWN if name != "json"})
        session = ScriptCheckSession(select("reference"), devices, options.timeout, options)
        return session, [settings.options.shader for settings in self.settings]

    def _print(self, settings: Settings, outcome: ConfigurationOutcome) -> None:
        """Print the line of a script; before it, of one alone, the reports."""
        if len(self.settings) == 1:
            for line in outcome.text:
                self.console.write_line(line)
        super()._print(settings, outcome)


@dataclass(frozen=True)
class ScriptCheckSession:
    """The first message to a worker that checks scripts, and its session."""

    device: DeviceInfo  # the reference device, which executes the script
    devices: ChosenDevices  # real devices on which the shaders also run
    timeout: float  # time limit of a script, in seconds
    options: argparse.Namespace

    def open(self) -> ScriptCheckSession:
        """Return the session."""
        return self

    def close(self) -> None:
        """Do nothing: each script has its own device."""

    def perform(self, script: Path) -> ConfigurationOutcome:
        """Check the shaders of a script."""
        start = time.monotonic()
        try:
            with deadline.within(self.timeout, since_start=False):
                outcomes = list(self._outcomes(script))
        except DeadlineReached:
            return of_late(status().late, time.monotonic() - start)
        except VkgroupError as error:
            return of_error(error, time.monotonic() - start)
        worst = min(outcomes, key=lambda outcome: _SEVERITY.index(outcome.kind))
        lines = tuple(line for outcome in outcomes for line in outcome.text)
        return replace(worst, text=lines, seconds=time.monotonic() - start)

    def _outcomes(self, script: Path) -> Iterator[ConfigurationOutcome]:
        """Yield the outcome of each command that runs shaders, and last of the script itself."""
        read = read_script(script)
        requests, ran = requests_of(read, self.options, self.devices)
        ran = _at_all_sizes(read, self.options, ran)
        judges = any(command.word == "EXPECT" for command in read.commands)
        for request in requests:
            start = time.monotonic()
            try:
                report = _performed(request)
                if judges:
                    report = _judged(report)
                yield of_report(report, time.monotonic() - start, strict=self.options.strict)
            except VkgroupError as error:
                outcome = of_error(error, time.monotonic() - start)
                yield replace(outcome, text=(f"{request.title}: {outcome.summary}",))
        yield _of_script(ran)


def _performed(request: CheckRequest) -> Report:
    report = perform(request)
    if report.interrupted is not None:
        raise report.interrupted
    return report


def _judged(report: Report) -> Report:
    """Return a report without what the script's own expectations judge: results that depend on the size."""
    kept = tuple(finding for finding in report.findings if not finding.message.startswith(OF_SIZES))
    return replace(report, findings=kept)


def _at_all_sizes(script: Script, options: argparse.Namespace, ran: ScriptOutcome) -> ScriptOutcome:
    """Return the outcome of a script at the first subgroup size at which it does not pass; else `ran`.

    `ran`: the outcome at the default size. The reason names all sizes that do not pass.
    """
    if ran.status is not ScriptStatus.PASS:
        return ran
    failed: dict[int, ScriptOutcome] = {}
    for size in options.subgroup_size or CHECK_SIZES:
        with open_device(f"reference:{size}") as device:
            other = run_script(device, deepcopy(script), options.timeout)
        if other.status in (ScriptStatus.FAIL, ScriptStatus.INVALID):
            failed[size] = other
    if not failed:
        return ran
    first = next(iter(failed.values()))
    return replace(first, reason=f"at subgroup size {', '.join(map(str, failed))}: {first.reason}")


def _of_script(ran: ScriptOutcome) -> ConfigurationOutcome:
    """Return the outcome of the script itself on the reference device."""
    kinds = {
        ScriptStatus.PASS: OutcomeKind.CLEAN,
        ScriptStatus.FAIL: OutcomeKind.FINDINGS,
        ScriptStatus.INVALID: OutcomeKind.FINDINGS,
        ScriptStatus.ERROR: OutcomeKind.ERROR,
        ScriptStatus.NOT_SUPPORTED: OutcomeKind.NOT_COVERED,
    }
    kind = kinds[ran.status]
    if ran.status is ScriptStatus.PASS and ran.reason:
        kind = OutcomeKind.WEAK
    where = "" if ran.reason.startswith("at subgroup size") else "on the reference device: "
    text = f"{ran.status} {where}{ran.reason}" if ran.reason else "clean"
    return ConfigurationOutcome(kind, text, (text,) if ran.reason else ())


def requests_of(
    script: Script, options: argparse.Namespace, devices: ChosenDevices
) -> tuple[list[CheckRequest], ScriptOutcome]:
    """Return a request for the first run of each pipeline, and the outcome of the script.

    The inputs of a request are the contents of the script's buffers at that run, on the reference device.
    """
    with open_device("reference") as device:
        run = _Recorded(device, script, options.timeout)
        try:
            ended = run.all()
        finally:
            run.close()
    host = Guarantees(
        linear_lanes=options.lanes == "linear",
        size_control=options.size_control,
        reconvergence=options.reconvergence,
        progress=options.progress,
    )
    requests = [
        CheckRequest(
            **parts,
            devices=devices.devices,
            skip_idle_devices=devices.skip_idle,
            host=replace(host, full_subgroups=full),
            sizes=options.subgroup_size or sizes,
            seed=options.seed,
            step_limit=options.step_limit,
            timeout=options.timeout / RUN_PART,
        )
        for parts, full, sizes in run.requests
    ]
    return requests, ScriptOutcome(*ended)


class _Recorded(ScriptRun):
    """A script that records a request before the first run of each pipeline."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.requests: list[tuple[dict[str, Any], bool, tuple[int, ...] | None]] = []
        self._seen: set[Any] = set()

    def module(self, attached: AttachedShader) -> Module:
        """Return the module of a shader, with line numbers."""
        if attached not in self._modules:
            self._modules[attached] = compile_attached(self.script, attached, debug=True)
        return self._modules[attached]

    def dispatch(self, pipeline: ScriptPipeline, given: dict[str, Any]) -> None:
        """Record and run a dispatch."""
        if "compute" in pipeline.shaders:
            self._record(pipeline, "compute", groups=given["groups"])
        super().dispatch(pipeline, given)

    def draw(self, pipeline: ScriptPipeline, given: dict[str, Any]) -> None:
        """Record and run a draw."""
        if "fragment" in pipeline.shaders:
            self._record(pipeline, "fragment", size=pipeline.size)
        super().draw(pipeline, given)

    def _record(self, pipeline: ScriptPipeline, stage: str, **extent: tuple[int, ...]) -> None:
        key = pipeline.name, *extent.values()
        if key in self._seen or 0 in key[1]:
            return
        self._seen.add(key)
        attached = pipeline.shaders[stage]
        module, options, control = self.module(attached), self.options(pipeline), self.control(pipeline)
        # The host of a script sets no other constants.
        defaults = {each.id: each.default for each in module.reflection.specialization_constants}
        blocks = {each.place: each.type for each in module.reflection.bindings}
        bound = self.bindings(pipeline.bindings, [module])
        inputs = {place: _arrays(value, blocks[place]) for place, value in bound.items()}
        parts = {
            "shader": module,
            "inputs": {place: value for place, value in inputs.items() if value is not None},
            "push": _push_of(module, options.get("push")),
            "specialization": {**defaults, **options["specialization"]},
            "entry_point": attached.entry_point,
            "name": f"{self.script.file}:{self.line}: {pipeline.name}",
            "command": f"vkgroup check {self.script.file}",
            **extent,
        }
        sizes = (control["subgroup_size"],) if control["subgroup_size"] else None
        self.requests.append((parts, control["full_subgroups"], sizes))


def _arrays(bound: Any, kind: Any) -> Any:
    """Return the arrays of a binding; None for a sampler. Of a buffer, only what the shader's block has."""
    if isinstance(bound, list):
        arrays = [_arrays(each, kind) for each in bound]
        return None if arrays[0] is None else arrays
    memory = bound[0] if isinstance(bound, tuple) else bound
    if not isinstance(memory, Buffer | Image):
        return None
    array = memory.read()
    if isinstance(memory, Image) and memory.format.packed:
        # Checks take texels of numbers: what a shader reads from the packed ones.
        return np.ascontiguousarray(np.moveaxis(decode(memory.format, array.reshape(1, -1)), 0, -1)).reshape(
            *array.shape, -1
        )
    if not isinstance(kind, StructType):
        return array
    # Bytes without a type, since a script gives none.
    return (array if kind.runtime_array is not None else array[: kind.fixed_size]).view("V1")


def _push_of(module: Module, data: bytes | None) -> dict[str, Any]:
    """Return the push constants by name."""
    block = module.reflection.push_constants
    if block is None or data is None:
        return {}
    held = np.zeros(max(block.size, len(data)), np.uint8)
    held[: len(data)] = np.frombuffer(data, np.uint8)
    return {field.path: take(held, field) for field in fields_of(block.type, block.size)}
