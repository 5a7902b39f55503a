"""Find constants that assume a subgroup size and change results, by experiment or from the runs."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from vkgroup.base.errors import VkgroupError
from vkgroup.check.comparison import Difference
from vkgroup.check.findings import RunParameters
from vkgroup.check.flow import DataFlow, operand_word
from vkgroup.check.runs import CheckedDispatch, CheckedRun
from vkgroup.check.size_constants import COMPARISONS, SizeCandidate
from vkgroup.reference.interpreter.values.value import HARD
from vkgroup.spirv.editor import replace_constants

_WORK = 1 << 30
"""Limit of the work of all experiments with one shader, as in `WorkBudget`: about 20 seconds. An experiment
that does not run proves nothing."""


@dataclass(frozen=True, slots=True)
class Count:
    """A constant that may be the number of subgroups: 8 for 256 invocations in subgroups of 32."""

    position: int  # of the instruction that uses it
    word: int  # its index in `Module.words`
    grows: bool  # whether it is an array length, which must not become smaller


@dataclass(frozen=True)
class Proof:
    """Constants that an experiment has shown to stand for a subgroup size."""

    candidates: tuple[SizeCandidate, ...]  # constants that must follow the size
    counts: tuple[Count, ...]  # constants that must change with them because they are numbers of subgroups
    # subgroup sizes at which the changed shader gives the same results as the original one at the size that
    # its constants were written for
    sizes: tuple[int, ...]


@dataclass
class ConstantExperiment:
    """Runs of one shader with changed constants."""

    dispatch: CheckedDispatch  # the unchanged shader
    flow: DataFlow  # data flow of its module
    compare: Callable[
        [CheckedRun, CheckedRun], Difference | None
    ]  # compares a run with a base, allowing for rounding
    work: int = 0  # the work of all experiments so far

    def prove(
        self, base: CheckedRun, candidates: Sequence[SizeCandidate], sizes: Sequence[int]
    ) -> Proof | None:
        """Return the constants that stand for the subgroup size of `base`; None if this cannot be shown.

        `sizes` are those at which the unchanged shader gives wrong results.
        """
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

    def _least(
        self, base: CheckedRun, used: list[SizeCandidate], counts: list[Count], sizes: tuple[int, ...]
    ) -> Proof:
        """Return the proof without constants that do not have to follow the size.

        All lengths and bounds stay: one of them may be harmless with these inputs by chance.
        """
        needed = list(used)
        for entry in used if len(used) > 1 else ():
            fewer = [other for other in needed if other is not entry]
            if fewer and self._repairs_all(base, fewer, counts, sizes):
                needed = fewer
        # Quotient, remainder and the bounds they are compared with belong together: one of them may be
        # harmless with these inputs by chance.
        origins = {entry.origin for entry in needed} - {""}
        candidates = [entry for entry in used if entry in needed or entry.origin in origins]
        return Proof(tuple(candidates), tuple(counts), sizes)

    def _repairs_all(
        self, base: CheckedRun, used: Sequence[SizeCandidate], counts: Sequence[Count], sizes: Sequence[int]
    ) -> bool:
        """Whether the changed shader gives the base's results at all sizes; the first other one ends it."""
        return all(self._is_repaired(base, used, counts, size) for size in sizes)

    def _repaired_sizes(
        self, base: CheckedRun, used: Sequence[SizeCandidate], counts: Sequence[Count], sizes: Sequence[int]
    ) -> tuple[int, ...]:
        """Return the sizes at which the changed shader gives the base's results."""
        return tuple(size for size in sizes if self._is_repaired(base, used, counts, size))

    def _is_repaired(
        self, base: CheckedRun, used: Sequence[SizeCandidate], counts: Sequence[Count], size: int
    ) -> bool:
        if self.work > _WORK:
            return False
        old = base.configuration.subgroup_size
        invocations = math.prod(self.dispatch.program.local_size)
        values = {entry.use.word: entry.use.follow.at(size) for entry in used if entry.use is not None}
        for count in counts:
            subgroups = max(1, invocations // size)
            values[count.word] = max(subgroups, invocations // old) if count.grows else subgroups
        module = self.dispatch.program.module
        changed = replace_constants(module, values)
        try:
            program = self.dispatch.remade(changed)
            run = self.dispatch.run(RunParameters(size), program=program)
            self.work += run.work
        except VkgroupError:
            return False
        known = _events(base)
        further = len(changed.words) - len(module.words)
        for event in run.serious_events:
            # Unwritten shared memory holds zeros on the reference device, so more summands are harmless.
            if event.reason != "uninitialised" and (event.kind, event.position - further) not in known:
                return False
        soft = {place: causes * (causes < HARD) for place, causes in run.causes.items()}
        return self.compare(base, dataclasses.replace(run, causes=soft)) is None

    def _counts(self, size: int, used: Sequence[SizeCandidate]) -> list[Count]:
        """Return constants equal to the number of subgroups, in comparisons and lengths of shared arrays."""
        number = math.prod(self.dispatch.program.local_size) // size
        if number < 2:
            return []
        taken = {entry.use.word for entry in used if entry.use is not None}
        counts = [
            Count(entry.position, word, False)
            for entry in self.flow.body
            if entry.name in COMPARISONS
            for operand, identifier in enumerate(entry.operands)
            if self.flow.constants.get(identifier) == number
            and (word := operand_word(entry, operand)) not in taken
        ]
        by_id = {entry.result_id: entry for entry in self.dispatch.program.module.instructions}
        for shared in self.flow.declared.variables:
            variable = by_id[shared.id]
            array = by_id[by_id[variable.result_type].operands[1]]
            is_array = shared.storage_class == "Workgroup" and array.name == "OpTypeArray"
            if is_array and self.flow.constants.get(array.operands[1]) == number:
                counts.append(Count(variable.position, operand_word(array, 1), True))
        return counts


Differences = Callable[[CheckedRun], Mapping[RunParameters, Difference | None]]
"""A function that compares all runs with one of them."""


@dataclass(frozen=True)
class Assumption:
    """Constants that stand for one subgroup size, together with the runs that this breaks."""

    size: int  # the subgroup size
    candidates: tuple[SizeCandidate, ...]  # uses of the constants
    base: CheckedRun  # the run at that size, with which others are compared
    broken: tuple[RunParameters, ...]  # configurations with wrong results
    example: tuple[RunParameters, Difference] | None  # a difference from the base; None if no outputs differ
    proof: Proof | None = None  # result of the experiment; None if the runs alone show the assumption

    def explains(self, configuration: RunParameters) -> bool:
        """Whether this assumption can make a run differ from the base."""
        size = configuration.subgroup_size
        if size in {run.subgroup_size for run in self.broken if not run.shuffled}:
            return True
        if any(not candidate.fits(size) for candidate in self.candidates):
            return True
        return configuration.shuffled and any(candidate.layout for candidate in self.candidates)


def find_assumption(
    candidates: Sequence[SizeCandidate],
    runs: Sequence[CheckedRun],
    differences_to: Differences,
    experiment: ConstantExperiment,
) -> Assumption | None:
    """Return the assumption that the runs on the reference device confirm; None if they confirm none.

    The linear run at the size that the constants seem to stand for is taken as right. An assumption is
    confirmed by one of two rules. Either changing the constants with the subgroup size repairs the results at
    all smaller sizes that were wrong, or at all larger ones. Or the code shows which sizes fit (a word of a
    ballot holds 32 lanes, a cluster needs its lanes) and every other size is wrong; in addition the
    instruction itself gives undefined values there, or all sizes that fit agree, or the code allows no other
    reading.
    """
    linear = {run.configuration.subgroup_size: run for run in runs if not run.configuration.shuffled}
    assumptions = []
    for size in sorted({candidate.size for candidate in candidates} & linear.keys()):
        possible = [entry for entry in candidates if entry.size == size]
        entry = _of_size(possible, linear, differences_to(linear[size]), experiment)
        if entry is not None:
            assumptions.append(entry)
    return max(assumptions, key=lambda entry: (entry.proof is not None, len(entry.candidates)), default=None)


def _of_size(
    possible: Sequence[SizeCandidate],
    linear: Mapping[int, CheckedRun],
    differences: Mapping[RunParameters, Difference | None],
    experiment: ConstantExperiment,
) -> Assumption | None:
    """Return the assumption of one size; None if the runs do not confirm it."""
    size = possible[0].size
    base = linear[size]
    known = _events(base)
    wrong = [
        other
        for other, run in linear.items()
        if differences[run.configuration] is not None
        or any((event.kind, event.position) not in known for event in run.serious_events)
    ]
    proof = experiment.prove(base, possible, sorted(wrong))
    confirmed = []
    # An experiment is enough if it repairs all smaller sizes that were wrong, or all larger ones.
    sides = ({other for other in wrong if other < size}, {other for other in wrong if other > size})
    if proof is not None and any(side and side <= set(proof.sizes) for side in sides):
        # A constant that must equal the size fits no other size.
        confirmed = [replace(entry, relation="=") for entry in proof.candidates]
        possible = [entry for entry in possible if entry not in proof.candidates]
        proof = replace(proof, candidates=tuple(confirmed))
    else:
        proof = None
    confirmed += [
        entry for entry in possible if entry.relation != "=" and _is_confirmed(entry, linear, wrong)
    ]
    broken = [
        linear[other].configuration for other in wrong if any(not entry.fits(other) for entry in confirmed)
    ]
    if not broken:
        return None
    if any(entry.layout for entry in confirmed):
        shuffled = replace(base.configuration, shuffled=True)
        broken += [where for where in differences if where == shuffled and differences[where] is not None]
    example = next(
        ((where, difference) for where in broken if (difference := differences[where]) is not None), None
    )
    return Assumption(size, tuple(confirmed), base, tuple(broken), example, proof)


def _events(run: CheckedRun) -> set[tuple[str, int]]:
    """Return kinds and positions of a run's events."""
    return {(event.kind, event.position) for event in run.serious_events}


def _is_confirmed(candidate: SizeCandidate, linear: Mapping[int, CheckedRun], wrong: Sequence[int]) -> bool:
    """Whether the runs confirm which sizes the code fits."""
    fitting = [size for size in linear if candidate.fits(size)]
    others = [size for size in linear if not candidate.fits(size)]
    if not others or not set(others) <= set(wrong):
        return False
    # The instruction itself gives an undefined value at all sizes that do not fit.
    is_cause = all(
        any(event.cause is not None and event.cause.position == candidate.position for event in run.events)
        for run in (linear[size] for size in others)
    )
    if candidate.strong or is_cause:
        return True
    return len(fitting) > 1 and not any(size in wrong or linear[size].disturbed for size in fitting)
