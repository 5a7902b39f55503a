"""``vkgroup conform`` in continuous integration: expectations, shards and limits from the command line.

SwiftShader gives wrong answers to votes on vectors (docs/results/index.md), so nothing need be planted.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import kept_results
import pytest

from vkgroup.base.errors import NoDevice
from vkgroup.cli import conform_run as command
from vkgroup.cli.main import main
from vkgroup.conformance.families import with_categories
from vkgroup.outputs.history import Database
from vkgroup.workers.multi_device import slug
from vkgroup.workers.opening import select

FILTER = "vote.compute.subgroupAllEqual.*int.all.exact"
WRONG = "vote.compute.subgroupAllEqual.ivec2.all.exact"
KNOWN = "`subgroupAllEqual` of vectors compares only the first component"
RIGHT = "vote.compute.subgroupAllEqual.int.all.exact"

pytestmark = pytest.mark.usefixtures("swiftshader")


@pytest.fixture
def conform(tmp_path, monkeypatch, capsys):
    """Run the command in an empty folder, with kept results; return its exit code and its output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command, "run", kept_results.run)

    def run(*arguments: str) -> tuple[int, str]:
        code = main(["conform", "--filter", RIGHT, "--filter", WRONG, *arguments])
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err, captured.err
        return code, captured.out + captured.err

    return run


DEVICE = ("--device", "swiftshader", "--jobs", "1")
CAUSE = "swiftshader-all-equal-vector"


def test_only_differences_from_a_saved_baseline_are_unexpected(conform) -> None:
    code, _ = conform(*DEVICE, "--out", "one", "--save-baseline", "fails.txt")
    assert code == 1
    text = Path("fails.txt").read_text()
    assert text.splitlines()[1:] == [f"{WRONG},Fail"]

    code, said = conform(*DEVICE, "--out", "two", "--baseline", "fails.txt", "--junit", "two.xml")
    assert (code, Path("two/failures.csv").read_text()) == (0, "")
    assert "1 failing as the baseline says" in said
    assert KNOWN not in said
    assert not list(ElementTree.parse("two.xml").getroot().iter("failure"))

    Path("fails.txt").write_text(f"# moved\n{RIGHT},Fail\ndEQP-VK.other,Fail\n")
    code, said = conform(*DEVICE, "--out", "three", "--baseline", "fails.txt", "--annotations", "github")
    assert code == 1
    rows = [f"{RIGHT},UnexpectedImprovement(Pass),", f"{WRONG},Fail,{CAUSE}"]
    assert Path("three/failures.csv").read_text().splitlines() == rows
    assert "1 of 2 names in the baseline are of no case of this suite, and have no effect: dEQP-VK" in said
    errors = [line for line in said.splitlines() if line.startswith("::error ")]
    assert len(errors) == 2
    assert "(known since SwiftShader 156.0%2C 1 case)::" in errors[0]
    assert "file=fails.txt,line=2" in errors[1]
    again = [json.loads(line)["status"] for line in Path("three/reruns.jsonl").read_text().splitlines()]
    assert sorted(again) == ["Fail", "Pass"]


def test_khronos_names_stand_for_their_counterparts(conform) -> None:
    listed = "dEQP-VK.subgroups.vote.compute.subgroupallequal_ivec2"
    Path("fails.txt").write_text(f"{listed},Fail\ndEQP-VK.pipeline.a,Fail\n")
    code, said = conform(*DEVICE, "--out", "one", "--baseline", "fails.txt", "--junit", "one.xml")
    assert code == 0
    assert "1 name of Khronos' suite in the baseline may fail: " in said
    assert "1 of 2 names in the baseline are of no case of this suite, and have no effect: dEQP-VK" in said
    assert Path("one/results.csv").read_text().startswith(f"{RIGHT},Pass,")
    (skipped,) = ElementTree.parse("one.xml").getroot().iter("skipped")
    assert f"fails.txt:1 expects Fail of {listed}" in skipped.get("message", "")

    Path("skips.txt").write_text(f"{listed}\ndEQP-VK.image.*\n")
    code, said = conform(*DEVICE, "--out", "two", "--skips", "skips.txt")
    assert (
        "1 expression of --skips with Khronos' names found no case of this suite, without effect: skips.txt:2"
        in said
    )
    assert (code, Path("two/results.csv").read_text().splitlines()[1]) == (0, f"{WRONG},Skip,0.000000,")


