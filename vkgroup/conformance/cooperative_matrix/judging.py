"""Comparing the elements of matrices with what the specification requires of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags
from vkgroup.conformance.comparison import Description, verdict_of
from vkgroup.conformance.cooperative_matrix.component import Array, Component
from vkgroup.conformance.cooperative_matrix.place import Placement
from vkgroup.conformance.cooperative_matrix.program import POISON, UNITS, Bytes, Finding
from vkgroup.reference.interpreter.operations.precision import legal_range
from vkgroup.spirv import ScalarType

_SHOWN = 3


def _found(undefined: int, wrong: Flags, expected: Array, got: Array) -> Finding:
    """Return the result of comparing elements: (UNITS, rows, columns) each."""

    def line(index: tuple[int, ...]) -> str:
        unit, row, column = index
        where = f"subgroup {unit} row {row} column {column}"
        return f"{where}: expected {expected[index]} got {got[index]}"

    def shown(wrong: Flags) -> dict[str, Any]:
        rows = {"expected": expected, "got": got}
        return evidence.of_values("", rows, wrong, ("subgroup", "row", "column"))

    verdict = verdict_of(
        wrong,
        Description("elements", line, shown, shown=_SHOWN),
        defined=wrong.size - undefined,
        undefined=undefined,
        total=wrong.size,
    )
    return Finding(verdict.defined, undefined, verdict.detail, evidence=verdict.evidence)


def elements(component: Component, memory: Bytes, placement: Placement) -> Array:
    """Return the numbers of a matrix in memory: (UNITS, bytes) to (UNITS, rows, columns)."""
    words = np.ascontiguousarray(memory).view(f"u{component.size}")[:, placement.elements]
    return component.read(np.ascontiguousarray(words).view(np.uint8))


def exactly(
    component: Component,
    memory: Bytes,
    placement: Placement,
    expected: Array,
    *,
    defined: Flags | None = None,
    untouched: bool = False,
) -> Finding:
    """Compare every bit of a matrix in memory.

    Parameters
    ----------
    memory : (UNITS, bytes) what is there.
    expected : (UNITS, rows, columns) numbers.
    defined : the same shape; None where all are.
    untouched : whether the memory between and behind the rows must still hold what it held before.
    """
    words = np.ascontiguousarray(memory).view(f"u{component.size}")
    wanted = component.stored(expected).view(f"u{component.size}")
    wrong = words[:, placement.elements] != wanted
    if defined is not None:
        wrong &= defined
    undefined = 0 if defined is None else int((~defined).sum())
    got = elements(component, memory, placement)
    found = _found(undefined, wrong, component.read(wanted.view(np.uint8)), got)
    if untouched and not found.wrong:
        rest = words.copy()
        rest[:, placement.elements] = int.from_bytes(bytes([POISON]) * component.size, "little")
        touched = np.argwhere(rest.view(np.uint8) != POISON)
        if len(touched):
            unit, byte = touched[0]
            return replace(found, wrong=f"subgroup {unit}: byte {byte}, outside of the matrix, was written")
    return found


def in_range(
    component: Component,
    memory: Bytes,
    placement: Placement,
    instruction: str,
    operands: list[Array],
    expected: Array,
) -> Finding:
    """Compare floats with what Vulkan's precision lets come out of an instruction.

    Parameters
    ----------
    operands, expected : (UNITS, rows, columns): what it was given, and the result of one exact rounding.
    """
    got = elements(component, memory, placement)
    legal = legal_range(instruction, ScalarType("float", component.size * 8), operands, expected)
    anything = np.isneginf(legal.low) & np.isposinf(legal.high)
    wrong = ~((got >= legal.low) & (got <= legal.high)) & ~anything
    return _found(int(anything.sum()), wrong, expected, got)


def together(*findings: Finding) -> Finding:
    """Return several findings as one: what is wrong with the first that is wrong."""
    return Finding(
        sum(finding.defined for finding in findings),
        sum(finding.undefined for finding in findings),
        next((finding.wrong for finding in findings if finding.wrong), ""),
        next((finding.note for finding in findings if finding.note), ""),
        next((finding.evidence for finding in findings if finding.wrong), None),
    )


def in_place(component: Component, placement: Placement, numbers: Array, around: Array) -> Array:
    """Return memory that holds a matrix among other elements.

    Parameters
    ----------
    numbers : (UNITS, rows, columns).
    around : (UNITS, at least `placement.extent`) what is in the places that are not the matrix's.
    """
    memory = component.stored(around[:, : placement.extent])
    memory[:, placement.elements] = component.stored(numbers)
    assert len(memory) == UNITS
    return memory
