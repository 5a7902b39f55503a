"""Litmus tests as data: the accesses of two invocations to two locations, and the forbidden outcome.

Each invocation performs up to two accesses with a memory barrier between them. Why each outcome is forbidden,
from ARB_compute_shader ("Modify the table of memory control functions") and from the Vulkan memory model, is
derived in docs/conformance/litmus-rules.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Outcome = dict[str, NDArray[np.int64]]
"""Register or location → the value that each trial saw: 0 at first, 1 or 2 as in `LitmusAccess.value`."""


@dataclass(frozen=True)
class LitmusAccess:
    """One access."""

    location: str  # ``"x"`` or ``"y"``
    value: int | None = None  # value that is written, 1 or 2; None for a read
    register: str = ""  # register of a read's result, ``"r0"`` or ``"r1"``; empty for a write


def _accesses(text: str) -> tuple[LitmusAccess, ...]:
    """Return the accesses of one invocation from text such as ``"x = 1, r0 = y"``."""
    pairs = (access.split(" = ") for access in text.split(", "))
    return tuple(
        LitmusAccess(right, register=left) if left.startswith("r") else LitmusAccess(left, int(right))
        for left, right in pairs
    )


@dataclass(frozen=True)
class Litmus:
    """One litmus test."""

    name: str  # in case names
    #: `first`, `second`: the accesses of the two invocations, in program order.
    first: str
    second: str
    #: The forbidden outcome: values of registers, and last values of locations. Alternatives are separated by
    #: ``"; or "``.
    outcome: str
    phrase: str  # the outcome in words
    sentence: str  # the required behaviour
    #: The flavours of the test (see `litmus`).
    flavours: tuple[str, ...] = ("atomic",)

    @cached_property
    def roles(self) -> tuple[tuple[LitmusAccess, ...], tuple[LitmusAccess, ...]]:
        """The accesses of each of the two invocations, in program order."""
        return _accesses(self.first), _accesses(self.second)

    @cached_property
    def _alternatives(self) -> list[dict[str, int]]:
        return [
            {name: int(value) for name, value in (part.split(" = ") for part in alternative.split(", "))}
            for alternative in self.outcome.split("; or ")
        ]

    @property
    def words(self) -> str:
        """The forbidden outcome in words, with its values."""
        return f"{self.phrase} ({self.outcome})"

    @property
    def registers(self) -> tuple[str, ...]:
        """The registers that its reads write."""
        return tuple(sorted(access.register for role in self.roles for access in role if access.register))

    @property
    def finals(self) -> tuple[str, ...]:
        """Locations whose last value is part of the outcome."""
        return tuple(
            location for location in "xy" if any(location in values for values in self._alternatives)
        )

    @property
    def coherence(self) -> bool:
        """Whether it must hold without any barrier, because all accesses are to one location."""
        return len({access.location for role in self.roles for access in role}) == 1

    def weak(self, outcome: Outcome) -> NDArray[np.bool_]:
        """Return the trials with the forbidden outcome."""
        alternatives = [
            np.all([outcome[name] == value for name, value in values.items()], axis=0)
            for values in self._alternatives
        ]
        return np.asarray(np.any(alternatives, axis=0))


LITMUS: dict[str, Litmus] = {
    test.name: test
    for test in (
        Litmus(
            "message_passing", "x = 1, y = 1", "r0 = y, r1 = x", "r0 = 1, r1 = 0",
            "saw the second store and not the first",
            "who sees the second of two stores sees the first as well",
            ("atomic", "guarded", "coherent", "incoherent"),
        ),
        Litmus(
            "store_buffering", "x = 1, r0 = y", "y = 1, r1 = x", "r0 = 0, r1 = 0",
            "neither saw the other's store",
            "of two invocations that store and then look at the other's location, one sees the other's store",
            ("atomic", "coherent"),
        ),
        Litmus(
            "load_buffering", "r0 = y, x = 1", "r1 = x, y = 1", "r0 = 1, r1 = 1",
            "each saw the store that follows the other's load",
            "two invocations that load and then store never both see the other's store",
            ("atomic", "coherent"),
        ),
        Litmus(
            "store_order", "x = 2, y = 1", "r0 = y, x = 1", "r0 = 1, x = 2",
            "a store that followed what it had seen was overwritten by an earlier one",
            "a store behind a load that saw the other's second store comes after the other's first",
        ),
        Litmus(
            "read_order", "x = 1, y = 1", "y = 2, r0 = x", "y = 2, r0 = 0",
            "overwrote the second store and did not see the first",
            "a load behind a store that overwrote the other's second store sees the other's first",
        ),
        Litmus(
            "two_plus_two_writes", "x = 1, y = 2", "y = 1, x = 2", "x = 1, y = 1",
            "each first store outlived the other's second",
            "of two invocations that each store to both locations, the first stores do not both remain",
        ),
        Litmus(
            "read_read_coherence", "x = 1", "r0 = x, r1 = x", "r0 = 1, r1 = 0",
            "saw a store and later did not",
            "who has seen a store never sees an older value of the location again",
        ),
        Litmus(
            "write_read_coherence", "x = 1, r0 = x", "x = 2", "r0 = 0; or r0 = 2, x = 1",
            "read what its own store had replaced",
            "an invocation that stores and loads sees its own store or a later one",
        ),
        Litmus(
            "read_write_coherence", "r0 = x, x = 1", "x = 2", "r0 = 1; or r0 = 2, x = 2",
            "read its own later store, or lost it to the store it had read",
            "a load never sees the store behind it, and that store replaces what the load saw",
        ),
        Litmus(
            "write_write_coherence", "x = 1, x = 2", "r0 = x, r1 = x", "x = 1; or r0 = 2, r1 = 1",
            "the first of two stores replaced the second",
            "the second of an invocation's two stores to a location remains",
        ),
    )
}  # fmt: skip
"""All litmus tests by name."""
