"""Which constants that look like a subgroup size change results: by experiment, and by what the runs show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from vkgroup.check.compare import Difference
from vkgroup.check.experiment import Experiment, Proof
from vkgroup.check.findings import Configuration
from vkgroup.check.runs import Run
from vkgroup.check.sizes_in_code import Candidate

Differences = Callable[[Run], Mapping[Configuration, Difference | None]]
"""Compares all runs with one of them."""


@dataclass(frozen=True)
class Assumption:
    """Constants that stand for the same subgroup size, which changes results.

    Attributes
    ----------
    size : that size.
    candidates : where the constants are used.
    base : the run at that size, with which others are compared.
    broken : runs where it goes wrong.
    example : a difference to the base, where outputs differ.
    proof : what an experiment has shown; None where the runs speak for themselves.
    """

    size: int
    candidates: tuple[Candidate, ...]
    base: Run
    broken: tuple[Configuration, ...]
    example: tuple[Configuration, Difference] | None
    proof: Proof | None = None

    def explains(self, configuration: Configuration) -> bool:
        """Whether a run may differ from the base because of it."""
        size = configuration.subgroup_size
        if size in {run.subgroup_size for run in self.broken}:
            return True
        if any(not candidate.fits(size) for candidate in self.candidates):
            return True
        return configuration.shuffled and any(candidate.layout for candidate in self.candidates)


def _troubles(run: Run) -> frozenset[tuple[str, int]]:
    return frozenset((event.kind, event.position) for event in run.events)


def _differs(base: Run, run: Run, differences: Mapping[Configuration, Difference | None]) -> bool:
    """Whether a run gives something else than the base, or has troubles that the base has not."""
    return bool(_troubles(run) - _troubles(base)) or differences[run.configuration] is not None


def find_assumption(
    candidates: Sequence[Candidate],
    runs: Sequence[Run],
    differences_to: Differences,
    experiment: Experiment,
) -> Assumption | None:
    """Return the assumption that is borne out, None where there is none.

    The linear run at the size that constants seem to stand for is taken as right. They are to blame if

    * the results are the same at other sizes once the constants follow these: at all smaller ones where they
      were not, or at all larger ones;
    * or the code tells which sizes fit (a word of a ballot holds 32 lanes, a cluster needs its lanes), none
      of the others is right, and either the instruction itself gives undefined values there, or all sizes
      that fit agree, or the code leaves no doubt.

    Parameters
    ----------
    candidates : constants found in the code.
    runs : on the reference device.
    differences_to : compares all runs with one of them.
    experiment : tries what follows if constants follow the size.
    """
    linear = {run.configuration.subgroup_size: run for run in runs if not run.configuration.shuffled}
    found = []
    for size in sorted({candidate.size for candidate in candidates} & linear.keys()):
        suspects = [entry for entry in candidates if entry.size == size]
        entry = _of_size(suspects, linear, differences_to(linear[size]), experiment)
        if entry is not None:
            found.append(entry)
    return max(found, key=lambda entry: (entry.proof is not None, len(entry.candidates)), default=None)


def _of_size(
    suspects: Sequence[Candidate],
    linear: Mapping[int, Run],
    differences: Mapping[Configuration, Difference | None],
    experiment: Experiment,
) -> Assumption | None:
    """Return the assumption of one size."""
    size = suspects[0].size
    base = linear[size]
    wrong = [other for other, run in linear.items() if other != size and _differs(base, run, differences)]
    proof = experiment.prove(base, suspects, sorted(wrong))
    guilty = []
    if proof is not None and _is_enough(proof, size, wrong):
        # What has to be equal to the size fits no other.
        guilty = [replace(entry, relation="=") for entry in proof.candidates]
        suspects = [entry for entry in suspects if entry not in proof.candidates]
        proof = replace(proof, candidates=tuple(guilty))
    else:
        proof = None
    guilty += [entry for entry in suspects if entry.relation != "=" and _is_told(entry, linear, wrong)]
    broken = [
        linear[other].configuration for other in wrong if any(not entry.fits(other) for entry in guilty)
    ]
    if not broken:
        return None
    example = next(((where, known) for where in broken if (known := differences[where]) is not None), None)
    return Assumption(size, tuple(guilty), base, tuple(broken), example, proof)


def _is_enough(proof: Proof, size: int, wrong: Sequence[int]) -> bool:
    """Whether an experiment mends all smaller sizes that were wrong, or all larger ones."""
    sides = ({other for other in wrong if other < size}, {other for other in wrong if other > size})
    return any(side and side <= set(proof.sizes) for side in sides)


def _is_told(candidate: Candidate, linear: Mapping[int, Run], wrong: Sequence[int]) -> bool:
    """Whether the runs bear out which sizes the code fits."""
    fitting = [size for size in linear if candidate.fits(size)]
    others = [size for size in linear if not candidate.fits(size)]
    if not others or not set(others) <= set(wrong):
        return False
    if candidate.strong or all(_blames(linear[size], candidate) for size in others):
        return True
    return len(fitting) > 1 and not any(size in wrong or linear[size].disturbed for size in fitting)


def _blames(run: Run, candidate: Candidate) -> bool:
    """Whether an undefined value came from the instruction itself."""
    return any(event.cause is not None and event.cause.position == candidate.position for event in run.events)
