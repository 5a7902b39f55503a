"""Ends of segments: branches, switches, and the ends of invocations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from vkgroup.errors import InvalidModule
from vkgroup.reference.interpreter.operations.state import Frame
from vkgroup.reference.interpreter.program.form import ProgramForm
from vkgroup.reference.interpreter.program.segments import Edge, Segment
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.reference.interpreter.values.lane_set import LaneSet
from vkgroup.reference.interpreter.values.value import HARD, Causes, Value

_DEPENDS = "control flow depends on an undefined value"
Flags = npt.NDArray[np.bool_]
Copies = tuple[tuple[int, int], ...]


class Paths(Protocol):
    """The paths of invocations through the segments: what a terminator changes."""

    def go(self, number: int, target: int, copies: Copies, frame: Frame, where: Flags | None = None) -> None:
        """Send invocations of a frame along an edge from segment `number`; `where` chooses some of them."""

    def end(self, lanes: LaneSet) -> None:
        """End invocations."""

    def discard(self, lanes: LaneSet) -> None:
        """End invocations, and discard their fragments."""

    def taint_path(self, lanes: npt.NDArray[np.int64], cause: Causes) -> None:
        """Record that the path of some invocations depends on undefined values from now on."""

    def taint_path_softly(self, number: int, lanes: npt.NDArray[np.int64], cause: Causes) -> None:
        """Record that the order of atomics decides the path of some invocations from segment `number`."""


Finish = Callable[[Frame, Paths], None]
"""Ends a segment in the invocations of a frame."""


def terminator(program: ProgramForm, segment: Segment) -> Finish:
    """Return the function that ends a segment."""
    ending = segment.terminator
    position = ending.instruction.position if ending.instruction is not None else -1
    site = Site(ending.kind, None, (), (), (), (), position, program.causes)
    if ending.kind == "jump":
        return _jump(segment.number, ending.edges[0])
    if ending.kind == "branch":
        return _branch(segment.number, ending.condition, ending.edges, site)
    if ending.kind == "switch":
        return _switch(segment.number, ending.condition, ending.literals, ending.edges, site)
    if ending.kind == "unreachable":
        return _unreachable(site)
    if ending.kind == "discard":
        return lambda frame, paths: paths.discard(frame.lanes)
    return lambda frame, paths: paths.end(frame.lanes)


def _target(edge: Edge) -> int:
    if edge.target.number < 0:
        raise InvalidModule("a branch to a block that nothing else reaches")
    return edge.target.number


def _jump(number: int, edge: Edge) -> Finish:
    target, copies = _target(edge), edge.copies
    return lambda frame, paths: paths.go(number, target, copies, frame)


def _check_condition(number: int, frame: Frame, paths: Paths, condition: Value, site: Site) -> None:
    """Report an undefined condition, and record that the paths of those invocations depend on it."""
    cause = condition.cause
    if cause is None:
        return
    cause = np.broadcast_to(cause, (frame.count,))
    undefined = cause >= HARD
    if undefined.any():
        frame.report_undefined(site, cause, _DEPENDS)
        paths.taint_path(frame.lanes.indices[undefined], cause[undefined])
    ordered = (cause > 0) & ~undefined
    if ordered.any():
        paths.taint_path_softly(number, frame.lanes.indices[ordered], cause[ordered])


def _branch(number: int, slot: int, edges: tuple[Edge, ...], site: Site) -> Finish:
    (then, then_copies), (other, other_copies) = ((_target(edge), edge.copies) for edge in edges)

    def finish(frame: Frame, paths: Paths) -> None:
        condition: Value = frame.regs[slot]
        _check_condition(number, frame, paths, condition, site)
        flags = condition.data
        chosen = int(np.count_nonzero(flags))
        if chosen == flags.size:
            paths.go(number, then, then_copies, frame)
        elif chosen == 0:
            paths.go(number, other, other_copies, frame)
        else:
            paths.go(number, then, then_copies, frame, flags)
            paths.go(number, other, other_copies, frame, ~flags)

    return finish


def _switch(number: int, slot: int, literals: tuple[int, ...], edges: tuple[Edge, ...], site: Site) -> Finish:
    targets = [(_target(edge), edge.copies) for edge in edges]

    def finish(frame: Frame, paths: Paths) -> None:
        selector: Value = frame.regs[slot]
        _check_condition(number, frame, paths, selector, site)
        data = selector.data.view(f"u{selector.data.dtype.itemsize}")
        if len(data) == 1:
            value = int(data[0])
            chosen = literals.index(value) if value in literals else -1
            paths.go(number, *targets[chosen], frame)
            return
        left = np.ones(frame.count, np.bool_)
        for literal, (target, copies) in zip(literals, targets, strict=False):
            where = data == data.dtype.type(literal)
            if where.any():
                left &= ~where
                paths.go(number, target, copies, frame, where)
        if left.any():
            paths.go(number, *targets[-1], frame, left)

    return finish


def _unreachable(site: Site) -> Finish:
    def finish(frame: Frame, paths: Paths) -> None:
        everywhere = np.ones(frame.count, np.bool_)
        frame.report("undefined", site, everywhere, "the shader reaches an OpUnreachable")
        paths.end(frame.lanes)

    return finish
