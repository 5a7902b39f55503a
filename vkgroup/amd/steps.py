"""One executable step of a program: an instruction with its function and the registers that it uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vkgroup.amd.text import MachineInstruction
from vkgroup.amd.waves import Waves


@dataclass(frozen=True)
class Step:
    """An instruction that can be executed.

    Attributes
    ----------
    run : executes it on the selected waves. A branch returns which waves take it, (waves,) bool.
    reads, writes : numbers of registers; those of vectors start at 256.
    counter : the wait counter that it raises; empty if its results are there at once.
    target : where a branch goes, in bytes from the instruction after it; None if this is no branch.
    """

    instruction: MachineInstruction
    run: Callable[[Waves], Any]
    reads: frozenset[int] = frozenset()
    writes: frozenset[int] = frozenset()
    counter: str = ""
    target: int | None = None
    ends: bool = False
    barrier: bool = False
    waits: dict[str, int] = field(default_factory=dict)
    indirect: bool = False
