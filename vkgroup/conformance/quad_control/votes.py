"""Votes of quads in every stage and pattern: the core's clustered And and Or of four lanes.

A quad is the four lanes from a multiple of four on (Vulkan 1.4, "Quad"), so OpGroupNonUniformQuadAllKHR of a
predicate is its clustered And with four lanes each, QuadAny the Or. Fragment shaders declare maximal
reconvergence: the recorded masks then hold helper invocations, which take part.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

from vkgroup.conformance import support
from vkgroup.conformance.case import Case
from vkgroup.conformance.cases import REQUIRED_SIZES, STAGES
from vkgroup.conformance.patterns import patterns_of
from vkgroup.conformance.program import Spelling
from vkgroup.conformance.quad_control.intrinsics import EXTENSION, MAXIMAL_RECONVERGENCE, VOTES
from vkgroup.conformance.subgroup import SubgroupFamily
from vkgroup.device import Capabilities
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spec.stages import QUAD_STAGES

_CORE = {"subgroupQuadAll": "subgroupClusteredAnd", "subgroupQuadAny": "subgroupClusteredOr"}
_SPELLED = {"subgroupClusteredAnd": "quadAll", "subgroupClusteredOr": "quadAny"}


class QuadVotes(SubgroupFamily):
    """Votes of quads, the part of the family `quad_control` that has the programs of subgroup operations."""

    name = "quad_control"
    categories = ("quad_control",)
    special_floats = False

    def cases(self) -> tuple[Case, ...]:
        """Return every vote, in the core's stages and patterns; at required sizes where all take part."""
        return tuple(_cases())

    def core(self, case: Case) -> Case:
        """Return the case of KHR_shader_subgroup that has the same result."""
        return replace(
            case,
            category="clustered",
            operation=_CORE[case.operation],
            type="bool",
            data="exact",
            operand=f"c{QUAD_SIZE}",
        )

    def missing(self, case: Case, capabilities: Capabilities) -> list[str]:
        """Return what the device does not declare."""
        needs = [need for need in support.missing(self.core(case), capabilities) if "CLUSTERED" not in need]
        wanted = ["shaderQuadControl", *(["shaderMaximalReconvergence"] if case.stage == "fragment" else [])]
        needs += [feature for feature in wanted if feature not in capabilities.features]
        return needs + support.lacking_quads(case.stage, capabilities)

    def batch_key(self, case: Case) -> Hashable:
        """Return what makes the control flow and the pipeline."""
        return case.stage, case.pattern, case.subgroup_size

    def spelling(self, cases: list[Case]) -> Spelling:
        """Return the calls of SPV_KHR_quad_control, declared by their instructions."""
        fragment = cases[0].stage == "fragment"
        declared = [VOTES, *([MAXIMAL_RECONVERGENCE] if fragment else [])]

        def call(core: Case, arguments: Sequence[str]) -> str:
            return f"{_SPELLED[core.operation]}({arguments[0]})"

        return Spelling(call, (EXTENSION,), "\n".join(declared))


def _cases() -> Iterator[Case]:
    for stage in STAGES:
        for operation in _CORE:
            for pattern in patterns_of(stage):
                case = Case("quad_control", stage, operation, "", pattern, "")
                yield case
                if pattern == "all" and stage in QUAD_STAGES:
                    yield from (
                        replace(case, subgroup_size=size) for size in REQUIRED_SIZES if size >= QUAD_SIZE
                    )
