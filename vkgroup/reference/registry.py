"""The reference function of each row of the tables in `vkgroup.spec`."""

from __future__ import annotations

from functools import partial
from inspect import cleandoc

from vkgroup.reference.semantics import ballot, basic, groups, shuffle, thread_group
from vkgroup.reference.semantics.groups import OPERATORS, clustered, partitioned, reduce, scan
from vkgroup.reference.semantics.lanes import DEFINITIONS, SHARED, Reference
from vkgroup.spec.operations import SUBGROUP_OPERATIONS, Operation
from vkgroup.spec.sentences import SENTENCES

MODULES = (ballot, basic, groups, shuffle, thread_group)
"""The modules whose functions define built-ins."""


def reference_of(name: str) -> Reference:
    """Return the function that computes a built-in of GLSL, ``"subgroupAdd"`` or ``"gl_SubgroupSize"``.

    Raises KeyError if no function computes it.
    """
    function = DEFINITIONS.get(name) or SHARED.get(name)
    return function or _reduction(SUBGROUP_OPERATIONS[name])


def _reduction(row: Operation) -> Reference:
    """Return the function of a reduction or scan in a subgroup, its clusters or a partition."""
    group = row.group_operation
    if row.operator is None or group is None:
        raise KeyError(f"{row.name} has no function with @defines({row.name!r})")
    operator = OPERATORS[row.operator]
    if group == "Reduce":
        return partial(reduce, operator)
    if group == "ClusteredReduce":
        return partial(clustered, operator)
    if group.startswith("Partitioned"):
        return partial(partitioned, operator, group.removeprefix("Partitioned").removesuffix("NV"))
    return partial(scan, operator, group)


def specification_of(name: str) -> str:
    """Return the defining sentence of a built-in, its place in the document, and notes on its function."""
    if name in DEFINITIONS:
        return cleandoc(DEFINITIONS[name].__doc__ or "")
    sentence = SENTENCES[name]
    return f"“{sentence.text}”\n\n{sentence.place}."
