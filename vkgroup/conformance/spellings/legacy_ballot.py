"""The family of the older ballots and votes, as declared and lowered to the core's instructions.

A lowered module must have the same results as one that declares the extension.

One case runs the example of SPV_KHR_shader_ballot: five ballots, A to E. The document speaks of dynamic
instances instead of "lockstep". Only uniform control flow guarantees that invocations are together, so A and
E name every invocation of the subgroup. B, C and D are executed in divergent control flow: each names the
invocations that execute it together, including the invocation itself. B need not equal D.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.compiler import TargetEnvironment
from vkgroup.conformance import evidence, support
from vkgroup.conformance.arrays import Flags
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.evidence import Fault
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family
from vkgroup.conformance.instances import unpack
from vkgroup.conformance.intrinsics import BALLOT, EXAMPLE, FORMS, OLDER, VOTE, Older, instruction
from vkgroup.conformance.patterns import patterns_of
from vkgroup.conformance.stages.base import BatchStage
from vkgroup.conformance.subgroup.cases import STAGES, Case
from vkgroup.conformance.subgroup.family import missing, program_of, verdicts_on
from vkgroup.conformance.subgroup.shader import BatchProgram, Spelling
from vkgroup.device import Capabilities
from vkgroup.record.record import Status
from vkgroup.spec.limits import SUBGROUP_SIZES
from vkgroup.spec.operations import BUILTIN_VARIABLES, OPERATIONS
from vkgroup.spec.stages import WORKGROUP_STAGES

_OLDEST = ("compute", "fragment")
"""The stages with modules of SPIR-V 1.3, which has no mesh shaders."""

_OPERANDS = ("first", "middle", "last", "dynamic")
_EXTENSIONS = {BALLOT: "VK_EXT_shader_subgroup_ballot", VOTE: "VK_EXT_shader_subgroup_vote"}
_WIDEST = 64


def _cases() -> Iterator[Case]:
    """Yield every case, stage by stage, then the example."""
    for stage in STAGES:
        for older in OLDER.values():
            yield from _operation_cases(stage, older)
    for form in ("declared", "lowered"):
        yield Case("legacy_ballot", "compute", EXAMPLE, "", "", "", form=form)


def core_case(case: Case) -> Case:
    """Return the case of KHR_shader_subgroup that has the same result."""
    core = OLDER[case.operation].core
    category = (BUILTIN_VARIABLES.get(core) or OPERATIONS[core]).category.value
    return replace(case, category=category, operation=core, data="exact", form="")


def _missing(case: Case, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case that the device lacks.

    Lowered modules have the requirements of the core's instructions. Others need the extension, and that of
    ballots to record active invocations.
    """
    if case.operation == EXAMPLE:
        return _missing_of(OLDER["OpSubgroupBallotKHR"], case, capabilities)
    core = core_case(case)
    needs = missing(core, capabilities)
    if case.form == "declared":
        own = f"VK_SUBGROUP_FEATURE_{core.category.upper()}_BIT"
        not_needed = ("VK_SUBGROUP_FEATURE_BALLOT_BIT", own, "subgroupBroadcastDynamicId")
        needs = [need for need in needs if not need.startswith(not_needed)]
        needs += _missing_of(OLDER["OpSubgroupBallotKHR"], case, capabilities)
    if case.form == "lowered_1_3":
        needs = [need for need in needs if need != "subgroupBroadcastDynamicId"]
        needs += support.lacking_operations(("shuffle",), capabilities)
    return list(dict.fromkeys(needs + _missing_of(OLDER[case.operation], case, capabilities)))


def _batch_key(case: Case) -> Hashable:
    """Return the batch key: the program's properties and the form of the module."""
    if case.operation == EXAMPLE:
        return case
    older = OLDER[case.operation]
    alone = older.name if older.alone else ""
    return case.stage, case.pattern, case.subgroup_size, case.form, older.glsl, older.wide, alone


def _program(executor: Executor, cases: list[Case], stage: BatchStage | None = None) -> BatchProgram:
    """Return the program of a batch with the older spelling of its operations, all of one source.

    The active mask is also an older ballot. In a block that a switch reaches from several cases, the core's
    ballot may have a different result, because the specifications do not define which invocations are
    together there. On the H200 the two ballots differ.
    """
    ballot = OLDER["OpSubgroupBallotKHR"]
    rows = {OLDER[case.operation].core: OLDER[case.operation] for case in cases}

    def call(core: Case, arguments: Sequence[str]) -> str:
        return rows[core.operation].call.format(*arguments)

    declared = dict.fromkeys(row.declaration for row in (ballot, *rows.values()) if row.declaration)
    extensions = {"GL_EXT_spirv_intrinsics", *(row.glsl for row in rows.values() if row.glsl)}
    if any(row.wide for row in rows.values()):
        extensions.add("GL_ARB_gpu_shader_int64")
    spelling = Spelling(
        call,
        tuple(extensions),
        "\n".join(declared),
        ballot.call.format("true"),
        options=_options(executor, cases[0]),
    )
    return program_of(executor, list(map(core_case, cases)), stage, spelling)


