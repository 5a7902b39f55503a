"""The WGSL family: selected only if asked for, right on the reference device, and able to fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from suite_runs import results_of

from vkgroup.cli.main import main
from vkgroup.compiler.installed import InstalledCompiler
from vkgroup.conformance import select
from vkgroup.conformance.families import case_named
from vkgroup.conformance.spellings import wgsl
from vkgroup.conformance.wgsl_functions import FUNCTIONS
from vkgroup.record.record import Status

# The subgroup and quad functions of the WGSL specification, and its built-in values that are cases.
OF_WGSL = {
    *(f"subgroup{scan}{name}" for name in ("Add", "Mul") for scan in ("", "Exclusive", "Inclusive")),
    *(f"subgroup{name}" for name in ("Min", "Max", "And", "Or", "Xor", "All", "Any", "Ballot", "Elect")),
    *(f"subgroup{name}" for name in ("Broadcast", "BroadcastFirst")),
    *(f"subgroupShuffle{name}" for name in ("", "Xor", "Up", "Down")),
    *("quadBroadcast", "quadSwapX", "quadSwapY", "quadSwapDiagonal"),
    *("subgroup_size", "subgroup_invocation_id"),
}


def test_every_function_has_cases() -> None:
    assert {row.name for row in FUNCTIONS} == OF_WGSL
    assert {case.name.split(".")[2] for case in select(("wgsl.*",))} == OF_WGSL


def test_they_are_selected_only_by_their_name() -> None:
    for filters in ((), ("*",), ("*.subgroupAdd.*",), ("hlsl.*", "vote.*")):
        assert not any(case.name.startswith("wgsl.") for case in select(filters))
    assert case_named("wgsl.compute.subgroupAdd.u32.all.exact") is not None
    both = select(("wgsl.compute.subgroupElect.*", "vote.compute.subgroupAll.*"))
    assert {case.name.partition(".")[0] for case in both} == {"wgsl", "vote"}


def _totals(out: Path, *words: str) -> dict[str, int]:
    main(["conform", "--device", "reference:32", "--out", str(out), "--jobs", "1", "--no-repro", *words])
    totals: dict[str, int] = json.loads((out / "summary.json").read_text())["totals"]
    return {name: count for name, count in totals.items() if count}


@pytest.mark.parametrize("pattern", ["nested", pytest.param("loop", marks=pytest.mark.slow)])
def test_the_reference_device_gives_what_is_defined(
    pattern: str, tint: InstalledCompiler, tmp_path: Path
) -> None:
    totals = _totals(tmp_path / "run", "--compiler", "tint", "--filter", f"wgsl.*.{pattern}.exact*")
    assert totals.keys() <= {"Pass", "Undefined"}
    assert totals["Pass"] > 200


@pytest.mark.parametrize(
    ("right", "wrong", "name"),
    [
        ("subgroupInclusiveAdd(", "subgroupExclusiveAdd(", "subgroupInclusiveAdd.vec3f.nested.exact"),
        ("quadSwapX(", "quadSwapY(", "quadSwapX.vec2h.all.exact"),
        ("subgroupAll(", "subgroupAny(", "subgroupAll.bool.odd.exact"),
        ("subgroupShuffleUp(", "subgroupShuffleDown(", "subgroupShuffleUp.f16.loop.exact.by1"),
    ],
)
def test_a_wrong_function_fails(
    right: str, wrong: str, name: str, tint: InstalledCompiler, monkeypatch: pytest.MonkeyPatch
) -> None:
    translate = wgsl.wgsl_of
    cases = select((f"wgsl.compute.{name}", f"wgsl.fragment.{name}"))
    assert len(cases) == 2
    assert {result.status for result in results_of("reference:32", cases)} == {Status.PASS}
    monkeypatch.setattr(wgsl, "wgsl_of", lambda source, stage: translate(source, stage).replace(right, wrong))
    again = results_of("reference:32", cases, seed=1)  # those of seed 0 are kept
    assert {result.status for result in again} == {Status.FAIL}


@pytest.mark.parametrize("name", ["subgroupElect.bool", "subgroup_size.u32"])
def test_a_case_without_inputs_runs_alone(name: str, tint: InstalledCompiler) -> None:
    """tint leaves out the buffer that such a shader does not read."""
    for case in select((f"wgsl.*.{name}.all.exact",)):
        assert [result.status for result in results_of("reference:4", [case], seed=3)] == [Status.PASS]


def test_without_tint_they_are_not_supported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("VKGROUP_CACHE", str(tmp_path / "empty"))
    assert _totals(tmp_path / "run", "--filter", "wgsl.compute.subgroupElect.*").keys() == {"NotSupported"}
    assert "vkgroup compilers fetch tint" in capsys.readouterr().out
    assert main(["conform", "--device", "reference:32", "--compiler", "tint"]) == 3
    assert "vkgroup compilers fetch tint" in capsys.readouterr().err


def test_show_has_the_shader_and_the_rule(
    capsys: pytest.CaptureFixture[str], tint: InstalledCompiler
) -> None:
    assert main(["conform", "--show", "wgsl.compute.subgroupMul.vec4i.odd.exact"]) == 0
    shown = capsys.readouterr().out
    assert "the product over the values of the active invocations in the subgroup" in shown
    assert "OpGroupNonUniformIMul" in shown
    assert "Shader: compute, WGSL" in shown
    assert "subgroupMul(value_0)" in shown
