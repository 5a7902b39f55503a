"""How segments end: invocations are sent on their ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vkgroup.errors import InvalidModule
from vkgroup.reference.interpreter.frame import Frame
from vkgroup.reference.interpreter.inline import Edge, Segment
from vkgroup.reference.interpreter.site import Site
from vkgroup.reference.interpreter.values import HARD, Value

if TYPE_CHECKING:
    from vkgroup.reference.interpreter.program import Program

Finish = Callable[[Frame], None]
_DEPENDS = "where the shader goes on depends on an undefined value"


def terminator(program: Program, segment: Segment) -> Finish:
    """Make the function that ends a segment."""
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
        return lambda frame: frame.machine.discard(frame.index)
    return lambda frame: frame.machine.end(frame.index)


def _target(edge: Edge) -> int:
    if edge.target.number < 0:
        raise InvalidModule("a branch to a block that nothing else reaches")
    return edge.target.number


def _jump(number: int, edge: Edge) -> Finish:
    target, copies = _target(edge), edge.copies
    return lambda frame: frame.machine.go(number, target, copies, frame)


def _check_condition(number: int, frame: Frame, condition: Value, site: Site) -> None:
    """Note where a condition is undefined; what those invocations do from now on is undefined too."""
    cause = condition.cause
    if cause is None:
        return
    cause = np.broadcast_to(cause, (frame.count,))
    undefined = cause >= HARD
    if undefined.any():
        frame.report_undefined(site, cause, _DEPENDS)
        frame.machine.poison(frame.lanes[undefined], cause[undefined])
    ordered = (cause > 0) & ~undefined
    if ordered.any():
        frame.machine.soften(number, frame.lanes[ordered], cause[ordered])


def _branch(number: int, slot: int, edges: tuple[Edge, ...], site: Site) -> Finish:
    (then, then_copies), (other, other_copies) = ((_target(edge), edge.copies) for edge in edges)

    def finish(frame: Frame) -> None:
        condition: Value = frame.regs[slot]
        machine = frame.machine
        _check_condition(number, frame, condition, site)
        flags = condition.data
        chosen = int(np.count_nonzero(flags))
        if chosen == flags.size:
            machine.go(number, then, then_copies, frame)
        elif chosen == 0:
            machine.go(number, other, other_copies, frame)
        else:
            machine.go(number, then, then_copies, frame, flags)
            machine.go(number, other, other_copies, frame, ~flags)

    return finish


def _switch(number: int, slot: int, literals: tuple[int, ...], edges: tuple[Edge, ...], site: Site) -> Finish:
    targets = [(_target(edge), edge.copies) for edge in edges]

    def finish(frame: Frame) -> None:
        selector: Value = frame.regs[slot]
        machine = frame.machine
        _check_condition(number, frame, selector, site)
        data = selector.data.view(f"u{selector.data.dtype.itemsize}")
        if len(data) == 1:
            value = int(data[0])
            place = literals.index(value) if value in literals else -1
            machine.go(number, *targets[place], frame)
            return
        left = np.ones(frame.count, np.bool_)
        for literal, (target, copies) in zip(literals, targets, strict=False):
            where = data == data.dtype.type(literal)
            if where.any():
                left &= ~where
                machine.go(number, target, copies, frame, where)
        if left.any():
            machine.go(number, *targets[-1], frame, left)

    return finish


def _unreachable(site: Site) -> Finish:
    def finish(frame: Frame) -> None:
        everybody = np.ones(frame.count, np.bool_)
        frame.report("undefined", site, everybody, "the shader gets where it says that it never does")
        frame.machine.end(frame.index)

    return finish
