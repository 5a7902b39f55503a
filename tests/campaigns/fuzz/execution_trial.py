"""One mutated module on the reference device and on drivers, and its outcome on each."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from execution_corpus import SIZE, Base

from vkgroup.base.errors import (
    DeviceLost,
    DispatchTimeout,
    DriverCrash,
    InternalError,
    InvalidDispatch,
    Unsupported,
    VkgroupError,
    describe,
)
from vkgroup.check.comparison import compare
from vkgroup.check.device_jobs import JobAnswer, bindings_of, outputs_of_answer
from vkgroup.check.fields import fields_of
from vkgroup.check.findings import RunParameters
from vkgroup.check.inputs import DispatchInputs
from vkgroup.check.rounding import tolerance_of
from vkgroup.check.runs import CheckedDispatch, CheckedRun
from vkgroup.compiler.optimizer import inline
from vkgroup.device.limits import local_size_problems
from vkgroup.dispatch import Device, RunResult
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.record.causes.findings import findings_for
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.values.value import HARD
from vkgroup.spirv import Module, StructType

REFERENCE = "reference"
"""Name of the reference device in records."""

SECONDS = 2.0
"""Time limit of a run."""

PATIENCE = 5
"""Factor on the time limit of a second attempt, after one that did not end and should have."""

STEPS = 500
"""Iterations of a loop after which the reference device reports a hang."""

# Outcomes on the reference device and on drivers.
EXECUTED, AGREED, DIFFERED = "executed", "agreed", "differed"
CRASH, TIME_LIMIT, UNDEFINED, ERROR = "crash", "time limit", "undefined", "error of vkgroup"
NOT_REPEATED = "crash that a new process does not repeat"
"""Modules with undefined behaviour that the process executed before may have damaged its memory."""


def is_failure(device: str, outcome: str) -> bool:
    """Return whether an outcome on a device asks for an investigation.

    A known error, and a failure of a module of which the reference device does not say that it is defined,
    have more words. The reference device may be slow: a module may need millions of steps.
    """
    failures = (DIFFERED, CRASH, TIME_LIMIT, ERROR)
    return outcome in failures and (device, outcome) != (REFERENCE, TIME_LIMIT)


NOT_RUN = "not run, because the reference device reports a hang"

_BUSY = "vkgroup itself did not end"
"""Part of the message if vkgroup's own code exceeded a time limit; on a busy machine it is tried again."""

_DISTURBING = ("hang", "barrier", "race", "bounds")
_ONLY_DATA = "holds an undefined value at the end"
"""End of the message of an undefined value that decides no address and no branch."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a module on a device.

    `kind`: one of the outcomes above; ``"undefined: "`` with the rules that the module breaks (``"race"``,
    ``"barrier"``, ``"bounds"``, ``"hang"``; ``"value"`` for an address or a branch that depends on an
    undefined value, ``"order"`` for an address that depends on the order of atomics); ``"refused: "`` with
    the name of the error; or a failure with ``": "`` and the known error of the driver that its shader shows
    (`vkgroup/findings`).

    `output`: the name of the first output that differs.
    """

    kind: str
    detail: str = ""
    output: str = ""
    seconds: float = 0.0  # of the run; those over the time limit count the same for a second attempt

    @property
    def signal(self) -> str:
        """The signal of a crash, and the first words that the driver printed."""
        found = re.search(r"signal \d+(; it printed: .{0,60})?", self.detail)
        return found[0] if self.kind == CRASH and found else ""


