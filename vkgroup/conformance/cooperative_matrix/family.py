"""The family of cooperative matrices (VK_KHR_cooperative_matrix), at the subgroup's scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from vkgroup.compiler import TargetEnvironment
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.cooperative_matrix.calls import CALL_TOPICS, with_calls
from vkgroup.conformance.cooperative_matrix.case import (
    COMBINATIONS,
    COMPONENTS,
    MatrixCase,
    listed,
    matrix_case,
)
from vkgroup.conformance.cooperative_matrix.elements import (
    ARITHMETIC_TOPIC,
    CONVERSION_TOPIC,
    ELEMENT_TOPIC,
    FILL_TOPIC,
    VARIABLE_TOPIC,
)
from vkgroup.conformance.cooperative_matrix.products import PRODUCT_TOPIC
from vkgroup.conformance.cooperative_matrix.program import SUBGROUPS, WORKGROUPS, Builder, Outputs, Topic
from vkgroup.conformance.cooperative_matrix.transfers import LOAD_TOPIC, STORE_TOPIC
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family
from vkgroup.device import Capabilities, CooperativeMatrix
from vkgroup.record.record import Status
from vkgroup.reference import dtypes
from vkgroup.spirv import Module, grammar
from vkgroup.spirv.editor import Editor, Words

TOPICS: dict[str, Topic] = {
    topic.name: topic
    for topic in (
        LOAD_TOPIC,
        STORE_TOPIC,
        PRODUCT_TOPIC,
        ARITHMETIC_TOPIC,
        ELEMENT_TOPIC,
        FILL_TOPIC,
        CONVERSION_TOPIC,
        VARIABLE_TOPIC,
        *CALL_TOPICS,
    )
}
"""All topics with a shader, by name; `_LIST` needs no shader."""

_LIST = "list"
_LIST_SENTENCES = {
    "sizes": "The list of combinations has an entry whose sizes are powers of two.",
    "scope": "The list of combinations has the subgroup's scope only, unless others are declared.",
    "known": "Every entry of the list of combinations has cases; what has none is told.",
}


def _cases() -> Iterator[MatrixCase]:
    for test, sentence in _LIST_SENTENCES.items():
        yield matrix_case(_LIST, (), (test,), sentence)
    for topic in TOPICS.values():
        yield from topic.cases()


def _missing(case: MatrixCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements that the device lacks: the feature, types, or entries of its list."""
    if "cooperativeMatrix" not in capabilities.features:
        return ["cooperativeMatrix"]
    if case.axes.topic == _LIST:
        return []
    needs = []
    if "compute" not in capabilities.cooperative_matrix_stages:
        needs.append("cooperativeMatrixSupportedStages with the compute stage")
    topic = TOPICS[case.axes.topic]
    features = {feature for name in topic.components(case) for feature in COMPONENTS[name].features}
    needs += sorted((features | {"vulkanMemoryModel"}) - capabilities.features)
    if topic.feature:
        if not capabilities.features & {topic.feature, f"{topic.feature}EXT"}:
            needs.append(
                f"{topic.feature} (VK_EXT_cooperative_matrix_maintenance1, VK_NV_cooperative_matrix2)"
            )
        if capabilities.api_version < (1, 3):
            needs.append("Vulkan 1.3, for SPIR-V 1.6")
    if not topic.shapes(case, capabilities):
        needs.append(topic.needs(case))
    invocations = SUBGROUPS * capabilities.subgroup.size
    if capabilities.limits.get("maxComputeWorkGroupInvocations", 0) < invocations:
        needs.append(f"maxComputeWorkGroupInvocations of {invocations}")
    return needs


# --- the device's list ----------------------------------------------------------------------------------


def _described(row: CooperativeMatrix) -> str:
    types = "/".join((row.a_type, row.b_type, row.c_type, row.result_type))
    return f"{row.m}×{row.n}×{row.k} {types}{' saturating' if row.saturating else ''} ({row.scope})"


