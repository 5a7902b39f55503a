"""The family of quads: votes in every stage, full quads on scenes, derivative groups of compute shaders.

A quad is the four lanes from a multiple of four on (Vulkan 1.4, "Quad"), so OpGroupNonUniformQuadAllKHR of a
predicate is the clustered And with four lanes each, and QuadAny the Or. Fragment shaders declare maximal
reconvergence: the recorded masks then have helper invocations, which take part.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

from vkgroup.conformance import support
from vkgroup.conformance.case import Case
from vkgroup.conformance.cases import REQUIRED_SIZES, STAGES
from vkgroup.conformance.family import JointFamily
from vkgroup.conformance.intrinsics import EXTENSION
from vkgroup.conformance.patterns import patterns_of
from vkgroup.conformance.program import Spelling
from vkgroup.conformance.quad_control.derivatives import DERIVATIVE_GROUPS
from vkgroup.conformance.quad_control.scenes import FULL_QUADS
from vkgroup.conformance.quad_control.values import maximal_reconvergence, votes
from vkgroup.conformance.subgroup import SubgroupFamily
from vkgroup.device import Capabilities
from vkgroup.spec.limits import QUAD_SIZE
from vkgroup.spec.stages import QUAD_STAGES

_CORE = {"subgroupQuadAll": "subgroupClusteredAnd", "subgroupQuadAny": "subgroupClusteredOr"}
_SPELLED = {"subgroupClusteredAnd": "quadAll", "subgroupClusteredOr": "quadAny"}


class _Votes(SubgroupFamily):
    """Votes of quads, with the programs of subgroup operations."""

    name = "quad_control"
    categories = ("quad_control",)
    special_floats = False

    def cases(self) -> tuple[Case, ...]:
        """Return every vote, in the core's stages and patterns; at required sizes where all take part."""
        cases = []
        for stage in STAGES:
            sizes = [size for size in REQUIRED_SIZES if size >= QUAD_SIZE and stage in QUAD_STAGES]
            for operation in _CORE:
                for pattern in patterns_of(stage):
                    case = Case("quad_control", stage, operation, "", pattern, "")
                    cases.append(case)
                    if pattern == "all":
                        cases += [replace(case, subgroup_size=size) for size in sizes]
        return tuple(cases)

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
        declared = [votes(), *([maximal_reconvergence()] if fragment else [])]

        def call(core: Case, arguments: Sequence[str]) -> str:
            return f"{_SPELLED[core.operation]}({arguments[0]})"

        return Spelling(call, (EXTENSION,), "\n".join(declared))


QUAD_CONTROL = JointFamily(
    "quad_control",
    {"": _Votes(), "scene": FULL_QUADS, "derivative_group": DERIVATIVE_GROUPS},
    ("quad_control",),
)
"""VK_KHR_shader_quad_control and VK_KHR_compute_shader_derivatives."""
