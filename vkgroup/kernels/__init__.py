"""Algorithms for GPUs, each with subgroup operations and with shared memory, under NumPy's names."""

from __future__ import annotations

from vkgroup.kernels.aggregation import count
from vkgroup.kernels.histogram import bincount, histogram
from vkgroup.kernels.max_pool import max_pool

__all__ = [
    "bincount",
    "count",
    "histogram",
    "max_pool",
]
