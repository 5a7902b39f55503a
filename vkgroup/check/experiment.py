"""An experiment: does a shader's result stop to depend on the subgroup size if its constants follow that?

Who divides by 32 may mean the subgroup size, or 32. So the module is changed: at each use in question another
constant stands, which is to the size of the run what the old one is to the size it was written for. If the
results are then the same at every size, the constant stood for the subgroup size.
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
from vkgroup.check.sizes_in_code import COMPARISONS, Candidate, operand_word
from vkgroup.errors import VkgroupError
from vkgroup.reference.interpreter.execution.program import Program
from vkgroup.reference.interpreter.values.value import HARD
from vkgroup.spirv import Instruction, Module, grammar
from vkgroup.spirv.edit import replace_constants

_SECONDS = 30.0
"""What all experiments with one shader may take, beyond the first; what is not tried is not proved."""


@dataclass(frozen=True, slots=True)
class Count:
    """A constant that may count the subgroups of a workgroup: 8 where 256 invocations are subgroups of 32.

    Attributes
    ----------
    position : of the instruction that uses it.
    word : its index in `Module.words`.
    grows : whether it is the length of an array, which may be longer than needed.
    """

    position: int
    word: int
    grows: bool


@dataclass(frozen=True)
class Proof:
    """Constants that stand for a subgroup size, as an experiment has shown.

    Attributes
    ----------
    candidates : those that have to follow the size.
    counts : constants that have to follow as well, since they count subgroups.
    sizes : where the results are then the same as at the size that the constants were written for.
    """

    candidates: tuple[Candidate, ...]
    counts: tuple[Count, ...]
    sizes: tuple[int, ...]


class Experiment:
    """Runs one shader with other constants.

    Parameters
    ----------
    dispatch : the shader as it is.
    flow : of its module.
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
        self._until = math.inf

    def prove(self, base: Run, candidates: Sequence[Candidate], sizes: Sequence[int]) -> Proof | None:
        """Return which constants stand for the subgroup size of a run, None where that cannot be shown.

        Parameters
        ----------
        base : the linear run at the size that the constants seem to stand for.
        candidates : constants of that size.
        sizes : where the shader as it is goes wrong.
        """
        self._until = min(self._until, time.monotonic() + _SECONDS)
        used = [entry for entry in candidates if entry.use is not None]
        counts = self._counts(base.configuration.subgroup_size, used)
        if base.disturbed or not used or not sizes:
            return None
        alone = self._mended(base, used, (), sizes)
        more = self._mended(base, used, counts, sizes) if counts and len(alone) < len(sizes) else alone
        if len(more) <= len(alone):
            more, counts = alone, []
        return self._least(base, used, counts, more) if more else None

    def _least(self, base: Run, used: list[Candidate], counts: list[Count], sizes: tuple[int, ...]) -> Proof:
        """Leave out what need not follow the size."""
        needed = list(used)
        for entry in used if len(used) > 1 else ():
            fewer = [other for other in needed if other is not entry]
            if fewer and self._mended(base, fewer, counts, sizes) == sizes:
                needed = fewer
        for count in list(counts):
            rest = [other for other in counts if other is not count]
            if self._mended(base, needed, rest, sizes) == sizes:
                counts = rest
        # Quotient and remainder, and what they are compared with, are one thought: with these inputs, one of
        # them may happen to do no harm.
        origins = {entry.origin for entry in needed} - {""}
        kept = [entry for entry in used if entry in needed or entry.origin in origins]
        return Proof(tuple(kept), tuple(counts), sizes)

    def _mended(
        self, base: Run, used: Sequence[Candidate], counts: Sequence[Count], sizes: Sequence[int]
    ) -> tuple[int, ...]:
        """Return the sizes where the changed shader gives what the base has."""
        return tuple(size for size in sizes if self._is_mended(base, used, counts, size))

    def _is_mended(self, base: Run, used: Sequence[Candidate], counts: Sequence[Count], size: int) -> bool:
        if time.monotonic() > self._until:
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
            # Shared memory holds zeros here where nobody wrote: an unused place of a sum does no harm.
            harmless = event.cause is not None and event.cause.kind == "uninitialised"
            if not harmless and (event.kind, event.position - further) not in known:
                return False
        soft = {place: causes * (causes < HARD) for place, causes in run.causes.items()}
        return self._compare(base, dataclasses.replace(run, causes=soft)) is None

    @property
    def _invocations(self) -> int:
        return math.prod(self._dispatch.program.local_size)

    def _counts(self, size: int, used: Sequence[Candidate]) -> list[Count]:
        """Find constants that are the number of subgroups, in comparisons and as lengths of shared arrays."""
        number = self._invocations // size
        if number < 2:
            return []
        taken = {entry.use.word for entry in used if entry.use is not None}
        found = [
            Count(entry.position, word, False)
            for entry in self._flow.body
            if entry.name in COMPARISONS
            for operand, identifier in enumerate(entry.operands)
            if self._flow.constants.get(identifier) == number
            and (word := operand_word(entry, operand)) not in taken
        ]
        return found + [
            Count(variable.position, operand_word(array, 1), True)
            for variable, array in self._shared_arrays
            if self._flow.constants.get(array.operands[1]) == number
        ]

    @cached_property
    def _shared_arrays(self) -> list[tuple[Instruction, Instruction]]:
        """The variables in shared memory that are arrays, each with the declaration of its type."""
        by_id = {entry.result_id: entry for entry in self._dispatch.program.module.instructions}
        found = []
        for entry in by_id.values():
            if entry.name == "OpVariable" and _is_shared(entry):
                array = by_id[by_id[entry.result_type].operands[1]]
                if array.name == "OpTypeArray":
                    found.append((entry, array))
        return found


def _is_shared(variable: Instruction) -> bool:
    return grammar().enumerant("StorageClass", variable.operands[0]) == "Workgroup"
