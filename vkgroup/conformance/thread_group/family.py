"""The family of NV_shader_thread_group: the reference model's values against the recorded ones.

Cases are GL sources with the extension, in three stages.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags, Words
from vkgroup.conformance.comparison import Description, Expected, Verdict, legal, verdict_of
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.family import Family
from vkgroup.conformance.support import lacking_operations, lacking_stages, lacking_stores
from vkgroup.conformance.thread_group.cases import (
    CASES,
    OBSERVATIONS,
    RELATIONS,
    ThreadGroupAxes,
    ThreadGroupCase,
)
from vkgroup.conformance.thread_group.program import (
    WIDTH,
    Executions,
    ThreadGroupEntry,
    ThreadGroupProgram,
    activity_fault,
    build,
    executions,
    layout_faults,
    run,
)
from vkgroup.device import Capabilities, SmBuiltins
from vkgroup.record.record import Status
from vkgroup.reference.registry import reference_of
from vkgroup.reference.semantics.thread_group import PIXELS, is_legal_id_nv
from vkgroup.spec.limits import LARGEST_WARP, QUAD_SIZE
from vkgroup.spec.thread_group_operations import THREAD_GROUP_OPERATIONS
from vkgroup.spec.types import TYPES

_EVERY_BIT = 0xFFFFFFFF

_BALLOTS = ("activeThreadsNV", "ballotThreadNV")


@dataclass(frozen=True)
class _Slot:
    """The records of a slot's executions for a case, (n, …) arrays."""

    entry: ThreadGroupEntry
    executed: Executions
    #: `got`, `wanted`: (n, planes) the recorded and the required values; None where a range is legal.
    got: Words
    wanted: Words | None
    correct: Flags  # (n,) whether the value is legal
    complete: Flags  # (n,) whether every bit of the value is defined, or a defined one is wrong

    @classmethod
    def of(
        cls,
        entry: ThreadGroupEntry,
        program: ThreadGroupProgram,
        executed: Executions,
        capabilities: Capabilities,
    ) -> _Slot:
        """Compare the records of a slot's executions with the document's requirements."""
        got = executed.results[entry.at : entry.at + entry.planes].T
        if entry.case.operation in _SM_BUILTINS:
            declared = capabilities.sm_builtins
            assert declared is not None
            correct = _SM_BUILTINS[entry.case.operation](executed, got[:, 0], declared)
            return cls(entry, executed, got, None, correct, np.ones(len(got), np.bool_))
        expected = _expected(entry.case, program, executed)
        correct = np.all(legal(got, expected), axis=1)
        return cls(entry, executed, got, expected.low, correct, np.all(expected.defined, axis=1) | ~correct)

    def line(self, row: int) -> str:
        """Describe an execution."""
        executed = self.executed
        wanted = "" if self.wanted is None else f" expected {_text(self.wanted[row])}"
        thread = f"thread {executed.lane[row]} of warp {executed.warp[row]}"
        where = f"invocation {executed.index[row]} {thread} slot {executed.slot}"
        return f"{where} active 0x{executed.mask[row]:x}:{wanted} got {_text(self.got[row])}"

    def evidence(self) -> dict[str, Any]:
        """Return the evidence of the warp of the first wrong execution."""
        executed, wrong = self.executed, ~self.correct
        same = evidence.together(wrong, executed.warp, executed.mask, executed.company)
        observation = OBSERVATIONS.get(self.entry.case.operation)
        rows: dict[str, list[str | None]] = {"invocation": [str(index) for index in executed.index[same]]}
        if self.wanted is not None:
            wanted = [_text(words) for words in self.wanted[same]]
            rows["expected"] = [
                text if defined else None
                for text, defined in zip(wanted, self.complete[same].tolist(), strict=True)
            ]
        rows["got"] = [_text(self.got[row]) for row in same]
        return evidence.of_lanes(
            f"warp {executed.warp[same[0]]}",
            executed.lane[same],
            wrong[same],
            rows,
            size=executed.active.shape[1],
            active=executed.active[same[0]],
            slot=executed.slot,
            code="\n".join(observation.code) if observation else self.entry.case.operation,
        )


def _text(words: Words) -> str:
    return " ".join(f"0x{word:08x}" for word in words)


