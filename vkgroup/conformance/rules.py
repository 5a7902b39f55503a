"""The rule of a case: the sentence of a specification that its failure violates, and the rule's strength.

A rule is found by the case's name. For operations of a subgroup it is the sentence on the SPIR-V instruction,
because that is what the driver gets. Where SPIR-V and Vulkan require nothing, it is the sentence of the GLSL
extension (`Strength.EXTENSION`). A wrong active mask violates the definition of a ballot, whatever the case
tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from vkgroup.conformance.barriers import BARRIERS
from vkgroup.conformance.intrinsics import OLDER
from vkgroup.conformance.patterns import patterns_of
from vkgroup.conformance.wave_intrinsics import ALL_INTRINSICS
from vkgroup.conformance.wgsl_functions import FUNCTIONS_BY_NAME, GLSL_OF
from vkgroup.device import Capabilities
from vkgroup.record.record import Result, Status
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import BUILTIN_VARIABLES, SUBGROUP_OPERATIONS, Operation
from vkgroup.spec.rules import SENTENCES, Rule
from vkgroup.spec.sentences import SENTENCES as BUILT_INS
from vkgroup.spec.sentences import Strength
from vkgroup.spec.types import LONG_TYPES, TYPES
from vkgroup.workers.messages import NO_ANSWER

BARRIERS_IN_BRANCHES = (1, 4, 323)
"""First Vulkan version after SPIR-V 1.6, revision 6 (July 2025). It requires barriers of subgroup scope to
wait in all control flow. Earlier revisions say that the client API defines it, and Vulkan does not."""


def rule_of_case(case: str, capabilities: Capabilities | None = None) -> dict[str, str]:
    """Return the sentence that a failure of a case violates: ``document``, ``quote``, ``strength``.

    `capabilities` are the device's; without them, its version is not considered. {} for an unknown name.
    """
    version = None if capabilities is None else capabilities.api_version
    rule = _rule(case.split("."), version)
    return {} if rule is None else rule.to_json(version)


def rule_of(result: Result, capabilities: Capabilities | None = None) -> dict[str, str]:
    """Return the rule that a failure violates.

    It is that of the case, with two exceptions. A wrong active mask violates the rule of ballots. A hang
    violates that of commands that wait.
    {} if the process ended: no sentence forbids it. {} if the worker did not answer: the command in which the
    driver hangs is unknown, and the specification limits only the time of commands that wait.
    """
    told = {Status.TIMEOUT: NO_ANSWER, Status.CRASH: "the process was"}.get(result.status)
    if told is not None and told in result.detail:
        return {}
    name = _rule_of_kind(result)
    if not name:
        return rule_of_case(result.case, capabilities)
    return SENTENCES[name].to_json(None if capabilities is None else capabilities.api_version)


def _rule_of_kind(result: Result) -> str:
    """Return the name of the rule for the kind of a failure; "" if it is that of the case."""
    if result.status is Status.TIMEOUT:
        return "finite_time"
    diagnosis: dict[str, Any] = (result.evidence or {}).get("diagnosis") or {}
    return "OpGroupNonUniformBallot" if diagnosis.get("kind") == "mask" else ""


def _rule(parts: list[str], version: tuple[int, ...] | None) -> Rule | None:
    if len(parts) > 5 and parts[0] in _CATEGORIES:
        return _of_operation(parts, version)
    if parts[0] == "extended_instruction":
        return SENTENCES.get(parts[2])
    if parts[0] == "thread_group":
        return _extension(_THREAD_GROUP.get(parts[2], parts[2]))
    name = ".".join(parts).removeprefix("hlsl_").removeprefix("slang_")
    return next((SENTENCES[rule] for glob, rule in _TABLE if fnmatchcase(name, glob)), None)


_IN_HLSL = ("hlsl", "hlsl_later", "slang")
"""Categories of `ALL_INTRINSICS`."""

_THREAD_GROUP = {
    "masks_of_active": "activeThreadsNV",
    "arrangement": "quadSwizzleXNV",
    "neighbour_x": "quadSwizzleXNV",
    "neighbour_y": "quadSwizzleYNV",
    "helpers": "gl_HelperThreadNV",
    "helper_derivatives": "gl_HelperThreadNV",
}
"""Cases of NV_shader_thread_group that are not named after a built-in, and the built-in that they test."""

_CATEGORIES = {category.value for category in Category} | {*_IN_HLSL, "wgsl", "legacy_ballot"}
"""Categories of single operations."""


def _extension(name: str) -> Rule | None:
    """Return the sentence of the GLSL extension on a built-in; None if there is none."""
    sentence = BUILT_INS.get(name)
    return None if sentence is None else Rule(sentence.place, sentence.text, Strength.EXTENSION)


def _of_operation(parts: list[str], version: tuple[int, ...] | None) -> Rule | None:
    category, stage, name, type_, pattern, data = parts[:6]
    if category == "legacy_ballot":
        return _of_older(name)
    if category in _IN_HLSL:
        name = next((row.core for row in ALL_INTRINSICS if row.name == name), name)
    if category == "wgsl" and name in FUNCTIONS_BY_NAME:
        name, type_ = FUNCTIONS_BY_NAME[name].core, GLSL_OF.get(type_, type_)
    if name in BUILTIN_VARIABLES:
        return SENTENCES[BUILTIN_VARIABLES[name].builtin]
    if name in BARRIERS:
        return _of_barrier(name, stage, pattern, version)
    operation = SUBGROUP_OPERATIONS.get(name)
    if operation is None:
        return None
    for key in _keys(operation, type_, data):
        if key in SENTENCES:
            return SENTENCES[key]
    return _extension(name)


def _of_older(name: str) -> Rule | None:
    """Return the sentence on an instruction or built-in of SPV_KHR_shader_ballot or SPV_KHR_subgroup_vote."""
    spelled = {
        "OpSubgroupBallotKHR": "ballotARB",
        "OpSubgroupFirstInvocationKHR": "readFirstInvocationARB",
        "OpSubgroupReadInvocationKHR": "readInvocationARB",
        "OpSubgroupAllKHR": "allInvocationsARB",
        "OpSubgroupAnyKHR": "anyInvocationARB",
        "OpSubgroupAllEqualKHR": "allInvocationsEqualARB",
    }.get(name, name)
    if spelled in BUILT_INS:
        sentence = BUILT_INS[spelled]
        return Rule(sentence.place, sentence.text)
    core = OLDER[name].core if name in OLDER else "subgroupBallot"
    if core in BUILTIN_VARIABLES:
        return SENTENCES[BUILTIN_VARIABLES[core].builtin]
    sentence = BUILT_INS["ballotARB"]
    return Rule(sentence.place, sentence.text)


def _of_barrier(name: str, stage: str, pattern: str, version: tuple[int, ...] | None) -> Rule | None:
    """Return the rule of a barrier.

    In control flow that differs within a subgroup, SPIR-V before revision 6 leaves OpControlBarrier to the
    client API, and Vulkan does not define it: then only KHR_shader_subgroup requires the barrier to wait.
    """
    if name != "subgroupBarrier":
        return SENTENCES["OpMemoryBarrier"]
    row = patterns_of(stage).get(pattern)
    together = row is None or row.uniform or row.name == "uniform_branch"
    if together:
        return SENTENCES["OpControlBarrier"]
    revised = replace(SENTENCES["OpControlBarrier"], since=BARRIERS_IN_BRANCHES)
    return revised if revised.holds(version) else _extension(name)


def _keys(operation: Operation, type_: str, data: str) -> Iterator[str]:
    """Yield names of sentences on an operation, the most specific first."""
    kind = (TYPES | LONG_TYPES)[type_].scalar.kind if type_ in TYPES | LONG_TYPES else "uint"
    group = operation.group_operation or ""
    if operation.operator in ("Min", "Max") and kind == "float" and data == "special":
        yield "nan"
    if operation.operator is not None and group != "Reduce":
        yield group
    if operation.category.value.startswith("rotate"):
        yield "rotate"
    if kind in operation.opcodes:
        yield operation.opcodes[kind]
    yield from operation.opcodes.values()


_TABLE: tuple[tuple[str, str], ...] = (
    ("split_barrier.*", "OpControlBarrierWaitEXT"),
    ("memory_access.*.variable_pointers.*", "OpLoad"),
    ("memory_access.*.untyped_pointers.*", "untyped_access"),
    ("memory_access.*.explicit_layout.*", "aliased"),
    ("memory_access.*.replicated_composites.*", "OpCompositeConstructReplicateEXT"),
    ("memory_access.*.fma.*", "OpFmaKHR"),
    ("memory_access.*.indexing64.*", "OpArrayLength"),
    ("legacy_ballot.*.dynamic_instances.*", "tangle"),
    ("quad_control.*.subgroupQuadAll.*", "OpGroupNonUniformQuadAllKHR"),
    ("quad_control.*.subgroupQuadAny.*", "OpGroupNonUniformQuadAnyKHR"),
    ("quad_control.scene.derivative.*", "quad_derivatives"),
    ("quad_control.scene.lod.*", "lod"),
    ("quad_control.scene.full.*", "full_quads"),
    ("quad_control.scene.terminate_ballot.*", "helper_maximal"),
    ("quad_control.scene.*any.*", "OpGroupNonUniformQuadAnyKHR"),
    ("quad_control.scene.*all.*", "OpGroupNonUniformQuadAllKHR"),
    ("quad_control.derivative_group.*", "derivative_group"),
    ("reconvergence.maximal.fragment.*", "helper_maximal"),
    ("reconvergence.terminate_invocation.*", "OpTerminateInvocation"),
    ("reconvergence.maximal.*", "maximal_reconvergence"),
    ("reconvergence.subgroup_uniform*", "subgroup_uniform_control_flow"),
    ("reconvergence.workgroup_uniform*", "uniform_control_flow"),
    ("fragment.quad.broadcast*", "OpGroupNonUniformQuadBroadcast"),
    ("fragment.quad.*", "OpGroupNonUniformQuadSwap"),
    ("fragment.helper.flag*", "HelperInvocation"),
    ("fragment.helper.demoted*", "quad_helpers"),
    ("fragment.helper.self.*", "HelperInvocation"),
    ("fragment.helper.*", "helper_stores"),
    ("fragment.load.*", "helper_stores"),
    ("fragment.derivative.*", "derivative"),
    ("fragment.edge.*", "edge"),
    ("fragment.primitive.order.*", "rasterization_order"),
    ("fragment.primitive.coordinate.*", "FragCoord"),
    ("fragment.primitive.*", "coverage"),
    ("fragment.sample.mask.*", "SampleMask"),
    ("fragment.sample.*", "sample_shading"),
    ("fragment.draws.*", "coverage"),
    ("fragment.subgroup.subgroupAdd.*", "OpGroupNonUniformIAdd"),
    ("fragment.subgroup.subgroupMax.*", "OpGroupNonUniformUMax"),
    ("fragment.subgroup.subgroupInclusive*", "InclusiveScan"),
    ("fragment.subgroup.subgroupExclusive*", "ExclusiveScan"),
    ("fragment.subgroup.*", "OpGroupNonUniformBroadcastFirst"),
    ("fragment.wave.*", "OpGroupNonUniformBallot"),
    ("fragment.vote.any.*", "OpGroupNonUniformAny"),
    ("fragment.vote.allequal.*", "OpGroupNonUniformAllEqual"),
    ("fragment.vote.*", "OpGroupNonUniformAll"),
    ("compute_model.builtins.every_invocation_once.*", "dispatch"),
    ("compute_model.builtins.gl_NumWorkGroups.*", "NumWorkgroups"),
    ("compute_model.builtins.gl_WorkGroupSize.*", "WorkgroupSize"),
    ("compute_model.builtins.gl_WorkGroupID.*", "WorkgroupId"),
    ("compute_model.builtins.gl_LocalInvocationID.*", "LocalInvocationId"),
    ("compute_model.builtins.gl_GlobalInvocationID.*", "GlobalInvocationId"),
    ("compute_model.builtins.gl_LocalInvocationIndex.*", "LocalInvocationIndex"),
    ("compute_model.constants.*", "WorkgroupSize"),
    ("compute_model.shared.*", "OpControlBarrier"),
    ("compute_model.coherence.*", "OpMemoryBarrier"),
    ("compute_model.litmus.*_coherence.*", "modification_order"),
    ("compute_model.litmus.*", "synchronizes"),
    ("compute_model.atomics.*", "atomic"),
    ("compute_model.counters.message_passing.*", "synchronizes"),
    ("compute_model.counters.*", "atomic"),
    ("compute_model.dispatches.*", "dispatch"),
    ("cooperative_matrix.load.*", "OpCooperativeMatrixLoadKHR"),
    ("cooperative_matrix.store.*", "OpCooperativeMatrixStoreKHR"),
    ("cooperative_matrix.multiply_add.*", "OpCooperativeMatrixMulAddKHR"),
    ("cooperative_matrix.elements.*.length", "OpCooperativeMatrixLengthKHR"),
    ("cooperative_matrix.reduce.*", "OpCooperativeMatrixReduceNV"),
    ("cooperative_matrix.per_element.*", "OpCooperativeMatrixPerElementOpNV"),
    ("cooperative_matrix.convert_use.*", "OpCooperativeMatrixConvertNV"),
    ("cooperative_matrix.*", "cooperative_matrix"),
    ("memory_model.*.control_*", "OpControlBarrier"),
    ("memory_model.*", "synchronizes"),
    ("shader_clock.*", "OpReadClockKHR"),
    ("sm_builtins.*.gl_WarpsPerSMNV.*", "WarpsPerSMNV"),
    ("sm_builtins.*.gl_SMCountNV.*", "SMCountNV"),
    ("sm_builtins.*.gl_WarpIDNV.*", "WarpIDNV"),
    ("sm_builtins.*.gl_SMIDNV.*", "SMIDNV"),
    ("reported.compute.matrix_operations.*", "OpCooperativeMatrixMulAddKHR"),
    ("reported.*.group_branch.shuffle_xor", "OpGroupNonUniformShuffleXor"),
    ("reported.*.group_branch.reduction", "OpGroupNonUniformIAdd"),
    ("reported.*.quad_index", "OpGroupNonUniformShuffle"),
    *(
        (f"reported.*.masks.{mask.lower()}*", f"Subgroup{mask}Mask")
        for mask in ("Eq", "Ge", "Gt", "Le", "Lt")
    ),
    ("reported.*", "OpControlBarrier"),
    ("size_control.properties.workgroup_subgroups", "maxComputeWorkgroupSubgroups"),
    ("size_control.properties.powers_of_two", "subgroupSize"),
    ("size_control.properties.*", "minSubgroupSize"),
    ("*.*.*_full*", "full_subgroups"),
    ("*.*.required_*", "required_size"),
    ("*.*.varying*", "varying"),
    ("size_control.*.spirv16*", "varying"),
    ("size_control.*", "not_varying"),
    ("multiple_dispatches.*.spirv16*", "varying"),
    ("multiple_dispatches.*", "not_varying"),
    ("descriptor_indexing.*.storage_buffer.*", "storage_buffer"),
    ("descriptor_indexing.*.uniform_buffer.*", "uniform_buffer"),
    ("descriptor_indexing.*.storage_image.*", "storage_image"),
    ("descriptor_indexing.*.input_attachment.*", "input_attachment"),
    ("descriptor_indexing.*.uniform_texel_buffer.*", "uniform_texel_buffer"),
    ("descriptor_indexing.*.storage_texel_buffer.*", "storage_texel_buffer"),
    ("descriptor_indexing.*", "sampled_image"),
)
"""Patterns of names and their sentences in `vkgroup.spec.rules`; the first that matches counts."""
