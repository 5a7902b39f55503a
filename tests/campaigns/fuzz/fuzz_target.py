"""Fuzzing targets: data types."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fuzz_inputs import Edit, Inputs

Call = Callable[[bytes, Path], object]
Command = Callable[..., None]
Damage = Callable[[bytes, list[Edit], bytes], bytes]
Errors = tuple[type[BaseException], ...]


@dataclass(frozen=True)
class Target:
    """One thing that reads what others wrote.

    Attributes
    ----------
    name : unique.
    share : of 100,000 inputs, how many are its own.
    inputs : makes the strategy that draws inputs.
    call : reads an input; the folder is empty but for what earlier calls left.
    allowed : errors by which an input may be refused.
    """

    name: str
    share: int
    inputs: Callable[[], Inputs]
    call: Call
    allowed: Errors
