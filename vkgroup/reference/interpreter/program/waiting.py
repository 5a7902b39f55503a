"""Loops that may wait for other invocations: memory that is read inside decides whether they end."""

from __future__ import annotations

from vkgroup.reference.interpreter.program.segments import Op, Segment

_MEMORY = ("buffer", "shared", "address", "resource", "texel")
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
    for segment in body:
        for op in segment.ops:
            if _reads_memory(op):
                reads.add(("slot", op.result))
            _add(sources, op)
        for edge in segment.terminator.edges:
            for target, source in edge.copies:
                sources.setdefault(("slot", target), set()).add(("slot", source))
    branches = [segment.terminator for segment in body if segment.terminator.condition >= 0]
    targets = [{edge.target.number for edge in branch.edges} for branch in branches]
    numbers = {segment.number for segment in body}
    if not any(len(ways) > 1 and not ways <= numbers for ways in targets):
        return False
    # Branches inside decide what is stored, as in `if (flag) done = true;`.
    pending: list[_Place] = [("slot", branch.condition) for branch in branches]
    seen: set[_Place] = set()
    while pending:
        place = pending.pop()
        if place in reads:
            return True
        if place not in seen:
            seen.add(place)
            pending += sources.get(place, ())
    return False


def _reads_memory(op: Op) -> bool:
    """Whether an instruction reads memory that other invocations may write."""
    name = op.instruction.name
    is_load = name == "OpLoad" and op.chains[0].root.kind in _MEMORY
    return is_load or name == "OpImageRead" or (name.startswith("OpAtomic") and name != "OpAtomicStore")


def _add(sources: dict[_Place, set[_Place]], op: Op) -> None:
    """Add what an instruction computes its result, or the variable that it stores to, from."""
    used: set[_Place] = {("slot", slot) for slot in op.uses}
    cells: list[_Place] = [("cell", chain.root.number) for chain in op.chains if chain.root.kind == "cell"]
    if op.result >= 0:
        sources.setdefault(("slot", op.result), set()).update(used, cells)
    for cell in cells:
        if op.instruction.name != "OpLoad":
            sources.setdefault(cell, set()).update(used)
