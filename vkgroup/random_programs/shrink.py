"""Makes a failing program small: delta debugging on its tree."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from vkgroup.random_programs import edits
from vkgroup.random_programs.nodes import Program
from vkgroup.random_programs.rules import faults

Predicate = Callable[[Program], bool]
"""Whether a program still fails."""


class _Shrinker:
    """The search: the smallest program so far, and what it may still cost.

    Parameters
    ----------
    fails : asked only about programs that keep to the rules and are smaller.
    """

    def __init__(
        self, program: Program, fails: Predicate, subgroup_size: int, tries: int, seconds: float
    ) -> None:
        self.best = program
        self.weight = edits.weight(program)
        self._fails = fails
        self._subgroup_size = subgroup_size
        self._tries = tries
        self._deadline = time.monotonic() + seconds
        self._seen: set[Program] = set()

    @property
    def spent(self) -> bool:
        return self._tries <= 0 or time.monotonic() > self._deadline

    def attempt(self, candidate: Program) -> bool:
        """Take a candidate if it is smaller and still fails."""
        weight = edits.weight(candidate)
        if self.spent or weight >= self.weight or candidate in self._seen:
            return False
        self._seen.add(candidate)
        if faults(candidate, self._subgroup_size):
            return False
        self._tries -= 1
        if not self._fails(candidate):
            return False
        self.best, self.weight = candidate, weight
        return True

    def drop_statements(self) -> None:
        """Leave out statements, large parts first."""
        count = len(edits.statements(self.best))
        chunk = max(count // 2, 1)
        while chunk and not self.spent:
            first = 0
            while first < len(edits.statements(self.best)):
                if not self.attempt(edits.without(self.best, first, chunk)):
                    first += chunk
            chunk //= 2

    def each(self, variants: Callable[[Program, int], Iterator[Program]]) -> None:
        """Try every variant of every statement; after a success the same statement once more."""
        at = 0
        while at < len(edits.statements(self.best)) and not self.spent:
            at += not any(self.attempt(candidate) for candidate in variants(self.best, at))

    def shape(self) -> None:
        """Take fewer workgroups, and smaller ones."""
        self.attempt(replace(self.best, groups=1))
        size = self._subgroup_size
        for x in sorted({1, 2, 3, 4, size // 2, size, size + 1, 2 * size}):
            if 0 < x < self.best.local_invocations and self.attempt(replace(self.best, local_size=(x, 1))):
                return


def _structures(program: Program, at: int) -> Iterator[Program]:
    functions = {function.number: function for function in program.functions}
    for block in edits.alternatives(edits.statements(program)[at], functions):
        yield edits.replaced(program, at, block)


def _expressions(program: Program, at: int) -> Iterator[Program]:
    for statement in edits.simpler_expressions(edits.statements(program)[at]):
        # Only the statement itself changes: what it contains is the same.
        yield edits.replaced(program, at, (statement,))


def shrink(
    program: Program,
    fails: Predicate,
    *,
    subgroup_size: int,
    tries: int = 2000,
    seconds: float = 300.0,
) -> Program:
    """Return a smaller program that fails as well.

    Parameters
    ----------
    program : one that fails.
    fails : whether another one does.
    subgroup_size : the smallest on which it is to run; see `vkgroup.random_programs.rules.faults`.
    tries, seconds : when to stop looking.
    """
    shrinker = _Shrinker(program, fails, subgroup_size, tries, seconds)
    while not shrinker.spent:
        before = shrinker.weight
        shrinker.drop_statements()
        shrinker.each(_structures)
        shrinker.each(_expressions)
        shrinker.shape()
        if shrinker.weight == before:
            break
    return shrinker.best
