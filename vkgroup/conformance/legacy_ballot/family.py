"""The family of the older ballots and votes: declared, and lowered to the core's instructions.

The programs are those of the core's cases with the calls exchanged, so that patterns, data and verdicts are
the same; a module that is lowered must give the same results as one that declares the extension.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING

from vkgroup.compiler import Target
from vkgroup.conformance import support
from vkgroup.conformance.cases import Case
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.instances import read
from vkgroup.conformance.legacy_ballot import example
from vkgroup.conformance.legacy_ballot.case import EXAMPLE, LegacyCase, legacy_cases
from vkgroup.conformance.legacy_ballot.table import BALLOT, OLDER, VOTE, Older
from vkgroup.conformance.program import Spelling, build
from vkgroup.conformance.running import execute
from vkgroup.conformance.verdict import judge
from vkgroup.device import Capabilities

if TYPE_CHECKING:
    from vkgroup.conformance.execute import Executor

BATCH, LLVM_BATCH = 24, 12
"""Cases a shader, and on lavapipe, whose compiler's time grows faster than the shader."""

_EXTENSIONS = {BALLOT: "VK_EXT_shader_subgroup_ballot", VOTE: "VK_EXT_shader_subgroup_vote"}
_WIDEST = 64


class LegacyBallotFamily:
    """SPV_KHR_shader_ballot, SPV_KHR_subgroup_vote, GL_ARB_shader_ballot and GL_ARB_shader_group_vote."""

    name = "legacy_ballot"

    def cases(self) -> Iterable[LegacyCase]:
        """Return every case, stage by stage."""
        return legacy_cases()

    def missing(self, case: LegacyCase, capabilities: Capabilities) -> list[str]:
        """Return what the device does not declare.

        Lowered modules need what the core's instructions need; others the extension, and that of ballots to
        observe who is active.
        """
        if case.operation == EXAMPLE:
            return _missing_of(OLDER["OpSubgroupBallotKHR"], case, capabilities)
        needs = support.missing(case.core, capabilities)
        if case.form == "declared":
            own = f"VK_SUBGROUP_FEATURE_{case.core.category.upper()}_BIT"
            core = ("VK_SUBGROUP_FEATURE_BALLOT_BIT", own, "subgroupBroadcastDynamicId")
            needs = [need for need in needs if not need.startswith(core)]
            needs += _missing_of(OLDER["OpSubgroupBallotKHR"], case, capabilities)
        if case.form == "lowered_1_3":
            needs = [need for need in needs if need != "subgroupBroadcastDynamicId"]
            if "shuffle" not in capabilities.subgroup.supported_operations:
                needs.append("VK_SUBGROUP_FEATURE_SHUFFLE_BIT")
        return list(dict.fromkeys(needs + _missing_of(case.older, case, capabilities)))

    def batch_key(self, case: LegacyCase) -> Hashable:
        """Return what makes the program, and the module that it becomes."""
        if case.operation == EXAMPLE:
            return case
        older = case.older
        alone = older.name if older.alone else ""
        return case.stage, case.pattern, case.subgroup_size, case.form, older.glsl, older.wide, alone

    def batch_size(self, case: LegacyCase, capabilities: Capabilities) -> int:
        """Return how many cases one shader has."""
        return LLVM_BATCH if capabilities.driver_name == "llvmpipe" else BATCH

    def judge(self, executor: Executor, cases: list[LegacyCase]) -> list[Verdict]:
        """Judge a batch by the rules of the core's cases, or the example by its own."""
        lower = cases[0].form != "declared"
        target = Target.VULKAN_1_1 if cases[0].form == "lowered_1_3" else executor.target
        if cases[0].operation == EXAMPLE:
            module = executor.compile(example.SOURCE, stage="compute", target=target, lower_legacy=lower)
            found = executor.device.run(module, example.WORKGROUPS, {0: example.blank()})[0]
            return [example.judge(found, executor.capabilities.subgroup.size)] * len(cases)
        program = build(
            [case.core for case in cases],
            size=support.subgroup_size(cases[0].core, executor.capabilities),
            seed=executor.seed,
            spelling=_spelling(cases),
        )
        module = executor.compile(program.source, stage=cases[0].stage, target=target, lower_legacy=lower)
        outputs = execute(executor, program, module, cases[0].subgroup_size)
        instances = read(program, outputs, ballot=True)
        return [judge(entry, program, instances, outputs) for entry in program.entries]


def _missing_of(older: Older, case: LegacyCase, capabilities: Capabilities) -> list[str]:
    needs = []
    if case.form == "declared" and _EXTENSIONS[older.extension] not in capabilities.extensions:
        needs.append(_EXTENSIONS[older.extension])
    if older.wide and "shaderInt64" not in capabilities.features:
        needs.append("shaderInt64")
    if older.wide and capabilities.subgroup.size > _WIDEST:
        needs.append(f"a subgroup size of at most {_WIDEST} (uint64_t has a bit for each invocation)")
    return needs


def _spelling(cases: list[LegacyCase]) -> Spelling:
    """Return the older words for the questions of a batch, all of one source.

    The active mask is a ballot of the older words too. The core's, side by side with them in a block that a
    switch reaches in several ways, may name other invocations: which of those are together there, the
    specifications leave open, and the H200's driver has it one way for the one and another for the other.
    """
    ballot = OLDER["OpSubgroupBallotKHR"]
    rows = {case.older.core: case.older for case in cases}

    def call(core: Case, arguments: Sequence[str]) -> str:
        return rows[core.operation].call.format(*arguments)

    declared = dict.fromkeys(row.declaration for row in (ballot, *rows.values()) if row.declaration)
    extensions = {"GL_EXT_spirv_intrinsics", *(row.glsl for row in rows.values() if row.glsl)}
    if any(row.wide for row in rows.values()):
        extensions.add("GL_ARB_gpu_shader_int64")
    return Spelling(call, tuple(extensions), "\n".join(declared), ballot.call.format("true"))
