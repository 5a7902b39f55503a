"""Worker setup for mutants that assumes subgroup operations in every stage."""

from __future__ import annotations

from dataclasses import dataclass

from vkgroup.conformance.run import ExecutorSession, Setup
from vkgroup.device import query
from vkgroup.spec.stages import STAGE_BITS

_names_of = query.names_of


def names_with_every_stage(flags: int, bits: dict[str, int]) -> tuple[str, ...]:
    """Return the result of `query.names_of`, but all stages if stages are queried."""
    return tuple(bits) if bits is STAGE_BITS else _names_of(flags, bits)


def assume_every_stage() -> None:
    """Make devices that are opened from now on support subgroup operations in every stage."""
    query.names_of = names_with_every_stage


@dataclass(frozen=True)
class EveryStageSetup(Setup):
    """Setup whose worker assumes subgroup operations in every stage."""

    def open(self) -> ExecutorSession:
        """Open the device and an executor on it."""
        assume_every_stage()
        return super().open()
