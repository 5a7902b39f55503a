"""Which trees are programs whose outcome is known.

Checked is what leaving parts out of a generated program can break. That elections stand only where it is
known who is together, which the generator sees to as well, stays true: parts move outward, and switches keep
their labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from vkgroup.conformance.reconvergence.nodes import (
    Block,
    Call,
    Condition,
    Elect,
    If,
    Leave,
    Loop,
    Number,
    Observe,
    OfTrip,
    Program,
    Promise,
    Statement,
    Switch,
    TripIs,
    walk,
)

_NOWHERE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Scope:
    """Where a statement stands.

    Attributes
    ----------
    ways : the kinds of `Leave` that lead somewhere from here, and are allowed to.
    loops : numbers of the loops around.
    loose : whether nothing says who comes here.
    """

    ways: frozenset[str]
    loops: frozenset[int] = frozenset()
    loose: bool = False

    def within(self, *more: str, less: str = "") -> _Scope:
        """Return the same with other ways out."""
        return replace(self, ways=(self.ways | set(more)) - {less})


def well_formed(program: Program) -> bool:
    """Return whether every way leads somewhere, every loop ends, and elections decide nothing unknown.

    Unless a program counts on maximal reconvergence, nobody knows who is elected: what depends on that is
    loose, records nothing that is compared, and lets all come to its end.
    """
    return _Rules(program).block(program.body, _Scope(frozenset({"return"})))


class _Rules:
    def __init__(self, program: Program) -> None:
        self._functions = program.functions
        self._elections = program.promise is Promise.MAXIMAL

    def block(self, block: Block, scope: _Scope) -> bool:
        loops = [statement.number for statement in block if isinstance(statement, Loop)]
        if len(loops) > len(set(loops)):  # each declares its counter
            return False
        return all(self.statement(statement, scope) for statement in block)

    def statement(self, statement: Statement, scope: _Scope) -> bool:
        if isinstance(statement, Observe):
            return statement.loose or not scope.loose
        if isinstance(statement, Leave):
            return statement.kind in scope.ways
        if isinstance(statement, Call):
            inside = _Scope(_NOWHERE if scope.loose else frozenset({"return"}), loose=scope.loose)
            return self.block(self._functions[statement.function], inside)
        if isinstance(statement, If):
            return self._selection(statement, scope)
        if isinstance(statement, Loop):
            return self._loop(statement, scope)
        if isinstance(statement, Switch):
            return self._switch(statement, scope)
        return True

    def _switch(self, switch: Switch, scope: _Scope) -> bool:
        inside, last = scope.within("break"), switch.cases[-1]
        # GLSL has no label without a statement behind it.
        ends = bool(last.body) or not last.falls
        known = _known(switch.selector, scope)
        return ends and known and all(self.block(case.body, inside) for case in switch.cases)

    def _selection(self, selection: If, scope: _Scope) -> bool:
        # What nobody knows begins here, and has to end here.
        begins = selection.loose and not scope.loose
        inside = replace(scope, ways=_NOWHERE, loose=True) if begins else scope
        elects = any(isinstance(node, Elect) for node in walk((selection.condition,)))
        if elects and not (self._elections or inside.loose):
            return False
        known = _known(selection.condition, scope)
        return known and self.block(selection.then, inside) and self.block(selection.otherwise, inside)

    def _loop(self, loop: Loop, scope: _Scope) -> bool:
        if loop.number in scope.loops:
            return False
        inside = replace(scope, loops=scope.loops | {loop.number}, loose=scope.loose or loop.loose)
        between = () if loop.between is None else (loop.between,)
        if loop.form == "elect":
            return self._elect_loop(loop, scope, inside, between)
        turns = inside.within("break", "continue")
        # Who continues in front of the only exit never ends.
        body = turns.within(less="continue") if loop.form == "endless" else turns
        return (
            (loop.trips is None or _known(loop.trips, scope))
            and self.block(loop.body, body)
            and self.block(loop.rest, turns)
            and self.block(between, inside)
        )

    def _elect_loop(self, loop: Loop, scope: _Scope, inside: _Scope, between: Block) -> bool:
        if not (self._elections or inside.loose) or (loop.exit == "return" and "return" not in scope.ways):
            return False
        ways = scope.ways & {"return"} if not inside.loose else _NOWHERE
        if not (inside.loose and loop.exit == "return"):
            ways |= {"break"}
        body = replace(inside, ways=ways)
        nothing = replace(inside, ways=_NOWHERE)
        return (
            self.block(loop.body, body)
            and self.block(loop.rest, body)
            and self.block(loop.farewell, nothing)
            and self.block(between, nothing)
        )


def _known(decision: Condition | Number, scope: _Scope) -> bool:
    """Return whether the loops whose counters decide are around."""
    return all(node.loop in scope.loops for node in walk((decision,)) if isinstance(node, TripIs | OfTrip))
