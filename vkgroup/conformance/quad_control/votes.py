"""Votes of quads in every stage and pattern: the core's clustered And and Or of four, asked of the quad.

A quad is the four lanes from a multiple of four on (Vulkan 1.4, "Quad"), so OpGroupNonUniformQuadAllKHR of a
predicate is its clustered And with four lanes each, QuadAny the Or. Programs, data and verdicts are those of
the core's cases. Fragment shaders declare maximal reconvergence: the recorded masks then hold helper
invocations, which take part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vkgroup.conformance import support
from vkgroup.conformance.cases import QUAD_SIZE, REQUIRED_SIZES, STAGES, Case
from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.instances import read
from vkgroup.conformance.patterns import patterns_of
from vkgroup.conformance.program import Spelling, build
from vkgroup.conformance.quad_control.intrinsics import EXTENSION, MAXIMAL_RECONVERGENCE, VOTES
from vkgroup.conformance.running import execute
from vkgroup.conformance.verdict import judge
from vkgroup.device import Capabilities

if TYPE_CHECKING:
    from vkgroup.conformance.execute import Executor

_CORE = {"subgroupQuadAll": "subgroupClusteredAnd", "subgroupQuadAny": "subgroupClusteredOr"}
_SPELLED = {"subgroupClusteredAnd": "quadAll", "subgroupClusteredOr": "quadAny"}


@dataclass(frozen=True, slots=True)
class VoteCase:
    """A vote in a stage and a pattern.

    Attributes
    ----------
    stage, pattern, subgroup_size : as of the core's cases.
    operation : ``"subgroupQuadAll"`` or ``"subgroupQuadAny"``, as EXT_shader_quad_control names them.
    """

    stage: str
    operation: str
    pattern: str
    subgroup_size: int = 0

    @property
    def category(self) -> str:
        """The family's own."""
        return "quad_control"

    @property
    def name(self) -> str:
        """``quad_control.stage.operation.pattern[.sizeN]``."""
        size = [f"size{self.subgroup_size}"] if self.subgroup_size else []
        return ".".join((self.category, self.stage, self.operation, self.pattern, *size))

    @property
    def sentence(self) -> str:
        """What the case tests."""
        executed = patterns_of(self.stage)[self.pattern].sentence
        size = f", a required subgroup size of {self.subgroup_size}" if self.subgroup_size else ""
        instruction = f"OpGroupNonUniformQuad{self.operation[-3:]}KHR"
        return (
            f"{self.operation} votes among the active invocations of the quad, executed {executed} "
            f"({self.stage.replace('_', ' ')}{size}): SPV_KHR_quad_control, {instruction}."
        )

    @property
    def core(self) -> Case:
        """The case of the core that has the same answer."""
        return Case(
            "clustered", self.stage, _CORE[self.operation], "bool", self.pattern, "exact", "c4",
            subgroup_size=self.subgroup_size,
        )  # fmt: skip


def vote_cases() -> Iterator[VoteCase]:
    """Yield every vote, in the core's stages and patterns; at required sizes where all take part."""
    for stage in STAGES:
        for operation in _CORE:
            for pattern in patterns_of(stage):
                yield VoteCase(stage, operation, pattern)
                if pattern == "all" and stage in support.QUAD_STAGES:
                    yield from (
                        VoteCase(stage, operation, pattern, size)
                        for size in REQUIRED_SIZES
                        if size >= QUAD_SIZE
                    )


def missing_vote(case: VoteCase, capabilities: Capabilities) -> list[str]:
    """Return what the device does not declare."""
    needs = [need for need in support.missing(case.core, capabilities) if "CLUSTERED" not in need]
    wanted = ["shaderQuadControl", *(["shaderMaximalReconvergence"] if case.stage == "fragment" else [])]
    needs += [feature for feature in wanted if feature not in capabilities.features]
    return needs + support.lacking_quads(case.stage, capabilities)


def judge_votes(executor: Executor, cases: list[VoteCase]) -> list[Verdict]:
    """Judge a batch by the rules of the core's cases."""
    first = cases[0]
    size = support.subgroup_size(first.core, executor.capabilities)
    program = build(
        [case.core for case in cases], size=size, seed=executor.seed, spelling=_spelling(first.stage)
    )
    module = executor.compile(program.source, stage=first.stage)
    outputs = execute(executor, program, module, first.subgroup_size)
    instances = read(program, outputs, ballot=True)
    return [judge(entry, program, instances, outputs) for entry in program.entries]


def _spelling(stage: str) -> Spelling:
    declared = [VOTES, *([MAXIMAL_RECONVERGENCE] if stage == "fragment" else [])]

    def call(core: Case, arguments: Sequence[str]) -> str:
        return f"{_SPELLED[core.operation]}({arguments[0]})"

    return Spelling(call, (EXTENSION,), "\n".join(declared))
