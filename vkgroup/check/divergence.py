"""Divergence of two runs: the first instruction that they execute differently."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.check.comparison import Difference
from vkgroup.check.findings import RunParameters
from vkgroup.check.flow import WHOLE, DataFlow
from vkgroup.check.influence import influence_of
from vkgroup.check.runs import CheckedDispatch, Place, outputs_of
from vkgroup.reference.interpreter import ExecutedInstruction, Invocation, Memory
from vkgroup.reference.interpreter.operations.accessor import Accessor
from vkgroup.reference.interpreter.program.site import Site

_MAX_INVOCATIONS = 64
"""Maximum number of invocations that are examined if several may have written the number."""


class Divergence(NamedTuple):
    """The divergence of two runs."""

    position: int  # position of the first instruction that differs; -1 if none was identified
    stored: int  # position of the store of the differing number; -1 if no store wrote it
    invocation: Invocation | None  # an invocation in which the runs differ


Seen = Callable[[Accessor, Site, npt.NDArray[np.int64], int], None]
"""Function of a store: the invocations, the instruction, the offsets, and the size of a number in bytes."""


def watch_stores(memory: Memory, seen: Seen) -> None:
    """Let a function see each store to a memory, after it."""
    store = memory.store

    def watched(
        frame: Accessor, site: Site, offset: npt.NDArray[np.int64], data: Any, *rest: Any, **more: Any
    ) -> None:
        store(frame, site, offset, data, *rest, **more)
        seen(frame, site, offset, data.dtype.itemsize)

    memory.store = watched  # type: ignore[method-assign]


class _Writers:
    """Record of the last invocation that wrote a byte of a memory, and of its store instruction."""

    def __init__(self, memory: Memory, byte: int) -> None:
        self.byte = byte
        self.number, self.position = -1, -1
        watch_stores(memory, self._record)

    def _record(self, frame: Accessor, site: Site, offset: npt.NDArray[np.int64], size: int) -> None:
        touched = (offset <= self.byte) & (self.byte < offset + size)
        lanes = np.flatnonzero(touched.reshape(-1, touched.shape[-1]).any(axis=0))
        if lanes.size:
            lane = int(lanes[-1]) if touched.shape[-1] == frame.count else 0
            self.number = int(frame.invocations[lane])
            self.position = site.position


def writer_of(
    dispatch: CheckedDispatch, configuration: RunParameters, place: Place, offset: int
) -> tuple[Invocation, int] | None:
    """Return invocation and position of the last store of a byte of an output; None without a store."""
    known = dispatch.known_writer(configuration, place, offset)
    if known is not None:
        return known
    resources = dispatch.inputs.resources()
    last = _Writers(outputs_of(dispatch.inputs, resources)[place], offset)
    dispatch.execute(configuration, resources)
    return (dispatch.invocation(configuration, last.number), last.position) if last.number >= 0 else None


def find_divergence(
    dispatch: CheckedDispatch,
    flow: DataFlow,
    first: RunParameters,
    second: RunParameters,
    difference: Difference,
) -> Divergence:
    """Return the first divergence in the invocation that wrote the differing number.

    Instructions that only compute with lane and subgroup numbers differ in any case and are ignored. The runs
    diverge at the first other instruction with another value, or at the branch where the paths separate.
    """
    writers: list[tuple[Invocation, int]] = []
    for configuration in (first, second):
        if (writer := writer_of(dispatch, configuration, difference.place, difference.offset)) is not None:
            writers.append(writer)
    if not writers:
        writers = atomic_writers(dispatch, first, difference)
    keys = {(who.workgroup, who.local) for who, _ in writers}
    one, other = (
        dispatch.execute(configuration, dispatch.inputs.resources(), watch=keys).trace
        for configuration in (first, second)
    )
    for who, stored in writers:
        key = (who.workgroup, who.local)
        position = first_difference(one.get(key, ()), other.get(key, ()), flow)
        if position >= 0:
            return Divergence(position, stored, who)
    return Divergence(-1, writers[0][1], writers[0][0]) if writers else Divergence(-1, -1, None)


def atomic_writers(
    dispatch: CheckedDispatch, configuration: RunParameters, difference: Difference
) -> list[tuple[Invocation, int]]:
    """Return candidate writers of an element updated by atomics, which has no single last writer."""
    variables = {
        identifier for identifier, place in dispatch.program.bindings.items() if place == difference.place[:2]
    }
    positions = [
        entries[0].position
        for (variable, member), entries in influence_of(dispatch.program.module).atomics.items()
        if variable in variables and member in (difference.member, WHOLE)
    ]
    if not positions:
        return []
    every = dispatch.example_invocations(configuration, _MAX_INVOCATIONS)
    return [(who, positions[0]) for who in sorted(every, key=lambda who: who.local[::-1])]


def first_difference(
    one: Sequence[ExecutedInstruction], other: Sequence[ExecutedInstruction], flow: DataFlow
) -> int:
    """Return the position of the first instruction in which two traces differ; -1 if none differs."""
    last = -1
    for mine, yours in zip(one, other, strict=False):
        if mine.position != yours.position:
            return _branch_after(last, flow)
        last = mine.position
        if mine.position not in flow.natural and not _same(mine.value, yours.value):
            return mine.position
    return -1 if len(one) == len(other) else _branch_after(last, flow)


def _same(one: Any, other: Any) -> bool:
    """Whether two values are equal; NaN equals NaN."""
    if one is None or other is None:
        return one is other
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


def _branch_after(position: int, flow: DataFlow) -> int:
    """Return the position of the branch that ends an instruction's block; its own if there is none."""
    block = flow.control_flow.block_at.get(position)
    if block is None or block.terminator.name not in ("OpBranchConditional", "OpSwitch"):
        return position
    return block.terminator.position