def _masked(words: Words, mask: Words) -> Expected:
    """Return the expectation of words, (n, planes), whose bits in a mask are compared."""
    return Expected(words, words, mask == _EVERY_BIT, mask=mask)


def _exactly(values: NDArray[np.generic], defined: Flags | None = None) -> Expected:
    """Return the expectation of values, (n, planes), where executions (n,) are defined; None for all."""
    words = values.view(np.uint32) if values.itemsize == 4 else values.astype(np.uint32)
    mask = np.full(words.shape, _EVERY_BIT, np.uint32)
    if defined is not None:
        mask[~defined] = 0
    return _masked(words, mask)


def _expected(case: ThreadGroupAxes, program: ThreadGroupProgram, executed: Executions) -> Expected:
    """Return the values that the document requires of each execution."""
    if case.operation in OBSERVATIONS:
        return _OBSERVED[case.operation](executed)
    operation = THREAD_GROUP_OPERATIONS[case.operation]
    reference = reference_of(operation.name)
    n, size = executed.active.shape
    rows = np.arange(n)
    inputs = np.broadcast_to(program.inputs[:size], (n, size, program.inputs.shape[1]))
    if case.type:
        components = TYPES[case.type].components
        swizzled, unswizzled = inputs[:, :, :components], inputs[:, :, 4 : 4 + components]
        lanes = reference(swizzled, executed.executing, unswizzled if case.operands == "two" else None)
        return _exactly(np.ascontiguousarray(lanes.value[rows, executed.lane]), ~executed.unseen)
    if case.operation in _BALLOTS:
        arguments = (inputs[:, :, 8:9] < 0,) if operation.types else ()
        lanes = reference(*arguments, executed.executing)
        # Ballots of a device may leave helper threads out (Vulkan, "Helper Invocations").
        left_out = (executed.left_out << np.arange(size)).sum(axis=1).astype(np.uint32)
        return _masked(lanes.value[rows, executed.lane], ~(left_out | executed.ended)[:, None])
    # A thread that left a record is not a helper thread.
    arguments = (~executed.helper,) if case.operation == "gl_HelperThreadNV" else ()
    lanes = reference(executed.active, *arguments)
    return _exactly(lanes.value[rows, executed.lane].astype(np.uint32))


def _arrangement(executed: Executions) -> Expected:
    thread = executed.lane % 4
    place = np.array(PIXELS["Vulkan"])[thread]
    return _exactly(np.column_stack([thread, place]).astype(np.uint32))


def _neighbour(dx: int, dy: int) -> Callable[[Executions], Expected]:
    """Expect the centre of the pixel that is the neighbour in the quad."""

    def expected(executed: Executions) -> Expected:
        y, x = np.divmod(executed.index, WIDTH)
        centre = np.column_stack([(x ^ dx) + 0.5, (y ^ dy) + 0.5]).astype(np.float32)
        return _exactly(centre)

    return expected


def _helpers(executed: Executions) -> Expected:
    threads = executed.lane[:, None] // 4 * 4 + np.arange(4)
    return _exactly(np.take_along_axis(executed.helper, threads, axis=1).astype(np.uint32))


def _masks_of_active(executed: Executions) -> Expected:
    rows, masks = np.arange(len(executed.index)), []
    for relation in RELATIONS:
        reference = reference_of(f"gl_Thread{relation}MaskNV")
        masks.append(reference(executed.active).value[rows, executed.lane, 0] & executed.mask)
    words = np.column_stack(masks)
    return _masked(words, np.broadcast_to(~executed.ended[:, None], words.shape))


_SLOPES = np.array([3, 5], np.float32)

_OBSERVED: dict[str, Callable[[Executions], Expected]] = {
    "arrangement": _arrangement,
    "neighbour_x": _neighbour(1, 0),
    "neighbour_y": _neighbour(0, 1),
    "helpers": _helpers,
    "helper_derivatives": lambda executed: _exactly(np.tile(_SLOPES, (len(executed.index), 1))),
    "masks_of_active": _masks_of_active,
}


def _legal_ids(executed: Executions, got: Words, count: int) -> Flags:
    """Compare ids of processors or warps, warp by warp."""
    legal = np.zeros(len(got), np.bool_)
    for warp in np.unique(executed.warp):
        members = executed.warp == warp
        value = got[members][None]
        legal[members] = is_legal_id_nv(value, np.ones(value.shape, np.bool_), count)[0]
    return legal


