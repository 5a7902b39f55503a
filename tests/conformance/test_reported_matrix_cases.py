"""Products of matrices beside subgroup operations: they pass, and find an error that no older case finds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from mutants.rewriting import instructions, rewritten
from suite_runs import matching, results_of

from vkgroup.conformance import Status, reported_matrices
from vkgroup.dispatch.reference.capabilities import capabilities_of
from vkgroup.record.record import Result
from vkgroup.spirv import Module, grammar

CASES = matching("reported.compute.matrix_operations.*")
MULTIPLY, COPY_OBJECT, ADD = (
    grammar().opcodes[f"Op{name}"]
    for name in ("CooperativeMatrixMulAddKHR", "CopyObject", "GroupNonUniformIAdd")
)


def beside_operations(data: bytes) -> bytes:
    """Lose products in modules that also have subgroup operations other than the basic ones."""
    capabilities = Module.from_bytes(data).reflection.capabilities
    more = {name for name in capabilities if name.startswith("GroupNonUniform")} - {"GroupNonUniform"}
    if "CooperativeMatrixKHR" not in capabilities or not more:
        return data
    return rewritten(data, lambda i: [[COPY_OBJECT, i[1], i[2], i[5]]] if i[0] == MULTIPLY else [i])


def statuses(results: list[Result]) -> set[Status]:
    return {result.status for result in results}


@pytest.mark.parametrize("size", [4, 32, 64])
def test_all_pass(size: int) -> None:
    assert len(CASES) == 8
    assert statuses(results_of(f"reference:{size}", CASES)) == {Status.PASS}


@pytest.mark.parametrize("size", [4, 32, 64])
def test_all_find_a_product_that_is_lost_beside_operations(size: int) -> None:
    found = results_of(f"reference:{size}", CASES, transform=beside_operations)
    assert statuses(found) == {Status.FAIL}
    assert all("of the product: expected" in result.detail for result in found)


def test_no_older_case_finds_it() -> None:
    """Those of matrices have no such operations, and those of operations no matrices."""
    changed = []

    def watched(data: bytes) -> bytes:
        module = beside_operations(data)
        changed.append(module != data)
        return module

    older = [*matching("cooperative_matrix.*")[::60], *matching("arithmetic.compute.subgroupAdd.uint.*")]
    older += [case for case in matching("reported.*") if case not in CASES][::3]
    older += matching("ballot.compute.*.uint.all*")
    results = results_of("reference:32", older, transform=watched)
    assert statuses(results) <= {Status.PASS, Status.NOT_SUPPORTED, Status.UNDEFINED}
    assert len(changed) > 20
    assert not any(changed)


def test_an_operation_that_is_wrong_beside_products_is_found() -> None:
    def halved(data: bytes) -> bytes:
        """Let reductions be those of one lane."""
        return rewritten(data, lambda i: [[COPY_OBJECT, i[1], i[2], i[5]]] if i[0] == ADD else [i])

    cases = [case for case in CASES if ".arithmetic." in case.name]
    assert statuses(results_of("reference:32", cases, transform=halved)) == {Status.FAIL}


def test_what_a_device_lacks_is_named() -> None:
    family = reported_matrices.REPORTED_MATRICES
    reference = capabilities_of(32)
    assert family.missing(CASES[0], replace(reference, features=frozenset())) == ["cooperativeMatrix"]
    (without,) = family.missing(CASES[0], replace(reference, cooperative_matrices=()))
    assert without == "a cooperative matrix product of the types f16, f16, f32, f32"


def test_the_module_of_the_report_has_both_capabilities() -> None:
    modules = []
    results_of("reference:32", CASES, transform=lambda data: modules.append(data) or data)
    both = {"CooperativeMatrixKHR", "GroupNonUniformArithmetic"}
    found = [Module.from_bytes(data).reflection.capabilities for data in modules]
    assert sum(both <= capabilities for capabilities in found) == 2
    assert all(any(i[0] == MULTIPLY for i in instructions(data)) for data in modules)
