"""``vkgroup check F.amber``: check the shaders of Amber scripts; a script's buffers are the host's values."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vkgroup.amber import Script, ScriptOutcome, ScriptStatus, read_script, run_script
from vkgroup.amber.running import ScriptRun
from vkgroup.amber.script import ScriptPipeline
from vkgroup.base.choices import CHECK_SIZES
from vkgroup.base.errors import VkgroupError
from vkgroup.base.phases import DeadlineReached, status
from vkgroup.check import CheckRequest, Guarantees, Report, perform
from vkgroup.check.diagnosis import OF_SIZES
from vkgroup.check.fields import fields_of, take
from vkgroup.check.outcome import ConfigurationOutcome, OutcomeKind, merged, of_error, of_late, of_report
from vkgroup.cli import deadline, output
from vkgroup.cli.amber import refuse_others, scripts_of
from vkgroup.cli.check_folder import Library, execute_library
from vkgroup.cli.check_request import ChosenDevices
from vkgroup.cli.console import Console
from vkgroup.cli.deadline import RUN_PART
from vkgroup.cli.settings import Settings
from vkgroup.device import DeviceInfo
from vkgroup.dispatch.buffer import Buffer
from vkgroup.dispatch.image import Image
from vkgroup.dispatch.reference.capabilities import DEFAULT_SIZE
from vkgroup.reference.interpreter.operations.images.memory import decode
from vkgroup.spirv import Module, StructType
from vkgroup.workers.opening import open_device, select

_OWN = (
    *("shader", "scripts", "devices", "subgroup_size", "timeout", "memory", "step_limit", "seed", "strict"),
    *("lanes", "reconvergence", "progress", "size_control", "json", "jobs", "junit", "annotations"),
    *("sarif", "bisect"),
)
"""The options of ``vkgroup check`` that scripts have."""

_KINDS = {
    ScriptStatus.PASS: OutcomeKind.CLEAN,
    ScriptStatus.FAIL: OutcomeKind.FINDINGS,
    ScriptStatus.INVALID: OutcomeKind.FINDINGS,
    ScriptStatus.ERROR: OutcomeKind.ERROR,
    ScriptStatus.NOT_SUPPORTED: OutcomeKind.NOT_COVERED,
}


def execute(arguments: argparse.Namespace) -> int:
    """Check the scripts that the command line names; return the exit code."""
    refuse_others("check", _OWN, arguments)
    settings = [
        Settings(argparse.Namespace(**{**vars(arguments), "shader": script}), name=str(script))
        for script in scripts_of(arguments)
    ]
    return execute_library(ScriptLibrary(arguments, settings, Console(file=output.people(arguments.json))))


class ScriptLibrary(Library):
    """The checks of Amber scripts, and their outcomes by index; of one alone, all lines are printed."""

    def work(self, devices: ChosenDevices) -> tuple[ScriptCheckSession, list[Any]]:
        """Return the first message to the workers, and the jobs."""
        session = ScriptCheckSession(select("reference"), devices, self.arguments.timeout, self.arguments)
        return session, [settings.options.shader for settings in self.settings]

    def print(self, settings: Settings, outcome: ConfigurationOutcome) -> None:
        """Print the line of a script; before it, of one alone, the reports."""
        for line in outcome.text if len(self.settings) == 1 else ():
            self.console.write_line(line)
        super().print(settings, outcome)


@dataclass(frozen=True)
class ScriptCheckSession:
    """The first message to a worker that checks scripts, and its session."""

    device: DeviceInfo  # of the worker; scripts open reference devices themselves
    devices: ChosenDevices  # real devices on which the shaders also run
    timeout: float  # time limit of a script, in seconds
    options: argparse.Namespace

    def open(self) -> ScriptCheckSession:
        """Return the session."""
        return self

    def close(self) -> None:
        """Do nothing: the session holds no device."""

    def perform(self, script: Path) -> ConfigurationOutcome:
        """Check the shaders of a script."""
        start = time.monotonic()
        try:
            with deadline.within(self.timeout, since_start=False):
                return merged(list(self._outcomes(script)))
        except DeadlineReached:
            return of_late(status().late, time.monotonic() - start)
        except VkgroupError as error:
            return of_error(error, time.monotonic() - start)

    def _outcomes(self, file: Path) -> Iterator[ConfigurationOutcome]:
        """Yield the outcome of each command that runs shaders, and last of the script itself."""
        script = read_script(file)
        requests, ran = requests_of(script, self.options, self.devices)
        has_expectations = any(command.word == "EXPECT" for command in script.commands)
        for request in requests:
            try:
                report = perform(request)
                if report.interrupted is not None:
                    raise report.interrupted
                if has_expectations:
                    report = _without_sizes(report)
                yield of_report(report, 0.0, strict=self.options.strict)
            except VkgroupError as error:
                outcome = of_error(error, 0.0)
                yield replace(outcome, text=(f"{request.title}: {outcome.summary}",))
        yield _of_script(script, ran, self.options)


def _without_sizes(report: Report) -> Report:
    """Return a report without what the script's own expectations judge: results that depend on the size."""
    kept = tuple(finding for finding in report.findings if not finding.message.startswith(OF_SIZES))
    return replace(report, findings=kept)


