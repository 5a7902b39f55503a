"""Trials: runs of a shader with chosen values for its generated integers, with arrays as long as needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from vkgroup.base.errors import DispatchTimeout, InvalidInput, InvalidModule, OutOfMemory
from vkgroup.check.findings import RACES, RunParameters
from vkgroup.check.guesses import Numbers
from vkgroup.check.inputs import DispatchInputs, GeneratedNumber, constant_id
from vkgroup.check.runs import CheckedDispatch, CheckedRun
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.spirv import ArrayType, StructType

Elements = Mapping[tuple[int, int], int]
"""Numbers of elements of generated runtime arrays by (set, binding)."""

EventKey = tuple[object, ...]
"""Identity of an event in trials with different inputs."""

MOST_BYTES = 1 << 25
"""Maximum size in bytes to which a generated array grows (32 MiB)."""

_ROUNDS = 4
_MOST_MULTIPLE = 64
_SIZE = RunParameters(32)
TIME_LIMIT = 2.0
"""Time limit in seconds of the runs of one trial."""

_MOST_INVOCATIONS = 1024
"""Maximum number of invocations of a workgroup in a trial."""

STEP_LIMIT = 4096
"""Limit of loop iterations in a trial."""


def key_of(event: Event) -> EventKey:
    """Return the identity of an event: buffers by name, everything else by instruction."""
    if event.kind in ("bounds", *RACES) and event.memory:
        return event.kind, event.memory
    return event.kind, event.cause.kind if event.cause is not None else "", event.position


@dataclass(frozen=True)
class CheckTrial:
    """One run at subgroup size 32 with lanes in order."""

    numbers: Numbers  # values of generated integers that replace the default ones
    dispatch: CheckedDispatch  # the dispatch with these inputs
    run: CheckedRun | None  # None if it did not end
    elements: Elements  # lengths of the runtime arrays that grew
    needed: Elements  # lengths that these arrays need at least
    values: tuple[GeneratedNumber, ...]  # all generated integers with their values in this trial

    @cached_property
    def events(self) -> dict[EventKey, Event]:
        """The events of the run by identity."""
        return {key_of(event): event for event in self.run.events} if self.run is not None else {}

    @property
    def executed(self) -> Mapping[int, int]:
        """For the position of each executed instruction, the most invocations that executed it together."""
        return self.run.executed if self.run is not None else {}


@dataclass
class Trier:
    """Runs trials of one shader; `make` returns the inputs for given `elements` and `numbers`."""

    dispatch: CheckedDispatch
    make: Callable[..., DispatchInputs]
    specialize: Callable[[Mapping[int, int]], ExecutableShader]
    constants: tuple[GeneratedNumber, ...] = ()  # specialization constants that the search may set
    defaults: tuple[GeneratedNumber, ...] = ()  # those with a default in the source, which the search keeps
    #: Programs by the chosen values of specialization constants.
    _programs: dict[frozenset[tuple[int, int]], ExecutableShader] = field(default_factory=dict)

    def inputs(self, dispatch: CheckedDispatch, elements: Elements, numbers: Numbers) -> DispatchInputs:
        """Return the inputs of a dispatch for chosen lengths and values."""
        program = dispatch.program
        return self.make(program.module, program.local_size, elements=elements, numbers=numbers)

    def _program(self, numbers: Numbers) -> ExecutableShader:
        """Return the program with the chosen values of specialization constants."""
        values = {number: value for key, value in numbers.items() if (number := constant_id(key)) is not None}
        key = frozenset(values.items())
        if key not in self._programs:
            self._programs[key] = self.specialize(values) if values else self.dispatch.program
        program = self._programs[key]
        if values and not 0 < math.prod(program.local_size) <= _MOST_INVOCATIONS:
            raise InvalidInput(f"{program.local_size} is no local size.")
        return program

    def __call__(self, numbers: Numbers) -> CheckTrial:
        """Return the trial of some values, with arrays as long as its accesses need."""
        elements: dict[tuple[int, int], int] = {}
        needed: dict[tuple[int, int], int] = {}
        dispatch = replace(self.dispatch, timeout=TIME_LIMIT, step_limit=STEP_LIMIT)
        run: CheckedRun | None = None
        try:
            dispatch = replace(dispatch, program=self._program(numbers))
            for _ in range(_ROUNDS):
                run = None
                if numbers or elements:
                    dispatch = replace(dispatch, inputs=self.inputs(dispatch, elements, numbers))
                run = dispatch.run(_SIZE)
                longer = self.longer(dispatch.inputs, run)
                if not longer:
                    break
                needed.update(longer)
                elements.update((place, self._rounded(number)) for place, number in longer.items())
        except (DispatchTimeout, OutOfMemory):
            pass
        except (InvalidModule, InvalidInput):  # a value that the shader does not allow
            if not numbers:
                raise
        values = (*dispatch.inputs.numbers, *self._constants(numbers))
        dispatch = replace(dispatch, timeout=self.dispatch.timeout, step_limit=self.dispatch.step_limit)
        return CheckTrial(numbers, dispatch, run, elements, needed, values)

    def _constants(self, numbers: Numbers) -> Iterator[GeneratedNumber]:
        """Yield the specialization constants with their chosen or default values."""
        for constant in (*self.constants, *self.defaults):
            yield replace(constant, value=numbers.get(constant.key, constant.value))

    def fit(self, trial: CheckTrial, configuration: RunParameters) -> CheckTrial:
        """Return a trial with arrays that are also long enough for another configuration."""
        elements = dict(trial.elements)
        dispatch = trial.dispatch
        for _ in range(_ROUNDS):
            try:
                longer = self.longer(dispatch.inputs, dispatch.run(configuration, races=False))
            except (DispatchTimeout, OutOfMemory):
                break
            if not longer:
                break
            elements.update((place, self._rounded(number)) for place, number in longer.items())
            dispatch = replace(dispatch, inputs=self.inputs(dispatch, elements, trial.numbers))
        return replace(trial, dispatch=dispatch, elements=elements)

    def longer(self, inputs: DispatchInputs, run: CheckedRun) -> Elements:
        """Return the lengths of generated runtime arrays that a run needs and that are larger than now."""
        longer = {}
        for entry in inputs.bindings:
            block, reached = entry.binding.type, run.reached.get(entry.place, 0)
            if not reached or not entry.grows or not isinstance(block, StructType):
                continue
            last = block.runtime_array
            if last is None or not isinstance(last.type, ArrayType) or not last.type.stride:
                continue
            needed = (reached - 1 - (last.offset or 0)) // last.type.stride + 1
            if entry.elements < needed and needed * last.type.stride <= MOST_BYTES:
                longer[entry.place] = needed
        return longer

    def _rounded(self, length: int) -> int:
        """Return a length rounded up to elements for every invocation, if that is not much longer."""
        total = self.invocations
        return -(-length // total) * total if length <= _MOST_MULTIPLE * total else length

    @property
    def invocations(self) -> int:
        """Number of invocations of the dispatch."""
        return math.prod(self.dispatch.program.local_size) * math.prod(self.dispatch.groups)
