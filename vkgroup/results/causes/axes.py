"""Axes of case names, and the description of a set of cases by the axes that matter."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from vkgroup.spec.categories import Category
from vkgroup.spec.extended_operations import SUBGROUP_OPERATIONS
from vkgroup.spec.stages import STAGE_NAMES
from vkgroup.spec.types import LONG_TYPES, TYPES, GlslType

_ALL_TYPES = {**TYPES, **LONG_TYPES}

Axes = dict[str, str]
"""The values of a case by axis, in the order of its name."""

TABLE_AXES = ("category", "stage", "operation", "type", "pattern", "data")
"""Axes of cases of subgroup operations; the name then has an operand, a shape and a size where they apply."""

_AXES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys([*(category.value for category in Category), "hlsl"], TABLE_AXES),
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
    "all operations": lambda name: True,
}
"""Sets of operations by their description."""

LISTED = 3
"""Values of an axis that are listed; more are counted."""


def describe(failed: Sequence[str], executed: Iterable[str]) -> str:
    """Return one sentence on failed cases: operations, types, and the other axes where not all values fail.

    An axis is compared with the cases that share the values of the axes before it: if special data exist only
    in some patterns and all of these fail, the sentence says "all patterns".

    `executed` are the names of all executed cases.
    """
    axes = [axes_of(name) for name in failed]
    categories = {case["category"] for case in axes}
    if not all("operation" in case for case in axes):
        return f"`{pattern_of(failed)}`: {count_of(failed)}"
    operations = {case["operation"] for case in axes}
    every_operation, same = _relatives(executed, categories, operations)
    parts = [_operations(operations, every_operation)]
    if types := _types(*({case.get("type", "") for case in group} for group in (axes, same))):
        parts[0] += f" of {types}"
    failed_types = {case.get("type", "") for case in axes}
    same = [other for other in same if other.get("type", "") in failed_types]
    for axis in ("data", "stage", "pattern", "operand", "shape", "size"):
        mine, every = ({case.get(axis, "") for case in group} for group in (axes, same))
        if text := _values(axis, mine, every):
            parts.append(text)
        same = [other for other in same if other.get(axis, "") in mine]
    return f"{', '.join(parts)}: {count_of(failed)}"


def _relatives(
    executed: Iterable[str], categories: set[str], operations: set[str]
) -> tuple[set[str], list[Axes]]:
    """Return the operations of the executed cases of categories, and the axes of those of some operations."""
    every, same = set(), []
    for name in executed:
        category, _, rest = name.partition(".")
        if category not in categories:
            continue
        operation = rest.partition(".")[2].partition(".")[0]
        if operation in operations:
            same.append(axes_of(name))
        elif operation not in every and "operation" not in axes_of(name):
            continue
        every.add(operation)
    return every, same


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
    for text, has in _OPERATION_SETS.items():
        if failed == {name for name in every if has(name)}:
            return f"{text} ({len(failed)} operations)"
    return f"{_listed({f'`{name}`' for name in failed})}"


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