_SM_BUILTINS: dict[str, Callable[[Executions, Words, SmBuiltins], Flags]] = {
    "gl_WarpIDNV": lambda executed, got, declared: _legal_ids(executed, got, declared.warps_per_sm),
    "gl_SMIDNV": lambda executed, got, declared: _legal_ids(executed, got, declared.sm_count),
    "gl_WarpsPerSMNV": lambda executed, got, declared: got == declared.warps_per_sm,
    "gl_SMCountNV": lambda executed, got, declared: got == declared.sm_count,
}
"""Variable with a device-dependent value → the check of its recorded values."""


def _verdict(
    entry: ThreadGroupEntry, program: ThreadGroupProgram, slots: list[Executions], capabilities: Capabilities
) -> Verdict:
    """Return the verdict on the records of one case in each slot."""
    judged = [_Slot.of(entry, program, executed, capabilities) for executed in slots]
    wrong = np.concatenate([~slot.correct for slot in judged])
    if not len(wrong):
        if any(executed.expected.any() for executed in slots):
            return Verdict(Status.FAIL, 0, 0, "no invocation executed the code, where some had to")
        return Verdict(Status.UNDEFINED, 0, 0)
    numbers = np.repeat(np.arange(len(judged)), [len(slot.correct) for slot in judged])
    rows = np.concatenate([np.arange(len(slot.correct)) for slot in judged])
    defined = sum(int(slot.complete.sum()) for slot in judged)
    description = Description(
        "executions",
        lambda index: judged[numbers[index]].line(int(rows[index])),
        lambda wrong: judged[numbers[int(np.argmax(wrong))]].evidence(),
    )
    return verdict_of(wrong, description, defined=defined, undefined=len(wrong) - defined, total=len(wrong))


#: Operations for records: the threads of a warp, and the threads that execute together.
_OBSERVING = ("basic", "ballot")


def _missing(case: ThreadGroupCase, capabilities: Capabilities) -> list[str]:
    """Return the requirements that the device lacks."""
    stage, name = case.axes.stage, case.axes.operation
    subgroup, needs = capabilities.subgroup, []
    if subgroup.size > LARGEST_WARP:
        needs.append(f"subgroups of at most {LARGEST_WARP} invocations (it has {subgroup.size})")
    needs += lacking_stages((stage,), capabilities)
    if stage == "vertex" and subgroup.size < QUAD_SIZE:
        needs.append(f"quads of fragments, to draw, in subgroups of {subgroup.size} (from {QUAD_SIZE} on)")
    needs += lacking_stores(stage, capabilities)
    operation = THREAD_GROUP_OPERATIONS.get(name)
    categories = {*_OBSERVING, *(operation.categories if operation else ())}
    if operation is None and any("quadSwizzle" in code for code in OBSERVATIONS[name].code):
        categories.add("quad")
    needs += lacking_operations(sorted(categories), capabilities)
    if operation is not None and operation.sm_builtin and capabilities.sm_builtins is None:
        needs.append("shaderSMBuiltins")
    return needs


def _batch_key(case: ThreadGroupCase) -> Hashable:
    """Return the axes of control flow and draw; separates cases that crash some drivers."""
    axes = case.axes
    helpers = axes.operation in ("helpers", "gl_HelperThreadNV")
    return axes.stage, axes.flow, axes.coverage, helpers


def _verdicts(executor: Executor, cases: list[ThreadGroupCase]) -> list[Verdict]:
    """Execute a batch and return its verdicts."""
    program = build([case.axes for case in cases], executor.seed)
    outputs, size = run(executor, program), executor.capabilities.subgroup.size
    if faults := layout_faults(program, outputs, size):
        return [Verdict(Status.FAIL, 0, 0, faults[0])] * len(cases)
    slots = [executions(program, outputs, slot, size) for slot in range(len(program.flow.executes))]
    fault = next(filter(None, (activity_fault(program, executed) for executed in slots)), None)
    if fault is not None:
        return [Verdict(Status.FAIL, 0, 0, *fault)] * len(cases)
    return [_verdict(entry, program, slots, executor.capabilities) for entry in program.entries]


THREAD_GROUP = Family("thread_group", CASES, _missing, _verdicts, _batch_key, llvm_batch=16)
"""Variables and functions of NV_shader_thread_group in GL sources, against the reference model."""
