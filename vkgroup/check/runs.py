"""Runs of the checked shader on the reference device: dispatch, execution, outputs and their comparison."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.check.fields import Field, take
from vkgroup.check.findings import FindingKind, RunParameters
from vkgroup.check.influence import GeneratedInfluence, influence_of
from vkgroup.check.inputs import DispatchInputs, Input, memory_of
from vkgroup.reference.interpreter import Event, EventCause, ExecutionOutcome, Invocation, execute
from vkgroup.reference.interpreter.execution.execute import arrange
from vkgroup.reference.interpreter.execution.models import ExecutionModel
from vkgroup.reference.interpreter.execution.paths import Parting
from vkgroup.reference.interpreter.execution.program import ExecutableShader
from vkgroup.reference.interpreter.execution.work import WorkBudget
from vkgroup.reference.interpreter.operations.images import ImageMemory
from vkgroup.reference.interpreter.operations.memory import Memory
from vkgroup.reference.interpreter.operations.steps import Instrument
from vkgroup.reference.interpreter.values.arrangement import Arrangement
from vkgroup.reference.interpreter.values.value import BEFORE_HARD, HARD
from vkgroup.spirv import Module

Place = tuple[int, int, int]
"""Set, binding and array index of a descriptor."""

Flags = npt.NDArray[np.bool_]

_DISTURBING = ("hang", "barrier", "race", "bounds")
"""Events that make the outputs meaningless for a comparison."""


@dataclass
class CheckedRun:
    """The result of one run."""

    configuration: RunParameters  # parameters of the run
    # bytes of every writable buffer and image
    outputs: dict[Place, npt.NDArray[np.uint8]] = field(default_factory=dict)
    # for each byte of each output, 0 if it is defined, else the cause as in `Memory.causes`
    causes: dict[Place, npt.NDArray[np.uint16]] = field(default_factory=dict)
    # for each byte of each output, whether an invocation wrote it; without outputs of which that is unknown
    written: dict[Place, Flags] = field(default_factory=dict)
    events: tuple[Event, ...] = ()  # errors during the run
    # for the position of each executed instruction, the most invocations that executed it together
    executed: Mapping[int, int] = field(default_factory=dict)
    # end of the farthest access beyond each buffer, in bytes, by (set, binding)
    reached: dict[tuple[int, int], int] = field(default_factory=dict)
    # layers, width, height and depth that the accesses outside of each image need, by (set, binding)
    needed: dict[tuple[int, int], npt.NDArray[np.int64]] = field(default_factory=dict)
    work: int = 0  # the work of the run, as in `WorkBudget`
    ended: bool = True  # whether it ended before the limit of its work
    # by the positions of group operations: how invocations parted that were not together there
    partings: Mapping[int, Parting] = field(default_factory=dict)

    @property
    def serious_events(self) -> list[Event]:
        """The events except racing writes of the same value, after which all outputs have their meaning."""
        return [event for event in self.events if event.kind != FindingKind.SAME_VALUE]

    @property
    def disturbed(self) -> bool:
        """Whether an event made the outputs meaningless."""
        return any(event.kind in _DISTURBING for event in self.events)


@dataclass(frozen=True)
class CheckedDispatch:
    """A dispatch without its configuration."""

    program: ExecutableShader  # the shader, ready to execute
    groups: tuple[int, int, int]  # workgroup counts
    inputs: DispatchInputs  # bound resources and push constants
    seed: int  # seed of the shuffled assignments
    step_limit: int  # limit of loop iterations; a longer loop is reported as a hang
    timeout: float | None  # time limit of a run in seconds; None for none
    work_limit: float = math.inf  # work after which a run stops before its end
    chose_groups: bool = False  # whether `groups` was chosen, because none was given

    def remade(self, instrument: Instrument | None = None, module: Module | None = None) -> ExecutableShader:
        """Return the program with an instrument, or that of a changed module."""
        module = self.program.module if module is None else module
        # Instruments see all instructions; what is supported is known.
        return ExecutableShader(
            module, self.program.entry.name, None, instrument, whole=instrument is not None
        )

    @cached_property
    def has_floats(self) -> bool:
        """Whether the shader has floats, whose results may be rounded."""
        return any(entry.name == "OpTypeFloat" for entry in self.program.module.instructions)

    @cached_property
    def generated(self) -> GeneratedInfluence:
        """The influence of its generated inputs."""
        return GeneratedInfluence(self.program.module, self.inputs)

    def run(
        self,
        configuration: RunParameters,
        *,
        races: bool = True,
        program: ExecutableShader | None = None,
        with_outputs: bool = True,
    ) -> CheckedRun:
        """Run once on the reference device.

        `with_outputs`: whether the result has `CheckedRun.outputs` and `causes`, which may be large.

        Raises DispatchTimeout: the run took longer than `timeout`.
        """
        resources, work = self.inputs.resources(), WorkBudget(self.work_limit)
        outcome = self.execute(configuration, resources, races=races, program=program, work=work)
        outputs = outputs_of(self.inputs, resources)
        unwritten = [memory for memory in outputs.values() if BEFORE_HARD in memory.stored_causes]
        events = [*outcome.events, *(self._unwritten(configuration, memory) for memory in unwritten)]
        causes = {
            place: np.zeros(memory.nbytes, np.uint16)
            if memory.causes is None
            else np.repeat(memory.causes, memory.granule)[: memory.nbytes]
            for place, memory in (outputs.items() if with_outputs else ())
        }
        written = {
            place: np.repeat(memory.written, memory.granule)[: memory.nbytes]
            for place, memory in (outputs.items() if with_outputs else ())
            if memory.written is not None
        }
        return CheckedRun(
            configuration,
            {place: memory.data for place, memory in outputs.items()} if with_outputs else {},
            causes,
            written,
            tuple(events),
            outcome.executed,
            *_outside(self.inputs, resources),
            work.spent,
            not work.is_spent,
            outcome.partings,
        )

    def _unwritten(self, configuration: RunParameters, memory: Memory) -> Event:
        """Return the event for an output that depends on memory that was not written before the dispatch."""
        position, number = memory.stored_causes[BEFORE_HARD]
        fresh = [entry for entry in self.inputs.bindings if not entry.defined]
        names = " or ".join(entry.name for entry in fresh)
        places = {entry.place for entry in fresh}
        reads = influence_of(self.program.module).reads_of(
            {variable for variable, place in self.program.bindings.items() if place in places}
        )
        detail = f"{names} is read before it is written"
        cause = EventCause("uninitialised", detail, reads[0] if len(reads) == 1 else -1)
        first = int(np.argmax(memory.causes == BEFORE_HARD)) if memory.causes is not None else 0
        return Event(
            "undefined",
            f"{memory.label} holds an undefined value at the end",
            position,
            self.invocation(configuration, number),
            memory=memory.name,
            offset=first * memory.granule,
            cause=cause,
        )

    def arrangement(self, configuration: RunParameters) -> Arrangement:
        """Return the assignment of invocations to subgroups and lanes."""
        return arrange(
            self.program,
            self.groups,
            configuration.subgroup_size,
            self.seed if configuration.shuffled else None,
            model=ExecutionModel.of(configuration.model),
        )

    def invocation(self, configuration: RunParameters, number: int) -> Invocation:
        """Return an invocation by its number in a run."""
        return self.arrangement(configuration).invocation(number)

    def example_invocations(self, configuration: RunParameters, most: int) -> list[Invocation]:
        """Return up to `most` invocations of the first workgroup."""
        number = min(most, self.arrangement(configuration).per_workgroup)
        return [self.invocation(configuration, index) for index in range(number)]

    def known_writer(
        self, configuration: RunParameters, place: Place, offset: int
    ) -> tuple[Invocation, int] | None:
        """Return invocation and position that wrote a byte, if no store writes this output; else None."""
        return None

    def execute(
        self,
        configuration: RunParameters,
        resources: dict[tuple[int, int], list[Any]],
        *,
        races: bool = False,
        watch: set[tuple[tuple[int, int, int], tuple[int, int, int]]] | None = None,
        program: ExecutableShader | None = None,
        work: WorkBudget | None = None,
    ) -> ExecutionOutcome:
        """Execute on the given resources and return the interpreter's outcome."""
        return execute(
            program or self.program,
            self.groups,
            resources,
            self.inputs.push,
            subgroup_size=configuration.subgroup_size,
            shuffle=self.seed if configuration.shuffled else None,
            races=races,
            step_limit=self.step_limit,
            watch=watch,
            deadline=self.timeout,
            work=work,
            model=ExecutionModel.of(configuration.model),
        )


