"""Globs over case names, which also tell whether a name that begins in a certain way can match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import translate
from functools import cache
from re import compile as compile_pattern

MayBegin = Callable[[str], bool]
"""The beginning of a name, up to a dot → whether a name that begins so may be wanted."""


def any_name(beginning: str) -> bool:
    """Return true: every name is wanted."""
    return True


class Globs:
    """Globs of which a name must match one; without any, every name matches.

    A glob is matched against the whole name and is case-sensitive: ``*``, ``?`` and ``[…]`` as in `fnmatch`.
    """

    def __init__(self, globs: Sequence[str]) -> None:
        self._all = not globs
        self._pattern = compile_pattern("|".join(map(translate, globs)))
        self._tokens = [_tokens(glob) for glob in globs]

    def match(self, name: str) -> bool:
        """Return whether a name matches."""
        return self._all or self._pattern.match(name) is not None

    def may_begin(self, beginning: str) -> bool:
        """Return whether a name with this beginning can match."""
        return self._all or any(_reaches(tokens, beginning) for tokens in self._tokens)


@cache
def _tokens(glob: str) -> tuple[str, ...]:
    """Split a glob into its tokens: ``*``, ``?``, a class ``[…]`` or one other character each."""
    tokens, at = [], 0
    while at < len(glob):
        end = at + 1
        if glob[at] == "[":
            # As in fnmatch: a "]" that comes first is part of the class; "[" without "]" is a character.
            first = at + 2 if glob[at + 1 : at + 2] == "!" else at + 1
            close = glob.find("]", first + 1)
            end = close + 1 if close >= 0 else end
        tokens.append(glob[at:end])
        at = end
    return tuple(tokens)


@cache
def _matches(token: str, character: str) -> bool:
    return compile_pattern(translate(token)).match(character) is not None


@cache
def _reaches(tokens: tuple[str, ...], beginning: str) -> bool:
    """Return whether the tokens can consume a whole beginning, whatever follows it.

    Before the first ``*``, each token consumes one character; a ``*`` can consume the rest.
    """
    for index, character in enumerate(beginning):
        token = tokens[index] if index < len(tokens) else ""
        if token == "*":
            return True
        if token != character and not ((len(token) > 1 or token == "?") and _matches(token, character)):
            return False
    return True