@pytest.fixture
def no_second_run(conform, monkeypatch):
    """Raise NoDevice when cases are judged again, as after a hang of a GPU."""
    honest = command.run

    def run(*arguments, **options):
        if options["out"] is None:
            raise NoDevice("No worker process starts: the device is lost")
        return honest(*arguments, **options)

    monkeypatch.setattr(command, "run", run)


@pytest.mark.usefixtures("no_second_run")
def test_a_run_without_a_second_run_keeps_its_results(conform) -> None:
    Path("none.txt").touch()
    files = ("--junit", "run/j.xml", "--save-baseline", "fails.txt", "--annotations", "gitlab")
    code, said = conform(*DEVICE, "--out", "run", "--db", "runs.db", "--baseline", "none.txt", *files)
    assert code == 3
    assert "could not be judged again: the first results stand" in said
    assert said.endswith("vkgroup: No worker process starts: the device is lost\n")
    assert KNOWN in said
    assert Path("run/failures.csv").read_text() == f"{WRONG},Fail,{CAUSE}\n"
    assert json.loads(Path("run/summary.json").read_text())["totals"]["Fail"] == 1
    assert len(list(ElementTree.parse("run/j.xml").getroot().iter("failure"))) == 1
    assert f"{WRONG},Fail" in Path("fails.txt").read_text()
    assert len(json.loads(Path("run/gl-code-quality-report.json").read_text())) == 1
    with Database(Path("runs.db")) as database:
        assert [run.finished for run in database.runs()] == [True]


def test_second_results_before_the_device_was_lost_are_kept(conform, monkeypatch) -> None:
    honest = command.run

    def run(*arguments, **options):
        found = honest(*arguments, **options)
        if options["out"] is None:
            raise NoDevice("No worker process starts: the device is lost")
        return found

    monkeypatch.setattr(command, "run", run)
    Path("none.txt").touch()
    code, said = conform(*DEVICE, "--out", "run", "--baseline", "none.txt")
    assert code == 3
    assert "Not all that is unexpected could be judged again: of the rest the first results stand" in said
    assert WRONG in Path("run/reruns.jsonl").read_text()


def test_second_results_count_only_with_expectations(conform) -> None:
    Path("none.txt").touch()
    assert conform(*DEVICE, "--out", "run", "--baseline", "none.txt")[0] == 1
    again = Path("run/reruns.jsonl")
    again.write_text(again.read_text().replace('"Fail"', '"Pass"'))
    assert conform(*DEVICE, "--out", "run", "--resume", "--baseline", "none.txt")[0] == 0
    assert conform(*DEVICE, "--out", "run", "--resume")[0] == 1


@pytest.mark.usefixtures("no_second_run")
def test_one_run_without_a_second_run_does_not_end_the_others(conform) -> None:
    Path("none.txt").touch()
    code, said = conform(
        "--device", "swiftshader,swiftshader", "--each", "--out", "runs", "--baseline", "none.txt"
    )
    assert code == 3
    folders = list(Path("runs").iterdir())
    assert [(folder / "failures.csv").read_text() for folder in folders] == [f"{WRONG},Fail,{CAUSE}\n"] * 2
    assert said.count("the device is lost") == 3


