"""Generator of random programs and their data: choices, scopes, budget and functions of all profiles.

A profile subclasses `ProgramGenerator` and lists the statements that a scope may contain, each with its
weight. A seed determines a program only if the order of random choices never changes.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from vkgroup.programs.nodes import Block, ProgramFunction, Promise, RandomProgram, Statement
from vkgroup.programs.rules import StatementContext

T = TypeVar("T")


class Dice:
    """Random choices based on `random.Random.random` alone, whose sequence Python guarantees."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return self._random.random() < probability

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to `limit` − 1."""
        return int(self._random.random() * limit)

    def between(self, first: int, last: int) -> int:
        """Return a whole number from `first` to `last`."""
        return first + self.below(last - first + 1)

    def choose(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[tuple[T, float]]) -> T:
        """Return one of the options, drawn with its weight."""
        at = self._random.random() * sum(weight for _, weight in options)
        for option, weight in options:
            at -= weight
            if at < 0:
                return option
        return options[-1][0]


@dataclass
class Budget:
    """Remaining size of a program."""

    statements: int  # approximate number of statements still to make
    executions: float  # recorded operations that one invocation may still execute; loop trips multiply


@dataclass(frozen=True)
class Scope:
    """Position of the next statement."""

    context: StatementContext  # rules that hold there
    depth: int = 0  # number of enclosing constructs
    weight: float = 1  # approximate number of executions of a statement here
    in_function: bool = False  # whether it is in a function, not in ``main``
    #: Type that the function returns; None in ``main`` and in functions that return nothing.
    result: str | None = None

    def inside(self, context: StatementContext, *, weight: float | None = None) -> Scope:
        """Return the scope inside a construct."""
        return replace(
            self, context=context, depth=self.depth + 1, weight=self.weight if weight is None else weight
        )


@dataclass(frozen=True)
class CallableFunction:
    """A function that can be called."""

    function: ProgramFunction
    executions: float  # cost of a call; see `Budget`
    unpredictable: bool = False  # see `vkgroup.programs.rules.StatementContext`


Maker = Callable[[Scope], Statement]
"""Makes a statement in a scope."""


class ProgramGenerator(ABC):
    """State of the generation of one program; counts its loops and functions."""

    def __init__(self, dice: Dice, promise: Promise, budget: Budget) -> None:
        self.dice, self.promise, self.budget = dice, promise, budget
        self.functions: list[CallableFunction] = []
        self.loops = 0

    @abstractmethod
    def makers(self, scope: Scope) -> Sequence[tuple[Maker, float]]:
        """Return the makers of the statements that a scope may contain, each with its weight."""

    @abstractmethod
    def may_call(self, candidate: CallableFunction, scope: Scope) -> bool:
        """Return whether a function may be called in a scope, regardless of its cost."""

    def statement(self, scope: Scope) -> Statement:
        """Make one statement."""
        make = self.dice.weighted(self.makers(scope))
        return make(scope)

    def allowed_jumps(self, scope: Scope, *, may_return: bool = True) -> list[str]:
        """Return the jumps that a scope may contain."""
        kinds = ("break", "continue", "return") if may_return and scope.depth > 0 else ("break", "continue")
        return [kind for kind in kinds if kind in scope.context.jumps]

    def finished(
        self, seed: int, local_size: tuple[int, int, int], groups: int, body: Block, *, elect: bool = False
    ) -> RandomProgram:
        """Return the program with this body of main and the functions so far."""
        functions = tuple(candidate.function for candidate in self.functions)
        return RandomProgram(seed, self.promise, local_size, groups, functions, body, elect)

    def next_loop(self) -> int:
        """Return the number of a new loop."""
        self.loops += 1
        return self.loops

    def callable_functions(self, scope: Scope) -> list[CallableFunction]:
        """Return the functions that may be called in a scope."""
        return [
            candidate
            for candidate in self.functions
            if candidate.executions * scope.weight <= self.budget.executions
            and self.may_call(candidate, scope)
        ]

    def choose_function(self, scope: Scope) -> ProgramFunction:
        """Choose a function that may be called in a scope, and subtract its cost from the budget."""
        chosen = self.dice.choose(self.callable_functions(scope))
        self.budget.executions -= chosen.executions * scope.weight
        return chosen.function


class Profile(Protocol):
    """Kind of programs to generate."""

    def program(self, seed: int, dice: Dice) -> RandomProgram:
        """Make a program; all random choices come from the dice."""


def generate(seed: int, profile: Profile) -> RandomProgram:
    """Return the program of a seed; the same seed and profile give the same program."""
    return profile.program(seed, Dice(seed))


Words = NDArray[np.uint32]


def random_words(program: RandomProgram) -> Words:
    """Return one word for each invocation, (workgroups, invocations of a workgroup).

    Computed with a hash, because NumPy's generators may change between versions.
    """
    index = np.arange(program.invocations, dtype=np.uint64) + np.uint64(program.seed * 0x9E3779B1 % 2**32)
    mixed = index * np.uint64(0xD6E8FEB86659FD93)
    mixed = (mixed ^ mixed >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
    return (mixed >> np.uint64(32)).astype(np.uint32).reshape(program.groups, program.local_invocations)
