"""The family of HLSL's intrinsics: complete, right on devices, and not blind to what glslang does wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from suite_runs import device_of, results_of

from vkgroup import conformance
from vkgroup.cli.main import main
from vkgroup.compiler import compile_file
from vkgroup.conformance import Status, select
from vkgroup.conformance.execute import Transform
from vkgroup.conformance.families import ASKED
from vkgroup.conformance.hlsl_intrinsics import GLSL_OF, INTRINSICS, LATER_INTRINSICS
from vkgroup.conformance.rules import rule_of_case
from vkgroup.conformance.slang_functions import SLANG_FUNCTIONS
from vkgroup.conformance.spellings import hlsl_reconvergence
from vkgroup.conformance.spellings.hlsl import HLSL, SLANG, bucket, core_case
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.drivers import CachedDriver
from vkgroup.programs.nodes import RandomProgram
from vkgroup.spirv import Module
from vkgroup.spirv.editor import Editor, Rewrite, Words

CASES = tuple(HLSL.cases())

# Shader Model 6.0, "Shading language intrinsics".
OF_SHADER_MODEL_6_0 = (
    "WaveGetLaneCount",
    "WaveGetLaneIndex",
    "WaveIsFirstLane",
    "WaveActiveAnyTrue",
    "WaveActiveAllTrue",
    "WaveActiveBallot",
    "WaveReadLaneAt",
    "WaveReadLaneFirst",
    "WaveActiveAllEqual",
    "WaveActiveBitAnd",
    "WaveActiveBitOr",
    "WaveActiveBitXor",
    "WaveActiveCountBits",
    "WaveActiveMax",
    "WaveActiveMin",
    "WaveActiveProduct",
    "WaveActiveSum",
    "WavePrefixCountBits",
    "WavePrefixSum",
    "WavePrefixProduct",
    "QuadReadLaneAt",
    "QuadReadAcrossX",
    "QuadReadAcrossY",
    "QuadReadAcrossDiagonal",
)


def test_every_intrinsic_has_cases_in_both_stages() -> None:
    cases = CASES
    assert len({case.name for case in cases}) == len(cases)
    for stage in ("compute", "fragment"):
        assert {case.operation for case in cases if case.stage == stage} == set(OF_SHADER_MODEL_6_0)


@pytest.mark.parametrize(
    ("name", "types"),
    [
        ("WaveActiveSum", {"int", "uint", "float", "double"}),
        ("WaveActiveBitXor", {"int", "uint"}),
        ("WaveActiveAllEqual", {"int", "uint", "float", "double", "bool"}),
        ("QuadReadAcrossDiagonal", {"int", "uint", "float", "double", "bool"}),
    ],
)
def test_all_types_of_an_intrinsic_have_cases(name: str, types: set[str]) -> None:
    wanted = {type_ for type_ in GLSL_OF if type_.rstrip("234") in types}
    assert {case.type for case in CASES if case.operation == name} == wanted


def test_no_program_asks_a_twin_twice() -> None:
    for number, row in enumerate(INTRINSICS):
        same = [other for other in range(len(INTRINSICS)) if INTRINSICS[other].core == row.core]
        seen = {
            type_: bucket(other) for other in same for type_ in INTRINSICS[other].types if other == number
        }
        assert set(seen.values()) == {bucket(number)}
    twins = set()
    for case in CASES:
        twin = HLSL.batch_key(case), core_case(case)
        assert twin not in twins
        twins.add(twin)


@pytest.fixture(params=["swiftshader", "reference:8"])
def device(request: pytest.FixtureRequest, swiftshader: CachedDriver) -> str:
    """The name of a real device, and that of the reference device."""
    return swiftshader.name if request.param == "swiftshader" else str(request.param)


def statuses(device: str, cases: list[Case], transform: Transform | None = None) -> set[Status]:
    """Judge cases; return the statuses of those that the device supports."""
    results = results_of(device, cases, seed=5, transform=transform)
    return {result.status for result in results} - {Status.NOT_SUPPORTED}


def cases_of(name: str, pattern: str, *types: str) -> list[Case]:
    """Return an intrinsic's cases."""
    return [
        case
        for case in CASES
        if case.operation == name and case.pattern == pattern and case.type in (types or ("uint", "float3"))
    ]


@pytest.mark.mostly_slow(every=5)
@pytest.mark.parametrize("name", OF_SHADER_MODEL_6_0)
def test_devices_give_what_hlsl_defines(device: str, name: str) -> None:
    types = {case.type for case in CASES if case.operation == name}
    few = sorted(types & {"uint", "float3", "bool", "bool2", "double"})
    for pattern in ("nested", "all"):
        found = statuses(device, cases_of(name, pattern, *few))
        assert found <= {Status.PASS, Status.UNDEFINED}
    assert Status.PASS in found


# What glslang makes of them, put back: the suite must see it.


def inclusive(editor: Editor, words: Words) -> list[Words]:
    """Return an exclusive scan as the inclusive one that glslang makes of it."""
    return [[*words[:4], 1, *words[5:]]] if words[4] == 2 else [words]


