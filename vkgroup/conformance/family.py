"""Cases and families of cases: one form for all families of the suite.

The suite consists of families (`vkgroup.conformance.families`). All other code (names, filters, workers,
results, reports) uses only `AnyCase` and `Family`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from vkgroup.conformance.comparison import Verdict
from vkgroup.device import Capabilities

Axes = TypeVar("Axes", bound=tuple[Any, ...])
CaseT = TypeVar("CaseT", bound="AnyCase")


class AnyCase(Protocol):
    """A case of any family: hashable, picklable, equal in every process (a frozen dataclass)."""

    @property
    def name(self) -> str:
        """The case's name, unique in the suite: parts separated by dots, the category first."""

    @property
    def category(self) -> str:
        """The first part of the name; result counts are grouped by it."""

    @property
    def sentence(self) -> str:
        """What the case tests, in one sentence."""


@dataclass(frozen=True, slots=True)
class TableCase(Generic[Axes]):
    """A case of a family that is a table: one value for each axis; the values form its name."""

    category: str  # the first part of the name
    #: The family's NamedTuple of values, most of them keys of its tables. A value is a part of the name, or a
    #: tuple of such parts; "" is left out of the name.
    axes: Axes
    sentence: str = field(compare=False)  # what the case tests

    @property
    def name(self) -> str:
        """The case's name, unique in the suite."""
        parts = [self.category]
        for value in self.axes:
            parts += value if isinstance(value, tuple) else (value,)
        return ".".join(filter(None, parts))


Values = Iterable[Any] | Callable[..., Iterable[Any]]


def table(
    category: str,
    axes: Callable[..., Axes],
    sentence: Callable[[Axes], str],
    where: Callable[[Axes], bool] | None = None,
    **values: Values,
) -> Callable[[], Iterator[TableCase[Axes]]]:
    """Return a function that yields a case for each combination of the axes' values, the last axis fastest.

    Parameters
    ----------
    category : of all cases.
    axes : the NamedTuple of the axes, which gives their order in the name.
    sentence : axes → what the case tests.
    where : axes → whether there is a case of this combination; None for all.
    values : of each axis by name, in the order of the combinations. A function of the values of the axes
        before returns those that are combined with these.
    """

    def rows(chosen: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if len(chosen) == len(values):
            yield chosen
            return
        name = list(values)[len(chosen)]
        own = values[name]
        for value in own(*chosen.values()) if callable(own) else own:
            yield from rows(chosen | {name: value})

    def cases() -> Iterator[TableCase[Axes]]:
        for row in rows({}):
            combined = axes(**row)
            if where is None or where(combined):
                yield TableCase(category, combined, sentence(combined))

    return cases


def _alone(case: Any) -> Hashable:
    """Return the batch key of a case that shares no batch: the case."""
    key: Hashable = case
    return key


def one_by_one(verdict: Callable[[Any, Any], Verdict]) -> Callable[..., list[Verdict]]:
    """Return the `Family.verdicts_on` of a function of an executor and one case."""
    return lambda executor, cases: [verdict(executor, case) for case in cases]


@dataclass(frozen=True, eq=False)
class Family(Generic[CaseT]):
    """A family: a table of cases, their requirements, and their shaders with the expected results."""

    name: str  # unique among the families; workers look the family up by it
    cases: Callable[[], Iterable[CaseT]]  # yields every case, in the order of the suite; needs no device
    #: (case, capabilities) → the requirements that the device lacks, by Vulkan's names; empty if none.
    missing: Callable[[CaseT, Capabilities], list[str]]
    #: (executor, cases of a batch) → their verdicts, in the same order. It makes and runs the shaders, and
    #: compares the results with the expected ones. After a `VkgroupError` other than a lost device, the batch
    #: is split; a single case fails. Every module is passed through `Executor.transform_module` before the
    #: device gets it. Families with a `program` also take a part of the cases' stage.
    verdicts_on: Callable[..., list[Verdict]]
    #: case → a key; only cases with equal keys can share a batch.
    batch_key: Callable[[CaseT], Hashable] = _alone
    #: Maximum number of cases in a batch, or (case, capabilities) → that of a batch with this case.
    batch: int | Callable[[CaseT, Capabilities], int] = 32
    llvm_batch: int = 0  # the maximum on lavapipe, whose compiler is slow for large shaders; 0: `batch`
    #: (executor, cases of a batch) → its `vkgroup.conformance.subgroup.shader.BatchProgram`; None in families
    #: without one.
    program: Callable[..., Any] | None = None

    def batch_size(self, case: CaseT, capabilities: Capabilities) -> int:
        """Return the maximum number of cases in a batch with this case on a device."""
        if self.llvm_batch and capabilities.driver_name == "llvmpipe":
            return self.llvm_batch
        return self.batch if isinstance(self.batch, int) else self.batch(case, capabilities)
