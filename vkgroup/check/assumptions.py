"""Find constants that assume a subgroup size and change results, by experiment or from the runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from vkgroup.check.compare import Difference
from vkgroup.check.experiment import Experiment, Proof
from vkgroup.check.findings import Configuration
from vkgroup.check.runs import Run
from vkgroup.check.size_constants import Candidate

Differences = Callable[[Run], Mapping[Configuration, Difference | None]]
"""A function that compares all runs with one of them."""


@dataclass(frozen=True)
class Assumption:
    """Constants that stand for one subgroup size, together with the runs that this breaks.

    Attributes
    ----------
    size : the subgroup size.
    candidates : uses of the constants.
    base : the run at that size, with which others are compared.
    broken : configurations with wrong results.
    example : a difference from the base; None if no outputs differ.
    proof : result of the experiment; None if the runs alone show the assumption.
    """

    size: int
    candidates: tuple[Candidate, ...]
    base: Run
    broken: tuple[Configuration, ...]
    example: tuple[Configuration, Difference] | None
    proof: Proof | None = None

    def explains(self, configuration: Configuration) -> bool:
        """Whether this assumption can make a run differ from the base."""
        size = configuration.subgroup_size
        if size in {run.subgroup_size for run in self.broken}:
            return True
        if any(not candidate.fits(size) for candidate in self.candidates):
            return True
        return configuration.shuffled and any(candidate.layout for candidate in self.candidates)


def _event_positions(run: Run) -> frozenset[tuple[str, int]]:
    return frozenset((event.kind, event.position) for event in run.events)


def _differs(base: Run, run: Run, differences: Mapping[Configuration, Difference | None]) -> bool:
    """Whether a run's outputs differ from the base's, or it has events that the base does not have."""
    return bool(_event_positions(run) - _event_positions(base)) or differences[run.configuration] is not None


def find_assumption(
    candidates: Sequence[Candidate],
    runs: Sequence[Run],
    differences_to: Differences,
    experiment: Experiment,
) -> Assumption | None:
    """Return the assumption that the runs confirm; None if they confirm none.

    The linear run at the size that the constants seem to stand for is taken as right. An assumption is
    confirmed by one of two rules:

    * Changing the constants with the subgroup size repairs the results at all smaller sizes that were wrong,
      or at all larger ones.
    * The code shows which sizes fit (a word of a ballot holds 32 lanes, a cluster needs its lanes) and every
      other size is wrong. In addition the instruction itself gives undefined values there, or all sizes that
      fit agree, or the code allows no other reading.

    Parameters
    ----------
    candidates : constants found in the code.
    runs : on the reference device.
    differences_to : compares all runs with one of them.
    experiment : runs the shader with constants that follow the subgroup size.
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
    possible: Sequence[Candidate],
    linear: Mapping[int, Run],
    differences: Mapping[Configuration, Difference | None],
    experiment: Experiment,
) -> Assumption | None:
    """Return the assumption of one size; None if the runs do not confirm it."""
    size = possible[0].size
    base = linear[size]
    wrong = [other for other, run in linear.items() if other != size and _differs(base, run, differences)]
    proof = experiment.prove(base, possible, sorted(wrong))
    confirmed = []
    if proof is not None and _is_enough(proof, size, wrong):
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
    example = next(
        ((where, difference) for where in broken if (difference := differences[where]) is not None), None
    )
    return Assumption(size, tuple(confirmed), base, tuple(broken), example, proof)


def _is_enough(proof: Proof, size: int, wrong: Sequence[int]) -> bool:
    """Whether an experiment repairs all smaller sizes that were wrong, or all larger ones."""
    sides = ({other for other in wrong if other < size}, {other for other in wrong if other > size})
    return any(side and side <= set(proof.sizes) for side in sides)


def _is_confirmed(candidate: Candidate, linear: Mapping[int, Run], wrong: Sequence[int]) -> bool:
    """Whether the runs confirm which sizes the code fits."""
    fitting = [size for size in linear if candidate.fits(size)]
    others = [size for size in linear if not candidate.fits(size)]
    if not others or not set(others) <= set(wrong):
        return False
    if candidate.strong or all(_is_cause(linear[size], candidate) for size in others):
        return True
    return len(fitting) > 1 and not any(size in wrong or linear[size].disturbed for size in fitting)


def _is_cause(run: Run, candidate: Candidate) -> bool:
    """Whether the candidate's instruction itself gave an undefined value."""
    return any(event.cause is not None and event.cause.position == candidate.position for event in run.events)
