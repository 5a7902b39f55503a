"""Suggestions for a name that does not exist, for the message of its error."""

from __future__ import annotations

from collections.abc import Iterable


def similar(name: object, known: Iterable[str], count: int = 1, cutoff: float = 0.6) -> list[str]:
    """Return the known names that are most similar to a name, at most `count`, the best first.

    `cutoff`: the least similarity, from 0 to 1. Upper and lower case are the same.
    """
    # Imported here, because only errors need it.
    from difflib import get_close_matches

    by_key = {entry.lower(): entry for entry in known}
    return [by_key[key] for key in get_close_matches(str(name).lower(), by_key, count, cutoff)]


def nearest(name: object, known: Iterable[str]) -> str:
    """Return the question whether the nearest of the known names is meant; empty if none is near."""
    others = [entry for entry in known if entry != name]
    return "".join(f" Did you mean {near!r}?" for near in similar(name, others))


def suggestion(name: object, known: Iterable[str]) -> str:
    """Return a sentence with all known names, and the question of `nearest`."""
    names = [entry for entry in known if entry]
    return f" There are: {', '.join(names) or 'none'}.{nearest(name, names)}"
