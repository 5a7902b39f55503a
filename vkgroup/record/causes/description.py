"""The axes of cases by their names, and one sentence on a set of cases with only the axes that matter."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from vkgroup.spec.categories import Category
from vkgroup.spec.operations import SUBGROUP_OPERATIONS
from vkgroup.spec.stages import STAGE_NAMES
from vkgroup.spec.types import LONG_TYPES, TYPES, GlslType

_ALL_TYPES = {**TYPES, **LONG_TYPES}

Axes = dict[str, str]
"""The values of a case by axis, in the order of its name."""

TABLE_AXES = ("category", "stage", "operation", "type", "pattern", "data")
"""Axes of cases of subgroup operations; the name then has an operand, a shape and a size where they apply."""

_AXES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        [*(category.value for category in Category), "hlsl", "hlsl_later", "slang", "wgsl"], TABLE_AXES
    ),
    "legacy_ballot": TABLE_AXES[:-1],
    "quad_control": ("category", "stage", "operation", "pattern"),
}
"""Axes of the categories whose names begin with them."""
_SHAPES = frozenset({"2d", "3d", "framebuffer"})
_SIZE = re.compile(r"size\d+")


def axes_of(name: str) -> Axes:
    """Return the axes of a case by its name. Parts without a common meaning are named by their position."""
    parts = name.split(".")
    labels = _AXES.get(parts[0], ())
    if not labels or len(parts) < len(labels) or (parts[0] == "quad_control" and "Quad" not in parts[2]):
        positions = ("stage" if part in STAGE_NAMES else f"part {at}" for at, part in enumerate(parts[1:], 1))
        return dict(zip(["category", *positions], parts, strict=True))
    axes = dict(zip(labels, parts, strict=False))
    for part in parts[len(labels) :]:
        axis = "size" if _SIZE.fullmatch(part) else "shape" if part in _SHAPES else "operand"
        axes[axis] = f"{axes[axis]}.{part}" if axis in axes else part
    return axes


def subject_of(name: str) -> str:
    """Return what a case tests, in words: its operation and type, or the first two parts of its name."""
    axes = axes_of(name)
    if "operation" not in axes:
        return f"`{'.'.join(name.split('.')[:2])}`"
    return f"`{axes['operation']}`" + (f" of `{axes['type']}`" if "type" in axes else "")


def complexity(name: str) -> tuple[object, ...]:
    """Return a sort key by which the simplest case comes first."""
    axes = axes_of(name)
    type_ = _ALL_TYPES.get(axes.get("type", ""))
    return (
        list(STAGE_NAMES).index(axes["stage"]) if axes.get("stage", "compute") != "compute" else -1,
        axes.get("pattern", "all") != "all",
        type_.components if type_ else 0,
        type_.scalar.bits if type_ else 0,
        axes.get("data", "exact") != "exact",
        "size" in axes,
        "shape" in axes,
        len(name),
        name,
    )


Mask = np.ndarray[Any, np.dtype[np.bool_]]

AXES = ("operation", "type", "data", "stage", "pattern", "operand", "shape", "size")
"""The axes in a sentence, in their order."""

_Predicate = Callable[[str], bool]


def _type(test: Callable[[GlslType], bool]) -> _Predicate:
    return lambda name: name in _ALL_TYPES and test(_ALL_TYPES[name])


_TYPES: dict[str, _Predicate] = {
    "vectors": _type(lambda type_: type_.components > 1),
    "scalars": _type(lambda type_: type_.components == 1),
    "floating-point types": _type(lambda type_: type_.scalar.kind == "float"),
    "16-bit floats": _type(lambda type_: type_.scalar.kind == "float" and type_.scalar.bits == 16),
    "32-bit floats": _type(lambda type_: type_.scalar.kind == "float" and type_.scalar.bits == 32),
    "64-bit floats": _type(lambda type_: type_.scalar.kind == "float" and type_.scalar.bits == 64),
    "integers": _type(lambda type_: type_.scalar.kind in ("int", "uint")),
    "signed integers": _type(lambda type_: type_.scalar.kind == "int"),
    "unsigned integers": _type(lambda type_: type_.scalar.kind == "uint"),
    "Booleans": _type(lambda type_: type_.scalar.kind == "bool"),
    "8-bit types": _type(lambda type_: type_.scalar.bits == 8),
    "16-bit types": _type(lambda type_: type_.scalar.bits == 16),
    "64-bit types": _type(lambda type_: type_.scalar.bits == 64),
}
"""Sets of types by their description."""


def _operator(*operators: str) -> _Predicate:
    return lambda name: name in SUBGROUP_OPERATIONS and SUBGROUP_OPERATIONS[name].operator in operators


def _group(word: str) -> _Predicate:
    return lambda name: (
        name in SUBGROUP_OPERATIONS and word in (SUBGROUP_OPERATIONS[name].group_operation or "")
    )


_OPERATION_SETS: dict[str, _Predicate] = {
    "minima and maxima": _operator("Min", "Max"),
    "minima": _operator("Min"),
    "maxima": _operator("Max"),
    "sums": _operator("Add"),
    "products": _operator("Mul"),
    "And, Or and Xor": _operator("And", "Or", "Xor"),
    "exclusive scans": _group("ExclusiveScan"),
    "inclusive scans": _group("InclusiveScan"),
    "reductions": _group("Reduce"),
    "shuffles": lambda name: name.startswith("subgroupShuffle"),
    "broadcasts": lambda name: "Broadcast" in name,
}
"""Sets of operations by their description."""

LISTED = 3
"""Values of an axis that are listed; more are counted."""


class ExecutedCases:
    """The executed cases of a run, by axis.

    `names`: the names of the cases. Cases without an operation are left out.
    """

    def __init__(self, names: Iterable[str]) -> None:
        rows = [axes for name in names if "operation" in (axes := axes_of(name))]
        self._values: dict[str, dict[str, int]] = {}
        self._codes: dict[str, np.ndarray[Any, np.dtype[np.int32]]] = {}
        for axis in ("category", *AXES):
            numbers: dict[str, int] = {}
            codes = (numbers.setdefault(row.get(axis, ""), len(numbers)) for row in rows)
            self._codes[axis] = np.fromiter(codes, np.int32, len(rows))
            self._values[axis] = numbers

    def _with(self, axis: str, values: set[str]) -> Mask:
        """Return which cases have one of some values on an axis."""
        chosen = np.array([name in values for name in self._values[axis]], np.bool_)
        return np.asarray(chosen[self._codes[axis]])

    def compare(self, failed: dict[str, set[str]]) -> dict[str, set[str]]:
        """Return, for each axis, the values that the failed ones are compared with.

        An axis is compared with the cases that share the failed values of all axes that matter. It does not
        matter if all its values fail there: where special data exist only in some patterns and all of these
        fail, the pattern does not matter. Types are compared with those of all data.

        `failed`: the values of the failed cases on each axis.
        """
        matter = {axis: self._with(axis, failed[axis]) for axis in ("category", *AXES)}
        for axis in reversed(AXES):
            if axis != "type" and self._present(axis, _all(matter, axis)) == failed[axis]:
                del matter[axis]
        found = {axis: self._present(axis, _all(matter, axis)) for axis in AXES}
        matter.pop("data", None)
        found["type"] = self._present("type", _all(matter, "type"))
        return found

    def _present(self, axis: str, cases: Mask) -> set[str]:
        """Return the values of some cases on an axis."""
        names = list(self._values[axis])
        return {names[code] for code in np.unique(self._codes[axis][cases])}


def _all(masks: dict[str, Mask], but: str) -> Mask:
    """Return which cases are in all masks but that of one axis."""
    return np.asarray(np.logical_and.reduce([mask for axis, mask in masks.items() if axis != but]))


def describe(failed: Sequence[str], executed: ExecutedCases) -> str:
    """Return one sentence on failed cases: operations, types, and the other axes where not all values fail.

    The failed cases are among the executed ones.
    """
    axes = [axes_of(name) for name in failed]
    if not all("operation" in case for case in axes):
        return f"`{pattern_of(failed)}`: {count_of(failed)}"
    mine = {axis: {case.get(axis, "") for case in axes} for axis in ("category", *AXES)}
    every = executed.compare(mine)
    parts = [_operations(mine["operation"], every["operation"])]
    if types := _types(mine["type"], every["type"]):
        parts[0] += f" of {types}"
    others = (_values(axis, mine[axis], every[axis]) for axis in AXES[2:])
    return f"{', '.join([*parts, *filter(None, others)])}: {count_of(failed)}"


def _values(axis: str, failed: set[str], every: set[str]) -> str:
    """Return the failed values of an axis in words; "" where the axis does not matter."""
    plural = {"data": "data sets"}.get(axis, f"{axis}s")
    if failed == every:
        return f"all {plural}" if axis in ("stage", "pattern") and len(every) > 1 else ""
    if len(failed) > LISTED:
        if len(missing := every - failed) <= LISTED:
            return f"all {plural} but {_listed({value or 'none' for value in missing})}"
        return f"{len(failed)} of {len(every)} {plural}"
    return f"{axis} {_listed({value or 'none' for value in failed})}"


def count_of(cases: Collection[str]) -> str:
    """Return the number of cases with its noun."""
    return "1 case" if len(cases) == 1 else f"{len(cases):,} cases"


def pattern_of(names: Sequence[str]) -> str:
    """Return a glob that matches cases: their parts, ``*`` where they differ."""
    split = [name.split(".") for name in names]
    length = min(map(len, split))
    parts = []
    for at in range(length):
        values = sorted({name[at] for name in split})
        braces = "{" + ",".join(values) + "}"
        parts.append(values[0] if len(values) == 1 else braces if len(values) <= LISTED else "*")
    return ".".join(parts) + ("" if all(len(name) == length for name in split) else ".*")


def _operations(failed: set[str], every: set[str]) -> str:
    if len(failed) <= LISTED:
        return _listed({f"`{name}`" for name in failed})
    if failed == every:
        return f"all {len(every)} operations"
    for text, has in _OPERATION_SETS.items():
        if failed == {name for name in every if has(name)}:
            return f"{text} ({len(failed)} operations)"
    return f"{len(failed)} of {len(every)} operations"


def _types(failed: set[str], every: set[str]) -> str:
    """Return the failed types in words; "" if all types fail."""
    if failed == every:
        return ""
    for text, has in _TYPES.items():
        if failed == {name for name in every if has(name)}:
            return text
    if len(failed) > LISTED:
        return f"{len(failed)} of {len(every)} types"
    return _listed({f"`{name}`" for name in failed})


def _listed(values: Collection[str]) -> str:
    names = sorted(values)
    if len(names) <= LISTED:
        return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"{', '.join(names[:LISTED])} and {len(names) - LISTED} others"
