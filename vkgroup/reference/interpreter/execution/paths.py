"""Paths: which invocations of a subgroup are certainly together, by what the module declares.

Two invocations execute the same dynamic instance of an instruction if they follow the same path. SPIR-V,
section 2.2.5, Uniform Control Flow: "If control flow is uniform upon entry into a structured loop or
selection, and all invocations leave that loop or selection via the header block's declared merge block, then
control flow reconverges to be uniform at that merge block." It is about all invocations of a workgroup, or
of a draw; SubgroupUniformControlFlowKHR extends it to the invocations of a subgroup. Nothing else brings
invocations together that have diverged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from vkgroup.reference.interpreter.operations.accessor import Flags, Indices, LaneSet, Slice
from vkgroup.reference.interpreter.program.segments import Segment

_TANGLED = ("OpGroupNonUniform", "OpSubgroup", "OpDPd", "OpFwidth", "OpCooperativeMatrix", "OpImageSample")
"""Beginnings of the names of instructions whose result depends on which invocations are together."""


@dataclass(frozen=True, slots=True)
class _Step:
    """The last step of a path.

    `kind`: ``"edge"`` (taken at the end of `segment`), ``"enter"`` (of a construct that begins there) or
    ``"round"`` (of the loop that begins there).
    """

    before: int  # the path without this step
    kind: str
    segment: int
    merge: int = -1  # where the construct ends
    is_loop: bool = False  # whether the construct is a loop
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class Parting:
    """Two parts of a subgroup that need not be together at an instruction.

    Attributes
    ----------
    branch : position of the branch at which they parted, as `Instruction.position`.
    merge : position of the block at which that branch's construct ends; -1 for none.
    """

    branch: int
    merge: int


def tangled(segment: Segment) -> list[int]:
    """Return the positions of the group operations of a segment."""
    instructions = (op.instruction for op in segment.ops)
    return [entry.position for entry in instructions if entry.name.startswith(_TANGLED)]


def _distinct(paths: Indices) -> tuple[list[int], Indices]:
    """Return the distinct paths, ascending, and for each invocation the index of its own."""
    if len(paths) and (paths == paths[0]).all():
        return [int(paths[0])], np.zeros(len(paths), np.int64)
    known, inverse = np.unique(paths, return_inverse=True)
    return known.tolist(), inverse


@dataclass
class Paths:
    """The paths of the invocations of a slice.

    `segments`: of the program.
    `slice_`: the invocations.
    `per_subgroup`: whether uniform control flow of a subgroup suffices.
    `apart`: as for `ExecutionModel`.
    `partings`: by the positions of group operations: how the invocations parted that are not together there.
    """

    segments: list[Segment]
    slice_: Slice
    per_subgroup: bool
    apart: str
    partings: dict[int, Parting]
    _steps: list[_Step] = field(default_factory=lambda: [_Step(-1, "", -1)])
    _numbers: dict[_Step, int] = field(default_factory=dict)
    _ends: dict[tuple[int, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        #: By the path after it: how many invocations of each scope have entered a construct.
        self._entered: dict[int, Indices] = {}
        #: By two paths that were at one segment and did not go on together: how they parted.
        self._splits: dict[tuple[int, int], Parting] = {}
        self._has_arrived = np.zeros(self.slice_.count, np.bool_)
        self._of = np.zeros(self.slice_.count, np.int64)
        #: The path of all invocations, while they move together, instead of `_of`; and whether they are new.
        self._one: int | None = 0
        self._is_new = False
        self._scope: Indices = self.slice_.row if self.per_subgroup else self.slice_.workgroup
        self._totals = np.bincount(self._scope)
        self._known: tuple[LaneSet, tuple[Indices, Indices, Flags]] | None = None
        self._begun = np.bincount(self.slice_.workgroup)  # by workgroup: its invocations

    def _one_of(self, lanes: LaneSet) -> int | None:
        """Return the path of all invocations, if these are all and it is one; else use `_of` from now on."""
        if not lanes.is_all and self._one is not None:
            self._of[:], self._has_arrived[:], self._one = self._one, self._is_new, None
        return self._one

    def _change(self, lanes: LaneSet, step: _Step) -> None:
        """Add a step to the paths of some invocations; its `before` is replaced."""
        self._replace(lanes, lambda path: self._number(replace(step, before=path)))

    def _number(self, step: _Step) -> int:
        number = self._numbers.setdefault(step, len(self._steps))
        if number == len(self._steps):
            self._steps.append(step)
        return number

    def enter(self, number: int, lanes: LaneSet) -> None:
        """Record that invocations enter the construct that begins at the end of a segment."""
        merge = self.segments[number].merge
        if merge is not None:
            self._enter(lanes, _Step(0, "enter", number, merge.number))

    def _enter(self, lanes: LaneSet, step: _Step) -> None:
        self._change(lanes, step)
        if self._one is not None:
            self._entered[self._one] = self._entered.get(self._one, 0) + self._totals
            return
        chosen = lanes.selector
        paths, inverse = _distinct(self._of[chosen])
        for path, counts in zip(paths, self._counts(len(paths), inverse, self._scope[chosen]), strict=True):
            self._entered[path] = self._entered.get(path, 0) + counts

    def take(self, number: int, edge: int, lanes: LaneSet) -> None:
        """Record that invocations take one of the edges of a branch."""
        self._change(lanes, _Step(0, "edge", number, edge))

    def arrive(self, number: int, lanes: LaneSet, *, after: int) -> None:
        """Record that invocations, coming from segment `after`, arrive at a segment."""
        self._known = None
        if self._one_of(lanes) is None:
            self._has_arrived[lanes.selector] = True
        else:
            self._is_new = True
        merge = self.segments[number].loop_merge
        if merge is None:
            return
        if number > after:
            self._enter(lanes, _Step(0, "enter", number, merge.number, True))
            return
        self._replace(lanes, lambda path: self._round(path, path, number, 1))

    def _replace(self, lanes: LaneSet, function: Callable[[int], int]) -> None:
        """Replace the paths of some invocations."""
        if (one := self._one_of(lanes)) is not None:
            self._one = function(one)
            return
        chosen = lanes.selector
        before, inverse = _distinct(self._of[chosen])
        self._of[chosen] = np.array([function(path) for path in before])[inverse]

    def _round(self, path: int, base: int | None, number: int, more: int) -> int:
        """Return a path with the round of a loop that `path` is in, or one later, as its last step.

        `base`: what is before that step; None for the step that entered the loop.
        """
        start, rounds = path, 0
        while start > 0:
            step = self._steps[start]
            if step.segment == number and step.kind == "round" and not rounds:
                rounds = step.rounds
            if step.segment == number and step.kind == "enter" and step.is_loop:
                break
            start = step.before
        return self._number(_Step(start if base is None else base, "round", number, rounds=rounds + more))

    def meet(self, number: int, lanes: LaneSet) -> None:
        """Bring those invocations together that certainly meet at the segment that they reached."""
        if self._one_of(lanes) is None:
            new = self._has_arrived[lanes.selector]
            if not new.all():
                lanes = lanes.where(new)
            self._has_arrived[lanes.selector] = False
        elif not self._is_new:
            return
        if not lanes:
            return
        self._is_new = False
        if self.apart == "iteration":
            for edge in self.segments[number].terminator.edges:
                if edge.target.number <= number:
                    self._replace(lanes, partial(self._round, base=None, number=edge.target.number, more=0))
                    self._known = None
        if self._one is not None:
            end = self._end(self._one, number)
            self._one = self._steps[end].before if end >= 0 else self._one
            return
        ends, inverse, complete = self._arrived(number, lanes)
        together = (complete | self.segments[number].rejoins) & (ends[inverse] >= 0)
        if self.apart == "return":
            calls = np.array([end >= 0 and self._is_call(int(end)) for end in ends])
            together |= calls[inverse]
        before = np.array([self._steps[int(end)].before if end >= 0 else -1 for end in ends])[inverse]
        self._known = None
        self._of[lanes.indices[together]] = before[together]
        if lanes.is_all and (self._of == self._of[0]).all():
            self._one = int(self._of[0])

    def _arrived(self, number: int, lanes: LaneSet) -> tuple[Indices, Indices, Flags]:
        """Return the constructs that end at a segment, which one each invocation entered, and completeness.

        A construct is complete if all invocations of its scope entered it together, and all have arrived. An
        invocation that ends none is complete.
        """
        if self._known is not None and self._known[0] is lanes:
            return self._known[1]  # `complete` has asked
        known, inverse = _distinct(self._of[lanes.selector])
        ends, same = np.unique([self._end(path, number) for path in known], return_inverse=True)
        if len(known) > 1:
            inverse = same[inverse]
        scope = self._scope[lanes.selector]
        counts = self._counts(len(ends), inverse, scope)
        return ends, inverse, (counts[inverse, scope] == self._totals[scope]) | (ends[inverse] < 0)

    def _counts(self, paths: int, inverse: Indices, scope: Indices) -> Indices:
        """Return how many invocations of each scope are on each of several paths, (paths, scopes)."""
        scopes = len(self._totals)
        return np.bincount(inverse * scopes + scope, minlength=paths * scopes).reshape(paths, scopes)

    def complete(self, number: int, lanes: LaneSet) -> LaneSet:
        """Return the invocations at a segment that need not wait there for others of their construct."""
        if self._one_of(lanes) is not None:
            return lanes
        new = self._has_arrived[lanes.selector]
        if not new.any():
            return lanes
        ends, inverse, complete = arrived = self._arrived(number, lanes)
        self._known = lanes, arrived
        if complete.all():
            return lanes
        scope = self._scope[lanes.selector]
        full = [self._entered.get(end, self._totals * 0) == self._totals for end in ends.tolist()]
        nobody_ended = self.slice_.alive == self._begun
        waits = np.array(full)[inverse, scope] & nobody_ended[self.slice_.workgroup[lanes.selector]]
        ready = complete | ~new | ~waits
        return lanes if ready.all() else lanes.where(ready)

    def _is_call(self, path: int) -> bool:
        return self.segments[self._steps[path].segment].terminator.kind == "jump"

    def _end(self, path: int, number: int) -> int:
        """Return the last step of a path that enters a construct which ends at a segment; -1 for none."""
        passed, found = [], path
        while found >= 0 and (found, number) not in self._ends:
            step = self._steps[found]
            if step.kind == "enter" and step.merge == number:
                self._ends[found, number] = found
                break
            passed.append(found)
            found = step.before
        end = self._ends[found, number] if found >= 0 else -1
        self._ends.update(dict.fromkeys(((path, number) for path in passed), end))
        return end

    def together(self, number: int, lanes: LaneSet) -> LaneSet:
        """Return, of each subgroup, the invocations with the lowest path."""
        if (one := self._one_of(lanes)) is not None:
            self._note_split(number, one)
            return lanes
        chosen = lanes.selector
        paths, row = self._of[chosen], self.slice_.row[chosen]
        if (paths == paths[0]).all():
            self._note_split(number, int(paths[0]))
            return lanes
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        lowest = np.repeat(np.minimum.reduceat(paths, starts), np.diff(starts, append=len(row)))
        same = paths == lowest
        if same.all():
            self._note_split(number, int(paths[0]))
            return lanes
        other = int(np.argmin(same))
        pair = int(lowest[other]), int(paths[other])
        if pair not in self._splits:
            self._splits[pair] = self._parting(*pair)
        for position in tangled(self.segments[number]):
            self.partings.setdefault(position, self._splits[pair])
        return lanes.where(same)

    def _note_split(self, number: int, path: int) -> None:
        """Note the group operations that a part of a subgroup executes after another part stayed behind."""
        positions = tangled(self.segments[number]) if self._splits else []
        positions = [position for position in positions if position not in self.partings]
        while positions and path >= 0:
            found = next((parting for pair, parting in self._splits.items() if path in pair), None)
            if found is not None:
                self.partings.update(dict.fromkeys(positions, found))
                return
            path = self._steps[path].before

    def _parting(self, first: int, second: int) -> Parting:
        """Return how two paths parted."""
        around = []
        path = first
        while path >= 0:
            around.append(path)
            path = self._steps[path].before
        known = set(around)
        last = second
        while last >= 0 and last not in known:
            branch, last = last, self._steps[last].before
        segment = self.segments[self._steps[branch].segment]
        instruction = segment.terminator.instruction
        construct = last
        while construct > 0 and self._steps[construct].kind != "enter":
            construct = self._steps[construct].before
        merge = self.segments[self._steps[construct].merge].position if construct > 0 else -1
        return Parting(instruction.position if instruction is not None else segment.position, merge)
