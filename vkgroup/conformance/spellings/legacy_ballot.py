"""The family of the older ballots and votes: declared, and lowered to the core's instructions.

A module that is lowered must give the same results as one that declares the extension.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from vkgroup.compiler import Target
from vkgroup.conformance import support
from vkgroup.conformance.case import Case
from vkgroup.conformance.cases import REQUIRED_SIZES, STAGES
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.patterns import patterns_of
from vkgroup.conformance.program import Program, Spelling
from vkgroup.conformance.spellings import older_example
from vkgroup.conformance.spellings.older_ballots import BALLOT, EXAMPLE, FORMS, OLDER, VOTE, Older
from vkgroup.conformance.subgroup import SubgroupFamily
from vkgroup.device import Capabilities
from vkgroup.spec.operations import BUILTIN_VARIABLES, OPERATIONS
from vkgroup.spec.stages import WORKGROUP_STAGES
from vkgroup.spirv import Module

_OLDEST = ("compute", "fragment")
"""The stages with modules of SPIR-V 1.3, which has no mesh shaders."""

_OPERANDS = ("first", "middle", "last", "dynamic")
_EXTENSIONS = {BALLOT: "VK_EXT_shader_subgroup_ballot", VOTE: "VK_EXT_shader_subgroup_vote"}
_WIDEST = 64


class LegacyBallotFamily(SubgroupFamily):
    """SPV_KHR_shader_ballot, SPV_KHR_subgroup_vote, GL_ARB_shader_ballot and GL_ARB_shader_group_vote."""

    name = "legacy_ballot"
    categories = ("legacy_ballot",)
    batch, llvm_batch = 24, 12
    special_floats = False

    def cases(self) -> tuple[Case, ...]:
        """Return every case, stage by stage."""
        cases = [
            case for stage in STAGES for older in OLDER.values() for case in _operation_cases(stage, older)
        ]
        forms = ("declared", "lowered")
        cases += [Case("legacy_ballot", "compute", EXAMPLE, "", "", "", form=form) for form in forms]
        return tuple(cases)

    def core(self, case: Case) -> Case:
        """Return the case of KHR_shader_subgroup that has the same result."""
        core = OLDER[case.operation].core
        category = (BUILTIN_VARIABLES.get(core) or OPERATIONS[core]).category.value
        return replace(case, category=category, operation=core, data="exact", form="")

    def missing(self, case: Case, capabilities: Capabilities) -> list[str]:
        """Return what the device does not declare.

        Lowered modules need what the core's instructions need; others the extension, and that of ballots to
        observe who is active.
        """
        if case.operation == EXAMPLE:
            return _missing_of(OLDER["OpSubgroupBallotKHR"], case, capabilities)
        core = self.core(case)
        needs = support.missing(core, capabilities)
        if case.form == "declared":
            own = f"VK_SUBGROUP_FEATURE_{core.category.upper()}_BIT"
            not_needed = ("VK_SUBGROUP_FEATURE_BALLOT_BIT", own, "subgroupBroadcastDynamicId")
            needs = [need for need in needs if not need.startswith(not_needed)]
            needs += _missing_of(OLDER["OpSubgroupBallotKHR"], case, capabilities)
        if case.form == "lowered_1_3":
            needs = [need for need in needs if need != "subgroupBroadcastDynamicId"]
            if "shuffle" not in capabilities.subgroup.supported_operations:
                needs.append("VK_SUBGROUP_FEATURE_SHUFFLE_BIT")
        return list(dict.fromkeys(needs + _missing_of(OLDER[case.operation], case, capabilities)))

    def batch_key(self, case: Case) -> Hashable:
        """Return what makes the program, and the module that it becomes."""
        if case.operation == EXAMPLE:
            return case
        older = OLDER[case.operation]
        alone = older.name if older.alone else ""
        return case.stage, case.pattern, case.subgroup_size, case.form, older.glsl, older.wide, alone

    def spelling(self, cases: list[Case]) -> Spelling:
        """Return the older words for the operations of a batch, all of one source.

        The active mask is a ballot of the older words too. The core's ballot beside them, in a block that a
        switch reaches in several ways, may name other invocations: the specifications leave open which are
        together there, and the H200's driver decides differently for the two.
        """
        ballot = OLDER["OpSubgroupBallotKHR"]
        rows = {OLDER[case.operation].core: OLDER[case.operation] for case in cases}

        def call(core: Case, arguments: Sequence[str]) -> str:
            return rows[core.operation].call.format(*arguments)

        declared = dict.fromkeys(row.declaration for row in (ballot, *rows.values()) if row.declaration)
        extensions = {"GL_EXT_spirv_intrinsics", *(row.glsl for row in rows.values() if row.glsl)}
        if any(row.wide for row in rows.values()):
            extensions.add("GL_ARB_gpu_shader_int64")
        return Spelling(call, tuple(extensions), "\n".join(declared), ballot.call.format("true"))

    def compiled(self, executor: Executor, program: Program, case: Case) -> Module:
        """Return the module of a program, lowered where the case's form says so."""
        return _compiled(executor, program.source, case)

    def judge(self, executor: Executor, cases: list[Case]) -> list[Verdict]:
        """Judge a batch by the rules of the core's cases, or the document's example by its own."""
        if cases[0].operation != EXAMPLE:
            return super().judge(executor, cases)
        module = _compiled(executor, older_example.SOURCE, cases[0])
        results = executor.device.run(module, older_example.WORKGROUPS, {0: older_example.blank()})
        return [older_example.verdict_on(results[0], executor.capabilities.subgroup.size)] * len(cases)


def _compiled(executor: Executor, source: str, case: Case) -> Module:
    """Return the module of a source in a case's form."""
    target = Target.VULKAN_1_1 if case.form == "lowered_1_3" else executor.target
    return executor.compile(source, stage=case.stage, target=target, lower_legacy=case.form != "declared")


def _missing_of(older: Older, case: Case, capabilities: Capabilities) -> list[str]:
    """Return what an instruction of a case needs and the device does not declare."""
    needs = []
    if case.form == "declared" and _EXTENSIONS[older.extension] not in capabilities.extensions:
        needs.append(_EXTENSIONS[older.extension])
    if older.wide and "shaderInt64" not in capabilities.features:
        needs.append("shaderInt64")
    if older.wide and capabilities.subgroup.size > _WIDEST:
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
                            yield from (replace(case, subgroup_size=size) for size in REQUIRED_SIZES)
