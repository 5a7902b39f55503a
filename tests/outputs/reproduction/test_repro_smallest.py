"""Reproducers of new causes: the search for the smallest case, parts of stages, and the command line."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mutants.driver_errors import wrong_vote

import vkgroup
from vkgroup.cli.main import main
from vkgroup.conformance import Result, Status, select
from vkgroup.conformance.execute import Executor
from vkgroup.conformance.families import family_of
from vkgroup.conformance.instances import LayoutFault
from vkgroup.conformance.parts import parts_of
from vkgroup.conformance.run import Setup, run
from vkgroup.conformance.subgroup.cases import Case
from vkgroup.outputs.reproduction import automatic, smallest
from vkgroup.outputs.reproduction.automatic import Reproducer, make_reproducers
from vkgroup.outputs.reproduction.cases import make
from vkgroup.outputs.reproduction.folder import read
from vkgroup.outputs.reproduction.issue import LINES, write_issue
from vkgroup.outputs.reproduction.lanes import write_masks
from vkgroup.outputs.reproduction.readme import evidence_table, write_case
from vkgroup.outputs.reproduction.smallest import simpler
from vkgroup.record.causes import find_causes
from vkgroup.record.causes import findings as findings_module
from vkgroup.record.causes.description import complexity
from vkgroup.record.causes.findings import KnownError
from vkgroup.workers.opening import open_device
from vkgroup.workers.opening import select as select_device

NESTED = "vote.compute.subgroupAll.bool.nested.exact"

DRIVER = ("SwiftShader", "SwiftShader driver")


def reproducers(results: Sequence[Result], out: Path) -> list[Reproducer]:
    """Return the reproducers of results on SwiftShader without known errors."""
    device = select_device("swiftshader")
    with open_device(device) as opened:
        capabilities = opened.capabilities
    causes = find_causes(results, *DRIVER, findings=[])
    return make_reproducers(causes, results, Setup(device, 0, 20.0, wrong_vote), capabilities, out)


def case_named(name: str) -> Case:
    (case,) = select((name,))
    assert isinstance(case, Case)
    return case


@pytest.fixture(scope="module")
def made(
    swiftshader: vkgroup.drivers.Driver, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Reproducer, Path]:
    out = tmp_path_factory.mktemp("run")
    device = select_device("swiftshader")
    failed = run(device, filters=(NESTED,), transform=wrong_vote, jobs=1)
    (reproducer,) = reproducers(failed.results, out)
    return reproducer, out


def test_the_smallest_case_and_the_fewest_invocations_are_found(made: tuple[Reproducer, Path]) -> None:
    """One invocation cannot show that All is Any; two can."""
    reproducer, out = made
    assert reproducer.remark == ""
    assert reproducer.case == "vote.compute.subgroupAll.bool.all.exact"
    assert reproducer.folder == out / "reproducers" / reproducer.cause.id
    record = read(reproducer.folder)
    assert record["result"]["status"] == "Fail"
    assert record["lanes"]["layout"]["invocations"] == 2
    assert record["cause"]["first"] == NESTED
    active = np.load(reproducer.folder / record["lanes"]["files"]["active"])
    wrong = np.load(reproducer.folder / record["lanes"]["files"]["wrong"])
    assert active.sum() == 2
    assert wrong.any()


def test_the_readme_has_the_cause_and_lists_the_c_program(made: tuple[Reproducer, Path]) -> None:
    folder = made[0].folder
    assert folder is not None
    text = (folder / "README.md").read_text()
    assert "subgroupAny is computed: 1 of 1 cases" in text
    assert f"The run failed in `{NESTED}`; this case is simpler and fails likewise." in text
    assert "1 workgroup of 2 invocations" in text
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "README.md":
            assert f"`{path.relative_to(folder)}`" in text


def test_the_folder_of_a_part_is_repeated_by_vkgroup(
    made: tuple[Reproducer, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(made[0].folder), "--device", "swiftshader"]) == 1
    assert "By the expected values of the folder: 2 of 2 lanes are wrong." in capsys.readouterr().out
    assert main(["run", str(made[0].folder), "--device", "reference:16"]) == 0
    assert "By the rules of the suite" in capsys.readouterr().out


@pytest.mark.parametrize(
    "name",
    [
        "vote.compute.subgroupAll.bool.data_mask.exact",
        "shuffle.compute.subgroupShuffle.uvec3.loop.exact.last",
        "arithmetic.compute.subgroupInclusiveAdd.float.partial.rounding",
        "ballot.fragment.subgroupBallotExclusiveBitCount.uvec4.partial.exact",
        "vote.fragment.subgroupAllEqual.int.discard.exact",
        "arithmetic.vertex.subgroupAdd.int.data_mask.exact",
        "vote.vertex.subgroupAny.bool.nested.exact",
    ],
)
@pytest.mark.usefixtures("swiftshader")
def test_parts_of_stages_read_the_data_of_the_whole_stage(name: str) -> None:
    """SwiftShader is right in every part, and the lanes that a part has in common have equal inputs."""
    case = case_named(name)
    family = family_of(case)
    with open_device(select_device("swiftshader")) as device:
        executor = Executor(device, seed=0)
        whole = family.verdicts_on(executor, [case])[0].lanes
        assert whole.entry.case == case
        stages = list(parts_of(case, 4, [(1, 8), (3, 0)]))
        passed = 0
        for stage in stages:
            verdict = family.verdicts_on(executor, [case], stage)[0]
            if verdict.detail == "no invocation executed the operation, where some had to":
                continue  # the invocations that are left are not selected by the pattern
            assert verdict.status in (Status.PASS, Status.UNDEFINED), (stage, verdict.detail)
            passed += verdict.status is Status.PASS
            assert verdict.lanes.instances.recorded.sum() < whole.instances.recorded.sum()
            assert verdict.lanes.entry.feed is not None
            np.testing.assert_array_equal(verdict.lanes.entry.feed.values, whole.entry.feed.values)
            if verdict.lanes.entry.argument is not None and verdict.lanes.entry.argument.table is not None:
                np.testing.assert_array_equal(verdict.lanes.entry.argument.table, whole.entry.argument.table)
        assert passed >= 2
        executor.close()


def test_simpler_cases_differ_in_one_axis_and_come_in_order() -> None:
    case = case_named("vote.fragment.subgroupAllEqual.ivec3.nested.exact")
    names = [other.name for other in simpler(case, select(("vote.*.subgroupAllEqual.*",)))]
    assert "vote.compute.subgroupAllEqual.ivec3.nested.exact" in names
    assert "vote.fragment.subgroupAllEqual.ivec3.all.exact" in names
    assert "vote.fragment.subgroupAllEqual.int.nested.exact" in names
    assert "vote.compute.subgroupAllEqual.ivec3.all.exact" not in names
    assert "vote.fragment.subgroupAllEqual.ivec4.nested.exact" not in names
    assert [complexity(name) for name in names] == sorted(map(complexity, names))


@pytest.mark.parametrize(
    "result",
    [
        Result(NESTED, Status.TIMEOUT, detail="no answer in 20 s"),
        Result(NESTED, Status.CRASH, detail="VK_ERROR_DEVICE_LOST"),
    ],
)
@pytest.mark.usefixtures("swiftshader")
def test_a_case_that_hung_is_not_executed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: Result
) -> None:
    monkeypatch.setattr(smallest.Trials, "run", lambda *_: pytest.fail("a case was executed"))
    (reproducer,) = reproducers([result], tmp_path)
    assert reproducer.folder is None
    assert "may" in reproducer.remark
    assert "device again" in reproducer.remark
    assert not (tmp_path / "reproducers").exists()


@pytest.mark.usefixtures("swiftshader")
def test_cases_that_are_known_to_hang_are_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search takes the simplest case that may not hang."""
    finding = KnownError("It hangs", "SwiftShader", ("1",), "", filter=("vote.*.all.*",), hangs=True)
    monkeypatch.setattr(smallest, "findings_for", lambda *_: [finding])
    tried: list[str] = []
    honest = smallest.Trials.run

    def noted(trials: smallest.Trials, trial: smallest.CaseTrial) -> smallest.Tried | None:
        tried.append(trial.case.name)
        return honest(trials, trial)

    monkeypatch.setattr(smallest.Trials, "run", noted)
    failed = run(select_device("swiftshader"), filters=(NESTED,), transform=wrong_vote, jobs=1)
    (reproducer,) = reproducers(failed.results, tmp_path)
    assert reproducer.case == "vote.compute.subgroupAll.bool.odd.exact"
    assert NESTED in tried
    assert not [name for name in tried if ".all." in name]