def test_skips_flakes_and_gitlab(conform) -> None:
    Path("skips.txt").write_text("# slow\nAllEqual\\.int\\.\n")
    Path("flakes.txt").write_text("ivec2\n")
    code, said = conform(
        *DEVICE, "--out", "run", "--skips", "skips.txt", "--flakes", "flakes.txt", "--annotations", "gitlab"
    )
    assert code == 0
    assert "1 known to flake, 1 left out by --skips" in said
    table = [row.rsplit(",", 2)[0] for row in Path("run/results.csv").read_text().splitlines()]
    assert table == [f"{RIGHT},Skip", f"{WRONG},KnownFlake"]
    assert json.loads(Path("run/gl-code-quality-report.json").read_text()) == []


def test_a_run_out_of_time_names_the_command_that_continues_it(conform) -> None:
    limited = (*DEVICE, "--out", "run", "--shuffle", "--time-limit", "0.000001")
    code, said = conform(*limited)
    assert code == 1
    assert (
        "2 of 2 cases were not reached in 1e-06 s: continue with the same command and --resume --out run"
        in said
    )
    assert Path("run/failures.csv").read_text() == f"{RIGHT},Missing,\n{WRONG},Missing,\n"
    Path("fails.txt").write_text(f"{WRONG},Fail\n")
    code, _ = conform(*DEVICE, "--out", "run", "--resume", "--shuffle", "7", "--baseline", "fails.txt")
    assert code == 0


SEVERAL = ("conform", *DEVICE, "--no-repro", "--filter", "vote.compute.subgroupAllEqual.bvec2.*")


def test_a_number_of_unexpected_results_ends_a_run(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*SEVERAL, "--maxfail", "2", "--out", "run"]) == 1
    assert (
        "before --maxfail 2 ended the run: continue with the same command and --resume --out run"
        in capsys.readouterr().out
    )
    rows = Path("run/failures.csv").read_text().splitlines()
    failed = [row for row in rows if f",Fail,{CAUSE}" in row]
    assert 2 <= len(failed) < len(rows)
    assert {row.split(",")[1] for row in rows} == {"Fail", "Missing"}
    # With two workers, failures are final later, as one of the workers may die.
    assert main([*SEVERAL, "--maxfail", "2", "--jobs", "2", "--out", "two"]) == 1
    assert "Missing" in Path("two/failures.csv").read_text()
    # The rest, with the failures of a baseline and with known ones, which are expected.
    assert main([*SEVERAL, "--maxfail", "2", "--known", "--out", "run", "--resume"]) == 0
    whole = Path("run/failures.csv").read_text()
    assert "Missing" not in whole
    assert main([*SEVERAL, "--maxfail", "1", "--baseline", "run/failures.csv", "--out", "again"]) == 0
    assert main([*SEVERAL, "--maxfail", "100", "--out", "all"]) == 1
    assert Path("all/failures.csv").read_text() == whole