class Trial:
    """Trials of modules on open devices, with one run on the reference device for each subgroup size."""

    def __init__(self, devices: Mapping[str, Device], seconds: float = SECONDS) -> None:
        self.devices, self.seconds = devices, seconds
        self.sizes = {name: device.capabilities.subgroup.size for name, device in devices.items()}
        self._unmutated: dict[tuple[str, str], Outcome] = {}  # by base and device

    def run(self, base: Base, module: Module, *, hangs: bool = True) -> dict[str, Outcome]:
        """Return the outcome of a module on every device.

        `hangs`: whether drivers execute a module of which the reference device reports that it does not end.
        """
        try:
            dispatch = _dispatch(base, module, self.seconds)
        except Exception as error:
            return dict.fromkeys((REFERENCE, *self.devices), _refusal(error))
        outcomes: dict[str, Outcome] = {}
        runs: dict[int, CheckedRun | Outcome] = {}
        for name in self.devices:
            size = self._size(name, module)
            if size not in runs:
                runs[size] = _reference(dispatch, size)
            expected = runs[size]
            if REFERENCE not in outcomes or outcomes[REFERENCE].kind == EXECUTED:
                outcomes[REFERENCE] = expected if isinstance(expected, Outcome) else _of_reference(expected)
            if not hangs and _hangs(expected):
                outcomes[name] = Outcome(NOT_RUN)
            else:
                outcomes[name] = self._explained(self._tried(name, base, dispatch, expected), base, name)
        return outcomes

    def _size(self, name: str, module: Module) -> int:
        """Return the subgroup size of a module on a device."""
        uses_subgroups = any("Group" in capability for capability in module.reflection.capabilities)
        return self.sizes[name] if uses_subgroups else SIZE

    def _tried(
        self, name: str, base: Base, dispatch: CheckedDispatch, expected: CheckedRun | Outcome
    ) -> Outcome:
        """Return the outcome on a driver; a failure of a defined module is tried a second time."""
        device = self.devices[name]
        outcome = self._on_driver(device, base, dispatch, expected, self.seconds)
        broken = expected.kind if isinstance(expected, Outcome) else _of_reference(expected).kind
        if outcome.kind == TIME_LIMIT and broken == EXECUTED:
            # A busy machine may be slow.
            outcome = self._on_driver(device, base, dispatch, expected, PATIENCE * self.seconds)
        if outcome.kind == CRASH and broken == EXECUTED:
            again = self._on_driver(device, base, dispatch, expected, self.seconds)
            outcome = again if again.kind == CRASH else replace(outcome, kind=NOT_REPEATED)
        if outcome.kind in (CRASH, TIME_LIMIT) and broken != EXECUTED:
            outcome = replace(outcome, kind=f"{outcome.kind} ({broken})")
        return outcome

    def _explained(self, outcome: Outcome, base: Base, name: str) -> Outcome:
        """Return a failure with the name of a known error of the driver, if it is that of the base.

        The base is the shader or a case of the error, and without a mutation it fails in the same way: a
        crash with the same signal, a run that does not end, or a difference in the same output.
        """
        if outcome.kind not in (CRASH, DIFFERED, TIME_LIMIT):
            return outcome
        info = self.devices[name].info
        for finding in findings_for(info.driver_name, info.driver_info, info.name):
            shader = f"shaders/findings/{finding.shader}" if finding.shader else ""
            if base.name == shader or any(fnmatchcase(base.name, glob) for glob in finding.filter):
                known = self._of_base(base, name)
                if (known.kind, known.output, known.signal) == (outcome.kind, outcome.output, outcome.signal):
                    return replace(outcome, kind=f"{outcome.kind}: {finding.id}")
        return outcome

    def _of_base(self, base: Base, name: str) -> Outcome:
        """Return the outcome of a base without a mutation on a driver."""
        if (base.name, name) not in self._unmutated:
            dispatch = _dispatch(base, base.module, self.seconds)
            expected = _reference(dispatch, self._size(name, base.module))
            self._unmutated[base.name, name] = self._tried(name, base, dispatch, expected)
        return self._unmutated[base.name, name]

    def _on_driver(
        self,
        device: Device,
        base: Base,
        dispatch: CheckedDispatch,
        expected: CheckedRun | Outcome,
        limit: float,
    ) -> Outcome:
        inputs = dispatch.inputs
        start = time.monotonic()
        try:
            device.memory()  # starts a worker if the last one ended, which is not part of the run
            start = time.monotonic()
            results = device.run(
                dispatch.program.module,
                dispatch.groups,
                bindings_of(inputs),
                push=inputs.push or None,
                specialization=base.specialization or None,
                timeout=limit,
            )
        except DriverCrash as error:
            return Outcome(CRASH, str(error), seconds=time.monotonic() - start)
        except (DispatchTimeout, DeviceLost) as error:
            spent = time.monotonic() - start - limit + self.seconds
            return Outcome(TIME_LIMIT, str(error), seconds=spent)
        except Exception as error:
            if isinstance(error, InternalError) and _BUSY in str(error) and limit == self.seconds:
                return Outcome(TIME_LIMIT, str(error), seconds=time.monotonic() - start)
            return replace(_refusal(error), seconds=time.monotonic() - start)
        seconds = time.monotonic() - start
        return replace(self._judged(base, dispatch, expected, results), seconds=seconds)

    @staticmethod
    def _judged(
        base: Base, dispatch: CheckedDispatch, expected: CheckedRun | Outcome, results: RunResult
    ) -> Outcome:
        if isinstance(expected, Outcome):
            return Outcome(EXECUTED, f"on the reference device: {expected.kind}")
        rules = _rules(expected)
        if rules:
            return Outcome(f"{UNDEFINED}: {rules}")
        inputs = dispatch.inputs
        written = {e.place: results[e.place] for e in inputs.bindings if e.place in _writable(inputs)}
        answer = JobAnswer(written)
        got = CheckedRun(replace(expected.configuration, device="driver"), outputs_of_answer(inputs, answer))
        try:
            return _compared(base, dispatch, expected, got)
        except Exception as error:
            return _refusal(error)


