"""Loops that may wait for other invocations: memory that is read inside decides whether they end.

It must be memory that the shader writes, and that the other invocations can reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vkgroup.reference.interpreter.program.segments import Op, Root, Segment
from vkgroup.spirv.chains import STORES

_MEMORY = ("buffer", "shared", "address", "pointer", "resource", "texel")
_ANY = ("address", "pointer")
"""Kinds of roots of pointers that may point into any buffer."""

_Place = tuple[str, int]
"""A slot or a variable of each invocation, by number."""


def waiting_loops(
    segments: list[Segment], bindings: Mapping[int, tuple[int, int]], unit: str | None = None
) -> frozenset[int]:
    """Return the numbers of the headers of loops that may wait for other invocations.

    `bindings`: set and binding by the id of a variable. `unit`: ``"workgroup"`` for loops that may wait for
    another workgroup, which shared memory does not reach; ``"subgroup"`` for another subgroup, at which no
    loop waits that has a barrier in each round; None for all.
    """
    shared = _SharedMemory(bindings, unit == "workgroup", frozenset[object]())
    written = {shared.name_of(op.chains[0].root) for each in segments for op in each.ops if writes(op)}
    shared = shared._replace(written=frozenset(written))
    return frozenset(
        each.number
        for each in segments
        if each.is_loop
        and not (unit == "subgroup" and _meets(segments, each))
        and _waits(segments, each, shared)
    )


def _meets(segments: list[Segment], header: Segment) -> bool:
    """Whether each round of a loop has a barrier, at which all subgroups of the workgroup meet."""
    assert header.loop_merge is not None
    inside = range(header.number, header.loop_merge.number)
    pending, seen = [header.number], set[int]()
    while pending:
        number = pending.pop()
        if number in seen or number not in inside or segments[number].is_barrier:
            continue
        seen.add(number)
        targets = [edge.target.number for edge in segments[number].terminator.edges]
        if header.number in targets:
            return False
        pending += targets
    return True


class _SharedMemory(NamedTuple):
    """The memory through which invocations can wait for others."""

    bindings: Mapping[int, tuple[int, int]]
    across: bool
    written: frozenset[object]  # names of what the shader writes

    def name_of(self, root: Root) -> object:
        """Return a name that variables in the same memory have in common."""
        return self.bindings.get(root.number, root.number) if root.kind == "buffer" else root.kind

    def may_change(self, root: Root) -> bool:
        """Whether other invocations may write what a pointer points to."""
        if root.kind == "shared":
            return not self.across
        known = root.kind == "buffer" and self.written.isdisjoint(_ANY)
        return root.kind in _MEMORY and (not known or self.name_of(root) in self.written)


def writes(op: Op) -> bool:
    """Whether an instruction may write memory that other invocations access."""
    name = op.instruction.name
    is_atomic = name.startswith("OpAtomic") and name != "OpAtomicLoad"
    # Modf and Frexp of the extended instructions store, too.
    is_store = (name in STORES or name == "OpExtInst") and bool(op.chains)
    return is_atomic or (is_store and op.chains[0].root.kind not in ("cell", "push"))


def _waits(segments: list[Segment], header: Segment, shared: _SharedMemory) -> bool:
    assert header.loop_merge is not None
    body = segments[header.number : header.loop_merge.number]
    if shared.across:
        if not any(_reads(op, shared) for segment in body for op in segment.ops):
            return False
        # One invocation may pass on through shared memory what it has read.
        shared = shared._replace(across=False)
    sources: dict[_Place, set[_Place]] = {}
    reads: set[_Place] = set()
    written: dict[_Place, set[int]] = {}  # by place: the segments that write it
    for segment in body:
        for op in segment.ops:
            if _reads(op, shared):
                reads.add(("slot", op.result))
            for place in _add(sources, op):
                written.setdefault(place, set()).add(segment.number)
        for edge in segment.terminator.edges:
            for target, source in edge.copies:
                sources.setdefault(("slot", target), set()).add(("slot", source))
                written.setdefault(("slot", target), set()).add(segment.number)
    inside = range(header.number, header.loop_merge.number)
    leaving = {
        segment.number
        for segment in body
        if any(edge.target.number not in inside for edge in segment.terminator.edges)
    }
    pending = _deciding(body, leaving)
    seen: set[_Place] = set()
    while pending:
        place = pending.pop()
        if place in reads:
            return True
        if place not in seen:
            seen.add(place)
            # Branches decide what is stored, as in `if (flag) done = true;`.
            pending += [*sources.get(place, ()), *_deciding(body, written.get(place, set()))]
    return False


def _deciding(body: list[Segment], segments: set[int]) -> list[_Place]:
    """Return the conditions that decide whether some segments of a loop are executed, or how they end."""
    conditions: list[_Place] = []
    for segment in body:
        first, condition = segment.number, segment.terminator.condition
        if condition >= 0:
            end = segment.merge.number if segment.merge is not None else body[-1].number + 1
            if any(first <= number < end for number in segments):
                conditions.append(("slot", condition))
    return conditions


def _reads(op: Op, shared: _SharedMemory) -> bool:
    """Whether an instruction reads memory that other invocations may write."""
    name = op.instruction.name
    if name == "OpLoad" or (name.startswith("OpAtomic") and name != "OpAtomicStore"):
        return shared.may_change(op.chains[0].root)
    return name == "OpImageRead"


def _add(sources: dict[_Place, set[_Place]], op: Op) -> list[_Place]:
    """Add what an instruction computes its result, or the variables that it stores to, from; return these."""
    used: set[_Place] = {("slot", slot) for slot in op.uses}
    cells: list[_Place] = [("cell", chain.root.number) for chain in op.chains if chain.root.kind == "cell"]
    if op.result >= 0:
        sources.setdefault(("slot", op.result), set()).update(used, cells)
    for cell in cells:
        if op.instruction.name != "OpLoad":
            sources.setdefault(cell, set()).update(used)
    return cells if op.instruction.name != "OpLoad" else []
