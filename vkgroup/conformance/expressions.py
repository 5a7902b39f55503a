"""Regular expressions of files: RE2's, nearly those of Rust (deqp-runner's), none with an endless search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_MEMORY = 1 << 30
"""Bytes that RE2 may take at most; it takes what it needs."""

_EVERYWHERE = ""
"""It is found in every text. Where it is not, RE2 has run out of memory and would find nothing at all."""


def problem(text: str) -> str | None:
    """Return why a text is no regular expression, or None."""
    import re2

    try:
        re2.compile(text, _options())
    except re2.error as error:
        reason = error.args[0]
        return reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
    return None


class Expressions:
    """Some expressions, looked for together: how many there are hardly matters.

    Parameters
    ----------
    texts : the expressions; `problem` has none with any.

    Raises
    ------
    ValueError
        They are too large together.
    """

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._set = _compiled((*texts, _EVERYWHERE)) if texts else None
        self._everywhere = len(texts)

    def __len__(self) -> int:
        return self._everywhere

    def which(self, text: str) -> list[int]:
        """Return the indices of the expressions that are found anywhere in a text, in ascending order."""
        found = sorted(self._set.Match(text)) if self._set else [self._everywhere]
        if found[-1:] != [self._everywhere]:
            raise MemoryError("RE2 has no memory left to look for the expressions of --skips and --flakes")
        return found[:-1]


def _compiled(texts: Sequence[str]) -> Any:
    import re2

    together = re2.Set.SearchSet(_options())
    try:
        for text in texts:
            together.Add(text)
        together.Compile()
    except re2.error as error:
        raise ValueError("too large together") from error
    return together


def _options() -> Any:
    """Return RE2's; it is imported only where there are expressions, for few runs have any."""
    import re2

    options = re2.Options()
    options.log_errors = False  # standard error is the command's own
    options.max_mem = _MEMORY
    return options
