"""Histograms: number of elements in each bin, counted in shared memory or directly in device memory."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from vkgroup.base.errors import InvalidDispatch
from vkgroup.dispatch import Buffer, Device
from vkgroup.kernels.aggregation import extremes, greatest
from vkgroup.kernels.arguments import Given, KernelArguments, Result
from vkgroup.kernels.calls import call_again, keep_call
from vkgroup.kernels.histogram_bins import Bins, bins_of
from vkgroup.kernels.histogram_keys import key_words, keys_of, macros
from vkgroup.kernels.pipelines import choose, largest_workgroup, parts, possible_groups, possible_workgroup
from vkgroup.kernels.plan import Plan, Planner
from vkgroup.kernels.plan_cache import planned
from vkgroup.kernels.reduce_tuning import power_of_two
from vkgroup.kernels.tuning import TABLES, Allowed, checked_values, kinds, require_power, whole
from vkgroup.kernels.types import dtype_of, element_count, is_whole

MATCHES = ("each", "neighbours", "rounds", "ballots", "partitioned")
"""Methods to find lanes with the same bin, in the order of ``kernels/histogram/match.glsl``."""

TABLES["histogram"] = {
    "any": {
        "workgroup": 512,
        "items": 2,
        "groups": 528,
        "copies": 32,
        "interleaved": True,
        "match": "each",
        "vote": True,
        "runs": False,
        "slots": 2048,
    },
    "cpu": {"workgroup": 128, "groups": 16, "copies": 4},
}
TABLES["histogram.subgroup"] = {
    "nvidia": {"workgroup": 1024, "items": 4, "groups": 264, "copies": 16},
}
TABLES["histogram.shared"] = {"nvidia": {"copies": 8, "runs": True}}
TABLES["histogram.memory"] = {
    "any": {**TABLES["histogram"]["any"], "match": "neighbours", "groups": 1056},
    "cpu": {"workgroup": 128, "groups": 16},
}

_ALLOWED: dict[str, Allowed] = {
    "workgroup": whole("workgroup", 16),
    "match": MATCHES,
    **dict.fromkeys(("interleaved", "vote", "runs"), bool),
}
_OPERATIONS = ("basic", "vote", "ballot", "shuffle", "shuffle_relative")
_VECTOR = 16
_WORD = 4

_MOST_OF_ONE_GROUP = 4096
"""Maximum number of elements that one workgroup counts alone, unless `groups` is given."""

_LEAST_OF_ONE_GROUP = 64
"""Invocations of that workgroup at least, on GPUs; it clears and merges the tables too."""

_ONE_GROUP_ON_CPU = {"groups": 1, "workgroup": 16, "copies": 1, "items": 8, "vote": False}
"""Tuning values of that workgroup on CPU drivers, where barriers among many subgroups take long."""


def plan_bincount(
    device: Device,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    bins: int,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan the counts of the values 0, 1, … `bins` - 1 in an array of integers; other values are ignored.

    Parameters
    ----------
    shape, dtype : of the array `x`: at least one element; any integers of 8 to 64 bits.
    bins : length of the output `counts`, uint32.
    **tuning : `workgroup`, `items` (16-byte vectors that an invocation loads at once), `groups` (the maximum
        number of workgroups), `in_memory` (count in device memory, not in shared memory), `copies` (tables in
        shared memory) and `interleaved` (whether these tables are interleaved). Only the subgroup version has
        `vote` (first test whether all lanes have the same bin) and `match`, one of `MATCHES`. Only the shared
        version has `runs` (first test whether all elements of a vector have the same bin) and `slots` (with
        `in_memory`: number of bins whose counts are cached in shared memory).
    """
    dtype = dtype_of(dtype)
    if dtype.kind not in "iu":
        raise InvalidDispatch(f"Only whole numbers can be counted by their values; {dtype} was given.")
    if not is_whole(bins) or bins < 1:
        raise InvalidDispatch(f"bins must be a positive integer; {bins!r} was given.")
    push = {"low": key_words(dtype, int(keys_of(np.zeros(1, dtype))[0]))}
    counting = _Counting(device, "bincount", shape, dtype, bins, implementation, tuning)
    return counting.plan({"BINNING": "DIRECT"}, push)


