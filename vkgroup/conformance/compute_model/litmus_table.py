"""Litmus tests as data: what two invocations do to two locations, and the outcome that must not be.

Each invocation performs up to two accesses with a memory barrier between them. Why each outcome is forbidden,
from ARB_compute_shader ("Modify the table of memory control functions") and from the Vulkan memory model, is
derived in docs/conformance.md, "The compute model".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Outcome = dict[str, NDArray[np.int64]]
"""Register or location → what each trial found: 0 the initial value, 1 or 2 as in `Access.value`."""


@dataclass(frozen=True)
class Access:
    """One access.

    Attributes
    ----------
    location : ``"x"`` or ``"y"``.
    value : what is written, 1 or 2; None for a read.
    register : where a read's result goes, ``"r0"`` or ``"r1"``; empty for a write.
    """

    location: str
    value: int | None = None
    register: str = ""


def _write(location: str, value: int) -> Access:
    return Access(location, value)


def _read(location: str, register: str) -> Access:
    return Access(location, None, register)


@dataclass(frozen=True)
class Litmus:
    """One litmus test.

    Attributes
    ----------
    name : as in the case's name.
    roles : the accesses of each of the two invocations, in program order.
    weak : picks the trials with the forbidden outcome.
    words : that outcome in words.
    finals : locations whose last value the outcome speaks of.
    sentence : what must hold.
    coherence : whether it must hold without any barrier, as all accesses go to one location.
    flavours : ways of accessing memory that the test is written in (see `litmus`).
    """

    name: str
    roles: tuple[tuple[Access, ...], tuple[Access, ...]]
    weak: Callable[[Outcome], NDArray[np.bool_]]
    words: str
    sentence: str
    finals: tuple[str, ...] = ()
    coherence: bool = False
    flavours: tuple[str, ...] = ("atomic",)

    @property
    def registers(self) -> tuple[str, ...]:
        """The registers that its reads fill."""
        return tuple(sorted(access.register for role in self.roles for access in role if access.register))

    @property
    def locations(self) -> tuple[str, ...]:
        """The locations that it touches."""
        return tuple(sorted({access.location for role in self.roles for access in role}))


LITMUS: dict[str, Litmus] = {
    test.name: test
    for test in (
        Litmus(
            "message_passing",
            ((_write("x", 1), _write("y", 1)), (_read("y", "r0"), _read("x", "r1"))),
            lambda o: (o["r0"] == 1) & (o["r1"] == 0),
            "saw the second store and not the first (r0 = 1, r1 = 0)",
            "who sees the second of two stores sees the first as well",
            flavours=("atomic", "guarded", "coherent", "incoherent"),
        ),
        Litmus(
            "store_buffering",
            ((_write("x", 1), _read("y", "r0")), (_write("y", 1), _read("x", "r1"))),
            lambda o: (o["r0"] == 0) & (o["r1"] == 0),
            "neither saw the other's store (r0 = 0, r1 = 0)",
            "of two invocations that store and then look at the other's location, one sees the other's store",
            flavours=("atomic", "coherent"),
        ),
        Litmus(
            "load_buffering",
            ((_read("y", "r0"), _write("x", 1)), (_read("x", "r1"), _write("y", 1))),
            lambda o: (o["r0"] == 1) & (o["r1"] == 1),
            "each saw the store that follows the other's load (r0 = 1, r1 = 1)",
            "two invocations that load and then store never both see the other's store",
            flavours=("atomic", "coherent"),
        ),
        Litmus(
            "store_order",
            ((_write("x", 2), _write("y", 1)), (_read("y", "r0"), _write("x", 1))),
            lambda o: (o["r0"] == 1) & (o["x"] == 2),
            "a store that followed what it had seen was overwritten by an earlier one (r0 = 1, x = 2)",
            "a store behind a load that saw the other's second store comes after the other's first",
            finals=("x",),
        ),
        Litmus(
            "read_order",
            ((_write("x", 1), _write("y", 1)), (_write("y", 2), _read("x", "r0"))),
            lambda o: (o["y"] == 2) & (o["r0"] == 0),
            "overwrote the second store and did not see the first (y = 2, r0 = 0)",
            "a load behind a store that overwrote the other's second store sees the other's first",
            finals=("y",),
        ),
        Litmus(
            "two_plus_two_writes",
            ((_write("x", 1), _write("y", 2)), (_write("y", 1), _write("x", 2))),
            lambda o: (o["x"] == 1) & (o["y"] == 1),
            "each first store outlived the other's second (x = 1, y = 1)",
            "of two invocations that each store to both locations, the first stores do not both remain",
            finals=("x", "y"),
        ),
        Litmus(
            "read_read_coherence",
            ((_write("x", 1),), (_read("x", "r0"), _read("x", "r1"))),
            lambda o: (o["r0"] == 1) & (o["r1"] == 0),
            "saw a store and later did not (r0 = 1, r1 = 0)",
            "who has seen a store never sees an older value of the location again",
            coherence=True,
        ),
        Litmus(
            "write_read_coherence",
            ((_write("x", 1), _read("x", "r0")), (_write("x", 2),)),
            lambda o: (o["r0"] == 0) | ((o["r0"] == 2) & (o["x"] == 1)),
            "read what its own store had replaced (r0 = 0; or r0 = 2, x = 1)",
            "an invocation that stores and loads sees its own store or a later one",
            finals=("x",),
            coherence=True,
        ),
        Litmus(
            "read_write_coherence",
            ((_read("x", "r0"), _write("x", 1)), (_write("x", 2),)),
            lambda o: (o["r0"] == 1) | ((o["r0"] == 2) & (o["x"] == 2)),
            "read its own later store, or lost it to the store it had read (r0 = 1; or r0 = 2, x = 2)",
            "a load never sees the store behind it, and that store replaces what the load saw",
            finals=("x",),
            coherence=True,
        ),
        Litmus(
            "write_write_coherence",
            ((_write("x", 1), _write("x", 2)), (_read("x", "r0"), _read("x", "r1"))),
            lambda o: (o["x"] == 1) | ((o["r0"] == 2) & (o["r1"] == 1)),
            "the first of two stores replaced the second (x = 1; or r0 = 2, r1 = 1)",
            "the second of an invocation's two stores to a location remains",
            finals=("x",),
            coherence=True,
        ),
    )
}
"""All litmus tests by name."""