def unjudged(capabilities: Capabilities) -> list[str]:
    """Return the entries of a device's list that no case of `multiply_add` covers."""
    judged = {id(row) for types, row in listed(capabilities) if types.name in COMBINATIONS}
    return [_described(row) for row in capabilities.cooperative_matrices if id(row) not in judged]


def judge_list(case: MatrixCase, capabilities: Capabilities) -> Verdict:
    """Return the verdict on a device's list by the rules of VkCooperativeMatrixPropertiesKHR."""
    rows = capabilities.cooperative_matrices
    (test,) = case.axes.variant
    if test == "known":
        left = unjudged(capabilities)
        note = f"{len(rows) - len(left)} of {len(rows)} entries have cases"
        if left:
            detail = f"{note}; not: {', '.join(left)}"
            return Verdict(Status.UNDEFINED, len(rows) - len(left), len(left), detail)
        return Verdict(Status.PASS, len(rows), 0, note)
    fault = ""
    if test == "sizes":
        # "one entry at least has powers of two for M, N and K"
        if not any(all(size.bit_count() == 1 for size in (row.m, row.n, row.k)) for row in rows):
            fault = "no entry of the list has powers of two for MSize, NSize and KSize"
    elif "cooperativeMatrixWorkgroupScope" not in capabilities.features:
        others = {row.scope for row in rows} - {"SUBGROUP"}
        fault = f"the list has the scope {', '.join(sorted(others))}" if others else ""
    return Verdict(Status.FAIL if fault else Status.PASS, len(rows), 0, fault)


# --- shaders --------------------------------------------------------------------------------------------


def _judge(executor: Executor, cases: list[MatrixCase]) -> list[Verdict]:
    """Execute a batch in one shader, with a block for each case in each listed shape; return its verdicts."""
    capabilities = executor.capabilities
    if cases[0].axes.topic == _LIST:
        return [judge_list(case, capabilities) for case in cases]
    builder = Builder(capabilities.subgroup.size, executor.seed)
    comparisons = []
    for case in cases:
        topic = TOPICS[case.axes.topic]
        shapes = topic.shapes(case, capabilities)
        comparisons.append([(str(shape), topic.add(builder, case, shape)) for shape in shapes])
    outputs = _run(executor, builder, cases)
    code = TOPICS[cases[0].axes.topic].code
    return [_together([(shape, compare(outputs)) for shape, compare in own], code) for own in comparisons]


def _run(executor: Executor, builder: Builder, cases: list[MatrixCase]) -> Outputs:
    """Run a program; return the bytes that it wrote, by view."""
    components = {name for case in cases for name in TOPICS[case.axes.topic].components(case)}
    title = f"{len(cases)} cases of cooperative matrices, the first {cases[0].name}."
    # The extension needs SPIR-V 1.3 and the memory model of Vulkan 1.2, its successors SPIR-V 1.6.
    target = TargetEnvironment.VULKAN_1_3 if builder.calls else TargetEnvironment.VULKAN_1_2
    module = executor.compile(builder.source(title), stage="compute", target=target)
    # SPIRV-Tools knows the instructions of NV, so they are preferred where a device has both.
    is_ext = TOPICS[cases[0].axes.topic].feature not in executor.capabilities.features
    module = with_calls(module, builder.calls, is_ext=is_ext)
    for encoding in {COMPONENTS[name].encoding for name in components} - {""}:
        module = with_encoding(module, encoding)
    contents, outputs = builder.bindings()
    bindings = {}
    for binding, data in contents.items():
        bindings[binding] = executor.buffer(f"cooperative_{binding}", data.nbytes)
        bindings[binding].write(data)
    with (
        executor.device.pipeline(module, specialization=builder.specialization) as pipeline,
        pipeline.bind(bindings) as bound,
    ):
        bound.dispatch((WORKGROUPS, 1, 1), timeout=executor.timeout)
    return {
        view: bindings[binding].read(np.uint8, contents[binding].size) for view, binding in outputs.items()
    }


