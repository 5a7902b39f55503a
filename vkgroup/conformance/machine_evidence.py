"""Evidence from machine code, for a failure on an emulated GPU.

The case is executed again alone, once with a record of the wave that has the first wrong lane, and once on
the reference device. Under ``"machine"``, the failure's evidence then has::

    {"wave": "wave 0 of workgroup 2,0,0, lane 5", "instructions": 412,
     "first_difference": "0x800000002140 4a0602ff  v_add_nc_u32_e32 v3, v1, v2  (reads …; writes v3=0x3)",
     "slice": ["= 0x8000000020f8 …", "! 0x800000002140 …", "! 0x800000002188 …"]}

The slice has the instructions that the first wrongly stored word comes from; ``=`` before those whose result
the reference has in this lane, too, and ``!`` before the others. There is no first difference if the
reference has the stored word at another place, or if no stored word is wrong (another path, a missing store);
the slice then has what the word comes from, or the last instructions of the lane.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vkgroup.amd.slices import first_difference, lane_line, slice_of, wrong_store
from vkgroup.amd.tracing import WaveRecorder
from vkgroup.base.errors import DeviceLost, DispatchTimeout
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.dispatch.reference.device import ReferenceDevice
from vkgroup.dispatch.vulkan import VulkanDevice
from vkgroup.reference.interpreter.execution.models import ExecutionModel
from vkgroup.reference.interpreter.execution.recorder import MOST_STEPS, StepRecorder
from vkgroup.workers.emulated import started_emulation

MOST_FAILURES = 20
"""Failures of one process that get this evidence, which takes two more executions of the case."""

_LAST = 12  # instructions that are shown if no stored word is wrong
_given = 0


@dataclass(frozen=True)
class _Place:
    """A lane by the numbers of its workgroup, subgroup and lane."""

    workgroup: int
    subgroup: int
    lane: int


def with_machine_code(executor: Executor, case: AnyCase, verdict: Verdict) -> Verdict:
    """Return a failure's verdict with evidence from machine code, if an emulated GPU executed the case."""
    global _given
    device = executor.device
    if not isinstance(device, VulkanDevice) or not device.info.emulated or _given >= MOST_FAILURES:
        return verdict
    _given += 1
    place = _place_of(case, verdict)
    if place is None:
        return verdict
    try:
        machine = _machine(executor, case, place, _recorded(executor, case, place))
    except (DeviceLost, DispatchTimeout):
        raise
    except Exception as error:  # the failure itself stays
        words = f"\nNo evidence from machine code: {type(error).__name__}: {error}"
        return replace(verdict, detail=verdict.detail + words)
    if machine is None:
        return verdict
    difference = machine.get("first_difference")
    words = f"\nThe machine code first differs from the reference at {difference}" if difference else ""
    return replace(
        verdict, detail=verdict.detail + words, evidence={**(verdict.evidence or {}), "machine": machine}
    )


def _recorded(executor: Executor, case: AnyCase, place: _Place) -> WaveRecorder:
    """Execute a case again, and return what a wave executes."""
    recorder = WaveRecorder((place.workgroup, 0, 0), place.subgroup)
    emulation = started_emulation(executor.device.info)
    emulation.recorder = recorder
    try:
        family_of(case).verdicts_on(executor, [case])
    finally:
        emulation.recorder = None
    return recorder


def _place_of(case: AnyCase, verdict: Verdict) -> _Place | None:
    """Return the lane that a verdict calls wrong first; None if it does not say which."""
    evidence = verdict.evidence or {}
    where = str(evidence.get("where", ""))
    text = f"{where}\n{verdict.detail}"

    def number(word: str) -> int | None:
        match = re.search(rf"\b{word} (\d+)", text)
        return int(match[1]) if match else None

    lane = number("lane")
    if "subgroup" in where and evidence.get("wrong"):
        lane = int(evidence["wrong"][0])
    workgroup, subgroup = number("workgroup"), number("subgroup")
    if lane is None or subgroup is None:
        return None
    if case.name.startswith(("hlsl.", "slang.")):  # they name a subgroup by its first invocation
        subgroup //= int(evidence.get("size") or 1)
    return _Place(workgroup or 0, subgroup, lane)


def _machine(
    executor: Executor, case: AnyCase, place: _Place, recorder: WaveRecorder
) -> dict[str, Any] | None:
    record = recorder.executed
    if not record or place.lane >= len(record[-1].active):
        return None
    record = [executed for executed in record if executed.dispatch == record[-1].dispatch]
    written, known = _right_values(executor, case, place, len(record[-1].active))
    wrong = wrong_store(record, place.lane, written) if written else None
    shown: dict[str, Any] = {
        "wave": f"wave {recorder.wave} of workgroup {place.workgroup},0,0, lane {place.lane}",
        "instructions": recorder.count,
    }
    if wrong is None:
        last = [executed for executed in record if executed.active[place.lane]][-_LAST:]
        return {**shown, "slice": [f"  {lane_line(executed, place.lane)}" for executed in last]}
    entries = slice_of(record, *wrong, place.lane, known)
    if sum(not each.agrees for each in entries) > 1:
        shown["first_difference"] = lane_line(first_difference(entries), place.lane)
    else:
        # The reference has the stored word elsewhere: where it came from is all that can be said.
        entries = slice_of(record, *wrong, place.lane, ())
    other = "!" if "first_difference" in shown else " "
    lines = [f"{'=' if each.agrees else other} {lane_line(each.executed, place.lane)}" for each in entries]
    return {**shown, "slice": lines}


def _right_values(executor: Executor, case: AnyCase, place: _Place, size: int) -> tuple[set[int], set[int]]:
    """Return the words that the reference writes in a lane, and all words of values that it has there."""
    device = ReferenceDevice(size, ExecutionModel.of(()))
    recorder = StepRecorder((place.workgroup, 0, 0), (0, MOST_STEPS))
    device.observe(recorder)
    own = Executor(device, seed=executor.seed, compiler=executor.compiler)
    try:
        family_of(case).verdicts_on(own, [case])
    finally:
        own.close()
        device.close()
    who = np.flatnonzero((recorder.subgroup == place.subgroup) & (recorder.lane == place.lane))
    if not len(who):
        return set(), set()
    index = int(who[0])
    written: set[int] = set()
    known: set[int] = set()
    for step in recorder.steps:
        at = np.flatnonzero(step.lanes == index)
        if len(at):
            for leaf in step.value.data:
                known |= _words(leaf[:, min(int(at[0]), leaf.shape[1] - 1)])
        for access in step.accesses:
            chosen = access.after[access.who == index]
            if access.kind != "read":
                written |= _words(chosen.reshape(-1))
            known |= _words(chosen.reshape(-1))
    return written, known | written


def _words(values: np.ndarray[Any, Any]) -> set[int]:
    """Return numbers as words of 32 bits; shorter ones also alone, without and with their sign."""
    numbers = np.ascontiguousarray(values)
    if numbers.dtype == np.bool_:
        return {int(value) for value in numbers}
    size = numbers.dtype.itemsize
    raw = numbers.view(np.uint8).tobytes()
    found = set()
    for width in {1, 2, 4} if size == 1 else {min(size, 4)}:
        for place in range(0, len(raw) - width + 1, width):
            word = int.from_bytes(raw[place : place + width], "little")
            signed = int.from_bytes(raw[place : place + width], "little", signed=True)
            found |= {word, signed & 0xFFFFFFFF}
    return found
