"""Topic `list`: what the list of combinations itself must be like, and which of it has cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from vkgroup.conformance.comparison import Verdict
from vkgroup.conformance.cooperative_matrix.case import MatrixCase, listed, matrix_case
from vkgroup.conformance.cooperative_matrix.component import COMBINATIONS
from vkgroup.device import Capabilities, CooperativeMatrix
from vkgroup.results.record import Status

TOPIC = "list"


def _power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def _sizes(capabilities: Capabilities) -> str:
    """VkCooperativeMatrixPropertiesKHR: one entry at least has powers of two for M, N and K."""
    rows = capabilities.cooperative_matrices
    if any(all(map(_power_of_two, (row.m, row.n, row.k))) for row in rows):
        return ""
    return "no entry of the list has powers of two for MSize, NSize and KSize"


def _scope(capabilities: Capabilities) -> str:
    """VkCooperativeMatrixPropertiesKHR: the scope is the subgroup, but for the workgroup's feature."""
    if "cooperativeMatrixWorkgroupScope" in capabilities.features:
        return ""
    others = {row.scope for row in capabilities.cooperative_matrices} - {"SUBGROUP"}
    return f"the list has the scope {', '.join(sorted(others))}" if others else ""


def _described(row: CooperativeMatrix) -> str:
    types = "/".join((row.a_type, row.b_type, row.c_type, row.result_type))
    return f"{row.m}×{row.n}×{row.k} {types}{' saturating' if row.saturating else ''} ({row.scope})"


def unjudged(capabilities: Capabilities) -> list[str]:
    """Return the entries of a device's list that no case of `multiply_add` judges."""
    judged = {id(row) for kind, row in listed(capabilities) if kind.name in COMBINATIONS}
    return [_described(row) for row in capabilities.cooperative_matrices if id(row) not in judged]


_TESTS: dict[str, tuple[Callable[[Capabilities], str], str]] = {
    "sizes": (_sizes, "The list of combinations has an entry whose sizes are powers of two."),
    "scope": (_scope, "The list of combinations has the subgroup's scope only, unless others are declared."),
}


def cases() -> Iterator[MatrixCase]:
    """Yield the cases."""
    for test, (_, sentence) in _TESTS.items():
        yield matrix_case(TOPIC, (), (test,), sentence)
    yield matrix_case(
        TOPIC, (), ("known",), "Every entry of the list of combinations has cases; what has none is told."
    )


def judge(case: MatrixCase, capabilities: Capabilities) -> Verdict:
    """Judge a device's list."""
    count = len(capabilities.cooperative_matrices)
    (test,) = case.axes.variant
    if test == "known":
        left = unjudged(capabilities)
        note = f"{count - len(left)} of {count} entries have cases"
        if left:
            return Verdict(Status.UNDEFINED, count - len(left), len(left), f"{note}; not: {', '.join(left)}")
        return Verdict(Status.PASS, count, 0, note)
    fault = _TESTS[test][0](capabilities)
    return Verdict(Status.FAIL if fault else Status.PASS, count, 0, fault)
