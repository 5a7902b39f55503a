"""Shrinker: a minimal program that still fails, by removing and simplifying statements step by step."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, islice

from vkgroup.programs.nodes import Program
from vkgroup.programs.variants import expressional, structural, weight

Predicate = Callable[[Program], bool]


@dataclass(frozen=True)
class Shrunk:
    """Result of shrinking.

    Attributes
    ----------
    program : the smallest program that fails.
    path : number of the variant taken in each step, for `replay`.
    done : whether no variant fails any more; False if the time or the number of attempts was exhausted.
    """

    program: Program
    path: tuple[int, ...]
    done: bool


def shrink(
    program: Program, fails: Predicate, allowed: Predicate, *, seconds: float, attempts: int | None = None
) -> Shrunk:
    """Return a smaller program that fails as well, or the program itself.

    Parameters
    ----------
    program : a program that fails.
    fails : whether another program does; asked once about each smaller one that is allowed.
    allowed : whether a program keeps the rules of its profile (`vkgroup.programs.rules`).
    seconds, attempts : limits of the search; None: no limit.
    """
    deadline = time.monotonic() + seconds
    path: tuple[int, ...] = ()
    asked: set[Program] = {program}
    while True:
        for number, candidate in _smaller(program):
            if candidate in asked or not allowed(candidate):
                continue
            if time.monotonic() > deadline or len(asked) - 1 == attempts:
                return Shrunk(program, path, False)
            asked.add(candidate)
            if fails(candidate):
                program, path = candidate, (*path, number)
                break
        else:
            return Shrunk(program, path, True)


def _smaller(program: Program) -> Iterator[tuple[int, Program]]:
    """Yield the smaller variants and their numbers, structural ones first, then by size."""
    limit, first = weight(program), 0
    for group in (structural, expressional):
        variants = [(weight(variant), first + at, variant) for at, variant in enumerate(group(program))]
        first += len(variants)
        for size, number, variant in sorted(variants, key=lambda entry: entry[:2]):
            if size < limit:
                yield number, variant


def replay(program: Program, path: Sequence[int], allowed: Predicate) -> Program:
    """Return the result of shrinking a program.

    Parameters
    ----------
    path : of `Shrunk`.
    allowed : see `shrink`.

    Raises
    ------
    ValueError
        The path belongs to another program, or to another version of vkgroup.
    """
    for number in path:
        variants = chain(structural(program), expressional(program))
        variant = next(islice(variants, number, None), None) if number >= 0 else None
        if variant is None or weight(variant) >= weight(program) or not allowed(variant):
            raise ValueError("no such variant")
        program = variant
    return program


def digest(program: Program) -> str:
    """Return a text that identifies a program, the same in every process."""
    return sha256(repr(program).encode()).hexdigest()[:16]