def _options(executor: Executor, case: Case) -> dict[str, Any]:
    """Return the options of the compilation of a case's form."""
    target = TargetEnvironment.VULKAN_1_1 if case.form == "lowered_1_3" else executor.target
    return {"target": target, "lower_legacy": case.form != "declared"}


def _judge(executor: Executor, cases: list[Case], stage: BatchStage | None = None) -> list[Verdict]:
    """Execute a batch by the rules of the core's cases, or of the document's example."""
    if cases[0].operation != EXAMPLE:
        return verdicts_on(executor, cases, stage, _program)
    module = executor.compile(SOURCE, stage="compute", **_options(executor, cases[0]))
    results = executor.device.run(module, WORKGROUPS, {0: blank()})
    return [verdict_on(results[0], executor.capabilities.subgroup.size)] * len(cases)


def _missing_of(older: Older, case: Case, capabilities: Capabilities) -> list[str]:
    """Return the requirements of a case's instruction that the device lacks."""
    needs = []
    if case.form == "declared" and _EXTENSIONS[older.extension] not in capabilities.extensions:
        needs.append(_EXTENSIONS[older.extension])
    if older.wide and "shaderInt64" not in capabilities.features:
        needs.append("shaderInt64")
    if older.wide and (case.subgroup_size or capabilities.subgroup.size) > _WIDEST:
        needs.append(f"a subgroup size of at most {_WIDEST} (uint64_t has a bit for each invocation)")
    return needs


def _operation_cases(stage: str, older: Older) -> Iterator[Case]:
    reads = older.core == "subgroupBroadcast"
    for type_ in older.types:
        for pattern in patterns_of(stage):
            for operand in _OPERANDS if reads else ("",):
                for form in FORMS:
                    if form != "lowered_1_3" or (operand == "dynamic" and stage in _OLDEST):
                        case = Case(
                            "legacy_ballot", stage, older.name, type_, pattern, "", operand, form=form
                        )
                        yield case
                        if stage in WORKGROUP_STAGES and pattern == "all" and form == "declared":
                            yield from (replace(case, subgroup_size=size) for size in SUBGROUP_SIZES)


WORKGROUPS, LOCAL_SIZE = 4, 61
INVOCATIONS = WORKGROUPS * LOCAL_SIZE
_BALLOTS, _UNIFORM = "ABCDE", "AE"
WORDS = 2 + 5 * len(_BALLOTS)
"""Words of each invocation: subgroup, lane; then for each ballot whether it was executed, and its words."""

SOURCE = f"""#version 460
// The example of SPV_KHR_shader_ballot. Binding 0: {WORDS} words of each invocation.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_spirv_intrinsics : require
{instruction("OpSubgroupBallotKHR", "SubgroupBallotKHR", "SPV_KHR_shader_ballot")}
uvec4 ballot(bool predicate);
layout(local_size_x = {LOCAL_SIZE}) in;
layout(std430, binding = 0) writeonly buffer Results {{ uint results[][{WORDS}]; }};

void keep(uint which, uvec4 found) {{
    uint at = 2u + 5u * which;
    results[gl_GlobalInvocationID.x][at] = 1u;
    for (uint word = 0u; word < 4u; ++word) results[gl_GlobalInvocationID.x][at + 1u + word] = found[word];
}}

void main() {{
    results[gl_GlobalInvocationID.x][0] = gl_SubgroupID;
    results[gl_GlobalInvocationID.x][1] = gl_SubgroupInvocationID;
    bool odd = (gl_SubgroupInvocationID & 1u) != 0u;
    bool odd2 = (gl_SubgroupInvocationID & 2u) != 0u;
    keep(0u, ballot(true));
    if (odd) {{
        keep(1u, ballot(true));
        if (odd2) {{
            keep(2u, ballot(true));
        }}
        keep(3u, ballot(true));
    }}
    keep(4u, ballot(true));
}}
"""


def blank() -> NDArray[np.uint32]:
    """Return the initial contents of the results: no ballot executed."""
    return np.zeros((INVOCATIONS, WORDS), np.uint32)


