"""Family of reconvergence cases in compute shaders."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.reconvergence.cases import ReconvergenceCase, all_cases
from vkgroup.conformance.reconvergence.run import run
from vkgroup.conformance.support import lacking_operations, lacking_stages
from vkgroup.device import Capabilities
from vkgroup.programs.nodes import Promise

BATCH = 8
"""Programs in a batch; each is a separate shader."""

_FEATURES = {
    Promise.MAXIMAL: "shaderMaximalReconvergence",
    Promise.SUBGROUP: "shaderSubgroupUniformControlFlow",
}


@cache
def _cases() -> tuple[ReconvergenceCase, ...]:
    return tuple(all_cases())


class ReconvergenceFamily:
    """Random programs and single constructs, compared with a simulation of the specifications' rules."""

    name = "reconvergence"
    categories = ("reconvergence",)

    def cases(self) -> Iterable[ReconvergenceCase]:
        """Return every case."""
        return _cases()

    def missing(self, case: ReconvergenceCase, capabilities: Capabilities) -> list[str]:
        """Return the requirements that the device does not declare."""
        needs = lacking_stages(("compute",), capabilities)
        feature = _FEATURES.get(case.promise)
        if feature is not None and feature not in capabilities.features:
            needs.append(feature)
        needs += lacking_operations(("basic", "ballot") if case.ballots else ("basic",), capabilities)
        x, y, z = case.local_size
        if x * y * z > int(capabilities.limits["maxComputeWorkGroupInvocations"]):
            needs.append(f"maxComputeWorkGroupInvocations of at least {x * y * z}")
        if case.full_subgroups and not capabilities.size_control.compute_full_subgroups:
            needs.append("computeFullSubgroups")
        return needs

    def batch_key(self, case: ReconvergenceCase) -> Hashable:
        """Return what programs of a batch share: a crash of one kind must not affect the others."""
        return case.promise, case.elect

    def batch_size(self, case: ReconvergenceCase, capabilities: Capabilities) -> int:
        """Return the size, the same for all cases."""
        return BATCH

    def judge(self, executor: Executor, cases: list[ReconvergenceCase]) -> list[Verdict]:
        """Run and judge one program after the other."""
        return [
            run(executor, case.program(executor.seed), case.name, full_subgroups=case.full_subgroups)
            for case in cases
        ]
