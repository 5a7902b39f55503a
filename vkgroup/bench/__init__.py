"""Benchmarks: subgroup operations compared with shared-memory alternatives and other packages."""

from vkgroup.bench.definition import (
    Case,
    Contender,
    Data,
    Definition,
    Peer,
    Prepared,
    powers_of_two,
)

__all__ = ["Case", "Contender", "Data", "Definition", "Peer", "Prepared", "powers_of_two"]