def everybody(editor: Editor, words: Words) -> list[Words]:
    """Return the count of all lanes in the place of a vote."""
    return [editor.instruction("OpGroupNonUniformAny", *words[1:])]


def beside(editor: Editor, words: Words) -> list[Words]:
    """Return a swap across the other axis."""
    axis = editor.constant(editor.integer(), 1)
    return [[*words[:-1], axis]]


@pytest.mark.parametrize(
    ("name", "type_", "instructions", "rewrite"),
    [
        ("WavePrefixSum", "uint", ["OpGroupNonUniformIAdd"], inclusive),
        ("WavePrefixProduct", "float", ["OpGroupNonUniformFMul"], inclusive),
        ("WaveActiveAllTrue", "bool", ["OpGroupNonUniformAll"], everybody),
        ("QuadReadAcrossX", "uint", ["OpGroupNonUniformQuadSwap"], beside),
    ],
)
def test_a_wrong_instruction_is_caught(
    device: str, name: str, type_: str, instructions: list[str], rewrite: Rewrite
) -> None:
    def transform(data: bytes) -> bytes:
        return Editor(Module.from_bytes(data)).rewrite(dict.fromkeys(instructions, rewrite)).to_bytes()

    cases = cases_of(name, "all", type_)
    assert statuses(device, cases) == {Status.PASS}
    assert Status.FAIL in statuses(device, cases, transform)


@pytest.mark.parametrize("name", [row.name for row in LATER_INTRINSICS])
def test_slang_gives_what_later_models_define(name: str, tmp_path: Path) -> None:
    words = ["conform", "--device", "reference:32", "--compiler", "slang", "--jobs", "1", "--no-repro"]
    words += ["--filter", f"hlsl_later.compute.{name}.*.nested.exact*", "--out", str(tmp_path / "run")]
    assert main(words) == 0
    totals = json.loads((tmp_path / "run" / "summary.json").read_text())["totals"]
    assert totals["Pass"] == sum(totals.values()) > 0


def _statuses(folder: Path) -> dict[str, str]:
    """Return the status of each case of a run."""
    lines = map(json.loads, (folder / "results.jsonl").read_text().splitlines())
    return {line["case"]: line["status"] for line in lines if "case" in line}


@pytest.mark.parametrize(
    ("type_", "wrong", "invalid"),
    [
        ("uint", set(), set()),
        (
            "int3",
            {f"WaveMaskPrefixBitXor.int3.nested.exact.{operand}" for operand in ("equal", "active")},
            set(),
        ),
        ("float2", set(), set()),
        ("bool", set(), {f"WaveMask{name}True.bool.nested.exact" for name in ("All", "Any")}),
    ],
)
def test_slangs_own_functions(type_: str, wrong: set[str], invalid: set[str], tmp_path: Path) -> None:
    """All are right but those of slang-mask-prefix-xor.toml and slang-mask-vote.toml."""
    words = ["conform", "--device", "reference:8", "--jobs", "1", "--no-repro", "--out", str(tmp_path)]
    main([*words, "--filter", f"slang.*.{type_}.nested.exact*"])
    statuses = _statuses(tmp_path)
    assert len(statuses) > 10
    for status, names in (("Fail", wrong), ("NotSupported", invalid)):
        assert {name for name in statuses if statuses[name] == status} == {
            f"slang.compute.{name}" for name in names
        }


