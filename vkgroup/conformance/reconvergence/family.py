"""Family of reconvergence cases in compute shaders, and the execution of their programs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.declared import lacking_operations, lacking_stages
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.poison import poisoned
from vkgroup.conformance.reconvergence.cases import ReconvergenceCase, all_cases
from vkgroup.conformance.reconvergence.comparison import expect, judge, layout_of
from vkgroup.conformance.reconvergence.shader import CONSTANTS, HEADS, inputs_of, render, words_of
from vkgroup.device import Capabilities
from vkgroup.programs.nodes import Program, Promise
from vkgroup.programs.simulator import Layout, linear
from vkgroup.results.record import Status

Words = NDArray[np.uint32]

BATCH = 8
"""Programs in a batch; each is a separate shader."""

FEATURES = {
    Promise.MAXIMAL: "shaderMaximalReconvergence",
    Promise.SUBGROUP: "shaderSubgroupUniformControlFlow",
}
"""Feature of each guarantee; the weakest needs none."""


@cache
def _cases() -> tuple[ReconvergenceCase, ...]:
    return tuple(all_cases())


class ReconvergenceFamily:
    """Random programs and single constructs, compared with a simulation of the specifications' rules."""

    name = "reconvergence"

    def cases(self) -> Iterable[ReconvergenceCase]:
        """Return every case."""
        return _cases()

    def missing(self, case: ReconvergenceCase, capabilities: Capabilities) -> list[str]:
        """Return the requirements that the device does not declare."""
        needs = lacking_stages(("compute",), capabilities)
        feature = FEATURES.get(case.promise)
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


def run(executor: Executor, program: Program, title: str, *, full_subgroups: bool = False) -> Verdict:
    """Run a program and judge what its invocations recorded.

    Parameters
    ----------
    title : comment at the top of its source.
    full_subgroups : whether the pipeline requires full subgroups.
    """
    size, inputs, capacity = executor.capabilities.subgroup.size, inputs_of(program), 0
    layout = linear(size, program.local_invocations, inputs[CONSTANTS:])
    expected = expect(program, layout)
    while True:
        capacity = max(capacity, expected.longest)
        heads, log = _dispatch(
            executor,
            program,
            render(program, size=size, capacity=capacity, title=title),
            inputs,
            capacity * words_of(program, size),
            full_subgroups,
        )
        recorded = layout_of(program, heads, size)
        if isinstance(recorded, str):
            return Verdict(Status.FAIL, 0, 0, recorded)
        if not _same(recorded, layout):
            layout, expected = recorded, expect(program, recorded)
        if expected.longest <= capacity:
            words = words_of(program, size)
            return judge(program, expected, heads, log.reshape(capacity, words, program.invocations))


def _dispatch(
    executor: Executor, program: Program, source: str, inputs: Words, log_planes: int, full_subgroups: bool
) -> tuple[Words, Words]:
    """Return the heads, (heads, invocations), and the log."""
    n, spare = program.invocations, 2
    module = executor.compile(source, stage="compute")
    blank = poisoned(len(HEADS), n)
    # Entries that do not fit overwrite the last one; an entry has at most a ballot and a place.
    log_words = log_planes * n
    contents = {
        "inputs": (0, inputs.nbytes),
        "outputs": (1, blank.nbytes),
        "reconvergence log": (2, (log_words + 5 * n) * 4),
        "reconvergence scratch": (3, (n + spare) * 4),
    }
    # All buffers but the scratch memory, which is used by atomics, are written once and read once.
    buffers = {
        binding: executor.buffer(name, nbytes, host=binding < len(contents) - 1)
        for name, (binding, nbytes) in contents.items()
    }
    buffers[0].write(inputs)
    buffers[1].write(blank)
    with (
        executor.device.pipeline(module, full_subgroups=full_subgroups) as pipeline,
        pipeline.bind(dict(buffers)) as bound,
    ):
        bound.dispatch((program.groups, 1, 1), timeout=executor.timeout)
    heads = buffers[1].read(np.uint32, blank.size).reshape(blank.shape)
    return heads, buffers[2].read(np.uint32, log_words)


def _same(first: Layout, second: Layout) -> bool:
    return bool((first.position == second.position).all()) and first.per_workgroup == second.per_workgroup
