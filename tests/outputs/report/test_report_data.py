"""Data of a report before it is rendered (inputs, lanes, axes, comparisons), and the command."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import sample_runs as made

from vkgroup.base.errors import InvalidInput
from vkgroup.cli.main import main
from vkgroup.conformance.families import all_cases
from vkgroup.outputs.history import CheckFindings
from vkgroup.outputs.report import checks, read
from vkgroup.outputs.report.benchmarks import timed_of
from vkgroup.outputs.report.capabilities import side_by_side
from vkgroup.outputs.report.charts import charts_of
from vkgroup.outputs.report.comparing import capabilities_compared, cases_compared, speed_compared
from vkgroup.outputs.report.failures import CaseShaders, drawing_of
from vkgroup.outputs.report.table import Table, axes_of, split
from vkgroup.record.record import Result, Status

RESULTS = Path(__file__).parents[3] / "bench/results"


def test_a_folder_may_hold_everything(tmp_path: Path) -> None:
    folder = made.write_run(tmp_path / "run", made.new_run())
    (folder / "check.json").write_text(json.dumps(made.check()))
    (folder / "bench.json").write_text(json.dumps(made.bench(1.0)))
    (folder / "probe.json").write_text((RESULTS / "swiftshader/probe.json").read_text())
    declared = made.capabilities()
    (folder / "capabilities.json").write_text(json.dumps({"capabilities": declared}))
    found = read([folder])
    assert [len(kind) for kind in (found.runs, found.probes, found.checks, found.benches)] == [1, 1, 1, 1]
    (run,) = found.runs
    assert (run.info.id, run.info.device) == (str(folder), "A device")
    assert run.declared == declared
    results = list(run.results or ())
    assert results == made.new_run()
    assert results[0].evidence == made.EVIDENCE


def test_compressed_and_damaged_results_are_read(tmp_path: Path) -> None:
    lines = [json.dumps(result.to_json()) for result in made.new_run()]
    older = lines[1].replace("Pass", "Fail")
    text = "\n".join([older, *lines, "", '{"case": "cut o', '{"case": 1e999, "status": "Pass"}', "[]"])
    (tmp_path / "results.jsonl.xz").write_bytes(lzma.compress(text.encode()))
    results = read([tmp_path / "results.jsonl.xz"]).runs[0].results
    assert results is not None
    assert list(results) == made.new_run()
    assert results.damaged == 3
    assert set(results.statuses()) == {result.case for result in made.new_run()}


def test_an_invalid_field_of_a_finding_leaves_out_only_that_field(tmp_path: Path) -> None:
    data = made.check()
    (whole,) = checks.to_json(CheckFindings(tmp_path, data))["findings"]
    data["findings"][0] |= {
        "place": 5,
        "notes": [5],
        "values": [[1, 2, 3]],
        "sizes": "8",
        "invocation": "none",
    }
    data["findings"].append("no finding")
    data["covered"] = {"sizes": [8], "devices": 5}
    shown = checks.to_json(CheckFindings(tmp_path, data))
    (finding,) = shown["findings"]
    empty = {"place": None, "notes": [], "values": [], "sizes": [], "example": ""}
    assert finding == whole | empty
    assert finding["message"]
    assert shown["covered"] == {"sizes": ["8"], "devices": []}


def test_recorded_folders_can_be_shown() -> None:
    found = read([RESULTS / "swiftshader", RESULTS / "lavapipe-25.0.7"])
    assert found.runs[0].info.device == "SwiftShader Device (Subzero)"
    assert len(found.probes) == 2


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "{", "is no JSON"),
        ("a.json", "{}", "is no run"),
        ("a.jsonl", "nothing\n", "contains no results"),
        ("a.jsonl.xz", "nothing", "is not an .xz file"),
        ("missing.jsonl", None, "there is no"),
    ],
)
def test_another_file_is_refused_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str | None, words: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    assert main(["report", str(tmp_path / name), "-o", str(tmp_path / "r.html")]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


def test_a_folder_without_anything_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="holds no run"):
        read([tmp_path])


def test_the_command_writes_one_file_and_says_what_is_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made.write_run(tmp_path / "run", [Result("vote.compute.subgroupAll.bool.all.exact", Status.PASS)])
    out = tmp_path / "new" / "r.html"
    assert main(["report", str(tmp_path / "run"), "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: 1 run (0.1 MB)\n"
    assert [path.name for path in out.parent.iterdir()] == ["r.html"]
    assert main(["report", str(tmp_path / "run"), "-o", str(tmp_path)]) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"size": 10**9},
        {"active": "<b>"},
        {"wrong": ["1"]},
        {"rows": {"got": ["1"]}},
        {"rows": {"got": [1] * 4}},
        {"unit": 1},
        {"names": ["1"]},
        {"masks": [{"name": "a", "mask": "0xg", "wrong": "0x0"}]},
        {"masks": [{"name": 1, "mask": "0x1", "wrong": "0x0"}]},
        {"masks": ["0x1"]},
    ],
)
def test_evidence_of_another_form_is_not_drawn(change: dict[str, object]) -> None:
    evidence = {**made.EVIDENCE, **change}
    assert drawing_of(Result("a", Status.FAIL, evidence=evidence)) is None


def test_axes_are_those_of_the_cases() -> None:
    from vkgroup.conformance.subgroup.cases import Case

    wrong = [
        case.name
        for case in all_cases()[::97]
        if isinstance(case, Case)
        and not case.is_spelled
        and axes_of(split(case.name)[0]) != (case.category, case.stage, case.operation, case.type)
    ]
    assert wrong == []
    assert axes_of("reconvergence.maximal.compute.nesting4") == ("reconvergence", "compute", "maximal", "–")


def test_shaders_come_with_the_line_that_calls_the_operation() -> None:
    shaders = CaseShaders(8)
    try:
        found = shaders.of("arithmetic.compute.subgroupMul.vec3.nested.exact")
        other = shaders.of("no.such.case")
        quoted = shaders.of(made.WRONG, ">   uint size = gl_SubgroupSize;")
    finally:
        shaders.close()
    assert found is not None
    assert all("subgroupMul(" in found.source.splitlines()[line - 1] for line in found.marked)
    assert len(found.marked) == 2
    assert other is None
    assert quoted is not None
    assert [quoted.source.splitlines()[line - 1].strip() for line in quoted.marked] == [
        "uint size = gl_SubgroupSize;"
    ]


def test_the_page_has_the_lists_of_the_history(tmp_path: Path) -> None:
    """The rule itself is tested with the history: here that each list arrives, in the table's numbers."""
    old = [Result(f"x.{name}", Status.FAIL) for name in "ab"] + [Result("x.gone", Status.PASS)]
    new = [Result("x.a", Status.PASS), Result("x.b", Status.CRASH), Result("x.new", Status.FAIL)]
    folders = [made.write_run(tmp_path / name, results) for name, results in (("old", old), ("new", new))]
    table = Table()
    (found,) = cases_compared(read(folders).runs, table)
    assert (found["old"], found["new"]) == (0, 1)
    heads = [head for head, *_ in table.texts()["heads"]]
    shown = {
        name: [(heads[head], was, now) for head, _, was, now in blocks]
        for name, blocks in found["lists"].items()
    }
    assert shown == {
        "newly_failing": [],
        "appeared_failing": [("x.new", " ", "F")],
        "fixed": [("x.a", "F", "P")],
        "other": [("x.b", "F", "C")],
        "appeared": [],
        "vanished": [("x.gone", "P", " ")],
    }


