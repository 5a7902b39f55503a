"""Regular expressions from files, in RE2 syntax: close to Rust's (deqp-runner), without endless searches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import re2

from vkgroup.errors import InvalidInput

LONGEST = 100_000
"""Maximum number of characters of an expression."""

_SET_SIZE = 100
"""Expressions of a set: a hundred are nearly as fast in RE2 as one, and thousands are slow."""

_MEMORY = 256 << 20
"""Maximum number of bytes that RE2 may use for a set."""

_EVERYWHERE = ""
"""An expression that matches every text. If it does not match, RE2 is out of memory and finds nothing."""

_CLASS = re.compile(r"\\.|\[\^?\]?(?P<inside>(?:\\.|\[:\^?\w+:\]|[^\]\\])*)\]", re.DOTALL)
"""An escape, or a class with its content, except for a leading bracket."""

_OF_RUST = re.compile(r"\\.|\[:\^?\w+:\]|(?P<operator>\[|&&|--|~~)", re.DOTALL)
"""Operators in Rust's classes, which are plain characters in RE2's."""


class TooLarge(InvalidInput):
    """RE2 has not enough memory for all expressions together."""


def problem(text: str) -> str | None:
    """Return why a text is not a regular expression with the same meaning in deqp-runner; None if it is."""
    if len(text) > LONGEST:
        return f"it has {len(text)} characters, and may have {LONGEST}"
    for inside in (match["inside"] or "" for match in _CLASS.finditer(text)):
        for operator in filter(None, (match["operator"] for match in _OF_RUST.finditer(inside))):
            escaped = re.sub(r"(.)", r"\\\1", operator)
            return f"{operator} in a class is an operator in Rust and not in RE2: write {escaped}"
    try:
        re2.compile(text, _options())
    except re2.error as error:
        reason = error.args[0]
        message: str = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        return message if len(message) <= 80 else message[:79] + "…"
    return None


class Expressions:
    """Valid expressions that are searched for together; TooLarge if RE2 does not accept them."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._count = len(texts)
        self._sets = [_compiled(texts[at : at + _SET_SIZE]) for at in range(0, len(texts), _SET_SIZE)]

    def __len__(self) -> int:
        return self._count

    def which(self, text: str) -> Iterator[int]:
        """Yield the indices of the expressions that match in a text; TooLarge if RE2 has no memory left."""
        for number, together in enumerate(self._sets):
            first = number * _SET_SIZE
            everywhere = min(_SET_SIZE, self._count - first)
            matching = _asked(together.Match, text) or ()
            if everywhere not in matching:
                raise TooLarge("not enough memory for the regular expressions: use fewer")
            yield from (first + index for index in sorted(matching) if index != everywhere)


def _compiled(texts: Sequence[str]) -> Any:
    together = re2.Set.SearchSet(_options())
    try:
        for text in (*texts, _EVERYWHERE):
            _asked(together.Add, text)
        _asked(together.Compile)
    except re2.error as error:
        raise TooLarge("the regular expressions are too large together: use fewer or shorter ones") from error
    return together


def _asked(call: Any, *arguments: str) -> Any:
    """Call RE2; TooLarge if C++ has not enough memory."""
    try:
        return call(*arguments)
    except MemoryError as error:
        raise TooLarge("not enough memory for the regular expressions: use fewer") from error


def _options() -> Any:
    """Return the options for RE2."""
    options = re2.Options()
    options.log_errors = False  # standard error is for the command
    options.max_mem = _MEMORY
    return options
