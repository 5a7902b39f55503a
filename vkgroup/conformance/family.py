"""Interfaces of a case and of a family of cases.

The suite is made of families (`vkgroup.conformance.families`). Everything around them (names, filters,
workers, results, reports) uses these interfaces alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, Protocol

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.device import Capabilities


class AnyCase(Protocol):
    """A case of any family: hashable, picklable, the same in every process (a frozen dataclass)."""

    @property
    def name(self) -> str:
        """The case's name, unique in the suite: parts separated by dots, the category first."""

    @property
    def category(self) -> str:
        """The first part of the name, by which results are summed up."""

    @property
    def sentence(self) -> str:
        """What the case tests, in one sentence."""


class Family(Protocol):
    """One kind of case."""

    @property
    def name(self) -> str:
        """The family's name, unique among the families; workers are told it."""

    def cases(self) -> Iterable[AnyCase]:
        """Return every case of the family, in the order in which they are listed; needs no device."""

    def missing(self, case: Any, capabilities: Capabilities) -> list[str]:
        """Return what a case needs and the device does not declare, by Vulkan's names; empty if nothing."""

    def batch_key(self, case: Any) -> Hashable:
        """Return what all cases of a batch share."""

    def batch_size(self, case: Any, capabilities: Capabilities) -> int:
        """Return how many cases of a case's kind a batch may have on a device."""

    def judge(self, executor: Executor, cases: list[Any]) -> list[Verdict]:
        """Judge the cases of a batch, in their order.

        A `VkgroupError` other than a lost device splits the batch; where one case is left, it fails.
        Every module goes through `Executor.transform_module` on its way to the device.
        """
