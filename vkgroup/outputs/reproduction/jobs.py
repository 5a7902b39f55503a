"""Jobs of the worker that records or repeats a case: requests, answers and execution."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vkgroup.base.errors import (
    DeviceLost,
    DispatchTimeout,
    DriverError,
    InternalError,
    InvalidDispatch,
    InvalidInput,
    InvalidModule,
    NoDevice,
    Unsupported,
    describe,
    is_device_error,
)
from vkgroup.base.files import Unwritable
from vkgroup.conformance.case_results import diagnosed_result, result_of_error
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.parts import wrong_subgroups
from vkgroup.conformance.plan import Batch
from vkgroup.conformance.run import compile_batch
from vkgroup.conformance.stages.base import BatchStage
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.device import Capabilities, DeviceInfo
from vkgroup.outputs.reproduction import folder as folders
from vkgroup.outputs.reproduction import lanes, steps
from vkgroup.outputs.reproduction.folder import DAMAGE, damaged
from vkgroup.outputs.reproduction.lanes import Judged
from vkgroup.outputs.reproduction.recorder import DeviceRecorder
from vkgroup.outputs.reproduction.shaders import (
    RecordingExecutor,
    RepeatingExecutor,
    StepShaders,
    read_module,
    read_source,
)
from vkgroup.outputs.reproduction.steps import RepeatedOutput
from vkgroup.outputs.reproduction.values import Encoder, Files, Json, load
from vkgroup.probe import Probe, probe
from vkgroup.record.record import NoVerdict, Result, Status


@dataclass(frozen=True)
class RecordJob:
    """Request to execute and record a case, with additional data in the record."""

    case: AnyCase
    folder: Path
    more: dict[str, Json] = field(default_factory=dict)
    stage: BatchStage | None = None  # the part of the case's stage that is executed; None for the whole one


@dataclass(frozen=True)
class CaseTrial:
    """Request to execute a case, or a part of its stage, without recording it."""

    case: AnyCase
    stage: BatchStage | None = None


@dataclass(frozen=True)
class Tried:
    """The answer to a `CaseTrial`."""

    result: Result  # with the diagnosis of a failure
    #: The wrong subgroups of a compute shader, as `vkgroup.conformance.parts.parts_of` takes them.
    wrong: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Smallest:
    """The smallest case that fails like a cause; see `vkgroup.outputs.reproduction.smallest`."""

    case: AnyCase
    stage: BatchStage | None = None  # the part of the case's stage that fails; None for the whole one
    fails: bool = True  # whether the first case failed again when it ran alone
    done: bool = True  # whether nothing simpler is left to try


@dataclass(frozen=True)
class ProbeDevice:
    """Request to run the probe's experiments and write them into a folder."""

    folder: Path


@dataclass(frozen=True)
class Repeat:
    """Request to repeat the steps of a folder."""

    folder: Path
    steps: bool  # whether to repeat the steps from their files
    case: AnyCase | None = None  # case to execute by the suite with the folder's shaders; None for no case


@dataclass(frozen=True)
class Compared:
    """One output of a step, compared with the folder's."""

    step: int
    name: str
    #: `size`, `differing`: number of elements, and of elements with bits that differ from the recorded ones.
    size: int
    differing: int
    #: The number of defined elements that differ from those of the reference device; None if the folder
    #: lacks them.
    expected: int | None = None


@dataclass(frozen=True)
class Repeated:
    """The answer to a `Repeat`."""

    outputs: tuple[Compared, ...] = ()  # each output, compared
    #: The verdict by the expected values of the folder; None if they do not apply, or there are none.
    lanes: Judged | None = None
    result: Result | None = None  # the suite's verdict; None if it was not requested
    #: `taken`, `compiled`: numbers of shaders that the suite took from the folder, and that it compiled.
    taken: int = 0
    compiled: int = 0
    unsupported: tuple[str, ...] = ()  # requirements that the device lacks
    refused: str = ""  # the error in the folder's files; empty if none
    failed: str = ""  # the error that the driver reported; empty if none


def case_record(case: AnyCase, capabilities: Capabilities, info: DeviceInfo, seed: int) -> dict[str, Json]:
    """Return the record of a case before its first step."""
    return {
        "kind": "case",
        "case": case.name,
        "family": family_of(case).name.partition(".")[0],
        "sentence": case.sentence,
        "seed": seed,
        "device": folders.device_record(capabilities, info),
        "shaders": [],
        "steps": [],
        "lanes": None,
    }


def answer(executor: Executor, request: Any) -> Any:
    """Return the answer to a `RecordJob`, a `CaseTrial`, a `ProbeDevice` or a `Repeat`.

    The answer to a `RecordJob` whose folder cannot be written is the error.
    """
    if isinstance(request, RecordJob):
        try:
            return [record(executor, request)]
        except Unwritable as error:
            return [error]
    if isinstance(request, CaseTrial):
        return [_tried(executor, request)]
    if isinstance(request, ProbeDevice):
        if not executor.device.info.is_compile_only:
            folders.write_device(request.folder, probe(executor.device).to_json())
        return []
    return repeat(executor, request)


