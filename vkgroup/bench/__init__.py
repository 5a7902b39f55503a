"""Benchmarks: subgroup operations compared with shared-memory alternatives and other packages."""

from vkgroup.bench.definition import (
    Candidate,
    Case,
    Data,
    Definition,
    Peer,
    Prepared,
    powers_of_two,
)

__all__ = ["Candidate", "Case", "Data", "Definition", "Peer", "Prepared", "powers_of_two"]
