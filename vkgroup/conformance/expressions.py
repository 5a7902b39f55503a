"""Regular expressions of files: RE2's, nearly those of Rust (deqp-runner's), none with an endless search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from vkgroup.errors import InvalidInput

LONGEST = 100_000
"""Characters of an expression at most."""

_TOGETHER = 100
"""Expressions of a set: RE2 looks for a hundred nearly as for one, and grows slow with thousands."""

_MEMORY = 256 << 20
"""Bytes that RE2 may take for a set; it takes what it needs."""

_EVERYWHERE = ""
"""It is found in every text. Where it is not, RE2 has run out of memory and would find nothing at all."""

_CLASS = re.compile(r"\\.|\[\^?\]?(?P<inside>(?:\\.|\[:\^?\w+:\]|[^\]\\])*)\]", re.DOTALL)
"""A pair that begins with a backslash, or a class, with what is in it but for a bracket in front."""

_OF_RUST = re.compile(r"\\.|\[:\^?\w+:\]|(?P<operator>\[|&&|--|~~)", re.DOTALL)
"""What has a meaning in Rust's classes, and other than that stands for itself in RE2's."""


class TooLarge(InvalidInput):
    """RE2 has not enough memory for the expressions together."""


def problem(text: str) -> str | None:
    """Return why a text is no regular expression, or none that means the same to deqp-runner; else None."""
    if len(text) > LONGEST:
        return f"it has {len(text)} characters, and may have {LONGEST}"
    for inside in (found["inside"] or "" for found in _CLASS.finditer(text)):
        for operator in filter(None, (found["operator"] for found in _OF_RUST.finditer(inside))):
            escaped = re.sub(r"(.)", r"\\\1", operator)
            return f"{operator} in a class is an operator of Rust's, which RE2 has not: write {escaped}"
    import re2

    try:
        re2.compile(text, _options())
    except re2.error as error:
        reason = error.args[0]
        said: str = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        return said if len(said) <= 80 else said[:79] + "…"
    return None


class Expressions:
    """Some expressions, looked for together.

    Parameters
    ----------
    texts : the expressions; `problem` has none with any.

    Raises
    ------
    TooLarge
        RE2 does not take them.
    """

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._count = len(texts)
        self._sets = [_compiled(texts[at : at + _TOGETHER]) for at in range(0, len(texts), _TOGETHER)]

    def __len__(self) -> int:
        return self._count

    def which(self, text: str) -> Iterator[int]:
        """Yield the indices of the expressions that are found anywhere in a text, in ascending order.

        Raises
        ------
        TooLarge
            RE2 has no memory left.
        """
        for number, together in enumerate(self._sets):
            first = number * _TOGETHER
            everywhere = min(_TOGETHER, self._count - first)
            found = _asked(together.Match, text) or ()
            if everywhere not in found:
                raise TooLarge("there is no memory left to look for the regular expressions: make them fewer")
            yield from (first + index for index in sorted(found) if index != everywhere)


def _compiled(texts: Sequence[str]) -> Any:
    import re2

    together = re2.Set.SearchSet(_options())
    try:
        for text in (*texts, _EVERYWHERE):
            _asked(together.Add, text)
        _asked(together.Compile)
    except re2.error as error:
        raise TooLarge(
            "the regular expressions are too large together: make them fewer or shorter"
        ) from error
    return together


def _asked(call: Any, *arguments: str) -> Any:
    """Call RE2; what C++ has no memory for is an error of the expressions."""
    try:
        return call(*arguments)
    except MemoryError as error:
        raise TooLarge("there is no memory for the regular expressions: make them fewer") from error


def _options() -> Any:
    """Return RE2's; it is imported only where there are expressions, for few runs have any."""
    import re2

    options = re2.Options()
    options.log_errors = False  # standard error is the command's own
    options.max_mem = _MEMORY
    return options