def plan_histogram(
    device: Device,
    shape: int | tuple[int, ...],
    dtype: npt.DTypeLike,
    bins: int | npt.ArrayLike,
    range: tuple[float, float] | None = None,
    implementation: str = "auto",
    **tuning: Any,
) -> Plan:
    """Plan a histogram.

    Parameters
    ----------
    shape, dtype : of the array `x`: at least one element, of any dtype that the kernels support.
    bins : the number of bins of equal width, or ascending edges.
    range : the lower edge of the first and the upper edge of the last bin, for bins of equal width.
    **tuning : as for `plan_bincount`.

    Returns
    -------
    A plan with the output `counts`, uint32. If float32 arithmetic alone cannot determine the bins, the plan
    has the input `edges`: `vkgroup.kernels.histogram_bins.Bins.keys`.
    """
    if range is None and np.ndim(bins) == 0:
        raise InvalidDispatch(
            "A plan of equal bins needs the argument range, since a plan does not read the elements."
        )
    dtype = dtype_of(dtype)
    return _plan(device, shape, dtype, bins_of(dtype, bins, range), implementation, tuning)


def _plan(
    device: Device,
    shape: int | tuple[int, ...],
    dtype: np.dtype[Any],
    bins: Bins,
    implementation: str,
    tuning: dict[str, Any],
) -> Plan:
    counting = _Counting(device, "histogram", shape, dtype, len(bins.edges) - 1, implementation, tuning)
    if not len(bins.keys):
        # No element can be in any bin.
        counting.planner.fill("counts", 0)
        return counting.planner.plan()
    position = bins.position
    push = {
        "last": len(bins.keys) - 1,
        "low": key_words(dtype, bins.low),
        "high": key_words(dtype, bins.high),
        "origin": position.origin,
        "scale": position.scale,
        "bias": position.bias,
        "margin": position.margin,
    }
    if bins.exact:
        return counting.plan({"BINNING": "EXACT"}, push)
    return counting.plan({"BINNING": "EDGES"}, push, edges=bins.keys)


