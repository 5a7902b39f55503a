"""Writes the tables of docs/conformance/suite.md: ``python tests/conformance/operations_page.py``."""

from __future__ import annotations

import re
from pathlib import Path

from vkgroup.conformance.subgroup.cases import subgroup_cases
from vkgroup.conformance.subgroup.operands import CHOICES, OperandChoice, choices
from vkgroup.spec.categories import Category
from vkgroup.spec.operations import SUBGROUP_OPERATIONS, Operation

PAGE = Path(__file__).parents[2] / "docs" / "conformance" / "suite.md"
_KIND = {
    "cluster_size": "`subgroupClustered…`: clusters",
    "ballot": "`subgroupPartitioned…NV`: ballots",
}


def _instructions(operations: list[Operation]) -> int:
    return len({opcode for row in operations for opcode in row.opcodes.values()})


def categories_table() -> str:
    """Return a row for each category: how many functions it has, and what enables it."""
    lines = [
        "| category | bit | functions | instructions | GLSL extension | SPIR-V capability |",
        "|---|---|---|---|---|---|",
    ]
    for category in Category:
        operations = [row for row in SUBGROUP_OPERATIONS.values() if row.category is category]
        lines.append(
            f"| `{category.value}` | {category.bit:#x} | {len(operations)} | {_instructions(operations)} | "
            f"`{category.extension}` | `{category.capability}` |"
        )
    return "\n".join(lines)


def _operations_of(family: dict[str, OperandChoice]) -> list[str]:
    """Return the operations that have a family of choices."""
    return [name for name in SUBGROUP_OPERATIONS if choices(name) is family]


def _mark(family: dict[str, OperandChoice], operand: OperandChoice) -> str:
    """Return the Markdown style of a choice's name, which says how much it is combined with."""
    if operand.narrow:
        return "*"
    operation = _operations_of(family)[0]
    met = (case for case in subgroup_cases() if (case.operation, case.operand) == (operation, operand.name))
    return "**" if any(case.subgroup_size for case in met) else ""


def kind_of(operand: OperandChoice) -> str:
    """Return the column of an operand."""
    if operand.specialized:
        return "specialization constant"
    if operand.literal is not None:
        return "constant"
    return "dynamically uniform" if operand.uniform or operand.leader else "per lane"


def operands_table() -> str:
    """Return a row for each operation that has choices, by kind."""
    kinds = ("constant", "specialization constant", "dynamically uniform", "per lane")
    lines = [f"| operation | {' | '.join(kinds)} |", "|---|---|---|---|---|"]
    for family, found in CHOICES.items():
        cells: dict[str, list[str]] = {kind: [] for kind in kinds}
        for operand in found.values():
            mark = _mark(found, operand)
            cells[kind_of(operand)].append(f"{mark}`{operand.name}`{mark}")
        row = " | ".join(", ".join(cell) or "·" for cell in cells.values())
        names = _KIND.get(family) or ", ".join(f"`{name}`" for name in _operations_of(found))
        lines.append(f"| {names} | {row} |")
    return "\n".join(lines)


def page(text: str) -> str:
    """Return the page with its tables made anew."""
    for name, table in (("categories", categories_table()), ("operands", operands_table())):
        pattern = f"(<!-- {name} -->\n).*?(<!-- end -->)"
        text = re.sub(pattern, lambda match, t=table: f"{match[1]}{t}\n{match[2]}", text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