def _together(verdicts: list[tuple[str, Verdict]], code: str) -> Verdict:
    """Return one verdict for all shapes of a case; `code` is that of the topic."""
    defined = sum(verdict.defined for _, verdict in verdicts)
    undefined = sum(verdict.undefined for _, verdict in verdicts)
    failed = [(shape, verdict) for shape, verdict in verdicts if verdict.status == Status.FAIL]
    if failed:
        detail = "\n".join(f"{shape}: {verdict.detail}" for shape, verdict in failed)
        shown = next(((shape, verdict.evidence) for shape, verdict in failed if verdict.evidence), None)
        evidence = shown and shown[1] | {"where": f"{shown[0]}, {shown[1]['where']}", "code": code}
        return Verdict(Status.FAIL, defined, undefined, detail, evidence)
    notes = "; ".join(f"{shape}: {verdict.detail}" for shape, verdict in verdicts if verdict.detail)
    return Verdict(Status.PASS if defined else Status.UNDEFINED, defined, undefined, notes)


# --- encodings ------------------------------------------------------------------------------------------

_FLOAT16, _INT8 = 9, 39
_REPLACED = {
    dtypes.BFLOAT16: (_FLOAT16, ("BFloat16TypeKHR", "BFloat16CooperativeMatrixKHR"), "SPV_KHR_bfloat16"),
    **dict.fromkeys(dtypes.FLOAT8, (_INT8, ("Float8EXT", "Float8CooperativeMatrixEXT"), "SPV_EXT_float8")),
}
"""By encoding: the capability of the type that stands for it, its capabilities, and its extension."""

_SIGNED = {dtypes.E4M3: 0, dtypes.E5M2: 1}
"""The signedness of the integer that stands for a float of 8 bits."""


def with_encoding(module: Module, encoding: str) -> Module:
    """Return a module with an encoding that glslang lacks, in place of the type that stands for it."""
    replaced, capabilities, extension = _REPLACED[encoding]
    bits = 16 if replaced == _FLOAT16 else 8
    number = grammar().number("FPEncoding", encoding)

    def capability(editor: Editor, words: Words) -> Iterable[Words]:
        if words[1] != replaced:
            return [words]
        numbers = [grammar().number("Capability", name) for name in capabilities]
        return [editor.instruction("OpCapability", each) for each in numbers]

    def first_import(editor: Editor, words: Words) -> Iterable[Words]:
        raw = extension.encode() + b"\0" * (4 - len(extension) % 4)
        text = [int.from_bytes(raw[at : at + 4], "little") for at in range(0, len(raw), 4)]
        return [editor.instruction("OpExtension", *text), words]

    def kind(editor: Editor, words: Words) -> Iterable[Words]:
        is_replaced = words[2] == bits and (bits == 16 or words[3] == _SIGNED[encoding])
        return [editor.instruction("OpTypeFloat", words[1], bits, number) if is_replaced else words]

    def product(editor: Editor, words: Words) -> Iterable[Words]:
        # Floats have no flags of signed components.
        return [editor.instruction("OpCooperativeMatrixMulAddKHR", *words[1:6])]

    return Editor(module).rewrite(
        {
            "OpCapability": capability,
            "OpExtInstImport": first_import,
            "OpTypeFloat" if bits == 16 else "OpTypeInt": kind,
            **({} if bits == 16 else {"OpCooperativeMatrixMulAddKHR": product}),
        }
    )


COOPERATIVE_MATRIX = Family(
    "cooperative_matrix",
    _cases,
    _missing,
    _judge,
    lambda case: (case.axes.topic, case.axes.types),
    batch=8,
)
"""Loads, stores, products, arithmetic, elements and conversions of cooperative matrices."""
