"""Coverage of the Khronos suite (VK-GL-CTS) by group, and cases beyond it: a page of the site.

``python -m vkgroup.conformance.coverage`` prints the page. With files, it uses the names in these.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from vkgroup.base.files import read_text
from vkgroup.conformance.caselist import listed, matches
from vkgroup.conformance.families import all_cases, cases_by_name, family_of
from vkgroup.conformance.family import AnyCase
from vkgroup.conformance.khronos import PREFIX, map_name
from vkgroup.conformance.subgroup.cases import Case

_SHOWN_PATTERNS = 4

_DEPTHS = {"memory_model": 2, "glsl": 2, "compute": 3, "spirv_assembly": 5}
"""Parts of a group's name in suites whose names are long."""


@dataclass
class KhronosGroup:
    """One group of the Khronos suite, and the cases it maps to."""

    name: str  # ``"subgroups.arithmetic.compute"``
    #: `names`, `mapped`: names of the list in this group, and those of them with a counterpart.
    names: int = 0
    mapped: int = 0
    cases: set[str] = field(default_factory=set)  # our cases that they map to


def group_of(name: str) -> str:
    """Return the group of a Khronos name: the name without its last part or its seeds."""
    parts = name.removeprefix(PREFIX).split(".")
    if parts[0] in _DEPTHS:
        return ".".join(parts[: _DEPTHS[parts[0]]])
    if parts[0] == "reconvergence" and len(parts) > 4:
        return ".".join(parts[:-2])
    return ".".join(parts[:-1])


def groups_of(names: Iterable[str]) -> list[KhronosGroup]:
    """Return the groups of the names, in order of first appearance, each with the corresponding cases."""
    groups: dict[str, KhronosGroup] = {}
    for name in names:
        key = group_of(name)
        group = groups.setdefault(key, KhronosGroup(key))
        matched = matches(map_name(name).globs)
        group.names += 1
        group.mapped += bool(matched)
        group.cases.update(matched)
    return list(groups.values())


def additions(cases: Sequence[AnyCase]) -> str:
    """Return the axes of a group's cases that Khronos names lack: patterns, data, operands, shapes."""
    own = [case for case in cases if isinstance(case, Case) and not case.is_spelled]
    parts = []
    patterns = sorted({case.pattern for case in own} - {"all"})
    if patterns:
        more = f" and {len(patterns) - _SHOWN_PATTERNS} more" if len(patterns) > _SHOWN_PATTERNS else ""
        parts.append(f"active invocations {', '.join(patterns[:_SHOWN_PATTERNS])}{more}")
    data = sorted({case.data for case in own} - {"exact"})
    if data:
        parts.append(f"{' and '.join(data)} data")
    operands = {case.operand for case in own} - {""}
    if len(operands) > 1:
        parts.append(f"{len(operands)} operands")
    shapes = sorted({case.shape for case in own} - {"1d"})
    if shapes:
        parts.append(f"shapes {', '.join(shapes)}")
    sizes = {case.subgroup_size for case in own} - {0}
    if len(sizes) > 1:
        parts.append(f"{len(sizes)} required sizes")
    others = sorted({family_of(case).name.partition(".")[0] for case in cases} - {"subgroup"})
    parts += [f"family `{name}`" for name in others]
    return "; ".join(parts)


_HEAD = """# What is covered of Khronos' suite

Made by `python -m vkgroup.conformance.coverage` from the lists of VK-GL-CTS (2026-07), by the rule that
`vkgroup conform --caselist F` applies (`vkgroup/conformance/khronos.py`). Names that stay outside are counted
[elsewhere](suite.md#case-lists-of-khronos-suite). A name maps to the cases here that test the same operation,
type, stage and required size. One of Khronos' names executes one shader in uniform control flow, or in one
branch, on data of one kind; the column *ours add* says what its counterparts vary beside that. In every case
lanes whose result the specification leaves open are counted as undefined and not compared, each module is
validated, and each wrong lane is shown with its inputs, the active mask and what was expected.

"""


def page(names: Sequence[str]) -> str:
    """Return the page on the coverage of a list of names, as Markdown."""
    groups = groups_of(names)
    by_name = cases_by_name()
    met = set().union(*(group.cases for group in groups))
    mapped = sum(group.mapped for group in groups)
    lines = [
        f"{mapped:,} of {len(names):,} names map to {len(met):,} of the {len(all_cases()):,} cases.\n",
        "| group | Khronos' names | mapped | our cases | ours add |",
        "|---|---|---|---|---|",
    ]
    for group in groups:
        adds = additions([by_name[name] for name in sorted(group.cases)])
        lines.append(
            f"| `{group.name}` | {group.names:,} | {group.mapped:,} | {len(group.cases):,} | {adds} |"
        )
    return _HEAD + "\n".join(lines) + "\n\n" + _beyond(met)


def _beyond(met: set[str]) -> str:
    """Return the section on cases that no Khronos name maps to, by category."""
    counts: dict[str, int] = {}
    for case in all_cases():
        if case.name not in met:
            counts[case.category] = counts.get(case.category, 0) + 1
    rows = [f"| `{category}` | {count:,} |" for category, count in sorted(counts.items())]
    head = "## What no name there asks for\n\n| category | cases |\n|---|---|\n"
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    given = [name for file in sys.argv[1:] for name in read_text(file).split()]
    sys.stdout.write(page(given or listed()))
