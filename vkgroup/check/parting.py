"""Where two runs part: the first instruction that one invocation executes differently in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vkgroup.check.compare import Difference
from vkgroup.check.findings import Configuration
from vkgroup.check.flow import Flow
from vkgroup.check.runs import Dispatch, outputs_of
from vkgroup.check.usage import WHOLE, atomic_members
from vkgroup.reference.interpreter import Executed, Invocation, Memory
from vkgroup.reference.interpreter.operations.accessor import Accessor
from vkgroup.reference.interpreter.program.site import Site

Who = tuple[tuple[int, int, int], tuple[int, int, int]]
"""An invocation by its workgroup and its place there."""

_MOST = 64
"""Invocations of the first workgroup that are looked at where several may have written."""

_BRANCHES = ("OpBranchConditional", "OpSwitch")


class Parting(NamedTuple):
    """Where two runs part.

    Attributes
    ----------
    position : of the first instruction that differs; -1 where none was found.
    stored : position of the store of the number that differs; -1 where nobody wrote it.
    invocation : the one that shows it.
    """

    position: int
    stored: int
    invocation: Invocation | None


class _Writers:
    """Remembers which invocation wrote a byte of a memory last, and by which instruction."""

    def __init__(self, memory: Memory, byte: int) -> None:
        self.byte = byte
        self.number, self.position = -1, -1
        self._store = memory.store
        memory.store = self._watched  # type: ignore[method-assign]

    def _watched(
        self, frame: Accessor, site: Site, offset: npt.NDArray[np.int64], data: Any, *rest: Any, **more: Any
    ) -> None:
        self._store(frame, site, offset, data, *rest, **more)
        size = data.dtype.itemsize
        touched = (offset <= self.byte) & (self.byte < offset + size)
        lanes = np.flatnonzero(touched.reshape(-1, touched.shape[-1]).any(axis=0))
        if lanes.size:
            place = int(lanes[-1]) if touched.shape[-1] == frame.count else 0
            self.number = int(frame.invocations[place])
            self.position = site.position


def find_parting(
    dispatch: Dispatch, flow: Flow, first: Configuration, second: Configuration, difference: Difference
) -> Parting:
    """Return where two runs part, by what the invocation does that wrote the number that differs.

    Instructions that only compute with the numbers of lanes and subgroups differ by nature; the runs part
    where something else does: other values, or the way through the program.
    """
    written = [_writer(dispatch, configuration, difference) for configuration in (first, second)]
    known = [entry for entry in written if entry[0] is not None]
    if not known:
        known = _atomic_writers(dispatch, first, difference)
    by_nature = natural(flow)
    places = {(who.workgroup, who.local) for who, _ in known if who is not None}
    one, other = (_traces(dispatch, configuration, places) for configuration in (first, second))
    for who, stored in known:
        if who is not None:
            place = (who.workgroup, who.local)
            position = part(one.get(place, ()), other.get(place, ()), by_nature, flow)
            if position >= 0:
                return Parting(position, stored, who)
    who, stored = known[0] if known else (None, -1)
    return Parting(-1, stored, who)


def _writer(
    dispatch: Dispatch, configuration: Configuration, difference: Difference
) -> tuple[Invocation | None, int]:
    """Return the invocation that wrote a byte of an output last, and the position of its store."""
    resources = dispatch.inputs.resources()
    memory = outputs_of(dispatch.inputs, resources)[difference.place]
    writers = _Writers(memory, difference.offset)
    dispatch.execute(configuration, resources)
    if writers.number < 0:
        return None, -1
    return dispatch.arrangement(configuration).invocation(writers.number), writers.position


def _atomic_writers(
    dispatch: Dispatch, configuration: Configuration, difference: Difference
) -> list[tuple[Invocation | None, int]]:
    """Of what atomics add up nobody is the writer: return some invocations, and the atomic instruction."""
    variables = {
        identifier for identifier, place in dispatch.program.bindings.items() if place == difference.place[:2]
    }
    positions = [
        position
        for (variable, member), position in atomic_members(dispatch.program.module).items()
        if variable in variables and member in (difference.member, WHOLE)
    ]
    if not positions:
        return []
    arrangement = dispatch.arrangement(configuration)
    every = [arrangement.invocation(number) for number in range(min(_MOST, arrangement.per_workgroup))]
    return [(who, positions[0]) for who in sorted(every, key=lambda who: who.local[::-1])]


def _traces(
    dispatch: Dispatch, configuration: Configuration, places: set[Who]
) -> Mapping[Who, Sequence[Executed]]:
    outcome = dispatch.execute(configuration, dispatch.inputs.resources(), watch=places)
    return outcome.trace


def natural(flow: Flow) -> frozenset[int]:
    """Positions of instructions that only compute with numbers of lanes and subgroups."""
    origins = flow.origins
    return frozenset(
        entry.position
        for entry in flow.body
        if (entry.result_id in origins and not origins[entry.result_id].is_local)
        or (
            entry.name == "OpStore"
            and entry.operands[1] in origins
            and not origins[entry.operands[1]].is_local
        )
    )


def part(one: Sequence[Executed], other: Sequence[Executed], natural: frozenset[int], flow: Flow) -> int:
    """Return the position of the first instruction in which two traces differ; -1 where none does."""
    last = -1
    for mine, yours in zip(one, other, strict=False):
        if mine.position != yours.position:
            return _branch_after(last, flow)
        last = mine.position
        if mine.position not in natural and not _same(mine.value, yours.value):
            return mine.position
    return -1 if len(one) == len(other) else _branch_after(last, flow)


def _same(one: Any, other: Any) -> bool:
    """Compare values; NaN equals itself here."""
    if one is None or other is None:
        return one is other
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


def _branch_after(position: int, flow: Flow) -> int:
    """Return the position of the branch that ends the block of an instruction; its own where it has none."""
    for entry in flow.body:
        if entry.position > position and (entry.name in _BRANCHES or entry.name == "OpLabel"):
            return entry.position if entry.name in _BRANCHES else position
    return position