def test_a_case_in_slang_is_shown_in_slang(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = "slang.compute.WaveMaskPrefixBitXor.uint2.all.exact.active"
    assert main(["conform", "--show", case]) == 0
    assert "Shader: compute, Slang" in capsys.readouterr().out
    folder = tmp_path / "made"
    main(["conform", "--device", "reference:4", "--repro", case, str(folder)])
    (source,) = (folder / "shaders").glob("*.slang")
    assert compile_file(source).reflection.entry_points


def test_every_function_of_slang_has_a_sentence_and_a_rule() -> None:
    cases = {case.operation: case for case in SLANG.cases()}
    assert set(cases) == {row.name for row in SLANG_FUNCTIONS}
    for case in cases.values():
        assert case.sentence
        assert rule_of_case(case.name)["quote"]


@pytest.mark.parametrize("compiler", ["dxc", "slang"])
def test_helper_lanes(device: str, compiler: str, tmp_path: Path) -> None:
    """All are right but those of swiftshader-helper-after-demote.toml and of slang-flat.toml."""
    words = ["conform", "--device", device, "--jobs", "1", "--no-repro", "--filter", "hlsl_fragment.*"]
    words += ["--compiler", compiler, "--out", str(tmp_path)]
    main(words)
    statuses = _statuses(tmp_path)
    assert len(statuses) == 16
    for name, status in statuses.items():
        if "wave" in name and compiler == "slang":
            assert status == "NotSupported"
        elif "demoted" in name and compiler == "dxc" and device.startswith("swiftshader"):
            assert status == "Fail"
        else:
            assert status == "Pass"


def not_demoted(editor: Editor, words: Words) -> list[Words]:
    """Return nothing in the place of a demotion."""
    return []


def never_a_helper(editor: Editor, words: Words) -> list[Words]:
    """Return false in the place of OpIsHelperInvocationEXT."""
    return [editor.instruction("OpCopyObject", words[1], words[2], editor.null(words[1]))]


@pytest.mark.parametrize(
    ("instruction", "rewrite", "case"),
    [
        ("OpDemoteToHelperInvocation", not_demoted, "helper.demotedDiagonal.demote"),
        ("OpIsHelperInvocationEXT", never_a_helper, "helper.flagVertical.dots"),
    ],
)
def test_a_wrong_helper_lane_is_caught(instruction: str, rewrite: Rewrite, case: str) -> None:
    def transform(data: bytes) -> bytes:
        return Editor(Module.from_bytes(data)).rewrite({instruction: rewrite}).to_bytes()

    cases = select((f"hlsl_fragment.{case}",))
    for change, status in ((None, Status.PASS), (transform, Status.FAIL)):
        device = device_of("reference:8")
        run = conformance.run(device, cases=cases, isolate=False, compiler="slang", transform=change)
        assert [result.status for result in run.results] == [status]


def test_families_for_few_machines_are_selected_by_name_only() -> None:
    assert not any(case.name.startswith(ASKED) for case in select(("*",)))
    for family in ASKED:
        assert {case.name.partition(".")[0] for case in select((f"{family}.*",))} == {family}


@pytest.mark.parametrize(("compiler", "language"), [("dxc", "hlsl"), ("slang", "hlsl"), ("slang", "slang")])
def test_programs_of_maximal_reconvergence(compiler: str, language: str, tmp_path: Path) -> None:
    words = ["conform", "--device", "reference:32", "--compiler", compiler, "--jobs", "1", "--no-repro"]
    for part in ("nesting2", "waterfall"):
        words += ["--filter", f"{language}_reconvergence.maximal.compute.{part}.*"]
    assert main([*words, "--out", str(tmp_path / "run")]) == 0
    totals = json.loads((tmp_path / "run" / "summary.json").read_text())["totals"]
    # Slang makes invalid modules of some programs (slang-return-in-loop.toml).
    assert totals["NotSupported"] <= (compiler == "slang")
    assert totals["Pass"] + totals["NotSupported"] == sum(totals.values()) > 10


BREAK = re.compile(
    r"\n *kept = subgroupBallot\(true\);(?P<block>(?:.*\n)*?)(?P<record> *record\(\d+u, )kept\)"
)
"""A ballot in a block that leaves a loop, and its record after the loop."""

MOVED = {
    "out of the block": (
        "by_value",
        re.compile(r"record\((2u), subgroupBallot\(true\)\)"),
        r"record(\1, first)",
    ),
    "after the loop": ("used_after", BREAK, r"\g<block>\g<record>subgroupBallot(true))"),
    "after the election": ("used_after_election", BREAK, r"\g<block>\g<record>subgroupBallot(true))"),
}
"""Wrong places of a ballot in a waterfall loop: the loop, what is changed, and into what."""


@pytest.mark.parametrize("where", MOVED)
@pytest.mark.parametrize("language", ["hlsl", "slang"])
def test_a_ballot_that_moved_in_a_waterfall_fails(
    language: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What DXC did (DirectXShaderCompiler 6222 and 6109), and its inverse."""
    loop, pattern, replacement = MOVED[where]

    def moved(source: str, program: RandomProgram) -> str:
        text, count = pattern.subn(replacement, translate(source, program))
        assert count == 1
        text = text.replace("static uint lane;", "static uint lane;\nstatic uint4 first;")
        return text.replace("record(1u,", "first = subgroupBallot(true); record(1u,")

    def status() -> Status:
        cases = select((f"{language}_reconvergence.maximal.compute.waterfall.{loop}",))
        run = conformance.run(device_of("reference:32"), cases=cases, isolate=False, compiler="slang")
        return run.results[0].status

    translate = hlsl_reconvergence.WRITERS[language]
    assert status() is Status.PASS
    monkeypatch.setitem(hlsl_reconvergence.WRITERS, language, moved)
    assert status() is Status.FAIL


@pytest.mark.parametrize("compiler", ["dxc", "slang"])
def test_a_ballot_that_moved_out_of_a_branch_fails(compiler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What DXC did (DirectXShaderCompiler 6222): the ballot of a part is that of all."""

    def moved(source: str, program: RandomProgram) -> str:
        text = translate(source, program).replace(
            "static uint lane;", "static uint lane;\nstatic uint4 first;"
        )
        entries = re.sub(r"record\(((?!1u)\d+u), subgroupBallot\(true\)\)", r"record(\1, first)", text)
        assert entries != text
        return entries.replace("record(1u,", "first = subgroupBallot(true); record(1u,")

    def status() -> Status:
        cases = select(("hlsl_reconvergence.maximal.compute.nesting3.0.0",))
        run = conformance.run(device_of("reference:32"), cases=cases, isolate=False, compiler=compiler)
        return run.results[0].status

    translate = hlsl_reconvergence.hlsl_of_program
    assert status() is Status.PASS
    monkeypatch.setitem(hlsl_reconvergence.WRITERS, "hlsl", moved)
    assert status() is Status.FAIL