def _outside(
    inputs: DispatchInputs, resources: dict[tuple[int, int], list[Any]]
) -> tuple[dict[tuple[int, int], int], dict[tuple[int, int], npt.NDArray[np.int64]]]:
    """Return `reached` and `needed` of `CheckedRun`, only of buffers and images with such accesses."""
    reached, needed = {}, {}
    for entry in inputs.bindings:
        memories = [memory for each in resources[entry.place] if (memory := memory_of(each)) is not None]
        if end := max((memory.reached for memory in memories), default=0):
            reached[entry.place] = end
        extents = [each.needed for each in memories if isinstance(each, ImageMemory) and each.needed.any()]
        if extents:
            needed[entry.place] = np.max(extents, axis=0)
    return reached, needed


def outputs_of(inputs: DispatchInputs, resources: dict[tuple[int, int], list[Any]]) -> dict[Place, Memory]:
    """Return the memories that a shader may write, by descriptor."""
    outputs = {}
    for entry in inputs.bindings:
        if not entry.binding.writable:
            continue
        for number, resource in enumerate(resources[entry.place]):
            memory = memory_of(resource)
            if memory is not None:
                outputs[(*entry.place, number)] = memory
    return outputs


@dataclass
class Allowed:
    """What is allowed instead of the numbers of a field."""

    difference: npt.NDArray[np.float64]  # largest difference of each number; infinity allows any value
    alternatives: tuple[npt.NDArray[Any], ...] = ()  # further legal values of each number


