"""Worker setups for mutants, one of which takes every stage for one with subgroup operations."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.conformance.setup import ExecutorSession, Setup
from vkgroup.device import query

_names_of = query.names_of


def names_with_every_stage(flags: int, bits: dict[str, int]) -> tuple[str, ...]:
    """Return the result of `query.names_of`, but every stage where it is asked for stages."""
    return tuple(bits) if bits is query.STAGES else _names_of(flags, bits)


def take_every_stage() -> None:
    """Let devices that are opened from now on count every stage among their supported ones."""
    query.names_of = names_with_every_stage


@dataclass(frozen=True)
class EveryStageSetup(Setup):
    """A setup whose worker takes every stage for one with subgroup operations."""

    def open(self) -> ExecutorSession:
        """Open the device, and an executor on it."""
        take_every_stage()
        return super().open()
