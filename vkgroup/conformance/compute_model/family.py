"""The family of the compute model: the requirements of ARB_compute_shader."""

from __future__ import annotations

from vkgroup.conformance.compute_model.atomics import ATOMICS_TOPIC
from vkgroup.conformance.compute_model.builtins import BUILTINS_TOPIC, CONSTANTS_TOPIC
from vkgroup.conformance.compute_model.coherence import COHERENCE_TOPIC
from vkgroup.conformance.compute_model.counters import COUNTERS_TOPIC
from vkgroup.conformance.compute_model.dispatches import DISPATCHES_TOPIC
from vkgroup.conformance.compute_model.litmus import LITMUS_TOPIC
from vkgroup.conformance.compute_model.shared_memory import SHARED_TOPIC
from vkgroup.conformance.family import JointFamily

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

COMPUTE_MODEL = JointFamily("compute_model", {topic.name: topic for topic in _TOPICS}, ("compute_model",))
"""Built-in variables, shared memory, barriers, atomics and dispatches, as ARB_compute_shader defines them."""
