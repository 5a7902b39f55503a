"""Cases and families of cases: their interfaces, and families whose cases are tables of axes.

The suite consists of families (`vkgroup.conformance.families`). All other code (names, filters, workers,
results, reports) uses only `AnyCase` and `Family`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.globs import MayBegin, any_name
from vkgroup.device import Capabilities

Axes = TypeVar("Axes", bound=tuple[Any, ...])


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


class Family(Hashable, Protocol):
    """A family: one kind of cases, with the functions that plan and execute them."""

    @property
    def name(self) -> str:
        """The family's name, unique among the families; workers look the family up by it."""

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories of the family's cases."""

    def cases(self, may_begin: MayBegin = any_name) -> Iterable[AnyCase]:
        """Return every case of the family, in the order of the suite; needs no device.

        Cases may be left out if `may_begin` is false for a beginning of their name.
        """

    def missing(self, case: Any, capabilities: Capabilities, /) -> list[str]:
        """Return the requirements of a case that the device lacks, by Vulkan's names; empty if none."""

    def batch_key(self, case: Any, /) -> Hashable:
        """Return a key; only cases with equal keys can share a batch."""

    def batch_size(self, case: Any, capabilities: Capabilities, /) -> int:
        """Return the maximum number of cases in a batch with this case on a device."""

    def judge(self, executor: Executor, cases: list[Any], /) -> list[Verdict]:
        """Execute the cases of a batch and return their verdicts, in the same order.

        After a `VkgroupError` other than a lost device, the batch is split; a single case fails.
        Every module is passed through `Executor.transform_module` before it is used on the device.
        """


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


@dataclass(frozen=True, eq=False)
class TableFamily(Generic[Axes]):
    """A family whose cases are a table of axes, with functions that plan and execute them (see `Family`)."""

    name: str
    table: Callable[[], Iterable[TableCase[Axes]]]  # yields every case
    missing: Callable[[TableCase[Axes], Capabilities], list[str]]
    judge: Callable[[Executor, list[TableCase[Axes]]], list[Verdict]]
    batch_key: Callable[[TableCase[Axes]], Hashable] = lambda case: case
    batch: int = 32  # maximum number of cases in a batch
    llvm_batch: int = 0  # the maximum on lavapipe, whose compiler is slow for large shaders; 0: `batch`
    category: str = ""  # category of all cases; by default the family's name

    @property
    def categories(self) -> tuple[str, ...]:
        """The category."""
        return (self.category or self.name,)

    def cases(self, may_begin: MayBegin = any_name) -> tuple[TableCase[Axes], ...]:
        """Return every case, in the order of the suite."""
        return tuple(self.table())

    def batch_size(self, case: TableCase[Axes], capabilities: Capabilities) -> int:
        """Return the maximum number of cases in a batch."""
        llvm = capabilities.driver_name == "llvmpipe"
        return self.llvm_batch if llvm and self.llvm_batch else self.batch


@dataclass(frozen=True, eq=False)
class JointFamily:
    """Several families under one name."""

    name: str
    parts: Mapping[str, Family]  # by the first value of the cases' axes; "" is the part for all other cases
    categories: tuple[str, ...]

    def cases(self, may_begin: MayBegin = any_name) -> tuple[AnyCase, ...]:
        """Return every case, part by part."""
        return tuple(case for part in self.parts.values() for case in part.cases(may_begin))

    def part(self, case: AnyCase) -> Family:
        """Return the part that a case belongs to."""
        first = case.axes[0] if isinstance(case, TableCase) else ""
        return self.parts[first if first in self.parts else ""]

    def missing(self, case: AnyCase, capabilities: Capabilities) -> list[str]:
        """Return the requirements of a case that the device lacks."""
        return self.part(case).missing(case, capabilities)

    def batch_key(self, case: AnyCase) -> Hashable:
        """Return the name of the part, and the part's batch key."""
        part = self.part(case)
        return part.name, part.batch_key(case)

    def batch_size(self, case: AnyCase, capabilities: Capabilities) -> int:
        """Return the maximum number of cases in a batch."""
        return self.part(case).batch_size(case, capabilities)

    def judge(self, executor: Executor, cases: list[Any]) -> list[Verdict]:
        """Execute the cases of a batch, all of one part, and return their verdicts."""
        return self.part(cases[0]).judge(executor, cases)
