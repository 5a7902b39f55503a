"""Trials: runs of a shader with chosen values for its generated integers, with arrays as long as needed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from vkgroup.base.errors import InvalidInput, InvalidModule, OutOfMemory, Unsupported
from vkgroup.check.findings import RACES, RunParameters
from vkgroup.check.generation import KnownInputs, make_inputs
from vkgroup.check.images import Extents, extents_for
from vkgroup.check.independence import is_independent
from vkgroup.check.inputs import DispatchInputs, GeneratedNumber, NumberKey, Numbers, constant_id
from vkgroup.check.request import CheckRequest
from vkgroup.check.runs import CheckedDispatch, CheckedRun
from vkgroup.reference.events import Event
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.spirv import ArrayType, StructType

Elements = Mapping[tuple[int, int], int]
"""Numbers of elements of generated runtime arrays by (set, binding)."""

Lengths = dict[tuple[int, int], int]

EventKey = tuple[object, ...]
"""Identity of an event in trials with different inputs."""

MOST_BYTES = 1 << 25
"""Maximum size in bytes to which a generated array grows (32 MiB)."""

_ROUNDS = 4
_MOST_MULTIPLE = 64
WORK_LIMIT = 1 << 25
"""Limit of the work of a run in a trial, as in `WorkBudget`: about half a second."""

_RUN = 1 << 19
"""Work of a run apart from the execution: to generate its inputs, and to record accesses to them."""

_MOST_INVOCATIONS = 1024
"""Maximum number of invocations of a workgroup in a trial."""

STEP_LIMIT = 4096
"""Limit of loop iterations in a trial."""


def usual_run(dispatch: CheckedDispatch) -> RunParameters:
    """Return the parameters of trials: subgroups of 32 where the shader allows them, lanes in order."""
    return RunParameters(dispatch.program.usual_size)


def key_of(event: Event) -> EventKey:
    """Return the identity of an event: buffers by name, everything else by instruction."""
    if event.kind in ("bounds", *RACES) and event.memory:
        return event.kind, event.memory, event.exceeds_memory
    return event.kind, event.reason, event.position


@dataclass(frozen=True)
class CheckTrial:
    """One run as `usual_run`."""

    numbers: Numbers  # values of generated integers that replace the default ones
    dispatch: CheckedDispatch  # the dispatch with these inputs
    run: CheckedRun | None  # without outputs, up to the limit of its work; None without memory for it
    elements: Elements  # lengths of the runtime arrays that grew
    needed: Elements  # lengths that these arrays need at least
    values: tuple[GeneratedNumber, ...]  # all generated integers with their values in this trial

    @cached_property
    def events(self) -> dict[EventKey, Event]:
        """The events of the run by identity."""
        return {key_of(event): event for event in self.run.events} if self.run is not None else {}

    @property
    def ended(self) -> bool:
        """Whether the run ended before the limit of its work."""
        return self.run is not None and self.run.ended

    @property
    def executed(self) -> Mapping[int, int]:
        """For the position of each executed instruction, the most invocations that executed it together."""
        return self.run.executed if self.run is not None else {}


@dataclass
class Trier:
    """Runs trials of one shader.

    `numbers`, `elements`: values and lengths that replace the default ones in all trials.
    """

    request: CheckRequest
    dispatch: CheckedDispatch
    constants: tuple[GeneratedNumber, ...]  # specialization constants that the search may set
    defaults: tuple[GeneratedNumber, ...]  # those with a default in the source, which the search keeps
    limits: frozenset[NumberKey] = frozenset()  # integers with which positions of invocations are compared
    numbers: Numbers = field(default_factory=dict)
    elements: Elements = field(default_factory=dict)
    work: int = 0  # the work of all runs so far
    #: Programs by the chosen values of specialization constants.
    _programs: dict[frozenset[tuple[int, int]], ExecutableShader] = field(default_factory=dict)
    _known: KnownInputs = field(default_factory=dict)

    def inputs(
        self,
        dispatch: CheckedDispatch,
        elements: Elements,
        numbers: Numbers,
        extents: Extents | None = None,
    ) -> DispatchInputs:
        """Return the inputs of a dispatch for chosen lengths and values; images keep their extents."""
        return make_inputs(
            self.request,
            dispatch.groups,
            dispatch.program.module,
            dispatch.program.local_size,
            elements={**self.elements, **elements},
            numbers={**self.numbers, **numbers},
            extents=dispatch.inputs.extents if extents is None else extents,
            known=self._known,
        )

    def _program(self, numbers: Numbers) -> ExecutableShader:
        """Return the program with the chosen values of specialization constants."""
        values = {number: value for key, value in numbers.items() if (number := constant_id(key)) is not None}
        key = frozenset(values.items())
        if key not in self._programs:
            own = self.dispatch.program
            made = ExecutableShader(own.module, own.entry.name, values, whole=False) if values else own
            self._programs[key] = made
            self.work += 4 * _RUN
        program = self._programs[key]
        if values and not 0 < math.prod(program.local_size) <= _MOST_INVOCATIONS:
            raise InvalidInput(f"{program.local_size} is no local size.")
        return program

    def __call__(self, numbers: Numbers) -> CheckTrial:
        """Return the trial of some values, with arrays as long as its accesses need."""
        elements, needed = Lengths(), Lengths()
        dispatch, run, extents = self.dispatch, None, None
        try:
            dispatch = replace(dispatch, program=self._program({**self.numbers, **numbers}))
            for _ in range(_ROUNDS):
                run = None
                if numbers or elements or extents or self.numbers or self.elements:
                    dispatch = replace(dispatch, inputs=self.inputs(dispatch, elements, numbers, extents))
                limited = replace(dispatch, timeout=None, step_limit=STEP_LIMIT, work_limit=WORK_LIMIT)
                run = limited.run(usual_run(dispatch), with_outputs=False)
                self.work += run.work + _RUN
                if (extents := self._grown(dispatch, run, elements, needed)) is None:
                    break
        except OutOfMemory:
            pass
        except (InvalidModule, InvalidInput, Unsupported):  # a value that the shader does not allow
            if not numbers and not self.numbers:
                raise
        chosen, values = {**self.numbers, **numbers}, list(dispatch.inputs.numbers)
        for constant in (*self.constants, *self.defaults):
            if constant.key in chosen:
                constant = replace(constant, value=chosen[constant.key], is_default=False)
            values.append(constant)
        return CheckTrial(numbers, dispatch, run, elements, needed, tuple(values))

    def fit(self, trial: CheckTrial, configuration: RunParameters) -> CheckTrial:
        """Return a trial with arrays that are also long enough for another configuration."""
        return self.run_fitted(trial, configuration, races=False)[0]

    def fit_sizes(self, trial: CheckTrial, sizes: Sequence[int]) -> CheckTrial:
        """Return a trial with arrays that are long enough for all of some subgroup sizes."""
        if not sizes or is_independent(trial.dispatch.program):
            return trial
        for size in {min(sizes), max(sizes)} - {32}:
            with suppress(Unsupported):  # a size without quads
                trial = self.fit(trial, RunParameters(size))
        return trial

    def run_fitted(
        self, trial: CheckTrial, configuration: RunParameters, *, races: bool = True
    ) -> tuple[CheckTrial, CheckedRun | None]:
        """Return a trial as `fit` does, and its run; None without memory for it."""
        elements = dict(trial.elements)
        dispatch, run = trial.dispatch, None
        for _ in range(_ROUNDS):
            limited = replace(dispatch, timeout=None, work_limit=WORK_LIMIT)
            try:
                run = limited.run(configuration, races=races, with_outputs=False)
            except OutOfMemory:
                run = None
                break
            self.work += run.work + _RUN
            if (extents := self._grown(dispatch, run, elements, {})) is None:
                break
            dispatch = replace(dispatch, inputs=self.inputs(dispatch, elements, trial.numbers, extents))
        return replace(trial, dispatch=dispatch, elements=elements), run

    def _grown(
        self, dispatch: CheckedDispatch, run: CheckedRun, elements: Lengths, needed: Lengths
    ) -> Extents | None:
        """Return the extents of images that a run needs; None if no array and no image is too small.

        The lengths that generated runtime arrays need are added to `needed`, and those that they get to
        `elements`.
        """
        before, longer = dispatch.inputs.extents, Lengths()
        for entry in dispatch.inputs.bindings:
            block, reached = entry.binding.type, run.reached.get(entry.place, 0)
            if not reached or not entry.grows or not isinstance(block, StructType):
                continue
            last = block.runtime_array
            if last is None or not isinstance(last.type, ArrayType) or not last.type.stride:
                continue
            least = (reached - 1 - (last.offset or 0)) // last.type.stride + 1
            if entry.elements < least and least * last.type.stride <= MOST_BYTES:
                longer[entry.place] = least
        needed.update(longer)
        # Elements for every invocation, if that is not much longer.
        total = self.invocations
        for place, least in longer.items():
            elements[place] = -(-least // total) * total if least <= _MOST_MULTIPLE * total else least
        extents = extents_for(self.dispatch.inputs.bindings, run.needed, before, dispatch.groups)
        return extents if longer or extents != before else None

    @property
    def invocations(self) -> int:
        """Number of invocations of the dispatch."""
        return math.prod(self.dispatch.program.local_size) * math.prod(self.dispatch.groups)
