"""Accessors of memory: the part of a frame that memory and race detection need."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from vkgroup.reference.interpreter.program.site import Site

Indices = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Accessor(Protocol):
    """Invocations that access memory together."""

    @property
    def count(self) -> int:
        """The number of invocations."""

    @property
    def invocations(self) -> Indices:
        """The numbers of the invocations in the dispatch, (n,)."""

    @property
    def subgroup_numbers(self) -> Indices:
        """Subgroup of every invocation of the dispatch, by number there."""

    @property
    def order_of_atomics(self) -> int:
        """A soft cause where the order of atomics decides who executes this; else 0."""

    def report(
        self,
        kind: str,
        site: Site,
        where: Flags,
        message: str,
        *,
        memory: str = "",
        offset: Indices | None = None,
        cause: int = 0,
    ) -> None:
        """Report an event in the invocations whose flag, (n,), is true."""

    def report_race(
        self,
        site: Site,
        invocations: Indices,
        message: str,
        *,
        memory: str,
        offset: Indices,
        other_position: int,
        other: int,
    ) -> None:
        """Report that some invocations of the dispatch race with invocation `other` at an instruction."""