Tolerance = dict[tuple[Place, str], Allowed]
"""What is allowed for each number, by descriptor and field name."""


def widen(tolerance: Tolerance, key: tuple[Place, str], difference: npt.NDArray[np.float64]) -> None:
    """Allow at least these differences of the numbers of a field."""
    known = tolerance.setdefault(key, Allowed(difference))
    known.difference = np.maximum(known.difference, difference)


@dataclass(frozen=True)
class Difference:
    """The first number that differs between two runs."""

    place: Place  # set, binding and descriptor index of the output
    member: int  # index of the block member that contains the number
    label: str  # the number's name, for example ``"sums[3]"``
    offset: int  # the number's first byte in the output
    # `first`, `second`: the number's value in each run
    first: str
    second: str
    count: int  # count of differing numbers in all outputs


def causes_in(runs: list[CheckedRun], place: Place, field: Field) -> npt.NDArray[np.uint16]:
    """Return the largest cause of each number of a field in any of the runs."""
    result = np.zeros(field.offsets.shape, np.uint16)
    for run in runs if field.offsets.size else ():
        causes = run.causes.get(place)
        if causes is not None and causes.any():
            for byte in range(field.dtype.itemsize):
                np.maximum(result, causes[field.offsets + byte], out=result)
    return result


def _written(runs: list[CheckedRun], place: Place, field: Field) -> Flags:
    """Return which numbers of a field any of the runs may have written."""
    known = [run.written[place] for run in runs if place in run.written]
    if not known:
        return np.ones(field.offsets.shape, np.bool_)
    written = np.logical_or.reduce(known)
    return np.asarray(written[field.offsets] | written[field.offsets + field.dtype.itemsize - 1])


