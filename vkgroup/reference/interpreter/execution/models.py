"""Execution models: what Vulkan leaves to a device, and the choice that an execution makes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

from vkgroup.base.errors import InvalidInput

CHOICES = {
    "sparse": ("full", "half", "quarter", "seeded"),
    "reconvergence": ("maximal", "declared"),
    "apart": ("end", "iteration", "return"),
    "progress": ("fair", "occupancy", "one"),
    "unit": ("workgroup", "subgroup"),
}


@dataclass(frozen=True)
class ExecutionModel:
    """The choices of one execution where Vulkan permits several.

    Attributes
    ----------
    sparse : the lanes of each subgroup that hold invocations of a compute shader: ``"full"``, the first
        ``"half"`` or ``"quarter"``, or ``"seeded"`` ones. Vulkan 1.4, SubgroupLocalInvocationId: without full
        subgroups, "some subgroups may be dispatched with inactive invocations that do not correspond to a
        local workgroup invocation".
    reconvergence : ``"maximal"``: invocations of a subgroup that diverged meet again by the rules of
        SPV_KHR_maximal_reconvergence. ``"declared"``: only where the module's declarations guarantee it, as
        `Paths` describes.
    apart : how long the others stay apart: to the ``"end"``, to the next ``"iteration"`` of a loop, or to
        the ``"return"`` of the function.
    progress : which workgroups make progress while others wait: ``"fair"``: all. ``"occupancy"``: those that
        have started; one starts only when those before it have ended or wait. ``"one"``: the first one stops
        after its first atomic or store, and goes on when the others have ended or wait.
    unit : whether this is about workgroups or about the subgroups of a workgroup.
    seed : of the seeded lanes, and of the order of workgroups: 0 for ascending, 1 for descending, others for
        a random one.
    """

    sparse: str = "full"
    reconvergence: str = "maximal"
    apart: str = "end"
    progress: str = "fair"
    unit: str = "workgroup"
    seed: int = 0

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise InvalidInput(
                    f"{name} is {' or '.join(map(repr, choices))}; {getattr(self, name)!r} was given."
                )

    @classmethod
    def of(cls, words: Iterable[str]) -> ExecutionModel:
        """Return the model of words such as ``"sparse=half"``.

        Raises InvalidInput: there is no such choice.
        """
        given: dict[str, str | int] = {}
        for word in words:
            name, _, value = word.partition("=")
            if name not in (*CHOICES, "seed") or (name == "seed" and not value.isdecimal()):
                known = ", ".join(f"{key}={'|'.join(choices)}" for key, choices in CHOICES.items())
                raise InvalidInput(
                    f"{word!r} is no choice of an execution model. There are: {known}, seed=N."
                )
            given[name] = int(value) if name == "seed" else value
        return cls(**given)  # type: ignore[arg-type]

    def words(self) -> Iterator[str]:
        """Yield the choices that are not the default ones, in the form that `of` takes."""
        for field in fields(self):
            if getattr(self, field.name) != field.default:
                yield f"{field.name}={getattr(self, field.name)}"


FULL = ExecutionModel()
"""Full subgroups, maximal reconvergence, and progress of all invocations."""
