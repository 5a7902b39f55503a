"""Plan of a radix sort: a histogram, a scan, and one pass over memory per digit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch, Unsupported
from vkgroup.dispatch import Device, Pipeline
from vkgroup.kernels.pipelines import choose, full_subgroups, line, parts, possible_groups, subgroup_size
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.radix_sort_tuning import CLAIMS, MATCHES, SortTuning, mask_words, sort_tuning
from vkgroup.kernels.types import dtype_of

MOST_KEYS = (1 << 30) - 1
"""Maximum number of keys: a word of the look-back has 30 bits for a count."""

KEY_DTYPES = tuple(np.dtype(kind) for kind in ("u4", "i4", "f4", "u8", "i8", "f8"))
"""Dtypes of keys. A 64-bit key is stored as two words, so the device does not need 64-bit integers."""

_KINDS = "uif"
_WORD = 4
_HEAD = 32
"""Words of ``kernels/radix_sort/work.glsl`` before the counts: tickets and routes of 16 passes."""


def plan_radix_sort(
    device: Device,
    size: int,
    dtype: npt.DTypeLike,
    *,
    values: npt.DTypeLike | None = None,
    indices: bool = False,
    descending: bool = False,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a stable sort.

    Parameters
    ----------
    size, dtype : of the array `keys`: 1 to `MOST_KEYS` elements, one of `KEY_DTYPES`.
    values : dtype of the array `values`, of 4 or 8 bytes, with one value per key. Values are reordered with
        their keys. None: no values.
    indices : compute the indices that sort the keys; the plan's only output is then `indices`, uint32.
    descending : sort the greatest keys first. Equal keys keep their order in both directions, and NaNs are
        last.
    implementation : ``"subgroup"``, ``"shared"``, or ``"auto"``: the subgroup version if the device has its
        operations and guarantees full subgroups.
    **tuning : the attributes of `vkgroup.kernels.radix_sort_tuning.SortTuning`.

    Returns
    -------
    A plan with the input `keys` and optionally `values`, and the outputs `sorted_keys` and `sorted_values`,
    or `indices`. The inputs are not modified.
    """
    key, value = key_dtype(dtype), value_dtype(values, indices)
    if not isinstance(size, int | np.integer) or size < 1:
        raise InvalidDispatch(
            f"There must be a key to sort; size must be a positive integer, and {size!r} was given."
        )
    if size > MOST_KEYS:
        raise Unsupported(
            f"A sort takes at most {MOST_KEYS} keys, since its look-back counts keys in 30 bits; {size}"
            " were given. Sort parts and merge them.",
            [f"a count of {size} keys in 30 bits"],
        )
    implementation = choose(device, full_version(device, implementation), "basic", "ballot", "arithmetic")
    key_words, value_words = key.itemsize // _WORD, value.itemsize // _WORD if value else 0
    sort_values = sort_tuning(device, implementation, key_words, value_words, tuning)
    _check_operations(device, implementation, sort_values)
    planner = Planner(device, "radix sort", implementation)
    planner.input("keys", key, size)
    results = ("indices",) if indices else ("sorted_keys", "sorted_values")
    _Sort(planner, size, key, value, indices, descending, sort_values, results=results).add_steps()
    return planner.plan()


