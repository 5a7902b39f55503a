"""`vkgroup check --barriers`: which barriers and atomics the runs of a shader need."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vkgroup.check import CheckRequest, Guarantees, barriers, perform
from vkgroup.check.report import BarrierResult, BarrierVerdict

Written = Callable[..., Path]
Checked = Callable[..., dict[str, Any]]

_START = """#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 128) in;
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) buffer B { uint b[]; };
layout(binding = 2) buffer C { uint c[]; };
layout(push_constant) uniform P { uint rounds; };
shared uint part[128];
shared uint count;
void main() {
uint i = gl_LocalInvocationIndex, g = gl_GlobalInvocationID.x, w = gl_WorkGroupID.x;
"""
_BODY = _START.count("\n") + 1
"""The line at which the body of a shader begins."""


def _results(written: Written, body: str, **parameters: Any) -> list[BarrierResult]:
    shader = written(f"{_START}{body}\n}}\n")
    return list(perform(CheckRequest(shader, barriers=True, **parameters)).barriers)


_NEEDED = "part[i] = a[g];\nbarrier();\nb[g] = part[127u - i];"


@pytest.mark.parametrize(
    ("body", "verdict", "words"),
    [
        (_NEEDED, BarrierVerdict.SMALLER, "smaller than 128"),
        ("b[g] = a[g];\nbarrier();", BarrierVerdict.UNNEEDED, "no run needs this barrier"),
        ("part[i] = a[g];\nbarrier();\nb[g] = part[i];", BarrierVerdict.UNNEEDED, "no run needs"),
        (
            "part[i] = a[g];\nsubgroupBarrier();\nb[g] = part[i];",
            BarrierVerdict.UNNEEDED,
            "no run needs this subgroup barrier",
        ),
        (
            "if (a[g] > 1000000u)\nsubgroupMemoryBarrier();\nb[g] = 1u;",
            BarrierVerdict.UNDECIDED,
            "not executed",
        ),
    ],
)
def test_a_barrier_has_the_right_verdict(
    written: Written, body: str, verdict: BarrierVerdict, words: str
) -> None:
    (result,) = _results(written, body)
    assert (result.verdict, result.place.line) == (verdict, _BODY + 1)
    assert words in result.text
    assert bool(result.error) == (verdict == BarrierVerdict.SMALLER)


def test_a_needed_barrier_has_the_race_that_appears_and_its_sizes(written: Written) -> None:
    (result,) = _results(written, _NEEDED, sizes=(8, 32))
    assert (result.verdict, result.sizes) == (BarrierVerdict.NEEDED, (8, 32))
    assert result.error.startswith("race: ")
    assert f"line {_BODY + 2} and {_BODY}" in result.error


def test_exchange_within_32_needs_the_barrier_only_below_32(written: Written) -> None:
    """Lanes in order: a subgroup of 32 or 64 holds the 32 invocations that exchange values."""
    body = "part[i] = a[g];\nbarrier();\nb[g] = part[i ^ 31u];"
    shader = written(f"{_START}{body}\n}}\n")
    request = CheckRequest(shader, barriers=True, host=Guarantees(linear_lanes=True))
    (result,) = perform(request).barriers
    assert (result.verdict, result.sizes) == (BarrierVerdict.SMALLER, (1, 4, 8, 16))
    assert "smaller than 32" in result.text


@pytest.mark.parametrize(
    ("body", "enough"),
    [
        # The barrier orders execution, and the atomics need no order of memory.
        (
            "if (i == 0u) atomicStore(count, 0u, gl_ScopeWorkgroup, 0, 0);\nbarrier();\n"
            "atomicAdd(count, 1u, gl_ScopeWorkgroup, 0, 0); barrier(); b[w] = count;",
            "a barrier of execution alone",
        ),
        (
            "part[i] = a[g];\n"
            "controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsShared, 0x8);\n"
            "b[g] = 1u;",
            "",
        ),
    ],
)
def test_a_weaker_barrier_can_be_enough(written: Written, body: str, enough: str) -> None:
    results = _results(written, body)
    result = next(each for each in results if each.name == "barrier")
    if enough:
        assert (result.verdict, enough in result.text) == (BarrierVerdict.WEAKER, True)
    else:
        assert result.verdict == BarrierVerdict.UNNEEDED


def test_the_scope_of_an_atomic_must_contain_all_that_use_it(written: Written) -> None:
    counting, own = _results(written, "atomicAdd(c[0], a[g]);\natomicAdd(b[w], a[g]);", groups=(4, 1, 1))
    assert (counting.verdict, own.verdict) == (BarrierVerdict.NEEDED, BarrierVerdict.WEAKER)
    assert "workgroup's scope is enough" in own.text
    assert "race" in counting.error


def test_semantics_that_publish_data_are_needed_and_others_are_not(written: Written) -> None:
    body = (
        "if (i == 0u) { b[w] = a[w];\n"
        "uint before = atomicAdd(c[0], 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer, 0x8);\n"
        "if (before == 3u) { uint t = 0u; for (uint k = 0u; k < 4u; k++) t += b[k]; b[4] = t; } }\n"
        "atomicAdd(c[1], 1u, gl_ScopeDevice, gl_StorageSemanticsBuffer, 0x8);"
    )
    publishing, counting = _results(written, body, groups=(4, 1, 1), inputs={"C": np.zeros(2, np.uint32)})
    assert publishing.verdict == BarrierVerdict.NEEDED
    assert (counting.verdict, counting.text) == (
        BarrierVerdict.WEAKER,
        "relaxed semantics is enough for this atomic",
    )


def test_a_barrier_between_rounds_is_undecided_until_there_are_two(written: Written) -> None:
    body = (
        "for (uint r = 0u; r < rounds; r++) { part[i] = a[g] + r; barrier();\n"
        "b[g] = part[127u - i];\nbarrier(); }"
    )
    once = _results(written, body, push={"rounds": 1}, sizes=(32,))[1]
    assert (once.verdict, "only one round" in once.text) == (BarrierVerdict.UNDECIDED, True)
    twice = _results(written, body, push={"rounds": 2}, sizes=(32,))[1]
    assert (twice.verdict, "race" in twice.error) == (BarrierVerdict.NEEDED, True)


def test_code_that_did_not_run_leaves_it_open(written: Written) -> None:
    body = "b[g] = a[g];\nbarrier();\nif (a[g] == 77u) c[g] = b[g ^ 1u];"
    (result,) = _results(written, body, inputs={"A": np.zeros(512, np.uint32)})
    assert result.verdict == BarrierVerdict.UNDECIDED
    assert f"do not execute line {_BODY + 2}" in result.text


def test_an_atomic_that_meets_no_other_is_undecided(written: Written) -> None:
    (result,) = _results(written, "atomicAdd(b[g], 1u);")
    assert (result.verdict, result.text) == (
        BarrierVerdict.UNDECIDED,
        "a plain access is enough in these runs: give inputs with which invocations use one element",
    )


def test_what_the_limit_of_work_leaves_out_is_said(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(barriers, "_BUDGET", 0)
    first, second = _results(written, f"{_NEEDED}\nbarrier();\nc[g] = part[i];")
    assert first.verdict == second.verdict == BarrierVerdict.UNDECIDED
    assert "limit of work" in second.text


def test_the_command_prints_each_barrier_and_keeps_the_exit_code(checked: Checked, written: Written) -> None:
    right, wrong = _NEEDED, f"{_NEEDED}\nbarrier();\nb[g] += subgroupAdd(1u);"
    for body, code in ((right, 0), (wrong, 1)):
        shader = written(f"{_START}{body}\n}}\n")
        assert checked(shader)["code"] == code
        report = checked(shader, "--barriers")
        assert report["code"] == code
        assert report["barriers"][0]["verdict"] == "needed at smaller sizes"
        assert f"{_BODY + 1} | barrier();" in report["text"]
        assert "barriers and atomics: 1 needed at smaller sizes" in report["text"]


def test_a_fragment_shader_has_no_barriers_to_try(checked: Checked, written: Written) -> None:
    shader = written("#version 450\nlayout(location = 0) out vec4 c;\nvoid main() { c = vec4(1); }", "x.frag")
    report = checked(shader, "--barriers")
    assert (report["code"], "for compute shaders" in report["error"]) == (2, True)


def test_barriers_after_an_error_of_the_shader_are_undecided(written: Written) -> None:
    (result,) = _results(written, "c[g] = a[g];\nbarrier();\nb[g] = c[(g ^ 128u) % 512u];", groups=(4, 1, 1))
    assert result.verdict == BarrierVerdict.UNDECIDED
    assert "have errors" in result.text


def test_barriers_between_atomics_are_undecided(written: Written) -> None:
    body = (
        "if (i == 0u) count = 0u;\nbarrier();\natomicAdd(count, 1u);\n"
        "barrier();\nb[g] = atomicAdd(count, 0u);"
    )
    results = [result for result in _results(written, body) if result.name == "barrier"]
    assert results[1].verdict == BarrierVerdict.UNDECIDED
    assert "order of atomics" in results[1].text


def test_two_barriers_of_one_line_are_one_result(written: Written) -> None:
    body = "part[i] = a[g];\nbarrier(); barrier();\nb[g] = part[127u - i];"
    (result,) = _results(written, body, sizes=(32,))
    assert (result.verdict, "several in this line" in result.text) == (BarrierVerdict.UNDECIDED, True)
