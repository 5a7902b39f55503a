"""Limits with which a shader compares an invocation's position, and values of them that split a workgroup.

A host launches whole workgroups, so the last one usually has invocations beyond the size of the data. A
shader that compares an invocation's position with a size expects this. One run watches the comparisons. If
all invocations of each workgroup agree in a comparison, the size gets a value at which those of one workgroup
do not, in whatever form the host passes it: a push constant, a member of a uniform buffer, a component of a
vector, the length of an array, or a specialization constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from vkgroup.base.errors import VkgroupError
from vkgroup.check.influence import LENGTH, Source
from vkgroup.check.inputs import GeneratedNumber, NumberKey, Numbers
from vkgroup.check.runs import CheckedDispatch
from vkgroup.check.search import TrialSearch, limited
from vkgroup.check.size_constants import COMPARISONS
from vkgroup.check.trials import WORK_LIMIT, usual_run
from vkgroup.reference.interpreter.program.site import Site
from vkgroup.spirv import Instruction

_POSITIONS = ("LocalInvocationId", "LocalInvocationIndex", "GlobalInvocationId")
_LESS = tuple(name for name in COMPARISONS if "Less" in name or "Greater" in name)
_MARGIN = 2
"""Difference between the last position of a workgroup and the limit that splits it."""


@dataclass(frozen=True)
class Split:
    """A value of the limit that splits a workgroup, and the value that it has."""

    value: int
    now: int


@dataclass
class WatchedComparison:
    """A comparison of a position with a limit, and what one run showed of it.

    `side`: the operand that is the position, 0 or 1. `sources`: the inputs that decide the limit.
    """

    instruction: Instruction
    side: int
    sources: frozenset[Source]
    divided: set[int] = field(default_factory=set)  # components that a workgroup's invocations disagree on
    #: By component: whether all positions of the workgroup were within the limit, the largest such position.
    splits: dict[int, tuple[tuple[bool, int], Split]] = field(default_factory=dict)

    def watch(self, per_workgroup: int, first: Any, second: Any, result: Any) -> None:
        """Record one execution; the operands and the result have the shape (..., invocations)."""
        position, limit = (first.data, second.data) if self.side == 0 else (second.data, first.data)
        flags = result.data
        within = flags if ("Less" in self.instruction.name) == (self.side == 0) else ~flags
        shape = np.broadcast_shapes(position.shape, limit.shape)
        rows = [np.broadcast_to(part, shape).reshape(-1, shape[-1]) for part in (position, limit, within)]
        groups = shape[-1] // per_workgroup if shape[-1] % per_workgroup == 0 else 1
        for component, row in enumerate(zip(*rows, strict=True)):
            position, limit, within = (part.reshape(groups, -1) for part in row)
            low, high, all_within = position.min(axis=1), position.max(axis=1), within.all(axis=1)
            if (all_within != within.any(axis=1)).any():
                self.divided.add(component)
            is_one = (limit == limit[0, 0]).all()
            for number in np.flatnonzero(low < high).tolist() if is_one else ():
                rank = (bool(all_within[number]), int(high[number]))
                if component not in self.splits or rank > self.splits[component][0]:
                    value = max(int(low[number]) + 1, int(high[number]) - _MARGIN)
                    self.splits[component] = rank, Split(value, int(limit[0, 0]))


def split_workgroups(search: TrialSearch) -> tuple[TrialSearch, tuple[Numbers, ...]]:
    """Return a search whose trials use values that split a workgroup, and further such values.

    Each of the further values splits a workgroup at another comparison.

    `search`: the search with the default values, which stays if a shader does not allow the others.
    """
    trier, comparisons = search.trier, list(_comparisons(search))
    if not comparisons or search.first.run is None:
        return search, ()
    try:
        _watch(search.first.dispatch, comparisons)
    except VkgroupError:
        return search, ()
    numbers: dict[NumberKey, list[int]] = {}
    elements: dict[tuple[int, int], int] = {}
    keys = set[NumberKey]()
    for comparison in comparisons:
        for component, (_, split) in comparison.splits.items():
            limits = list(_numbers(search, comparison, component, split))
            keys |= {number.key for number in limits}
            if component in comparison.divided:
                continue
            for number in limits:
                if (value := _scaled(number, split)) is not None:
                    numbers.setdefault(number.key, []).append(value)
            for variable, member in comparison.sources:
                # The length of a generated array is the limit.
                if member == LENGTH and search.is_generated(variable, member):
                    place = search.places[variable]
                    elements[place] = max(elements.get(place, 0), split.value)
    tuned = {number.key for number in search.numbers}
    chosen = {key: max(values) for key, values in numbers.items() if key in tuned}
    further = tuple(
        {key: value}
        for key, values in numbers.items()
        for value in dict.fromkeys(values)
        if value != chosen.get(key)
    )
    trier.limits = frozenset(keys)
    if chosen or elements:
        trier.numbers, trier.elements = chosen, elements
        changed = TrialSearch(trier)
        if changed.first.run is not None:
            return changed, further
        trier.numbers, trier.elements = {}, {}
    return search, further


def _comparisons(search: TrialSearch) -> Iterator[WatchedComparison]:
    """Yield the comparisons of a position, which only constants and built-ins decide, with an input."""
    influence = search.influence
    positions = {variable for variable, name in influence.built_ins.items() if name in _POSITIONS}
    for entry in influence.body:
        if entry.name not in _LESS:
            continue
        sides = [influence.on_value(operand) for operand in entry.operands]
        for side, (position, limit) in enumerate((sides, sides[::-1])):
            of_position = {variable for variable, _ in position} & positions
            has_contents = any(search.is_buffer(variable) for variable, _ in position)
            limits = {variable for variable, _ in limit}
            if of_position and not has_contents and limits and not limits & positions:
                yield WatchedComparison(entry, side, limit)


def _watch(dispatch: CheckedDispatch, comparisons: Sequence[WatchedComparison]) -> None:
    """Run once, and watch the comparisons."""
    per_workgroup = math.prod(dispatch.program.local_size)

    def instrument(site: Site, function: Callable[..., Any]) -> Callable[..., Any]:
        watched = [each for each in comparisons if each.instruction.position == site.position]

        def run(first: Any, second: Any) -> Any:
            result = function(first, second)
            for comparison in watched:
                comparison.watch(per_workgroup, first, second, result)
            return result

        return run if watched else function

    limited_dispatch = replace(dispatch, timeout=None, work_limit=WORK_LIMIT)
    positions = {each.instruction.position for each in comparisons}
    watching = dispatch.instrumented(instrument, positions)
    limited_dispatch.run(usual_run(dispatch), races=False, program=watching)


def _numbers(
    search: TrialSearch, comparison: WatchedComparison, component: int, split: Split
) -> Iterator[GeneratedNumber]:
    """Yield the integers that decide a limit: those with its value, or the only one."""
    numbers = [each for each in search.first.values if search.influences(each, comparison.sources)]
    equal = [number for number in numbers if number.value == split.now]
    own = [number for number in equal if number.key[1].endswith(f"[{component}]")]
    yield from (own or equal) if equal else numbers if len(numbers) == 1 else ()


def _scaled(number: GeneratedNumber, split: Split) -> int | None:
    """Return the value of an integer for which the limit splits a workgroup; None without one."""
    if number.value == split.now:
        value = split.value
    elif split.now > 0:
        value = number.value * split.value // split.now
    else:
        return None
    value = limited(number, value)
    return value if value > 0 and value != number.value else None