def add_sort(planner: Planner, size: int, dtype: np.dtype[Any], keys: str, *, indices: bool = False) -> None:
    """Add an ascending sort of the plan's buffer `keys` to a plan, for later steps that read its results.

    The results are scratch memory: `sorted_keys`, and with `indices` those that sort the keys, `order`. The
    plan's implementation must be one that `full_version` and `choose` allow.
    """
    value = np.dtype(np.uint32) if indices else None
    words = [kind.itemsize // _WORD if kind else 0 for kind in (dtype, value)]
    tuning = sort_tuning(planner.device, planner.implementation, words[0], words[1], {})
    _check_operations(planner.device, planner.implementation, tuning)
    _Sort(planner, size, dtype, value, indices, False, tuning, keys, "order").add_steps()


def _check_operations(device: Device, implementation: str, tuning: SortTuning) -> None:
    """Raise `Unsupported` if the device lacks an operation that a method of the subgroup version needs."""
    if implementation == "subgroup":
        extra = ("partitioned_nv",) if tuning.match == "partition" else ()
        choose(device, implementation, *extra, *(("shuffle",) if tuning.claim == "add" else ()))


def key_dtype(given: npt.DTypeLike) -> np.dtype[Any]:
    """Return the dtype of keys; raise `InvalidDispatch` if it is none of `KEY_DTYPES`."""
    key = dtype_of(given)
    if key not in KEY_DTYPES:
        known = ", ".join(str(kind) for kind in KEY_DTYPES)
        raise InvalidDispatch(f"Keys must be {known}; {key} was given. Convert them with .astype.")
    return key


def key_macros(key: np.dtype[Any], descending: bool) -> dict[str, Any]:
    """Return the macros of ``kernels/radix_sort/keys.glsl`` for the order of keys."""
    return {
        "KEY_WORDS": key.itemsize // _WORD,
        "KEY_KIND": _KINDS.index(key.kind),
        "DESCENDING": int(descending),
    }


def value_dtype(values: npt.DTypeLike | None, indices: bool) -> np.dtype[Any] | None:
    """Return the dtype of values, or None; raise `InvalidDispatch` if a sort cannot move them."""
    if indices:
        if values is not None:
            raise InvalidDispatch(
                "A sort that computes indices takes no values; pass either values or indices=True."
            )
        return np.dtype(np.uint32)
    if values is None:
        return None
    dtype = np.dtype(values)
    if dtype.itemsize not in (4, 8) or dtype.kind not in "iufc":
        raise InvalidDispatch(f"Values must be numbers of 4 or 8 bytes; {dtype} was given.")
    return dtype


def full_version(device: Device, implementation: str) -> str:
    """Resolve ``"auto"`` to the shared version if the device does not guarantee full subgroups."""
    if implementation not in ("auto", "subgroup") or full_subgroups(device):
        return implementation
    if implementation == "subgroup":
        raise Unsupported(
            f"{device.name} lacks: computeFullSubgroups. Use implementation='shared' or 'auto'.",
            ["computeFullSubgroups"],
        )
    return "shared"


@dataclass(frozen=True)
class _Sort:
    """One sort, with all its parameters."""

    planner: Planner
    size: int
    key: np.dtype[Any]
    value: np.dtype[Any] | None
    indices: bool
    descending: bool
    tuning: SortTuning
    keys: str = "keys"
    """Name of the keys in the plan."""
    order: str = "indices"
    """Name of the indices that sort the keys."""
    results: tuple[str, ...] = ()
    """Names of those results that are outputs; others are scratch memory."""

    def add_steps(self) -> None:
        """Add the steps of this sort to the plan."""
        tuning, planner = self.tuning, self.planner
        passes = parts(self.key.itemsize * 8, tuning.radix_bits)
        tiles = parts(self.size, tuning.tile)
        clear = tuning.clear or tuning.mute > 0
        buffers = self._buffers(planner)
        buffers["Work"] = planner.scratch("work", _WORD * (_HEAD + passes * tuning.radix))
        buffers["States"] = planner.scratch("states", _WORD * tiles * tuning.radix)
        keys, work, states = buffers["Input"], buffers["Work"], buffers["States"]

        planner.fill(work)
        if not clear:
            planner.fill(states)
        tile = tuning.histogram_workgroup * tuning.histogram_items
        groups = possible_groups(planner.device, parts(self.size, tile), tuning.histogram_groups)
        counted = {"Keys": keys, "Quads": keys, "Work": work}
        histogram = self._kernel(
            "histogram",
            tuning.histogram_workgroup,
            self._macros,
            {"ITEMS": tuning.histogram_items, "COPIES": tuning.histogram_copies},
        )
        planner.dispatch(histogram, groups, counted, push={"count": self.size})
        constants = {"FRESH": clear, "SKIP": tuning.skip}
        scan = self._kernel("scan", tuning.histogram_workgroup, self._macros, constants)
        planner.dispatch(scan, 1, {"Work": work}, push={"count": self.size})
        kernel, grid = self._pass_kernel(), line(planner.device, tiles)
        for number in range(passes):
            if clear:
                planner.fill(states)
            planner.dispatch(kernel, grid, buffers, push={"count": self.size, "pass": number})

    def _buffers(self, planner: Planner) -> dict[str, str]:
        """Declare keys and values, and return their names by binding of a pass."""
        nbytes = self.size * self.key.itemsize
        names = {
            "Input": self.keys,
            "Spare": planner.scratch("spare_keys", nbytes),
            "Result": self._result("sorted_keys", self.key),
        }
        if self.value is None:
            return names
        names["SpareValues"] = planner.scratch("spare_values", self.size * self.value.itemsize)
        if self.indices:
            # The first pass creates the indices and does not read this binding.
            names["InputValues"] = names["SpareValues"]
            names["ResultValues"] = self._result(self.order, self.value)
        else:
            names["InputValues"] = planner.input("values", self.value, self.size)
            names["ResultValues"] = self._result("sorted_values", self.value)
        return names

    def _result(self, name: str, dtype: np.dtype[Any]) -> str:
        """Declare a result as an output or as scratch memory."""
        if name in self.results:
            return self.planner.output(name, dtype, self.size)
        return self.planner.scratch(name, self.size * dtype.itemsize)

    @property
    def _macros(self) -> dict[str, Any]:
        return key_macros(self.key, self.descending) | {
            "RADIX_BITS": self.tuning.radix_bits,
            "UNROLL": int(self.tuning.unroll),
        }

    def _pass_kernel(self) -> Pipeline:
        tuning = self.tuning
        macros = self._macros | {
            "VALUE_WORDS": self.value.itemsize // _WORD if self.value else 0,
            "INDICES": (1 if self.order in self.results else 2) if self.indices else 0,
        }
        constants = {
            "ITEMS": tuning.items,
            "SPINS": tuning.spins,
            "LOOK": tuning.look,
            "MUTE": tuning.mute,
            "TICKETS": tuning.tickets,
        }
        if self.planner.implementation == "subgroup":
            # All subgroups are full and have the same size.
            macros["EXACT"] = 1
            macros["MATCH"] = MATCHES.index(tuning.match)
            macros["CLAIM"] = CLAIMS.index(tuning.claim)
            macros["MASK_WORDS"] = mask_words(subgroup_size(self.planner.device))
            constants["EARLY"] = tuning.early
        return self._kernel("pass", tuning.workgroup, macros, constants)

    def _kernel(
        self, name: str, workgroup: int, macros: dict[str, Any], constants: dict[str, Any]
    ) -> Pipeline:
        path = f"radix_sort/{self.planner.implementation}_{name}.comp"
        return self.planner.kernel(path, macros=macros, workgroup=workgroup, specialization=constants)
