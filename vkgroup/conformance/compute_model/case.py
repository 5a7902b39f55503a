"""A case of the compute model as data, and what a topic of such cases is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.device import Capabilities


@dataclass(frozen=True, slots=True)
class ModelCase:
    """One case of the family.

    Attributes
    ----------
    topic : key of the topic that judges it: ``"builtins"``, ``"litmus"``, ….
    test : what is tested, a key of the topic's own table.
    variant : the further words of the name, each a key of a table of the topic.
    sentence : what the case tests, in words.
    """

    topic: str
    test: str
    variant: tuple[str, ...]
    sentence: str = field(compare=False)

    @property
    def category(self) -> str:
        """First part of the name: the family's own."""
        return "compute_model"

    @property
    def name(self) -> str:
        """The case's name, unique in the suite."""
        return ".".join((self.category, self.topic, self.test, *self.variant))


def _itself(case: ModelCase) -> Hashable:
    return case


@dataclass(frozen=True)
class Topic:
    """A group of cases that are written and judged alike.

    Attributes
    ----------
    name : the first word of its cases' names behind the category.
    cases : yields every case; needs no device.
    missing : Vulkan's names of what a device lacks for a case.
    judge : gives the verdicts on cases of one key, in their order.
    batch_key : cases of one key may be judged together, which saves shaders; by default each is alone.
    """

    name: str
    cases: Callable[[], Iterable[ModelCase]]
    missing: Callable[[ModelCase, Capabilities], list[str]]
    judge: Callable[[Executor, list[ModelCase]], list[Verdict]]
    batch_key: Callable[[ModelCase], Hashable] = _itself
