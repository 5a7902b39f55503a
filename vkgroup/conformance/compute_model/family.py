"""The family of the compute model: every case of what ARB_compute_shader says of compute shaders."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.compute_model.atomics import ATOMICS_TOPIC
from vkgroup.conformance.compute_model.case import ModelCase, Topic
from vkgroup.conformance.compute_model.coherence import COHERENCE_TOPIC
from vkgroup.conformance.compute_model.constants import CONSTANTS_TOPIC
from vkgroup.conformance.compute_model.counters import COUNTERS_TOPIC
from vkgroup.conformance.compute_model.dispatches import DISPATCHES_TOPIC
from vkgroup.conformance.compute_model.litmus import LITMUS_TOPIC
from vkgroup.conformance.compute_model.shared_memory import SHARED_TOPIC
from vkgroup.conformance.compute_model.variables import BUILTINS_TOPIC
from vkgroup.conformance.execute import Executor
from vkgroup.device import Capabilities

_TOPICS = (
    BUILTINS_TOPIC,
    CONSTANTS_TOPIC,
    SHARED_TOPIC,
    COHERENCE_TOPIC,
    LITMUS_TOPIC,
    ATOMICS_TOPIC,
    COUNTERS_TOPIC,
    DISPATCHES_TOPIC,
)

TOPICS: dict[str, Topic] = {topic.name: topic for topic in _TOPICS}
"""All topics by name."""

_BATCH = 32


@cache
def _all_cases() -> tuple[ModelCase, ...]:
    return tuple(case for topic in TOPICS.values() for case in topic.cases())


class ComputeModelFamily:
    """Built-in variables, shared memory, barriers, atomics and dispatches, as ARB_compute_shader has them."""

    name = "compute_model"

    def cases(self) -> Iterable[ModelCase]:
        """Return every case, by topic."""
        return _all_cases()

    def missing(self, case: ModelCase, capabilities: Capabilities) -> list[str]:
        """Return what the device does not declare, by Vulkan's names."""
        return TOPICS[case.topic].missing(case, capabilities)

    def batch_key(self, case: ModelCase) -> Hashable:
        """Return what cases share that run the same shader."""
        return case.topic, TOPICS[case.topic].batch_key(case)

    def batch_size(self, case: ModelCase, capabilities: Capabilities) -> int:
        """Return the most cases a batch; keys make most batches smaller."""
        return _BATCH

    def judge(self, executor: Executor, cases: list[ModelCase]) -> list[Verdict]:
        """Judge the cases of a batch, in their order."""
        return TOPICS[cases[0].topic].judge(executor, cases)