def test_the_runs_of_a_file(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.toml").write_text(f"""
[[run]]
title = "The votes"
filter = ["{RIGHT}", "{WRONG}"]
no-repro = true
[[run]]
filter = "{WRONG}"
known = true
[[run]]
title = "named"
out = "its/folder"
allow-empty = true
filter = "fragment.*"
shard = "1/100000"
""")
    words = ["conform", "--suite", "runs.toml", *DEVICE, "--filter", RIGHT]
    assert main([*words, "--junit", "j.xml", "--out", "runs"]) == 1
    votes, second, _ = _table(capsys.readouterr().out)
    assert [votes, second] == [["The votes", "1 Pass, 1 Fail", "1"], ["2", "1 Fail", "0"]]
    assert {path.name for path in Path("runs").iterdir()} == {"the-votes", "2", "its"}
    assert Path("runs/its/folder/summary.json").is_file()
    assert Path("runs/the-votes/failures.csv").read_text() == f"{WRONG},Fail,{CAUSE}\n"
    assert {path.name for path in Path().glob("j.*")} == {"j.the-votes.xml", "j.2.xml", "j.named.xml"}
    # Runs that are refused have no counts.
    assert main([*words, "--out", "runs"]) == 2
    assert _table(capsys.readouterr().out) == [[name, "", "2"] for name in ("The votes", "2", "named")]


def _table(out: str) -> list[list[str]]:
    """Return the rows of the table at the end of a suite."""
    table = [[cell.strip() for cell in line.split("│")[1:-1]] for line in out.splitlines() if "│" in line]
    return table[-3:]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ('device = "reference:3"', 3),
        ('device = "no such device"', 3),
        ('baseline = "absent.txt"', 2),
        ('filter = "absent.*"', 2),
        ('caselist = "absent.txt"', 2),
    ],
)
def test_an_entry_that_cannot_be_run_is_refused_before_any_run(
    tmp_path, monkeypatch, capsys, entry: str, code: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.toml").write_text(f'[[run]]\nfilter = "{RIGHT}"\n[[run]]\ntitle = "wrong"\n{entry}\n')
    words = ["conform", "--suite", "runs.toml", *DEVICE, "--out", "runs"]
    assert main([*words, "--filter", RIGHT] if "filter" not in entry else words) == code
    captured = capsys.readouterr()
    assert (captured.out, "vkgroup: wrong: " in captured.err) == ("", True)
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed = 1", "a suite has a [[run]]"),
        ("run = 3", "a suite has a [[run]]"),
        ("[[run", "is not valid TOML"),
        ('[[run]]\nfliter = "a"', "run 1: fliter is no option of a run"),
        ('[[run]]\n[[run]]\ntitle = "x"\nseed = "z"', "run x: argument --seed: 'z' is not"),
        ('[[run]]\nsuite = "a"', "suite is no option of a run"),
        ("[[run]]\nknown = 3", "--known: ignored explicit argument"),
        ('[[run]]\nout = "/tmp/q"', "give the name of a folder"),
        ('[[run]]\nout = "../q"', "give the name of a folder"),
        ('[[run]]\nout = "q"\n[[run]]\nout = "q"', "is the folder of an earlier run"),
    ],
)
def test_a_file_without_runs_is_refused_before_any_run(
    tmp_path, monkeypatch, capsys, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs.toml").write_text(text)
    assert main(["conform", "--suite", "runs.toml"]) == 2
    assert message in capsys.readouterr().err
    assert main(["conform", "--suite", "absent.toml"]) == 2
    assert main(["conform", "--suite", "runs.toml", "--list"]) == 2
    assert "omit --list" in capsys.readouterr().err


def test_a_word_chooses_categories(capsys) -> None:
    assert main(["conform", "--list", "--filter", "rotate"]) == 0
    categories = Counter(name.partition(".")[0] for name in capsys.readouterr().out.splitlines())
    assert set(categories) == {"rotate", "rotate_clustered"}
    assert main(["conform", "--list", "--filter", "rotate", "--shard", "1/1000"]) == 0
    listed = ", ".join(f"{count:,} of {name}" for name, count in categories.items())
    assert capsys.readouterr().err == f"Cases: {listed}\n"
    # Families that need a compiler are chosen by their whole name.
    assert with_categories(["hlsl", "hlsl_later", "vote.*"]) == ("hlsl.*", "hlsl_later.*", "vote.*")
    # A filter that matches nothing is an error beside others, too.
    for listed in ([], ["--list"]):
        assert main(["conform", "--filter", "rotate", "--filter", "vot.*", *listed]) == 2
        assert "'vot.*'. Did you mean 'vote.*'?" in capsys.readouterr().err
    assert main(["conform", "--list", "--filter", "xyzzy"]) == 2
    assert "categories: basic, vote, " in capsys.readouterr().err


def test_runs_of_several_devices_are_resumed_in_one_folder(conform) -> None:
    several = ("--device", "swiftshader,swiftshader", "--each", "--out", "the runs", "--baseline", "none.txt")
    Path("none.txt").touch()
    _, said = conform(*several, "--time-limit", "0.000001")
    assert said.count("continue with the same command and --resume --out 'the runs'\n") == 2
    folders = sorted(Path("the runs").iterdir())
    assert conform(*several, "--resume")[0] == 1
    assert sorted(Path("the runs").iterdir()) == folders
    assert [(folder / "failures.csv").read_text() for folder in folders] == [f"{WRONG},Fail,{CAUSE}\n"] * 2


def test_files_of_each_device_are_checked_before_the_run(conform) -> None:
    several = ("--device", "reference:4,reference:8", "--out", "runs")
    folders = [slug(select(f"reference:{size}").name) for size in (4, 8)]
    Path(f"fails.{folders[1]}.txt").write_text("x\n")
    code, said = conform(*several, "--save-baseline", "fails.txt")
    assert (code, "8.txt:1: 'x' is not a line NAME,STATUS" in said) == (2, True)
    Path(f"j.{folders[0]}.xml").mkdir()
    code, said = conform(*several, "--junit", "j.xml")
    assert (code, "4.xml is a folder" in said) == (2, True)
    assert not Path("runs").exists()


def test_shards_are_listed_without_a_device(conform) -> None:
    shards = [conform("--list", "--shard", f"{index}/3") for index in (1, 2, 3)]
    assert sorted(said for _, said in shards) == ["", f"{RIGHT}\n", f"{WRONG}\n"]
    assert {code for code, _ in shards} == {0}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--report", "run/results.jsonl"), "--report run/results.jsonl is a file of the run's results"),
        (("--junit", "run/../run/run.json"), "--junit run/../run/run.json is a file of the run's results"),
        (("--save-baseline", "run/failures.csv"), "--save-baseline run/failures.csv is a file of the run's"),
        (("--db", "run/summary.json"), "--db run/summary.json is a file of the run's results"),
        (("--junit", "a.xml", "--report", "./a.xml"), "--junit and --report name the same file: a.xml"),
    ],
)
def test_an_output_file_replaces_no_other_one(conform, arguments, complaint) -> None:
    code, said = conform(*DEVICE, "--out", "run", *arguments)
    assert (code, complaint in said) == (2, True)
    assert not Path("run").exists()


def test_a_run_writes_only_the_files_that_options_must_not_name(conform) -> None:
    conform(*DEVICE, "--out", "run", "--annotations", "gitlab", "--no-repro")
    assert {file.name for file in Path("run").iterdir()} <= set(command.OWN_FILES)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--baseline", "none.txt"), "cannot read none.txt: No such file or directory"),
        (("--baseline", "bad.txt"), "bad.txt:1: 'x' is not a line NAME,STATUS"),
        (("--skips", "("), "cannot read (: No such file"),
        (("--flakes", "open.txt"), "open.txt:1: '(' is not a regular expression"),
        (("--save-baseline", "bad.txt"), "bad.txt:1: 'x' is not a line NAME,STATUS"),
        (("--save-baseline", "."), "--save-baseline . is a folder"),
    ],
)
def test_bad_files_are_reported_before_the_run(conform, arguments, complaint) -> None:
    Path("bad.txt").write_text("x\n")
    Path("open.txt").write_text("(\n")
    code, said = conform(*DEVICE, "--out", "run", *arguments)
    assert code == 2
    assert complaint in said
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--shard", "9/8"), "there is no shard 9/8"),
        (("--shard", "x"), "'x' is not a shard; write 2/8 for the second of eight shards"),
        (("--time-limit", "0"), "positive number of seconds"),
        (("--shuffle", "x"), "invalid int value"),
        (("--annotations", "jenkins"), "invalid choice: 'jenkins'"),
    ],
)
def test_bad_options_are_refused(conform, capsys, arguments, complaint) -> None:
    with pytest.raises(SystemExit) as ended:
        conform(*DEVICE, *arguments)
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err
