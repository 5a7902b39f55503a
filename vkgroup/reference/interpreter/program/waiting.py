"""Loops that may wait for other invocations: memory that is read inside decides whether they end."""

from __future__ import annotations

from vkgroup.reference.interpreter.program.segments import Op, Segment

_MEMORY = ("buffer", "shared", "address", "pointer", "resource", "texel")
_Place = tuple[str, int]
"""A slot or a variable of each invocation, by number."""


def waiting_loops(segments: list[Segment]) -> frozenset[int]:
    """Return the numbers of the headers of loops that may wait for other invocations."""
    return frozenset(segment.number for segment in segments if segment.is_loop and _waits(segments, segment))


def _waits(segments: list[Segment], header: Segment) -> bool:
    assert header.loop_merge is not None
    body = segments[header.number : header.loop_merge.number]
    sources: dict[_Place, set[_Place]] = {}
    reads: set[_Place] = set()
    written: dict[_Place, set[int]] = {}  # by place: the segments that write it
    for segment in body:
        for op in segment.ops:
            if _reads_memory(op):
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


def _reads_memory(op: Op) -> bool:
    """Whether an instruction reads memory that other invocations may write."""
    name = op.instruction.name
    is_load = name == "OpLoad" and op.chains[0].root.kind in _MEMORY
    return is_load or name == "OpImageRead" or (name.startswith("OpAtomic") and name != "OpAtomicStore")


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