def test_devices_that_changed_with_their_driver_are_listed(tmp_path: Path) -> None:
    for name, features in (("one", ["shaderInt8"]), ("two", ["shaderInt8"]), ("three", ["shaderInt64"])):
        folder = made.write_run(tmp_path / name, made.old_run())
        declared = {"capabilities": made.capabilities() | {"features": features}}
        (folder / "capabilities.json").write_text(json.dumps(declared))
    columns = side_by_side(read([tmp_path / name for name in ("one", "two", "three")]))
    assert [run.info.id for run in columns.runs] == [str(tmp_path / name) for name in ("one", "three")]
    assert [one["changes"] for one in capabilities_compared(columns)] == [
        [["feature", "shaderInt64", "no", "yes"], ["feature", "shaderInt8", "yes", "no"]]
    ]


def test_speed_is_compared_between_separate_inputs(tmp_path: Path) -> None:
    for name, scale in (("one", 1.0), ("two", 1.5)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "bench.json").write_text(json.dumps(made.bench(scale)))
        (tmp_path / name / "again.json").write_text(json.dumps(made.bench(1.0)))
    inputs = read([tmp_path / "one", tmp_path / "two"])
    found = speed_compared(inputs, 0.05)
    assert [(one["old"], one["new"]) for one in found] == [(0, 2), (0, 3)]
    assert [(one["same"], len(one["slower"])) for one in found] == [(6, 0), (0, 6)]
    assert [one["same"] for one in speed_compared(inputs, 0.6)] == [6, 6]


def test_recorded_benchmarks_become_charts() -> None:
    found = read([RESULTS / "nvidia-h200/bench_sizes.json"])
    timed = timed_of(found.benches[0])
    assert {"subgroup", "shared"} <= {one.version for one in timed}
    assert [chart.title for chart in charts_of(timed)] == [
        "Subgroup against shared memory and others",
        "Share of the ceiling",
        "Cost by size: scan.add.float32",
        "Cost by size: sort.keys.uint32",
        "Cost by size: compact.uint32.50",
        "Cost by size: histogram.256.float32.uniform",
    ]
