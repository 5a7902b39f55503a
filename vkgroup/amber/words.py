"""The words of a statement of an Amber script, and their errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from vkgroup.amber.elements import ElementType
from vkgroup.base.errors import InvalidInput, Unsupported


class Words:
    """The words of a statement, which its reader takes one after the other."""

    def __init__(self, file: Path, line: int, words: Sequence[str]) -> None:
        self.file, self.line, self._words = file, line, list(words)

    def error(self, text: str) -> InvalidInput:
        """Return an error at the statement."""
        return InvalidInput(f"{self.file}:{self.line}: {text}")

    def unsupported(self, what: str) -> Unsupported:
        """Return the error of something that is not supported."""
        return Unsupported(f"{self.file}:{self.line}: {what} is not supported", [what])

    @property
    def following(self) -> str:
        """The next word; empty at the end."""
        return self._words[0] if self._words else ""

    def word(self, what: str) -> str:
        """Take the next word; raise InvalidInput at the end of the statement."""
        if not self._words:
            raise self.error(f"{what} is missing.")
        return self._words.pop(0)

    def take(self, word: str) -> bool:
        """Take a word if it is the next one."""
        if self.following != word:
            return False
        self._words.pop(0)
        return True

    def expect(self, word: str) -> None:
        """Take a word that must follow."""
        if not self.take(word):
            raise self.error(f"expected {word}, not {self.following or 'the end of the line'}.")

    def one_of(self, what: str, choices: Sequence[str]) -> str:
        """Take one of several words."""
        if (word := self.word(what)) not in choices:
            raise self.error(f"{what} is one of {', '.join(choices)}, not {word!r}.")
        return word

    def new(self, names: Mapping[str, object], what: str) -> str:
        """Take the name of something new."""
        if (name := self.word(f"the name of the {what}")) in names:
            raise self.error(f"there are two {what}s {name!r}.")
        return name

    def known(self, names: Mapping[str, object], what: str) -> str:
        """Take the name of something that the script has declared."""
        if (name := self.word(f"the name of a {what}")) not in names:
            raise self.error(f"there is no {what} {name!r}.")
        return name

    def all_known(self, names: Mapping[str, object], what: str, *ends: str) -> tuple[str, ...]:
        """Take one or more such names, up to a word that ends the list."""
        found = [self.known(names, what)]
        while self.following and self.following not in ends:
            found.append(self.known(names, what))
        return tuple(found)

    def number(self, what: str) -> int | float:
        """Take a number."""
        return self.as_number(self.word(what))

    def integer(self, what: str) -> int:
        """Take an integer."""
        number = self.number(what)
        if not isinstance(number, int):
            raise self.error(f"{what} is an integer, not {number}.")
        return number

    def natural(self, what: str, least: int = 0) -> int:
        """Take an integer that is not below the least one."""
        if (number := self.integer(what)) < least:
            raise self.error(f"{what} is at least {least}, not {number}.")
        return number

    def finite(self, what: str) -> float:
        """Take a number that is neither infinite nor NaN."""
        if not math.isfinite(number := float(self.number(what))):
            raise self.error(f"{what} is finite, not {number}.")
        return number

    def path(self) -> str:
        """Take a path, with or without quotation marks."""
        return self.word("a path").strip('"')

    def as_number(self, word: str) -> int | float:
        """Return a word as a number: an integer, also in base 16, or a float."""
        try:
            return int(word, 16) if word[:2] == "0x" else int(word)
        except ValueError:
            pass
        try:
            return float(word)
        except ValueError:
            raise self.error(f"{word!r} is not a number.") from None

    def values(self, kind: ElementType) -> list[int | float]:
        """Take all other words as numbers of a type."""
        found = [self.as_number(word) for word in self.rest()]
        self.require_fitting(found, kind)
        return found

    def require_fitting(self, numbers: Iterable[int | float], kind: ElementType) -> None:
        """Raise InvalidInput if a type of integers is given other numbers."""
        if kind.dtype.kind != "f" and not all(isinstance(one, int) or one.is_integer() for one in numbers):
            raise self.error(f"{kind.name} has integers.")

    def switch(self, what: str) -> bool:
        """Take ``on`` or ``off``."""
        return self.one_of(what, ("on", "off")) == "on"

    def rest(self) -> list[str]:
        """Take all other words."""
        words, self._words = self._words, []
        return words

    def end(self) -> None:
        """Raise InvalidInput if there are more words."""
        if self._words:
            raise self.error(f"{self.following!r} is one word too many.")
