"""The family of NV_shader_thread_group."""

from __future__ import annotations

from collections.abc import Hashable

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.declared import lacking_operations, lacking_stages
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import TableFamily
from vkgroup.conformance.recording import STORES
from vkgroup.conformance.thread_group.case import ThreadGroupCase, all_cases
from vkgroup.conformance.thread_group.judging import judge
from vkgroup.conformance.thread_group.observations import OBSERVATIONS
from vkgroup.conformance.thread_group.program import build
from vkgroup.conformance.thread_group.running import run
from vkgroup.device import Capabilities
from vkgroup.spec.limits import LARGEST_WARP, QUAD_SIZE
from vkgroup.spec.thread_group_operations import THREAD_GROUP_OPERATIONS

#: What recording needs: who is in a warp, and who executes together.
_OBSERVING = ("basic", "ballot")


def _missing(case: ThreadGroupCase, capabilities: Capabilities) -> list[str]:
    """Return what the device does not declare."""
    stage, name = case.axes.stage, case.axes.operation
    subgroup, needs = capabilities.subgroup, []
    if subgroup.size > LARGEST_WARP:
        needs.append(f"subgroups of at most {LARGEST_WARP} invocations (it has {subgroup.size})")
    needs += lacking_stages((stage,), capabilities)
    if stage == "vertex" and subgroup.size < QUAD_SIZE:
        needs.append(f"quads of fragments, to draw, in subgroups of {subgroup.size} (from {QUAD_SIZE} on)")
    if stage in STORES and STORES[stage] not in capabilities.features:
        needs.append(STORES[stage])
    operation = THREAD_GROUP_OPERATIONS.get(name)
    categories = {*_OBSERVING, *(operation.categories if operation else ())}
    if operation is None and any("quadSwizzle" in code for code in OBSERVATIONS[name].code):
        categories.add("quad")
    needs += lacking_operations(sorted(categories), capabilities)
    if operation is not None and operation.sm_builtin and capabilities.sm_builtins is None:
        needs.append("shaderSMBuiltins")
    return needs


def _batch_key(case: ThreadGroupCase) -> Hashable:
    """Return what makes the control flow and the draw, and keeps what some drivers die of apart."""
    axes = case.axes
    helpers = axes.operation in ("helpers", "gl_HelperThreadNV")
    return axes.stage, axes.flow, axes.coverage, helpers


def _judge(executor: Executor, cases: list[ThreadGroupCase]) -> list[Verdict]:
    """Judge a batch: program, run, verdicts."""
    program = build([case.axes for case in cases], executor.seed)
    return judge(program, run(executor, program), executor.capabilities)


THREAD_GROUP = TableFamily("thread_group", all_cases, _missing, _judge, _batch_key, llvm_batch=16)
"""Variables and functions of NV_shader_thread_group in GL sources, against the reference model."""