def different(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> Flags:
    """Return which numbers differ. Zeros of either sign are equal, and so are NaNs."""
    if first.dtype.kind != "f":
        return np.asarray(first != second)
    return np.asarray((first != second) & ~(np.isnan(first) & np.isnan(second)))


def _beyond(base: npt.NDArray[Any], other: npt.NDArray[Any], allowed: Allowed | None) -> Flags:
    """Return which numbers differ from those of the base run by more than what is allowed."""
    wrong = different(base, other)
    if allowed is None or not wrong.any():
        return wrong
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(base.astype(np.float64) - other.astype(np.float64))
    wrong &= ~((gap <= allowed.difference) | np.isinf(allowed.difference))
    for alternative in allowed.alternatives:
        wrong &= different(alternative, other)
    return wrong


def places_of(inputs: DispatchInputs, run: CheckedRun) -> list[tuple[Place, Input]]:
    """Return the outputs of a run with their inputs, in the order of the bindings."""
    return [
        ((*entry.place, number), entry)
        for entry in inputs.bindings
        for number in range(len(entry.arrays))
        if (*entry.place, number) in run.outputs
    ]


def numbers_of(
    entry: Input, data: npt.NDArray[np.uint8], number: int = 0
) -> list[tuple[Field, npt.NDArray[Any]]]:
    """Return the numbers in the bytes of a buffer or an image, by field; `number` is the descriptor's."""
    if entry.format is None:
        return [(field, take(data, field)) for field in entry.fields_at(number)]
    shape = entry.arrays[number].shape
    offsets = np.arange(math.prod(shape), dtype=np.int64).reshape(shape) * entry.format.dtype.itemsize
    field = Field(entry.label(number) + "[{}]" * len(shape), entry.format.dtype, offsets, 0)
    words = take(data, field)
    if not entry.format.packed:
        return [(field, words)]
    # Channels that share a word are separate numbers, compared as bits, which have the same order.
    channels, lowest = [], 0
    for bits in entry.format.packed:
        channels.append(words >> lowest & (1 << bits) - 1)
        lowest += bits
    places = np.repeat(offsets[..., None], len(channels), axis=-1)
    return [(Field(field.name + "[{}]", field.dtype, places, 0), np.stack(channels, axis=-1))]


def pairs_of(
    inputs: DispatchInputs, first: CheckedRun, second: CheckedRun
) -> Iterator[tuple[Place, Input, Field, npt.NDArray[Any], npt.NDArray[Any]]]:
    """Yield the numbers of the outputs that two runs have, by descriptor and field."""
    for place, entry in places_of(inputs, first):
        if place in second.outputs:
            numbers = (numbers_of(entry, run.outputs[place], place[2]) for run in (first, second))
            for (part, first_values), (_, second_values) in zip(*numbers, strict=True):
                yield place, entry, part, first_values, second_values


def compare(
    inputs: DispatchInputs, first: CheckedRun, second: CheckedRun, tolerance: Tolerance | None = None
) -> Difference | None:
    """Return the first difference between two runs; None if their defined outputs are equal."""
    example: tuple[Place, Field, int, Any, Any] | None = None
    count = 0
    for place, _, part, first_values, second_values in pairs_of(inputs, first, second):
        wrong = _beyond(first_values, second_values, (tolerance or {}).get((place, part.name)))
        wrong &= causes_in([first, second], place, part) == 0
        differing = int(np.count_nonzero(wrong))
        count += differing
        if differing and example is None:
            flat_index = int(np.argmax(wrong.reshape(-1)))
            values = (values.reshape(-1)[flat_index] for values in (first_values, second_values))
            example = (place, part, flat_index, *values)
    if example is None:
        return None
    place, part, flat_index, first_value, second_value = example
    offset = int(part.offsets.reshape(-1)[flat_index])
    return Difference(
        place, part.member, part.label(flat_index), offset, str(first_value), str(second_value), count
    )


def count_numbers(
    inputs: DispatchInputs, base: CheckedRun, others: list[CheckedRun], tolerance: Tolerance
) -> dict[str, int]:
    """Count the outputs' numbers by the way in which all runs together were compared, as in `Coverage`.

    A number that no run writes is not counted as compared.
    """
    counts = dict.fromkeys(("compared", "undefined", "ordered", "rounded"), 0)
    for place, entry in places_of(inputs, base):
        rows = [numbers_of(entry, run.outputs[place], place[2]) for run in others if place in run.outputs]
        for number, (part, values) in enumerate(numbers_of(entry, base.outputs[place], place[2])):
            causes = causes_in([base, *others], place, part)
            hard = causes >= HARD
            counts["undefined"] += int(np.count_nonzero(hard))
            counts["ordered"] += int(np.count_nonzero((causes > 0) & ~hard))
            counts["compared"] += int(
                np.count_nonzero((causes == 0) & _written([base, *others], place, part))
            )
            allowed = tolerance.get((place, part.name))
            if allowed is not None:
                varied, wrong = np.zeros(values.shape, np.bool_), np.zeros(values.shape, np.bool_)
                for row in rows:
                    varied |= different(values, row[number][1])
                    wrong |= _beyond(values, row[number][1], allowed)
                counts["rounded"] += int(np.count_nonzero(varied & ~wrong & (causes == 0)))
    return counts