def _dispatch(base: Base, module: Module, seconds: float) -> CheckedDispatch:
    """Return the dispatch of a module with the contents of its base's inputs."""
    over = local_size_problems(module.reflection.entry_point(None), base.specialization, capabilities_of())
    if over:
        raise Unsupported(f"The reference device lacks {', '.join(over)}.", over)
    program = ExecutableShader(module, None, base.specialization)
    known = {entry.place: entry for entry in base.inputs.bindings}
    entries = []
    for place, binding in {(b.set, b.binding): b for b in program.module.reflection.bindings}.items():
        entry = known[place]
        fields = entry.fields
        if isinstance(binding.type, StructType) and entry.arrays:
            if binding.type.fixed_size > entry.arrays[0].nbytes:
                raise InvalidDispatch(f"The array of {binding.name} is smaller than its block.")
            fields = tuple(fields_of(binding.type, entry.arrays[0].nbytes, binding.name))
        entries.append(replace(entry, binding=binding, fields=fields))
    inputs = DispatchInputs(tuple(entries), base.inputs.push, (), ())
    return CheckedDispatch(program, base.groups, inputs, 0, STEPS, seconds)


def _reference(dispatch: CheckedDispatch, size: int) -> CheckedRun | Outcome:
    start = time.monotonic()
    try:
        return dispatch.run(RunParameters(size))
    except DispatchTimeout as error:
        return Outcome(TIME_LIMIT, str(error), seconds=time.monotonic() - start)
    except Exception as error:
        return _refusal(error)


def _of_reference(run: CheckedRun) -> Outcome:
    rules = _rules(run)
    return Outcome(f"{UNDEFINED}: {rules}" if rules else EXECUTED)


def _rules(run: CheckedRun) -> str:
    """Return the kinds of the events that make the outputs meaningless."""
    rules = {event.kind for event in run.events} & set(_DISTURBING)
    if any(event.kind == "undefined" and not event.message.endswith(_ONLY_DATA) for event in run.events):
        rules.add("value")
    return ", ".join(sorted(rules))


def _hangs(expected: CheckedRun | Outcome) -> bool:
    if isinstance(expected, Outcome):
        return expected.kind == TIME_LIMIT
    return any(event.kind == "hang" for event in expected.events)


def _writable(inputs: DispatchInputs) -> frozenset[tuple[int, int]]:
    return frozenset(entry.place for entry in inputs.bindings if entry.binding.writable)


def _compared(base: Base, dispatch: CheckedDispatch, expected: CheckedRun, got: CheckedRun) -> Outcome:
    """Compare a driver's outputs with the defined ones of the reference device; floats within rounding."""
    difference = compare(dispatch.inputs, expected, got)
    program = dispatch.program.module
    if difference is not None and any(entry.name == "OpTypeFloat" for entry in program.instructions):
        difference = compare(dispatch.inputs, expected, got, tolerance_of(dispatch, expected))
    if difference is None:
        return Outcome(AGREED)
    if _uses_subgroups_in_loops(program):
        # Which invocations are together there is defined by maximal reconvergence only (see its extension,
        # SPV_KHR_maximal_reconvergence): a driver may move the block that leaves a loop behind the loop.
        return Outcome(f"{UNDEFINED}: reconvergence")
    causes = expected.causes.get(difference.place)
    if _mixes_atomics(program) or (causes is not None and ((causes > 0) & (causes < HARD)).any()):
        # Where an address depends on the order of atomics, so does what is written and what is not.
        return Outcome(f"{UNDEFINED}: order")
    return Outcome(
        DIFFERED,
        f"{difference.label}: expected {difference.first}, got {difference.second};"
        f" {difference.count} numbers differ",
        difference.label.partition("[")[0],
    )


_MAXIMALLY_RECONVERGES = 6023
"""The execution mode MaximallyReconvergesKHR (SPV_KHR_maximal_reconvergence)."""

_SUMS = ("OpAtomicIAdd", "OpAtomicISub", "OpAtomicIIncrement", "OpAtomicIDecrement")


def _uses_subgroups_in_loops(module: Module) -> bool:
    """Return whether a module without maximal reconvergence has a subgroup operation inside of a loop."""
    modes = [entry.operands[1] for entry in module.instructions if entry.name == "OpExecutionMode"]
    if _MAXIMALLY_RECONVERGES in modes:
        return False
    ends: set[int] = set()
    # A function may be called from a loop.
    for entry in inline(module).instructions:
        if entry.name == "OpLoopMerge":
            ends.add(entry.operands[0])
        elif entry.name == "OpLabel":
            ends.discard(entry.result_id)
        elif ends and entry.name.startswith("OpGroupNonUniform"):
            return True
    return False


def _mixes_atomics(module: Module) -> bool:
    """Return whether a module has atomics of several operations, such as a minimum and a maximum.

    Their order matters if they change one number, and the reference device does not mark that.
    """
    names = {entry.name for entry in module.instructions if entry.name.startswith("OpAtomic")}
    return len({"sum" if name in _SUMS else name for name in names}) > 1


def _refusal(error: Exception) -> Outcome:
    """Return the outcome of an exception: errors that vkgroup does not raise on purpose are its own."""
    if isinstance(error, VkgroupError) and not isinstance(error, InternalError):
        return Outcome(f"refused: {type(error).__name__}", str(error))
    return Outcome(ERROR, f"{describe(error)}\n{''.join(traceback.format_exception(error))}")
