"""Repetition of a folder's case on any device, and whether it passes now.

The first of these that applies decides:

1. The expected values in the folder, lane by lane, if the device formed the same subgroups with the same
   active lanes as when the folder was made.
2. The rules of the suite, with the folder's shaders and the same seed. If the device has a different subgroup
   size than the shaders, the suite generates new shaders for it.
3. If this version of the suite lacks the case: the outputs recorded in the folder. They only show whether the
   wrong result is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vkgroup.base.errors import DeviceLost, DispatchTimeout, InternalError, InvalidInput, Unsupported
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.run import Setup
from vkgroup.device import DeviceInfo
from vkgroup.outputs.reproduction import folder as folders
from vkgroup.outputs.reproduction.cases import CASE_TIMEOUTS, SPARE_SECONDS, worker_for
from vkgroup.outputs.reproduction.jobs import Repeat, Repeated, repeat
from vkgroup.outputs.reproduction.shrunk import case_of
from vkgroup.outputs.reproduction.values import Json
from vkgroup.record.record import AGAINST_THE_DEVICE, Result, Status
from vkgroup.workers.messages import Failure
from vkgroup.workers.opening import open_device
from vkgroup.workers.worker_process import WorkerDied


@dataclass(frozen=True)
class RepeatOutcome:
    """The outcome of repeating a folder."""

    agrees: bool  # whether all defined results are now correct
    lines: tuple[str, ...]  # report for people


def repeat_case(device: DeviceInfo, folder: Path, record: Json, timeout: float) -> RepeatOutcome:
    """Repeat the case of a folder.

    Raises InvalidInput: an input or an expected value is damaged.
    """
    folders.verify(folder, record)
    setup = Setup(device, record["seed"], timeout)
    size = record["device"]["subgroup_size"]
    fits = device.subgroup_size == size
    lines = []
    found: Repeated | str = Repeated()
    if device.is_compile_only:
        lines.append(f"{device.choice} compiles the shaders, and executes nothing.")
    elif fits:
        found = _asked(setup, Repeat(folder.resolve(), steps=True))
        if isinstance(found, str):
            return RepeatOutcome(False, (found,))
        lines += _compared(found)
        if found.lanes is not None:
            return _by_lanes(found, lines)
        if record["lanes"] is not None and record["lanes"]["source"] is not None:
            lines.append(
                "Other lanes were active together than when the folder was made: its expected values are of "
                "no use here."
            )
    else:
        lines.append(
            f"The shaders were made for subgroups of {size}, and this device has {device.subgroup_size}."
        )
    case = case_of(record)
    if case is None:
        if fits and isinstance(found, Repeated):
            return _by_record(record, found, lines)
        raise Unsupported(
            f"{lines[0]} This vkgroup lacks the case {record['case']}, so it cannot make it for this device.",
            [f"a subgroup size of {size}"],
        )
    judged = _asked(setup, Repeat(folder.resolve(), steps=False, case=case))
    if isinstance(judged, str):
        return RepeatOutcome(False, (*lines, judged))
    assert judged.result is not None
    return _by_suite(judged, judged.result, lines)


def _asked(setup: Setup, request: Repeat) -> Repeated | str:
    """Return the answer to a request; an error of the device, a crash or a hang as a sentence.

    InternalError: vkgroup or the host failed.
    """
    answer: Repeated | Failure
    try:
        if setup.device.is_reference:
            answer = _in_place(setup, request)
        else:
            with worker_for(setup) as worker:
                answer = worker.ask(request, CASE_TIMEOUTS * setup.timeout + SPARE_SECONDS)
    except WorkerDied as death:
        if death.is_internal:
            raise InternalError(f"No verdict: {death}.") from death
        return f"It crashes: {death}."
    if isinstance(answer, Failure):
        if answer.is_internal:
            raise InternalError(
                f"Internal error, which is no verdict on the device. Please report it: {answer.message}"
            )
        return f"It {'hangs' if answer.kind == 'timeout' else 'loses the device'}: {answer.message}"
    if answer.unsupported:
        lacking = ", ".join(answer.unsupported)
        raise Unsupported(f"{setup.device.name} lacks what the case needs: {lacking}", answer.unsupported)
    if answer.refused:
        raise InvalidInput(answer.refused)
    return f"It fails: {answer.failed}" if answer.failed else answer


def _in_place(setup: Setup, request: Repeat) -> Repeated | Failure:
    """Answer in this process, because the reference device has no driver that could crash."""
    with open_device(setup.device) as device:
        executor = Executor(device, seed=setup.seed, timeout=setup.timeout)
        try:
            return repeat(executor, request)
        except DispatchTimeout as error:
            return Failure("timeout", str(error))
        except DeviceLost as error:
            return Failure("lost", str(error))
        finally:
            executor.close()


def _compared(found: Repeated) -> list[str]:
    """Return lines on outputs that differ from the recorded ones and from those of the reference device."""
    same = [one for one in found.outputs if not one.differing]
    lines = [f"{len(same)} of {len(found.outputs)} outputs are equal bit by bit."]
    lines += [
        f"Step {one.step}, {one.name}: {one.differing} of {one.size} elements are not what they were."
        for one in found.outputs
        if one.differing
    ]
    return lines + [
        f"Step {one.step}, {one.name}: {one.expected} elements are not what the reference device leaves."
        for one in found.outputs
        if one.expected
    ]


def _by_lanes(found: Repeated, lines: list[str]) -> RepeatOutcome:
    judged = found.lanes
    assert judged is not None
    wrong = f"{judged.wrong} of {judged.compared} lanes are wrong" if judged.wrong else ""
    lines.append(
        f"By the expected values of the folder: {wrong or f'all {judged.compared} defined lanes are right'}."
    )
    return RepeatOutcome(not judged.wrong, tuple(lines))


def _by_suite(found: Repeated, result: Result, lines: list[str]) -> RepeatOutcome:
    anew = found.compiled and not found.taken
    made = "made anew for this device" if anew else "with the shaders of the folder"
    lines.append(f"By the rules of the suite, {made}: {result.status}.")
    lines += [f"    {line}" for line in result.detail.splitlines()]
    return RepeatOutcome(result.status in (Status.PASS, Status.UNDEFINED, Status.COMPILED), tuple(lines))


def _by_record(record: Json, found: Repeated, lines: list[str]) -> RepeatOutcome:
    """Return the outcome from the files alone: agreement with the reference device, or with the record."""
    lines.append(
        f"This vkgroup lacks the case {record['case']}, which has the rules for a verdict: what follows "
        "is from the files alone."
    )
    if found.outputs and all(one.expected == 0 for one in found.outputs):
        lines.append("All that is defined is what the reference device leaves.")
        return RepeatOutcome(True, tuple(lines))
    same = bool(found.outputs) and not any(one.differing for one in found.outputs)
    failed = record["result"]["status"] in AGAINST_THE_DEVICE
    what = "wrong" if failed else "right"
    if same:
        lines.append(f"It leaves exactly what was recorded as {what}.")
    else:
        lines.append(f"It leaves something else than what was recorded as {what}, right or not.")
    return RepeatOutcome(same and not failed, tuple(lines))