def record(executor: Executor, request: RecordJob) -> Result | NoVerdict:
    """Execute a case alone, and record all its work on the device."""
    folder, case = request.folder, request.case
    files, shaders = Files(folder), StepShaders(folder)
    folders.write_device(folder, Probe(executor.capabilities, {}).to_json())
    data = case_record(case, executor.capabilities, executor.device.info, executor.seed)
    data |= {"shaders": shaders.listed} | request.more

    def note(done: list[Json]) -> None:
        folders.write(folder, data | {"steps": done})

    recorder = DeviceRecorder(executor.device, Encoder(files, shaders.file), note)
    recording = RecordingExecutor(executor, recorder, shaders, lambda: note([]))
    try:
        verdict = _judged(recording, case, request.stage)
    finally:
        recording.close()
        data["steps"], data["left_out"] = recorder.steps, recorder.left_out
        folders.write(folder, data)
    if not isinstance(verdict, Verdict):
        return verdict
    if verdict.lanes is not None:
        data["lanes"] = lanes.write(files, verdict.lanes, recorder.steps)
        data["specification"] = lanes.specification(verdict.lanes)
    elif verdict.masks is not None:
        data["masks"] = lanes.write_masks(verdict.masks, recorder.steps, folder)
    result = diagnosed_result(case, verdict, 0.0)
    folders.write(folder, data | {"result": result.to_json()})
    return result


def _tried(executor: Executor, request: CaseTrial) -> Tried:
    """Execute a case or a part of it."""
    case = request.case
    verdict = _judged(executor, case, request.stage)
    if not isinstance(verdict, Verdict):
        return Tried(Result(case.name, Status.NOT_SUPPORTED, detail=verdict.detail))
    wrong: tuple[tuple[int, int], ...] = ()
    if verdict.status is Status.FAIL and verdict.lanes is not None and isinstance(case, Case):
        wrong = tuple(wrong_subgroups(verdict.lanes)) if case.stage == "compute" else ()
    return Tried(diagnosed_result(case, verdict, 0.0), wrong)


def _judged(executor: Executor, case: AnyCase, stage: BatchStage | None = None) -> Verdict | NoVerdict:
    """Execute one case and return its result; an error of the driver is a failure, as in a run."""
    family = family_of(case)
    if executor.device.info.is_compile_only:
        (compiled,) = compile_batch(executor, Batch(family.name, [case]))
        if isinstance(compiled, NoVerdict):
            return compiled
        return Verdict(compiled.status, 0, 0, compiled.detail)
    try:
        if stage is not None:
            return family.verdicts_on(executor, [case], stage)[0]
        return family.verdicts_on(executor, [case])[0]
    except (DeviceLost, DispatchTimeout, NoDevice, Unwritable):
        raise
    except Exception as error:
        found = result_of_error(case.name, error)
        return found if isinstance(found, NoVerdict) else Verdict(found.status, 0, 0, found.detail)


def repeat(executor: Executor, request: Repeat) -> Repeated:
    """Repeat the requested parts of a folder: its steps, then the suite's verdict."""
    folder, data = request.folder, folders.read(request.folder)
    outputs: list[Compared] = []
    expected = {(one["step"], one["name"]): one for one in (data.get("reference") or {}).get("outputs", ())}
    judged = None
    try:
        executes = not executor.device.info.is_compile_only
        for number, step in enumerate(data["steps"] if request.steps and executes else ()):
            found = steps.repeat(executor.device, folder, step, timeout=executor.timeout)
            outputs += [_compared(folder, number, one, expected.get((number, one.name))) for one in found]
            source = (data["lanes"] or {}).get("source")
            if source is not None and source["step"] == number:
                one = found[source["output"]]
                judged = lanes.compare_lanes(folder, data["lanes"], one.before, one.now)
        case = request.case
        if case is None:
            return Repeated(tuple(outputs), judged)
        modules = {
            read_source(folder, entry["source"]): read_module(folder, entry["spirv"])
            for entry in data["shaders"]
            if "source" in entry
        }
        repeating = RepeatingExecutor(executor.device, modules, seed=executor.seed, timeout=executor.timeout)
        if lacking := family_of(case).missing(case, executor.capabilities):
            return Repeated(tuple(outputs), judged, unsupported=tuple(lacking))
        verdict = _judged(repeating, case)
        repeating.close()
        if isinstance(verdict, NoVerdict):
            raise InternalError(verdict.detail)
        result = verdict.result(case.name, 0.0)
        return Repeated(tuple(outputs), judged, result, repeating.taken, repeating.compiled)
    except Unsupported as error:
        return Repeated(tuple(outputs), unsupported=error.missing or (str(error),))
    except (InvalidInput, InvalidModule, InvalidDispatch) as error:
        return Repeated(tuple(outputs), refused=str(error))
    except (DeviceLost, DispatchTimeout, InternalError):
        raise
    except DAMAGE as error:
        return Repeated(tuple(outputs), refused=damaged(folder, error))
    except DriverError as error:
        if not is_device_error(error):
            raise
        return Repeated(tuple(outputs), failed=describe(error))


def _compared(folder: Path, step: int, found: RepeatedOutput, expected: Json | None) -> Compared:
    """Compare an output with the recorded one and with that of the reference device."""
    wrong = None
    if expected is not None:
        value, defined = load(folder, expected["file"]), load(folder, expected["defined"])
        wrong = int(((value != found.now) & defined).sum()) if value.shape == found.now.shape else value.size
    return Compared(step, found.name, found.now.size, found.differing, wrong)