class _Counting:
    """The common part of all histogram plans: one dispatch over all elements, with its tuning."""

    def __init__(
        self,
        device: Device,
        name: str,
        shape: int | tuple[int, ...],
        dtype: np.dtype[Any],
        bins: int,
        implementation: str,
        tuning: dict[str, Any],
    ) -> None:
        partitioned = ("partitioned_nv",) if tuning.get("match") == "partitioned" else ()
        self._count = element_count(shape)
        if implementation == "auto" and not tuning and self._is_short and "cpu" in kinds(device):
            implementation = "shared"  # was measured to be the faster one
        implementation = choose(device, implementation, *_OPERATIONS, *partitioned)
        self.planner = Planner(device, name, implementation)
        self._dtype, self._bins = dtype, bins
        self._macros = macros(dtype)
        self.planner.input("x", dtype, shape)
        self.planner.output("counts", np.uint32, bins)
        self._room = int(device.capabilities.limits["maxComputeSharedMemorySize"]) // _WORD
        in_memory = tuning.pop("in_memory", None)
        if in_memory not in (None, True, False):
            raise InvalidDispatch(f"in_memory is True or False; {in_memory!r} was given.")
        fits = bins + 1 <= self._room
        self._in_memory = not fits if in_memory is None else bool(in_memory)
        if not self._in_memory and not fits:
            raise InvalidDispatch(
                f"{bins} bins do not fit into the {_WORD * self._room} bytes of shared memory; use"
                " in_memory=True."
            )
        entry = "histogram.memory" if self._in_memory else "histogram"
        self._tuning = checked_values(device, entry, implementation, tuning, _ALLOWED)
        if self._is_short and tuning.get("groups") is None:
            given = {name: value for name, value in tuning.items() if value is not None}
            self._tuning |= self._values_of_one_group(device) | given
        require_power(copies=self._tuning["copies"], slots=self._tuning["slots"])

    @property
    def _is_short(self) -> bool:
        """Whether one workgroup counts all elements, if the number of workgroups is not given."""
        return self._count <= _MOST_OF_ONE_GROUP

    def _values_of_one_group(self, device: Device) -> dict[str, Any]:
        """Return the tuning values of a single workgroup; on GPUs, for one vector of each invocation."""
        if "cpu" in kinds(device):
            return _ONE_GROUP_ON_CPU
        vectors = max(1, self._count * self._dtype.itemsize // _VECTOR)
        needed = max(_LEAST_OF_ONE_GROUP, power_of_two(vectors))
        return {"groups": 1, "workgroup": min(needed, largest_workgroup(device)), "items": 1}

    def plan(
        self, binning: dict[str, Any], push: dict[str, Any], edges: npt.NDArray[Any] | None = None
    ) -> Plan:
        """Return the plan for one method of finding an element's bin."""
        planner, tuning = self.planner, self._tuning
        bindings = {"Vectors": "x", "Scalars": "x", "Counts": "counts"}
        if edges is not None:
            bindings["Edges"] = planner.input("edges", edges.dtype, edges.shape)
        defined = {**self._macros, **binning, "IN_MEMORY": int(self._in_memory)}
        constants = {"ITEMS": tuning["items"]}
        if not self._in_memory:
            # As many of the requested copies of the table as fit into shared memory.
            copies = min(tuning["copies"], _power_below(self._room // (self._bins + 1)))
            constants |= {"BINS": self._bins, "COPIES": copies, "INTERLEAVED": tuning["interleaved"]}
        if planner.implementation == "subgroup":
            constants |= {"VOTE": tuning["vote"], "MATCH": MATCHES.index(tuning["match"])}
            if tuning["match"] == "partitioned":
                defined["PARTITION"] = 1
        else:
            constants["RUNS"] = tuning["runs"]
            if self._in_memory:
                constants["SLOTS"] = min(tuning["slots"], _power_below(self._room // 2))
        workgroup = possible_workgroup(planner.device, tuning["workgroup"])
        vectors = self._count * self._dtype.itemsize // _VECTOR
        tiles = parts(vectors, workgroup * tuning["items"])
        groups = possible_groups(planner.device, tiles, tuning["groups"])
        if groups == 1 and not self._in_memory:
            defined["ONE_GROUP"] = 1
        else:
            planner.fill("counts", 0)
        kernel = planner.kernel(
            f"histogram/{planner.implementation}.comp",
            macros=defined,
            workgroup=workgroup,
            specialization=constants,
        )
        push = {"count": self._count, "bins": self._bins, **push}
        planner.dispatch(kernel, groups, bindings, push)
        return planner.plan()


def _power_below(number: int) -> int:
    """Return the greatest power of two that is at most a positive number."""
    return 1 << number.bit_length() - 1


def bincount(
    x: Given, minlength: int = 0, *, device: Device | None = None, implementation: str = "auto"
) -> Result:
    """Count the occurrences of each integer, as `numpy.bincount` without weights.

    Parameters
    ----------
    x : one-dimensional array or `Buffer` of nonnegative integers.
    minlength : the minimum length of the result.

    Returns
    -------
    The counts of 0, 1, … up to the greatest number: int64 as NumPy's, or a uint32 `Buffer` if `x` is a
    `Buffer`.
    """
    arguments = KernelArguments(device, x=x)
    given = arguments["x"]
    if len(given.shape) != 1 or (given.dtype.kind not in "iu" and given.shape != (0,)):
        raise InvalidDispatch(
            f"x must be one-dimensional, of whole numbers; it is {given.dtype} of shape {given.shape}."
        )
    if not is_whole(minlength) or minlength < 0:
        raise InvalidDispatch(
            f"minlength must be a whole number that is not negative; {minlength!r} was given."
        )
    if given.shape[0] == 0:
        return np.zeros(minlength, np.int64)
    least, most = (0, greatest(arguments)) if given.dtype.kind == "u" else extremes(arguments)
    if least < 0:
        raise InvalidDispatch(f"Only numbers that are not negative can be counted; x contains {least}.")
    bins = max(int(most) + 1, minlength)
    plan = planned(plan_bincount, arguments.device, given.shape, given.dtype, bins, implementation)
    (counts,) = arguments.run(plan, "counts")
    return counts if isinstance(counts, Buffer) else counts.astype(np.int64)


def histogram(
    x: Given,
    bins: int | npt.ArrayLike = 10,
    range: tuple[float, float] | None = None,
    *,
    device: Device | None = None,
    implementation: str = "auto",
) -> tuple[Result, npt.NDArray[Any]]:
    """Count the elements in each bin, as `numpy.histogram` without weights and density.

    The edges are NumPy's. An exact comparison determines the bin of an element x: bin k if edges[k] <= x <
    edges[k + 1]; the last bin includes its upper edge. NaN and elements outside all bins are ignored. NumPy's
    counts can differ in two cases: for bins that are not much wider than the rounding error of the edges, and
    for 64-bit integers beyond 2**53, which NumPy rounds first (`vkgroup.kernels.histogram_bins` derives the
    bounds).

    Parameters
    ----------
    x : array or `Buffer` of any shape.
    bins : the number of bins of equal width, or ascending edges.
    range : the first and the last edge, for bins of equal width; default the least and the greatest element.

    Returns
    -------
    counts : int64 as NumPy's, or a uint32 `Buffer` if `x` is a `Buffer`.
    edges : the array that `numpy.histogram_bin_edges` returns.
    """
    key: tuple[Any, ...] = ()
    if _is_usual(bins, range):
        key = ("histogram", bins, range, *map(type, range), implementation)  # type: ignore[arg-type]
        if (again := call_again(x, device, key)) is not None:
            return again, _usual_bins(x.dtype, bins, range).edges.copy()  # type: ignore
    arguments = KernelArguments(device, x=x)
    given = arguments["x"]
    macros(given.dtype)
    count = math.prod(given.shape)
    if range is None and np.ndim(bins) == 0:
        range = extremes(arguments) if count else (0, 1)
    usual = _is_usual(bins, range)
    histogram_bins: Bins = (_usual_bins if usual else bins_of)(given.dtype, bins, range)  # type: ignore
    if not count:
        return np.zeros(len(histogram_bins.edges) - 1, np.int64), histogram_bins.edges.copy()
    if usual:
        plan = planned(
            plan_histogram, arguments.device, given.shape, given.dtype, bins, range, implementation
        )
    else:
        plan = _plan(arguments.device, given.shape, given.dtype, histogram_bins, implementation, {})
    edge_keys: dict[str, Any] = {"edges": histogram_bins.keys} if "edges" in plan.inputs else {}
    (counts,) = arguments.run(plan, "counts", **edge_keys)
    if key:
        keep_call(x, device, key, plan, "x", "counts")
    return counts if isinstance(counts, Buffer) else counts.astype(np.int64), histogram_bins.edges.copy()


def _is_usual(bins: Any, range: Any) -> bool:
    """Return whether these are a number of bins and two numbers: then the bins and the plan are kept."""
    return type(bins) is int and type(range) is tuple and [*map(type, range)] in _TWO_NUMBERS


_TWO_NUMBERS = [[first, second] for first in (int, float) for second in (int, float)]


@lru_cache(64)
def _usual_bins(dtype: np.dtype[Any], bins: int, range: tuple[float, float]) -> Bins:
    """Return bins of equal width, or those made for equal arguments before."""
    return bins_of(dtype, bins, range)