def _of_script(script: Script, ran: ScriptOutcome, options: argparse.Namespace) -> ConfigurationOutcome:
    """Return the outcome of the script itself: at the default size, and if it passes there at all others.

    `ran`: the outcome at the default size.
    """
    where, failed = "on the reference device", {}
    if ran.status is ScriptStatus.PASS:
        for size in options.subgroup_size or CHECK_SIZES:
            if size == DEFAULT_SIZE:  # it has just been run
                continue
            with open_device(f"reference:{size}") as device:
                other = run_script(device, script, options.timeout)
            if other.status in (ScriptStatus.FAIL, ScriptStatus.INVALID):
                failed[size] = other
    if failed:
        where, ran = f"at subgroup size {', '.join(map(str, failed))}", next(iter(failed.values()))
    if not ran.reason:
        return ConfigurationOutcome(OutcomeKind.CLEAN, "clean")
    kind = OutcomeKind.WEAK if ran.status is ScriptStatus.PASS else _KINDS[ran.status]
    text = f"{ran.status} {where}: {ran.reason}"
    return ConfigurationOutcome(kind, text, (text,))


def requests_of(
    script: Script, options: argparse.Namespace, devices: ChosenDevices
) -> tuple[list[CheckRequest], ScriptOutcome]:
    """Return a request for each pipeline and its workgroups or size, and the outcome of the script.

    The inputs of a request are the contents of the script's buffers before the first such run, on the
    reference device.
    """
    requests: dict[tuple[Any, ...], CheckRequest] = {}

    def observe(run: ScriptRun, pipeline: ScriptPipeline, given: dict[str, Any]) -> None:
        stage = "compute" if pipeline.kind == "compute" else "fragment"
        extent = given["groups"] if stage == "compute" else pipeline.size
        if stage in pipeline.shaders and (pipeline.name, extent) not in requests and 0 not in extent:
            request = _request(run, pipeline, stage, options, devices)
            requests[pipeline.name, extent] = (
                replace(request, groups=extent) if stage == "compute" else replace(request, size=extent)
            )

    with open_device(f"reference:{script.size or DEFAULT_SIZE}") as device:
        outcome = ScriptRun(device, script, options.timeout, observe, debug=True).run()
    return list(requests.values()), outcome


def _request(
    run: ScriptRun, pipeline: ScriptPipeline, stage: str, options: argparse.Namespace, devices: ChosenDevices
) -> CheckRequest:
    """Return the request of a pipeline's shader with the contents of the buffers now, without its extent."""
    attached = pipeline.shaders[stage]
    module, given = run.module(attached), run.options(pipeline)
    kinds = {each.place: each.type for each in module.reflection.bindings}
    bound = run.memory.bindings(pipeline.bindings, [module])
    inputs = {place: _arrays(value, kinds[place]) for place, value in bound.items()}
    # The host of a script sets no other constants.
    specialization: dict[int | str, Any] = {
        **{each.id: each.default for each in module.reflection.specialization_constants},
        **given["specialization"],
    }
    size = given["subgroup_size"]
    return CheckRequest(
        module,
        sizes=options.subgroup_size or (size and (size,)),
        inputs={place: value for place, value in inputs.items() if value is not None},
        push=_push_of(module, given.get("push")),
        specialization=specialization,
        entry_point=attached.entry_point,
        seed=options.seed,
        devices=devices.devices,
        skip_idle_devices=devices.skip_idle,
        timeout=options.timeout / RUN_PART,
        step_limit=options.step_limit,
        host=Guarantees(
            given["full_subgroups"],
            options.lanes == "linear",
            options.size_control,
            options.reconvergence,
            options.progress,
        ),
        name=f"{run.script.file}:{run.line}: {pipeline.name}",
        command=f"vkgroup check {run.script.file}",
    )


def _arrays(bound: Any, kind: Any) -> Any:
    """Return the arrays of a binding; None for a sampler. Of a buffer, only what the shader's block has."""
    if isinstance(bound, list):
        arrays = [_arrays(each, kind) for each in bound]
        return None if arrays[0] is None else arrays
    memory = bound[0] if isinstance(bound, tuple) else bound
    if not isinstance(memory, Buffer | Image):
        return None
    array = memory.read()
    if isinstance(memory, Image) and memory.format.packed and getattr(kind, "format", "") == "Unknown":
        # For an image without a format, checks take what a shader reads from packed texels.
        colors = decode(memory.format, array.reshape(1, -1))
        return np.ascontiguousarray(colors.T).reshape(*array.shape, -1)
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
