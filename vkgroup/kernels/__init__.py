"""GPU algorithms with NumPy's names, each in a subgroup version and a shared-memory version.

Every function accepts arrays and returns arrays, or accepts `Buffer` objects (and GPU arrays of other
libraries) and returns buffers on the same device. Each function documents its dtypes and the differences from
NumPy's results. Arguments that all functions have:

- `device`: the device for arrays; None: the device of the buffers, or the best device.
- `implementation`: ``"subgroup"``, ``"shared"``, or ``"auto"``: the subgroup version if the device supports
  it, otherwise the shared version.
- `**tuning` of plans: tuning values of `vkgroup.kernels.tuning`; None means the default of the device.

Errors of all functions (`vkgroup.errors`):

- `InvalidDispatch`: an argument is invalid, such as an axis, a shape, a dtype or a tuning value.
- `Unsupported`: the device lacks the type, the size or a feature that the version requires, for example
  storage of 8-bit or 16-bit elements. Its `missing` has Vulkan's names.

>>> from vkgroup import kernels
>>> kernels.cumsum(np.arange(5, dtype=np.uint32))
array([ 0,  1,  3,  6, 10], dtype=uint32)

Reductions
    `sum`, `prod`, `min`, `max`, `bitwise_and`, `bitwise_or`, `bitwise_xor`, `argmin`, `argmax`
Scans
    `cumsum`, `cumprod`, `maximum_accumulate`, `minimum_accumulate`; `scan` with any operation, also
    exclusive, reversed or segmented
Compaction, stable
    `compress` by a mask, `compact` by a comparison, `flatnonzero`, `nonzero`, `partition_by`
Counting
    `histogram`, `bincount`; `count` by a comparison
Sorting, stable
    `sort`, `argsort`, `sort_by_key`
Searching
    `searchsorted`, `unique`, `topk`
Rows and matrices
    `softmax`, `layer_norm`, `matvec`, `matmul`, `transpose`
Images
    `max_pool`, `mip_chain`, `box_filter`; `quad_mip` in the fragment stage

Devices may treat denormal floats as zeros, as Vulkan permits: SwiftShader does in arithmetic, so that the sum
of such numbers is 0, and their product with infinity is NaN.

A *plan* is the same work prepared for one device, shape and dtype. Every tuning value is an argument of the
plan. A plan that is recorded on buffers can be submitted many times:

>>> plan = kernels.plan_reduce(device, 1 << 20, np.float32, "add")
>>> with plan.record(x=buffer) as work:
...     work.run()
...     total = work.buffers["result"].read()

    `plan_reduce`, `plan_arg_reduce`, `plan_scan`, `plan_compact`, `plan_histogram`, `plan_bincount`,
    `plan_aggregation`, `plan_radix_sort`, `plan_sort_rows`, `plan_rank_sort`, `plan_searchsorted`,
    `plan_unique`, `plan_topk`, `plan_softmax`, `plan_layer_norm`, `plan_matvec`, `plan_matmul`,
    `plan_transpose`, `plan_max_pool`, `plan_mip_chain`, `plan_box_filter`
"""

from __future__ import annotations

from vkgroup.kernels.aggregation import count, plan_aggregation
from vkgroup.kernels.box_filter import box_filter, plan_box_filter
from vkgroup.kernels.compact import compact, compress, flatnonzero, nonzero, partition_by, plan_compact
from vkgroup.kernels.histogram import bincount, histogram, plan_bincount, plan_histogram
from vkgroup.kernels.matmul import matmul, plan_matmul
from vkgroup.kernels.matvec import matvec, plan_matvec
from vkgroup.kernels.max_pool import max_pool, plan_max_pool
from vkgroup.kernels.mip_chain import mip_chain, plan_mip_chain, quad_mip
from vkgroup.kernels.plan import Plan
from vkgroup.kernels.radix_sort import plan_radix_sort
from vkgroup.kernels.rank_sort import plan_rank_sort
from vkgroup.kernels.reduce import (
    argmax,
    argmin,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    max,
    min,
    plan_arg_reduce,
    prod,
    sum,
)
from vkgroup.kernels.reduce_plan import plan_reduce
from vkgroup.kernels.rows import layer_norm, plan_layer_norm, plan_softmax, softmax
from vkgroup.kernels.scan import cumprod, cumsum, maximum_accumulate, minimum_accumulate, plan_scan, scan
from vkgroup.kernels.searchsorted import plan_searchsorted, searchsorted
from vkgroup.kernels.sort import argsort, sort, sort_by_key
from vkgroup.kernels.sort_rows import plan_sort_rows
from vkgroup.kernels.topk import plan_topk, topk
from vkgroup.kernels.transpose import plan_transpose, transpose
from vkgroup.kernels.unique import plan_unique, unique

__all__ = [
    "Plan",
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
    "plan_aggregation",
    "plan_arg_reduce",
    "plan_bincount",
    "plan_box_filter",
    "plan_compact",
    "plan_histogram",
    "plan_layer_norm",
    "plan_matmul",
    "plan_matvec",
    "plan_max_pool",
    "plan_mip_chain",
    "plan_radix_sort",
    "plan_rank_sort",
    "plan_reduce",
    "plan_scan",
    "plan_searchsorted",
    "plan_softmax",
    "plan_sort_rows",
    "plan_topk",
    "plan_transpose",
    "plan_unique",
    "prod",
    "quad_mip",
    "scan",
    "searchsorted",
    "softmax",
    "sort",
    "sort_by_key",
    "sum",
    "topk",
    "transpose",
    "unique",
]
