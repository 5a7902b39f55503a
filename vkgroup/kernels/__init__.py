"""Algorithms for GPUs, each with subgroup operations and with shared memory, under NumPy's names."""

from __future__ import annotations

from vkgroup.kernels.aggregation import count
from vkgroup.kernels.arg_reduce import argmax, argmin
from vkgroup.kernels.box_filter import box_filter
from vkgroup.kernels.compact import compact, compress, flatnonzero, nonzero, partition_by
from vkgroup.kernels.histogram import bincount, histogram
from vkgroup.kernels.matmul import matmul
from vkgroup.kernels.matvec import matvec
from vkgroup.kernels.max_pool import max_pool
from vkgroup.kernels.mip_chain import mip_chain
from vkgroup.kernels.quad_mip import quad_mip
from vkgroup.kernels.reduce import bitwise_and, bitwise_or, bitwise_xor, max, min, prod, sum
from vkgroup.kernels.rows import layer_norm, softmax
from vkgroup.kernels.scan import cumprod, cumsum, maximum_accumulate, minimum_accumulate, scan
from vkgroup.kernels.sort import argsort, sort, sort_by_key
from vkgroup.kernels.transpose import transpose

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "bincount",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "box_filter",
    "compact",
    "compress",
    "count",
    "cumprod",
    "cumsum",
    "flatnonzero",
    "histogram",
    "layer_norm",
    "matmul",
    "matvec",
    "max",
    "max_pool",
    "maximum_accumulate",
    "min",
    "minimum_accumulate",
    "mip_chain",
    "nonzero",
    "partition_by",
    "prod",
    "quad_mip",
    "scan",
    "softmax",
    "sort",
    "sort_by_key",
    "sum",
    "transpose",
]
