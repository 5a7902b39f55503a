"""Experiment that replaces constants by values that follow the subgroup size.

A division by 32 may mean the subgroup size, or the number 32. The experiment changes the module: each
constant in question is replaced by the value that it would have if the shader had been written for the
subgroup size of the run. If the results are then the same at every size, the constant stood for the subgroup
size.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from vkgroup.check.compare import Difference
from vkgroup.check.findings import Configuration
from vkgroup.check.flow import Flow
from vkgroup.check.runs import Dispatch, Run
from vkgroup.check.size_constants import COMPARISONS, Candidate, operand_word
from vkgroup.errors import VkgroupError
from vkgroup.reference.interpreter.execution.program import Program
from vkgroup.reference.interpreter.values.value import HARD
from vkgroup.spirv import Instruction, Module, grammar
from vkgroup.spirv.edit import replace_constants

_SECONDS = 30.0
"""Time limit in seconds for all experiments with one shader, from the first one on. An experiment that does
not run proves nothing."""


@dataclass(frozen=True, slots=True)
class Count:
    """A constant that may be the number of subgroups: 8 for 256 invocations in subgroups of 32.

    Attributes
    ----------
    position : of the instruction that uses it.
    word : its index in `Module.words`.
    grows : whether it is an array length, which must not become smaller.
    """

    position: int
    word: int
    grows: bool


@dataclass(frozen=True)
class Proof:
    """Constants that an experiment has shown to stand for a subgroup size.

    Attributes
    ----------
    candidates : constants that have to follow the size.
    counts : constants that have to change with them because they are numbers of subgroups.
    sizes : subgroup sizes at which the changed shader gives the same results as the original one at the size
        that its constants were written for.
    """

    candidates: tuple[Candidate, ...]
    counts: tuple[Count, ...]
    sizes: tuple[int, ...]


class Experiment:
    """Runs of one shader with changed constants.

    Parameters
    ----------
    dispatch : the unchanged shader.
    flow : data flow of its module.
    make : makes the program of a changed module.
    compare : compares a run with a base, allowing for rounding.
    """

    def __init__(
        self,
        dispatch: Dispatch,
        flow: Flow,
        make: Callable[[Module], Program],
        compare: Callable[[Run, Run], Difference | None],
    ) -> None:
        self._dispatch, self._flow = dispatch, flow
        self._make, self._compare = make, compare
        self._deadline = math.inf

    def prove(self, base: Run, candidates: Sequence[Candidate], sizes: Sequence[int]) -> Proof | None:
        """Return the constants that stand for the subgroup size of a run; None if this cannot be shown.

        Parameters
        ----------
        base : the linear run at the size that the constants seem to stand for.
        candidates : constants that may stand for this size.
        sizes : subgroup sizes at which the unchanged shader gives wrong results.
        """
        self._deadline = min(self._deadline, time.monotonic() + _SECONDS)
        used = [entry for entry in candidates if entry.use is not None]
        counts = self._counts(base.configuration.subgroup_size, used)
        if base.disturbed or not used or not sizes:
            return None
        alone = self._repaired_sizes(base, used, (), sizes)
        more = (
            self._repaired_sizes(base, used, counts, sizes) if counts and len(alone) < len(sizes) else alone
        )
        if len(more) <= len(alone):
            more, counts = alone, []
        return self._least(base, used, counts, more) if more else None

    def _least(self, base: Run, used: list[Candidate], counts: list[Count], sizes: tuple[int, ...]) -> Proof:
        """Return the proof without the constants that need not follow the size."""
        needed = list(used)
        for entry in used if len(used) > 1 else ():
            fewer = [other for other in needed if other is not entry]
            if fewer and self._repaired_sizes(base, fewer, counts, sizes) == sizes:
                needed = fewer
        for count in list(counts):
            rest = [other for other in counts if other is not count]
            if self._repaired_sizes(base, needed, rest, sizes) == sizes:
                counts = rest
        # Quotient, remainder and the bounds they are compared with belong together: one of them may be
        # harmless by chance with these inputs.
        origins = {entry.origin for entry in needed} - {""}
        candidates = [entry for entry in used if entry in needed or entry.origin in origins]
        return Proof(tuple(candidates), tuple(counts), sizes)

    def _repaired_sizes(
        self, base: Run, used: Sequence[Candidate], counts: Sequence[Count], sizes: Sequence[int]
    ) -> tuple[int, ...]:
        """Return the sizes at which the changed shader gives the base's results."""
        return tuple(size for size in sizes if self._is_repaired(base, used, counts, size))

    def _is_repaired(self, base: Run, used: Sequence[Candidate], counts: Sequence[Count], size: int) -> bool:
        if time.monotonic() > self._deadline:
            return False
        old = base.configuration.subgroup_size
        values = {entry.use.word: entry.use.follow.at(size) for entry in used if entry.use is not None}
        for count in counts:
            subgroups = max(1, self._invocations // size)
            values[count.word] = max(subgroups, self._invocations // old) if count.grows else subgroups
        module = self._dispatch.program.module
        changed = replace_constants(module, values)
        try:
            program = self._make(changed)
            run = self._dispatch.run(Configuration(size), program=program)
        except VkgroupError:
            return False
        known = {(event.kind, event.position) for event in base.events}
        further = len(changed.words) - len(module.words)
        for event in run.events:
            # Unwritten shared memory holds zeros on the reference device: an unused summand is harmless.
            harmless = event.cause is not None and event.cause.kind == "uninitialised"
            if not harmless and (event.kind, event.position - further) not in known:
                return False
        soft = {place: causes * (causes < HARD) for place, causes in run.causes.items()}
        return self._compare(base, dataclasses.replace(run, causes=soft)) is None

    @property
    def _invocations(self) -> int:
        return math.prod(self._dispatch.program.local_size)

    def _counts(self, size: int, used: Sequence[Candidate]) -> list[Count]:
        """Return constants equal to the number of subgroups, in comparisons and lengths of shared arrays."""
        number = self._invocations // size
        if number < 2:
            return []
        taken = {entry.use.word for entry in used if entry.use is not None}
        counts = [
            Count(entry.position, word, False)
            for entry in self._flow.body
            if entry.name in COMPARISONS
            for operand, identifier in enumerate(entry.operands)
            if self._flow.constants.get(identifier) == number
            and (word := operand_word(entry, operand)) not in taken
        ]
        return counts + [
            Count(variable.position, operand_word(array, 1), True)
            for variable, array in self._shared_arrays
            if self._flow.constants.get(array.operands[1]) == number
        ]

    @cached_property
    def _shared_arrays(self) -> list[tuple[Instruction, Instruction]]:
        """The array variables in shared memory, each with the declaration of its type."""
        by_id = {entry.result_id: entry for entry in self._dispatch.program.module.instructions}
        arrays = []
        for entry in by_id.values():
            if entry.name == "OpVariable" and _is_shared(entry):
                array = by_id[by_id[entry.result_type].operands[1]]
                if array.name == "OpTypeArray":
                    arrays.append((entry, array))
        return arrays


def _is_shared(variable: Instruction) -> bool:
    return grammar().enumerant("StorageClass", variable.operands[0]) == "Workgroup"
