"""The family of NV_shader_thread_group."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.declared import lacking_stages
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.recording import STORES
from vkgroup.conformance.thread_group.case import ThreadGroupCase, all_cases
from vkgroup.conformance.thread_group.judging import judge
from vkgroup.conformance.thread_group.observations import OBSERVATIONS
from vkgroup.conformance.thread_group.program import build
from vkgroup.conformance.thread_group.running import run
from vkgroup.device import Capabilities
from vkgroup.device.thread_group import MOST_THREADS
from vkgroup.reference.thread_group_operations import THREAD_GROUP_OPERATIONS

_BATCH = 32
_LLVM_BATCH = 16
_QUAD = 4

#: What recording needs: who is in a warp, and who executes together.
_OBSERVING = ("basic", "ballot")


@cache
def _cases() -> tuple[ThreadGroupCase, ...]:
    return tuple(all_cases())


class ThreadGroupFamily:
    """Variables and functions of NV_shader_thread_group in GL sources, against the reference model."""

    name = "thread_group"

    def cases(self) -> Iterable[ThreadGroupCase]:
        """Return every case."""
        return _cases()

    def missing(self, case: ThreadGroupCase, capabilities: Capabilities) -> list[str]:
        """Return what the device does not declare."""
        subgroup, needs = capabilities.subgroup, []
        if subgroup.size > MOST_THREADS:
            needs.append(f"subgroups of at most {MOST_THREADS} invocations (it has {subgroup.size})")
        needs += lacking_stages((case.stage,), capabilities)
        if case.stage == "vertex" and subgroup.size < _QUAD:
            needs.append(f"quads of fragments, to draw, in subgroups of {subgroup.size} (from {_QUAD} on)")
        if case.stage in STORES and STORES[case.stage] not in capabilities.features:
            needs.append(STORES[case.stage])
        operation = THREAD_GROUP_OPERATIONS.get(case.operation)
        categories = {*_OBSERVING, *(operation.categories if operation else ())}
        if operation is None and any("quadSwizzle" in code for code in OBSERVATIONS[case.operation].code):
            categories.add("quad")
        lacking = sorted(categories - set(subgroup.supported_operations))
        needs += [f"VK_SUBGROUP_FEATURE_{category.upper()}_BIT" for category in lacking]
        if operation is not None and operation.sm_builtin and capabilities.sm_builtins is None:
            needs.append("shaderSMBuiltins")
        return needs

    def batch_key(self, case: ThreadGroupCase) -> Hashable:
        """Return what makes the control flow and the draw, and keeps what some drivers die of apart."""
        helpers = case.operation in ("helpers", "gl_HelperThreadNV")
        return case.stage, case.flow, case.coverage, helpers

    def batch_size(self, case: ThreadGroupCase, capabilities: Capabilities) -> int:
        """Return how many cases one shader has."""
        return _LLVM_BATCH if capabilities.driver_name == "llvmpipe" else _BATCH

    def judge(self, executor: Executor, cases: list[ThreadGroupCase]) -> list[Verdict]:
        """Judge a batch: program, run, verdicts."""
        program = build(cases, executor.seed)
        return judge(program, run(executor, program), executor.capabilities)