def verdict_on(results: NDArray[Any], size: int) -> Verdict:
    """Return the verdict on the example's records, (`INVOCATIONS`, `WORDS`), in subgroups of `size`."""
    workgroup = np.arange(INVOCATIONS) // LOCAL_SIZE
    subgroup, lane = results[:, 0].astype(np.int64), results[:, 1].astype(np.int64)
    if lane.max() >= size:
        return Verdict(Status.FAIL, 0, 0, f"lane {lane.max()} is not below the subgroup size {size}")
    _, row = np.unique(np.column_stack([workgroup, subgroup]), axis=0, return_inverse=True)
    row = row.ravel()
    odd, odd2 = lane & 1 == 1, lane & 2 == 2
    executing = {"A": odd | True, "B": odd, "C": odd & odd2, "D": odd, "E": odd | True}
    faults: list[Fault] = []
    masks = {}
    for number, name in enumerate(_BALLOTS):
        record = results[:, 2 + 5 * number : 7 + 5 * number]
        masks[name] = unpack(np.ascontiguousarray(record[:, 1:]), 128)
        if not np.array_equal(record[:, 0] == 1, executing[name]):
            faults.append(Fault(f"{name} was not executed by the invocations that its branches let in"))
            continue
        fault = _fault(name, masks[name], row, lane, executing[name], size)
        faults += [] if fault is None else [fault]
    judged = int(sum(int(flags.sum()) for flags in executing.values()))
    if faults:
        shown = next((fault.lanes for fault in faults if fault.lanes), None)
        return Verdict(Status.FAIL, judged, 0, "; ".join(fault.words for fault in faults), shown)
    same = bool(np.array_equal(masks["B"][odd], masks["D"][odd]))
    detail = f"B {'equals' if same else 'does not equal'} D here, which is not promised"
    return Verdict(Status.PASS, judged, 0, detail)


def _fault(
    name: str, masks: Flags, row: NDArray[Any], lane: NDArray[Any], active: Flags, size: int
) -> Fault | None:
    """Return the error in a ballot's masks, (invocations, 128); None if there is none."""
    for subgroup in np.unique(row[active]):
        members = np.flatnonzero(active & (row == subgroup))
        there = np.zeros(128, np.bool_)
        there[lane[members]] = True
        ballots, least = masks[members], np.eye(128, dtype=np.bool_)[lane[members]]
        words, wrong = _judged(name, ballots, there, lane[members])
        if words:
            rows = {
                "invocation": map(str, members.tolist()),
                "expected": [
                    evidence.hex_of(there)
                    if name in _UNIFORM
                    else f"{evidence.hex_of(own)} … {evidence.hex_of(there)}"
                    for own in least
                ],
                "got": [evidence.hex_of(mask) for mask in ballots],
            }
            most = np.broadcast_to(there[:size], (len(members), size))
            least = most if name in _UNIFORM else least[:, :size]
            lanes = evidence.of_lanes(
                f"ballot {name}, the subgroup of invocation {members[0]}",
                lane[members],
                wrong,
                rows,
                size=size,
                active=there[:size],
                masks=evidence.masks_of(lane[members], ballots[:, :size], least, most),
                code=f"keep({_BALLOTS.index(name)}u,",
            )
            return Fault(words, lanes)
    return None


def _judged(name: str, ballots: Flags, there: Flags, lane: NDArray[Any]) -> tuple[str, Flags]:
    """Return the error in the masks of one subgroup, (members, 128), and the members with wrong masks."""
    others = np.any(ballots & ~there, axis=1)
    if name in _UNIFORM and (wrong := np.any(ballots != there, axis=1)).any():
        return f"{name} is not every invocation of the subgroup, in uniform control flow", wrong
    if others.any():
        return f"{name} names an invocation that does not execute it", others
    if not (own := ballots[np.arange(len(lane)), lane]).all():
        return f"{name} leaves out the invocation that executes it", ~own
    member_of = {int(own_lane): number for number, own_lane in enumerate(lane)}
    for number, mask in enumerate(ballots):
        together = [member_of[int(other)] for other in np.flatnonzero(mask)]
        if not np.all(ballots[together] == mask):
            return f"{name} differs between invocations that it says executed it together", (
                np.arange(len(lane)) == number
            )
    return "", np.zeros(len(lane), np.bool_)


LEGACY_BALLOT = Family(
    "legacy_ballot",
    _cases,
    _missing,
    _judge,
    _batch_key,
    batch=24,
    llvm_batch=12,
    program=_program,
)
"""SPV_KHR_shader_ballot, SPV_KHR_subgroup_vote, GL_ARB_shader_ballot and GL_ARB_shader_group_vote."""
