"""Comparison of the compiler's statistics of two runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vkgroup.cli.main import main
from vkgroup.outputs import history
from vkgroup.outputs.diff import differences
from vkgroup.record.record import Result, Status, format_result
from vkgroup.record.statistics import statistic_differences

_ADD = "arithmetic.compute.subgroupAdd"
_SHUFFLE = "shuffle.compute.subgroupShuffle"


def case(name: str, registers: float, waves: float = 8.0, spills: float = 0.0) -> Result:
    """Return the result of a case with statistics."""
    quantities = {"vector_registers": registers, "spills": spills, "waves": waves}
    return Result(name, Status.COMPILED, statistics=quantities)


OLD = [
    case(f"{_ADD}.float.all.exact", 10.0),
    case(f"{_ADD}.float.odd.exact", 10.0),
    case(f"{_ADD}.vec4.all.exact", 20.0),
    case(f"{_SHUFFLE}.uint.all.exact", 40.0),
    case(f"{_SHUFFLE}.uint.gone.exact", 40.0),
    Result(f"{_SHUFFLE}.uint.rejected.exact", Status.REJECTED),
]

NEW = [
    case(f"{_ADD}.float.all.exact", 15.0, spills=3.0),
    case(f"{_ADD}.float.odd.exact", 8.0, waves=10.0),
    case(f"{_ADD}.vec4.all.exact", 20.0),
    case(f"{_SHUFFLE}.uint.all.exact", 40.0, waves=4.0),
    case(f"{_SHUFFLE}.uint.rejected.exact", 40.0),
]


def write(folder: Path, results: list[Result], statistics: bool = True) -> Path:
    """Write the folder of a run."""
    folder.mkdir()
    (folder / "results.jsonl").write_text("".join(map(format_result, results)))
    summary = {
        "device": "navi31",
        "driver": {"name": "radv", "info": "Mesa"},
        "totals": {"Compiled": 5},
        "statistics": statistics,
    }
    (folder / "summary.json").write_text(json.dumps(summary))
    return folder


def test_changes_are_added_by_operation_and_type() -> None:
    found = statistic_differences(OLD, NEW)  # type: ignore[arg-type]
    # A case that one run lacks, or that did not compile in it, is not compared.
    assert (found.compared, found.same) == (4, 1)
    registers, spills, waves = found.totals
    assert (registers.old, registers.new, registers.worse, registers.better) == (80.0, 83.0, 1, 1)
    assert registers.cases == 4
    assert (spills.old, spills.new, spills.worse, spills.better) == (0.0, 3.0, 1, 0)
    # More waves are better.
    assert (waves.worse, waves.better) == (1, 1)
    groups = {(change.operation, change.type, change.quantity): change for change in found.changes}
    assert set(groups) == {
        ("subgroupAdd", "float", "vector_registers"),
        ("subgroupAdd", "float", "spills"),
        ("subgroupAdd", "float", "waves"),
        ("subgroupShuffle", "uint", "waves"),
    }
    added = groups["subgroupAdd", "float", "vector_registers"]
    assert (added.old, added.new) == (20.0, 23.0)
    assert added.ratio == pytest.approx(0.15)
    assert (added.largest, added.largest_old, added.largest_new) == (f"{_ADD}.float.all.exact", 10.0, 15.0)
    assert groups["subgroupShuffle", "uint", "waves"].ratio == pytest.approx(0.5)
    # The largest change of a sum is the first: three spills where there were none.
    assert found.changes[0] is groups["subgroupAdd", "float", "spills"]


def test_results_keep_their_statistics_in_files(tmp_path: Path) -> None:
    run = history.load(write(tmp_path / "new", NEW))
    assert run.results is not None
    assert [result.statistics for result in run.results] == [result.statistics for result in NEW]


def test_the_command_prints_totals_and_the_largest_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = write(tmp_path / "old", OLD), write(tmp_path / "new", NEW)
    file = tmp_path / "diff.json"
    assert main(["diff", str(old), str(new), "--json", str(file)]) == 0
    out = capsys.readouterr().out
    assert "Statistics of the compiler: 3 of 4 cases changed, 1 the same" in out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert any(line.startswith("vector registers 80 83 +3.8% 1 1 ") for line in lines)
    assert any(line.startswith("subgroupAdd float vector registers 20 23 +15.0% 1 1 ") for line in lines)
    worse, better = (out.index(f"{words}, where operations and types") for words in ("Worse", "Better"))
    assert worse < out.index("vector registers", worse) < better
    data = json.loads(file.read_text())["statistics"]
    assert data["compared"] == 4
    assert data["changes"][0]["quantity"] == "spills"


def test_runs_without_statistics_have_none_to_compare(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = write(tmp_path / "old", OLD, statistics=False), write(tmp_path / "new", NEW)
    assert differences(history.load(old), history.load(new)).statistics is None
    assert main(["diff", str(old), str(new)]) == 0
    assert "Statistics" not in capsys.readouterr().out
