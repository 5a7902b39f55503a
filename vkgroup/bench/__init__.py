"""Benchmarks: subgroup operations compared with shared-memory alternatives and other packages."""

from vkgroup.bench.definition import (
    BenchmarkCandidate,
    BenchmarkCase,
    Data,
    Definition,
    Peer,
    PreparedCandidate,
    powers_of_two,
)

__all__ = [
    "BenchmarkCandidate",
    "BenchmarkCase",
    "Data",
    "Definition",
    "Peer",
    "PreparedCandidate",
    "powers_of_two",
]