@pytest.mark.usefixtures("swiftshader")
def test_what_fails_while_a_folder_is_made_is_a_remark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError("no space is left")

    monkeypatch.setattr(automatic, "make_smallest", full)
    failed = run(select_device("swiftshader"), filters=(NESTED,), transform=wrong_vote, jobs=1)
    (reproducer,) = reproducers(failed.results, tmp_path)
    assert reproducer.folder is None
    assert reproducer.remark == "OSError: no space is left"


@pytest.mark.usefixtures("swiftshader")
def test_a_failure_that_does_not_occur_alone_is_recorded_with_a_remark(tmp_path: Path) -> None:
    failed = run(select_device("swiftshader"), filters=(NESTED,), transform=wrong_vote, jobs=1)
    other = replace(failed.results[0], case="vote.compute.subgroupAny.bool.nested.exact")
    (reproducer,) = reproducers([other], tmp_path)
    assert reproducer.folder is not None
    assert "it does not fail in this way when it runs alone" in reproducer.remark
    assert read(reproducer.folder)["result"]["status"] == "Pass"


def test_a_case_is_shrunk_for_a_bug_tracker(
    swiftshader: vkgroup.drivers.Driver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The smallest case has fewer components, another pattern, and two invocations."""
    words = ["conform", "--device", swiftshader.name, "--shrink", "--repro"]
    assert main([*words, "vote.compute.subgroupAllEqual.vec3.nested.exact", str(tmp_path)]) == 1
    case = "vote.compute.subgroupAllEqual.vec2.all.exact"
    out = capsys.readouterr().out
    assert out.startswith(f"{case}: Fail on ")
    assert f"For a bug tracker: {tmp_path / 'issue.md'}" in out
    text = (tmp_path / "issue.md").read_text()
    assert len(text.splitlines()) <= LINES
    assert text.startswith("# `subgroupAllEqual` of vectors compares only the first component\n")
    for part in (
        f"**Fail** on {select_device(swiftshader.name).name}",
        f"`{case}`, Khronos' `dEQP-VK.subgroups.vote.compute.subgroupallequal_vec2`",
        "1 workgroup of 2 invocations",
        f"--filter {case}\n",
        "layout(local_size_x = 2) in;",
        "subgroupAllEqual(value_0)",
    ):
        assert part in text
    assert shader_of(text, "shaders/0.comp.glsl") == compiled(tmp_path / "shaders/0.comp.glsl")
    assert re.search(r"^\| 0 \| yes \| .* \| False \| True \| \*\*wrong\*\* \|$", text, re.MULTILINE)
    # The folder still repeats the failure.
    assert main(["run", str(tmp_path), "--device", swiftshader.name]) == 1
    # A case that passes has no report, and replaces the folder.
    assert main([*words, "vote.compute.subgroupAll.bool.nested.exact", str(tmp_path)]) == 0
    assert not (tmp_path / "issue.md").exists()


def compiled(file: Path) -> bytes:
    """Return the SPIR-V of a shader."""
    return vkgroup.compile(file.read_text(), stage="compute").to_bytes()


def shader_of(issue: str, file: str) -> bytes:
    """Return the SPIR-V of the shader that a report shows whole."""
    heading, _, rest = issue.partition("```glsl\n")
    assert heading.endswith(f"## Shader: `{file}`\n")
    return vkgroup.compile(rest.removesuffix("```\n"), stage="compute").to_bytes()


def test_the_whole_shader_is_preferred_to_many_lanes(
    swiftshader: vkgroup.drivers.Driver, tmp_path: Path
) -> None:
    case = "vote.compute.subgroupAllEqual.vec3.switch.exact"
    make(select_device(swiftshader.name), case, tmp_path)
    text = write_issue(tmp_path, read(tmp_path)).read_text()
    assert len(text.splitlines()) <= LINES
    assert text.startswith("# `subgroupAllEqual` of `vec3`: ")
    assert shader_of(text, "shaders/0.comp.glsl") == compiled(tmp_path / "shaders/0.comp.glsl")


def test_of_a_longer_shader_the_lines_of_the_operation_are_shown(
    swiftshader: vkgroup.drivers.Driver, tmp_path: Path
) -> None:
    make(select_device(swiftshader.name), "vote.compute.subgroupAllEqual.vec3.switch.exact", tmp_path)
    file = tmp_path / "shaders/0.comp.glsl"
    file.write_text(file.read_text().replace("void main() {", "void main() {\n" + "    if (true) {}\n" * 99))
    text = write_issue(tmp_path, read(tmp_path)).read_text()
    assert len(text.splitlines()) <= LINES
    (heading,) = (line for line in text.splitlines() if "shaders/0.comp.glsl" in line)
    count = len(file.read_text().splitlines())
    assert f" of {count} lines of " in heading
    assert "subgroupAllEqual(" in text.partition("```glsl")[2]


def test_few_active_lanes_are_all_in_the_table() -> None:
    rows = {
        "input": ["1", "nan", "3", None],
        "expected": ["0", "1", "1", None],
        "got": ["0", "1", "nan", None],
    }
    evidence = {"where": "", "slot": 0, "size": 4, "active": "0x7", "wrong": [2], "rows": rows}
    few = [line for line in evidence_table(evidence, 3) if line.startswith("| ")][1:]
    assert [line.split(" | ")[2] for line in few] == ["1", "nan", "3"]
    assert ["**wrong**" in line for line in few] == [False, False, True]
    many = evidence_table(evidence, 2)
    assert [line.split()[1] for line in many if line.startswith("| ")][1:] == ["2"]
    assert any("1, nan, 3" in line for line in many)


def test_a_case_that_may_hang_has_its_cause_in_the_report(
    swiftshader: vkgroup.drivers.Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is executed once, without a search for a smaller one."""
    monkeypatch.setattr(smallest, "may_hang", lambda *_: True)
    result = make(select_device(swiftshader.name), NESTED, tmp_path, transform=wrong_vote, shrink=True)
    assert (result.case, result.status) == (NESTED, Status.FAIL)
    assert read(tmp_path)["cause"]["title"].startswith("`subgroupAll` of `bool`: ")


@pytest.mark.parametrize("option", [[], ["--no-repro"]])
@pytest.mark.usefixtures("swiftshader")
def test_the_command_names_the_reproducer_of_a_new_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: list[str]
) -> None:
    """Without the list of known errors, SwiftShader's is new."""
    monkeypatch.setattr(findings_module, "all_findings", lambda: ())
    name = "vote.compute.subgroupAllEqual.vec2.all.exact"
    out = tmp_path / "run"
    arguments = ["conform", "--device", "swiftshader", "--filter", name, "--out", str(out), "--jobs", "1"]
    assert main([*arguments, *option]) == 1
    text = capsys.readouterr().out
    if option:
        assert "Reproducer" not in text
        assert not (out / "reproducers").exists()
        return
    (folder,) = (out / "reproducers").iterdir()
    assert f"Reproducer: {folder} (cause 1, {name})" in text
    assert f"cc {folder / 'repro.c'} -lvulkan && ./a.out" in text
    assert text.index("new cause") < text.index("Reproducer: ")
    assert json.loads((folder / "repro.json").read_text())["lanes"]["layout"]["invocations"] == 2


def test_wrong_numbers_of_subgroups_have_a_report(made: tuple[Reproducer, Path], tmp_path: Path) -> None:
    # An error of lavapipe 22.3.6 with some compilers: no lane can be told from another, so there is no table.
    fault = LayoutFault(8, 64, {})
    assert write_masks(fault, [], tmp_path) is None
    reproducer, out = made
    folder = shutil.copytree(out / reproducer.folder, tmp_path / "folder")
    record = {key: value for key, value in read(folder).items() if key != "shrunk"}
    text = "two invocations share subgroup and gl_SubgroupInvocationID"
    record["result"] = {**record["result"], "detail": text, "evidence": {"invocations": []}}
    write_case(folder, record)
    assert text in (folder / "README.md").read_text()
    (folder / "repro.json").write_text(json.dumps(record))
    assert text in write_issue(folder, record).read_text()
