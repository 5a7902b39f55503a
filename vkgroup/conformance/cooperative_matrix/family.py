"""The family of cooperative matrices (VK_KHR_cooperative_matrix), at the subgroup's scope."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from vkgroup.compiler import Target
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.cooperative_matrix import listing
from vkgroup.conformance.cooperative_matrix.arithmetic import ARITHMETIC_TOPIC
from vkgroup.conformance.cooperative_matrix.bfloat import with_bfloat16
from vkgroup.conformance.cooperative_matrix.case import MatrixCase
from vkgroup.conformance.cooperative_matrix.component import COMPONENTS
from vkgroup.conformance.cooperative_matrix.conversion import CONVERSION_TOPIC
from vkgroup.conformance.cooperative_matrix.memory import LOAD_TOPIC, STORE_TOPIC
from vkgroup.conformance.cooperative_matrix.parts import ELEMENT_TOPIC, FILL_TOPIC, VARIABLE_TOPIC
from vkgroup.conformance.cooperative_matrix.products import PRODUCT_TOPIC
from vkgroup.conformance.cooperative_matrix.program import (
    SUBGROUPS,
    WORKGROUPS,
    Builder,
    Finding,
    Outputs,
)
from vkgroup.conformance.cooperative_matrix.topic import Topic
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableFamily
from vkgroup.device import Capabilities
from vkgroup.results.record import Status

_TOPICS = (
    LOAD_TOPIC,
    STORE_TOPIC,
    PRODUCT_TOPIC,
    ARITHMETIC_TOPIC,
    ELEMENT_TOPIC,
    FILL_TOPIC,
    CONVERSION_TOPIC,
    VARIABLE_TOPIC,
)

TOPICS: dict[str, Topic] = {topic.name: topic for topic in _TOPICS}
"""All topics that a shader judges, by name."""


def _cases() -> Iterator[MatrixCase]:
    yield from listing.cases()
    for topic in _TOPICS:
        yield from topic.cases()


def _missing(case: MatrixCase, capabilities: Capabilities) -> list[str]:
    """Return what the device does not declare: the feature, types, or what its list must have."""
    if "cooperativeMatrix" not in capabilities.features:
        return ["cooperativeMatrix"]
    if case.axes.topic == listing.TOPIC:
        return []
    needs = []
    if "compute" not in capabilities.cooperative_matrix_stages:
        needs.append("cooperativeMatrixSupportedStages with the compute stage")
    topic = TOPICS[case.axes.topic]
    wanted = {feature for name in topic.components(case) for feature in COMPONENTS[name].features}
    wanted.add("vulkanMemoryModel")
    needs += sorted(wanted - capabilities.features)
    if not topic.shapes(case, capabilities):
        needs.append(topic.needs(case))
    most = capabilities.limits.get("maxComputeWorkGroupInvocations", 0)
    if most < SUBGROUPS * capabilities.subgroup.size:
        needs.append(f"maxComputeWorkGroupInvocations of {SUBGROUPS * capabilities.subgroup.size}")
    return needs


def _judge(executor: Executor, cases: list[MatrixCase]) -> list[Verdict]:
    """Judge a batch: one shader, a block for each case in each listed shape."""
    capabilities = executor.capabilities
    if cases[0].axes.topic == listing.TOPIC:
        return [listing.judge(case, capabilities) for case in cases]
    builder = Builder(capabilities.subgroup.size, executor.seed)
    judges = []
    for case in cases:
        topic = TOPICS[case.axes.topic]
        shapes = topic.shapes(case, capabilities)
        judges.append([(shape, topic.add(builder, case, shape)) for shape in shapes])
    outputs = _run(executor, builder, cases)
    code = TOPICS[cases[0].axes.topic].code
    return [_verdict([(str(shape), judge(outputs)) for shape, judge in own], code) for own in judges]


def _run(executor: Executor, builder: Builder, cases: list[MatrixCase]) -> Outputs:
    """Run a program; return what it wrote, by view."""
    components = {name for case in cases for name in TOPICS[case.axes.topic].components(case)}
    title = f"{len(cases)} cases of cooperative matrices, the first {cases[0].name}."
    # The extension asks for SPIR-V 1.3 and the memory model of Vulkan 1.2.
    module = executor.compile(builder.source(title), stage="compute", target=Target.VULKAN_1_2)
    if "bf16" in components:
        module = with_bfloat16(module)
    contents, outputs = builder.bindings()
    device = executor.device
    bindings = {}
    for binding, data in contents.items():
        bindings[binding] = executor.buffer(f"cooperative_{binding}", data.nbytes)
        bindings[binding].write(data)
    with (
        device.pipeline(module, specialization=builder.specialization) as pipeline,
        pipeline.bind(bindings) as bound,
    ):
        bound.dispatch((WORKGROUPS, 1, 1), timeout=executor.timeout)
    return {
        view: bindings[binding].read(np.uint8, contents[binding].size) for view, binding in outputs.items()
    }


def _verdict(findings: list[tuple[str, Finding]], code: str) -> Verdict:
    """Put together what was found in each shape; see `Topic.code`."""
    defined = sum(finding.defined for _, finding in findings)
    undefined = sum(finding.undefined for _, finding in findings)
    wrong = [(shape, finding) for shape, finding in findings if finding.wrong]
    if wrong:
        words = "\n".join(f"{shape}: {finding.wrong}" for shape, finding in wrong)
        shown = next(((shape, finding.evidence) for shape, finding in wrong if finding.evidence), None)
        lanes = shown and shown[1] | {"where": f"{shown[0]}, {shown[1]['where']}", "code": code}
        return Verdict(Status.FAIL, defined, undefined, words, lanes)
    notes = "; ".join(f"{shape}: {finding.note}" for shape, finding in findings if finding.note)
    return Verdict(Status.PASS if defined else Status.UNDEFINED, defined, undefined, notes)


COOPERATIVE_MATRIX = TableFamily(
    "cooperative_matrix",
    _cases,
    _missing,
    _judge,
    lambda case: (case.axes.topic, case.axes.types),
    batch=8,
)
"""Loads, stores, products, arithmetic, elements and conversions of cooperative matrices."""
