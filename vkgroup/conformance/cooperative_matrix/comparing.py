"""Comparison of the elements of matrices: every bit, or the range that Vulkan's precision allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from vkgroup.conformance import evidence
from vkgroup.conformance.arrays import Flags
from vkgroup.conformance.comparison import Description, Verdict, verdict_of
from vkgroup.conformance.cooperative_matrix.case import Array
from vkgroup.conformance.cooperative_matrix.program import POISON, Matrix, OutputComparison, Outputs
from vkgroup.record.record import Status
from vkgroup.reference.interpreter.operations.precision import legal_range
from vkgroup.spirv import ScalarType

_SHOWN = 3


def _compared(undefined: int, wrong: Flags, expected: Array, got: Array) -> Verdict:
    """Return the verdict on elements, (UNITS, rows, columns) each."""

    def line(index: tuple[int, ...]) -> str:
        unit, row, column = index
        where = f"subgroup {unit} row {row} column {column}"
        texts = (evidence.text_of(values[index]) for values in (expected, got))
        return f"{where}: expected {' got '.join(texts)}"

    def shown(wrong: Flags) -> dict[str, Any]:
        rows = {"expected": expected, "got": got}
        return evidence.of_values("", rows, wrong, ("subgroup", "row", "column"))

    description = Description("elements", line, shown, shown=_SHOWN)
    return verdict_of(
        wrong, description, defined=wrong.size - undefined, undefined=undefined, total=wrong.size
    )


def exactly(
    matrix: Matrix, expected: Array, *, defined: Flags | None = None, untouched: bool = True
) -> OutputComparison:
    """Return a function that compares every bit of a matrix, (UNITS, rows, columns), where defined.

    If `untouched`, the memory between and after the rows must be unchanged.
    """
    component, places = matrix.component, matrix.placement.elements

    def compare(outputs: Outputs) -> Verdict:
        words = matrix.words(outputs)
        wanted = component.stored(expected).view(f"u{component.size}")
        wrong = words[:, places] != wanted
        if defined is not None:
            wrong &= defined
        undefined = 0 if defined is None else int((~defined).sum())
        numbers = component.read(wanted.view(np.uint8))
        verdict = _compared(undefined, wrong, numbers, matrix.numbers(outputs))
        if untouched and verdict.status != Status.FAIL:
            rest = words.copy()
            rest[:, places] = int.from_bytes(bytes([POISON]) * component.size, "little")
            touched = np.argwhere(rest.view(np.uint8) != POISON)
            if len(touched):
                unit, byte = touched[0]
                detail = f"subgroup {unit}: byte {byte}, outside of the matrix, was written"
                return replace(verdict, status=Status.FAIL, detail=detail)
        return verdict

    return compare


def in_range(matrix: Matrix, instruction: str, operands: list[Array], expected: Array) -> OutputComparison:
    """Return a function that compares floats with the range that Vulkan's precision allows."""
    scalar = ScalarType("float", matrix.component.size * 8)

    def compare(outputs: Outputs) -> Verdict:
        got = matrix.numbers(outputs)
        legal = legal_range(instruction, scalar, operands, expected)
        anything = np.isneginf(legal.low) & np.isposinf(legal.high)
        wrong = ~((got >= legal.low) & (got <= legal.high)) & ~anything
        return _compared(int(anything.sum()), wrong, expected, got)

    return compare
