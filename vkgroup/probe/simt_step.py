"""SIMT-Step: six models of how the lanes of a subgroup take steps, and which of them a device can have.

Models and tests are those of Z. Chen, N. Rehman, G. Martínez, T. Sorensen: SIMT-Step Execution, A Flexible
Operational Semantics for GPU Subgroup Behavior (Proc. ACM Program. Lang. 10, PLDI 2026, table 1).
Each model permits all that those before it permit. So an outcome that was seen and that a model forbids
excludes this model and those before it; an outcome that was not seen excludes none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vkgroup.probe.litmus import LitmusResult, OutcomeCount, Words, counted
from vkgroup.probe.outcome import Json
from vkgroup.probe.stress import STRESS, Stress
from vkgroup.probe.subject import NoFullSubgroup, Subject

MODELS = {
    "CM": "collective memory: all lanes make an access at once",
    "SM": "synchronous memory: lanes make an access together, but one after the other",
    "SCF": "synchronous control flow: lanes enter and leave basic blocks together",
    "SSO": "synchronous subgroup operations: lanes wait at them, and where branches lead to them",
    "Spec": "speculative subgroup operations: only with lanes that are known to arrive",
    "Symb": "symbolic subgroup operations: lanes do not wait, and results may depend on themselves",
}
"""The six models, the strongest first."""


@dataclass(frozen=True)
class StepTest:
    """A test whose outcome lanes show only if they do not take steps together."""

    outcome: str  # the outcome that is counted, for people
    number: int  # its number in ``litmus_steps.comp``
    weakest: str  # the weakest model that forbids the outcome: it and those before it do
    access: int = 0

    @property
    def forbidding(self) -> tuple[str, ...]:
        """The models that forbid the outcome."""
        names = tuple(MODELS)
        return names[: names.index(self.weakest) + 1]


_ACCESSES = ("store-store", "load-store", "store-load")

STEP_TESTS = (
    StepTest("figure 3: lanes read different values of one word", 0, "CM"),
    StepTest("figure 3, a word for each subgroup: the same", 6, "SM"),
    *(
        StepTest(f"{figure}, {text}: a lane was ahead", number, weakest, access)
        for number, weakest, figure in (
            (1, "SM", "figure 2"),
            (2, "SCF", "figure 9"),
            (3, "SSO", "figure 9 with operations"),
        )
        for access, text in enumerate(_ACCESSES)
    ),
    StepTest("figure 10: an operation without all its lanes", 4, "SSO"),
    StepTest("figure 11: a value that no lane stored", 5, "Spec"),
)
"""The tests of table 1, those of figures 2 and 9 with three orders of accesses (section 5.2).

Figure 3 with a word for each subgroup is not among them. No other subgroup stores there, so lanes that load
after all have stored, as those of SM do, read one value.
"""


@dataclass(frozen=True)
class ModelsResult(LitmusResult):
    """Counts of all tests in the order of `STEP_TESTS`, and the models that they leave."""

    consistent: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        """Return the fields, the meaning of each model, and the models that forbid each outcome."""
        forbidden: dict[str, Json] = {test.outcome: list(test.forbidding) for test in STEP_TESTS}
        return {**super().to_json(), "models": dict(MODELS), "forbidden_by": forbidden}


def models_result(counts: tuple[OutcomeCount, ...], runs: tuple[Stress, ...] = STRESS) -> ModelsResult:
    """Return which models forbid an outcome that was seen; counts in the order of `STEP_TESTS`."""
    seen = [test for test, count in zip(STEP_TESTS, counts, strict=True) if count.seen]
    excluded = tuple(name for name in MODELS if any(name in test.forbidding for test in seen))
    consistent = tuple(name for name in MODELS if name not in excluded)
    answer = "consistent with " + ", ".join(consistent)
    if excluded:
        answer += "; excluded: " + ", ".join(excluded)
    return ModelsResult(answer, counts, None, runs, consistent, excluded)


def simt_step(subject: Subject, runs: tuple[Stress, ...] = STRESS) -> ModelsResult:
    """Answer which of the six models the outcomes of their tests exclude.

    Raises
    ------
    NoFullSubgroup : subgroups have one lane, which is not ahead of another.
    """
    if subject.size < 2:
        raise NoFullSubgroup("subgroups of one lane show no steps")

    def blocks(run: Stress) -> dict[str, Words]:
        lanes = run.workgroups * subject.size
        return {
            "Words": np.zeros(run.rounds * lanes * run.stride, np.uint32),
            "Work": np.zeros(lanes, np.uint32),
        }

    modules = [subject.module("litmus_steps", TEST=t.number, ACCESS=t.access) for t in STEP_TESTS]
    counts = (
        counted(subject, test.outcome, module, blocks, runs)
        for test, module in zip(STEP_TESTS, modules, strict=True)
    )
    return models_result(tuple(counts), runs)
