"""Cases of reported constructs: they pass on drivers, and find the error of the report when it is planted."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import vkgroup.conformance as conformance
from vkgroup.conformance import Status, reported, select
from vkgroup.workers.opening import select as select_device

_VECTOR = re.compile(r"v\[(\w+ / \du)\]\[(\w+ % \du)\] = x;")
_SWITCH = re.compile(r"v\[(\w+ / \du)\]\.([xyzw]) = x;")


def _whole_vectors(text: str) -> str:
    """Read, change and write the whole vector in place of a component; all read before the first writes."""
    if (found := _SWITCH.search(text)) is not None:
        text = text.replace("switch (", f"VECTOR w = v[{found[1]}]; switch (")
    text = _VECTOR.sub(r"{ VECTOR w = v[\1]; w[\2] = x; v[\1] = w; }", text)
    text = _SWITCH.sub(r"w.\2 = x; v[\1] = w;", text)
    return text.replace("VECTOR", "uvec4" if "uvec4 v[" in text else "uvec2")


def _late_stores(text: str) -> str:
    """Move the stores behind the atomics."""
    store, barrier, atomic = r"(for \(uint k.*= 0u;)\n", r"( *subgroupBarrier\(\);\n)", r"( *atomicAdd.*;\n)"
    return re.sub(store + barrier + atomic, r"\3\2\1\n", text)


def _early_load(text: str) -> str:
    """Move the load before the store."""
    text = text.replace("if (subgroupElect())", "uint early = s[gl_SubgroupID]; if (subgroupElect())")
    return text.replace("result = s[gl_SubgroupID] ^", "result = early ^")


def _first_word(text: str) -> str:
    """Leave out what a mask has beyond the first word."""
    return re.sub(r"gl_Subgroup(\w\w)Mask", r"(gl_Subgroup\1Mask & uvec4(~0u, 0u, 0u, 0u))", text)


#: By test: the error of the report, as a wrong translation of the shader.
PLANTED: dict[str, Callable[[str], str]] = {
    # Both branches have one operation, as they were merged.
    "group_branch.shuffle_xor": lambda text: text.replace("ShuffleXor(x, 2u)", "ShuffleXor(x, 1u)"),
    "group_branch.reduction": lambda text: text.replace("subgroupMax", "subgroupAdd"),
    "component_writes": _whole_vectors,
    # The length is that of the constant's default.
    "spec_length": lambda text: re.sub(r"const uint LENGTH = .*;\n", "const uint LENGTH = 64u;\n", text),
    # The index counts as uniform.
    "quad_index": lambda text: text.replace("| other", "| subgroupShuffle(other, 0u)"),
    "barrier_atomics": _late_stores,
    "store_shuffle_load": _early_load,
    "masks": _first_word,
}


#: The cases of the table; those of matrices have a test file of their own.
FILTERS = tuple(f"reported.compute.{test}*" for test in reported.TESTS)


def _planted(name: str) -> str:
    """Return the error for a case, by the beginning of its name without category and stage."""
    part = name.removeprefix("reported.compute.")
    (key,) = (key for key in PLANTED if part == key or part.startswith(f"{key}."))
    return key


def _statuses(device: str, filters: tuple[str, ...] = FILTERS) -> dict[str, Status]:
    run = conformance.run(select_device(device), filters=filters, isolate=False)
    return {result.case: result.status for result in run.results}


@pytest.mark.parametrize("device", ["swiftshader", "lavapipe", "reference:4", "reference:64"])
def test_all_pass(device: str, request: pytest.FixtureRequest) -> None:
    if not device.startswith("reference"):
        request.getfixturevalue(device)
    statuses = _statuses(device)
    assert set(statuses.values()) <= {Status.PASS, Status.NOT_SUPPORTED}
    assert sum(status == Status.PASS for status in statuses.values()) >= 23


def test_every_test_has_a_planted_error() -> None:
    assert {_planted(case.name) for case in select(FILTERS)} == set(PLANTED)
    assert {key.partition(".")[0] for key in PLANTED} == set(reported.TESTS)


def test_each_case_finds_the_error_of_its_report(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = reported.source_of

    def wrong(case: reported.ReportedCase) -> str:
        text = PLANTED[_planted(case.name)](honest(case))
        assert text != honest(case), case.name
        return text

    monkeypatch.setattr(reported, "source_of", wrong)
    missed = [name for name, status in _statuses("reference:64").items() if status != Status.FAIL]
    # One bit of each lane beyond the first word is lost, so every mask differs at this size.
    assert missed == []
