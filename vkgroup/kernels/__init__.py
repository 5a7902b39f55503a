"""Algorithms for GPUs, each with subgroup operations and with shared memory, under NumPy's names."""

from __future__ import annotations
