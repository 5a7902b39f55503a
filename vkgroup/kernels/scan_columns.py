"""Plans of scans along an axis that is not the last: ``kernels/scan/columns_*.comp``.

An array is treated as an array of shape (slices, n, inner), and its middle axis is scanned. Tuning values:

- `workgroup`: invocations per workgroup; a multiple of the subgroup size in the subgroup version.
- `items`: rows of one column that an invocation reads and combines at once, for elements of 32 bits or fewer;
  half of them for 64 bits. At most 32.
- `columns`: columns of a workgroup. Short columns, of fewer than `workgroup` × `items` / `columns` rows, make
  it larger.
- `runs`: maximum number of invocations that share a column. With 1 they do not communicate.
- `narrow`: longest rows in bytes that go through shared memory, where invocations exchange elements.
- `groups`: workgroups that fill the device. With less than a quarter of them, columns are divided into chunks
  of rows to reach this number. The input is then read twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from vkgroup.dispatch import Device
from vkgroup.kernels.pipelines import choose_full, line, parts, possible_workgroup, require_full
from vkgroup.kernels.plan import Planner
from vkgroup.kernels.reduce_tuning import power_of_two
from vkgroup.kernels.tuning import TABLES, Allowed

TABLES["scan_columns"] = {
    "any": {"workgroup": 256, "items": 16, "columns": 32, "runs": 1024, "narrow": 32, "groups": 1024},
    # CPU drivers run the invocations of a subgroup in one thread; barriers and shared memory cost much.
    "cpu": {"workgroup": 128, "items": 8, "columns": 128, "runs": 1, "narrow": 0, "groups": 32},
}

ALLOWED: dict[str, Allowed] = {"narrow": range(2**16)}
"""Valid values of tuning parameters that are not positive integers."""

_WORTH = 4
"""The least number of chunks that columns are divided into, since the input is then read twice."""


@dataclass(frozen=True)
class Columns:
    """Division of the columns of an array into tiles and chunks.

    Attributes
    ----------
    workgroup, items : invocations, and rows that an invocation reads at once.
    width : columns of a workgroup.
    runs : invocations that share a column.
    staged : whether tiles go through shared memory.
    across : workgroups side by side, which have all columns.
    chunks, chunk_rows : chunks of each column, and their rows.
    """

    workgroup: int
    items: int
    width: int
    runs: int
    staged: bool
    across: int
    chunks: int
    chunk_rows: int


def chosen_version(device: Device, implementation: str, macros: dict[str, Any]) -> str:
    """Choose a version; 64-bit integers use the shared one if subgroup operations do not support them."""
    extended = "shaderSubgroupExtendedTypes" in device.capabilities.features
    if implementation == "auto" and macros["T_BITS"] == 64 and not macros["T_FLOAT"] and not extended:
        return "shared"
    return choose_full(device, implementation, "basic", "shuffle_relative")


def divide(
    device: Device, sizes: tuple[int, int, int], itemsize: int, bits: int, values: dict[str, Any]
) -> Columns:
    """Divide an array of shape `sizes` = (slices, n, inner); the kernel computes with `bits` bits."""
    slices, n, inner = sizes
    workgroup = possible_workgroup(device, values["workgroup"])
    items = values["items"] if bits == 32 else max(1, values["items"] // 2)
    items = min(items, power_of_two(n))
    staged = inner * itemsize <= values["narrow"] and inner <= workgroup
    if staged:
        items = _items_in_shared_memory(device, workgroup, items, bits)
    # As few runs side by side as a column has, so that short columns leave no invocation without work.
    runs = min(values["runs"], workgroup, power_of_two(parts(n, items)))
    width = max(min(values["columns"], workgroup), workgroup // runs)
    if staged:
        width = inner * max(1, min(slices, width // inner))
    else:
        width = parts(slices * inner, parts(slices * inner, width))
    across, runs = parts(slices * inner, width), min(values["runs"], workgroup // width)
    tile_rows = runs * items
    tiles = parts(n, tile_rows)
    chunk_rows = parts(tiles, max(1, values["groups"] // across)) * tile_rows
    chunks = parts(n, chunk_rows)
    if chunks < _WORTH:
        chunks, chunk_rows = 1, n
    return Columns(workgroup, items, width, runs, staged, across, chunks, chunk_rows)


def _items_in_shared_memory(device: Device, workgroup: int, items: int, bits: int) -> int:
    """Return the number of items whose tile fits into shared memory, beside two values per invocation."""
    room = int(device.capabilities.limits["maxComputeSharedMemorySize"]) // (bits // 8 * workgroup)
    while items > 1 and items + items // 32 + 1 + 2 > room:
        items //= 2
    return items


def add_columns(
    planner: Planner,
    macros: dict[str, Any],
    values: dict[str, Any],
    sizes: tuple[int, int, int],
    itemsize: int,
) -> None:
    """Add the dispatches that scan `x`, of shape `sizes` = (slices, n, inner), to a plan."""
    slices, n, inner = sizes
    layout = divide(planner.device, sizes, itemsize, macros["T_BITS"], values)
    require_full(planner.device, planner.implementation, layout.workgroup)
    push = {"count": slices * n * inner, "length": n, "inner": inner, "chunk_rows": layout.chunk_rows}
    groups = line(planner.device, layout.across * layout.chunks)

    def add(step: str, staged: bool, bindings: dict[int, str]) -> None:
        kernel = planner.kernel(
            f"scan/columns_{planner.implementation}.comp",
            macros=macros | {"STEP": step, "STAGED": int(staged)},
            workgroup=layout.workgroup,
            specialization={"ITEMS": layout.items, "COLUMNS": layout.width, "RUNS": layout.runs},
        )
        planner.dispatch(kernel, groups, bindings, push)

    if layout.chunks == 1:
        add("WHOLE", layout.staged, {0: "x", 1: "scanned"})
        return
    partials = planner.scratch("partials", layout.chunks * slices * inner * macros["T_BITS"] // 8)
    # The first dispatch writes no results, but its kernel declares the binding.
    add("SUMS", False, {0: "x", 1: "scanned", 2: partials})
    add("CHUNKS", layout.staged, {0: "x", 1: "scanned", 2: partials})
