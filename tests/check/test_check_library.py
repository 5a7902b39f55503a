"""Folders of shaders: outcomes, crashes, time limits, interruption, files for CI, and the cache."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from vkgroup.base.processes import environment
from vkgroup.check import CheckRequest, outcome_cache
from vkgroup.check.outcome import ConfigurationOutcome, OutcomeKind, check_all, worst
from vkgroup.cli.main import main
from vkgroup.compiler import compile_source
from vkgroup.device import DeviceInfo
from vkgroup.workers.opening import select

CLEAN = """#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer Data { uint data[]; };
void main() { data[gl_GlobalInvocationID.x] += VALUE; }
"""

RACE = """#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer Data { uint data[]; };
void main() { data[gl_GlobalInvocationID.x / 2u] = gl_LocalInvocationIndex; }
"""

ADDRESSES = """#version 450
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 32) in;
layout(buffer_reference) buffer Node { uint value; };
layout(binding = 0) buffer Data { Node nodes[]; };
void main() { nodes[gl_GlobalInvocationID.x].value = 1; }
"""

ENDLESS = """#version 450
layout(local_size_x = 32) in;
layout(binding = 0) buffer Data { uint data[]; };
void main() { for (uint i = 0; i < 100000000u; i++) data[gl_GlobalInvocationID.x] ^= i; }
"""


MODULE = compile_source(RACE, stage="compute")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for each test."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("VKGROUP_CACHE", str(folder))
    return folder


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A folder of shaders and their configurations in ``all.json`` beside it."""
    folder = tmp_path / "shaders"
    (folder / "inner").mkdir(parents=True)
    (folder / "clean.comp").write_text(CLEAN)
    (folder / "inner" / "race.comp").write_text(RACE)
    (folder / "addresses.comp").write_text(ADDRESSES)
    entries: list[dict[str, Any]] = [
        {"name": "one", "shader": "clean.comp", "defines": {"VALUE": 1}},
        {"name": "two", "shader": "clean.comp", "defines": {"VALUE": 2}, "inputs": {"data": {"arange": 32}}},
        {"name": "undefined", "shader": "clean.comp"},
        {"shader": "inner/race.comp"},
        {"name": "racing", "shader": "inner/race.comp"},
        {"shader": "addresses.comp"},
        {"shader": "missing.comp"},
        {"name": "wrong", "shader": "clean.comp", "defines": {"VALUE": 1}, "inputs": {"dta": [1]}},
    ]
    (tmp_path / "all.json").write_text(
        json.dumps({"subgroup_sizes": [8, 32], "groups": 1, "configurations": entries})
    )
    return folder


@pytest.fixture
def listed(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, dict[str, Any], str]]:
    """Check the folder with ``all.json``; return the exit code, the entries by name, and the output."""

    def run(*options: str) -> tuple[int, dict[str, Any], str]:
        report = tmp_path / "report.json"
        words = ["--with", str(tmp_path / "all.json"), "--jobs", "2", "--json", str(report), *options]
        code = main(["check", str(library), *words])
        entries = json.loads(report.read_text())["configurations"]
        return code, {entry["name"]: entry for entry in entries}, capsys.readouterr().out

    return run


def test_each_configuration_has_one_line(listed, library: Path) -> None:
    code, entries, text = listed()
    assert code == 1
    assert {name: entry["outcome"] for name, entry in entries.items()} == {
        **{"one": "clean", "two": "clean", "undefined": "does not compile"},
        **{"inner/race.comp": "findings", "racing": "findings", "addresses.comp": "not covered"},
        **{"missing.comp": "error", "wrong": "error"},
    }
    lines = [re.sub(r"^\[\d/8\] (.*) \(\d+\.\d s\)$", r"\1", line) for line in text.splitlines()]
    assert len(lines) == 10
    assert lines[-2].endswith(
        f"check {library}/clean.comp --with {library.parent}/all.json --configuration undefined"
    )
    race = "inner/race.comp: 1 finding: inner/race.comp:4: race: an invocation writes memory of Data"
    assert any(line.startswith(race) for line in lines)
    assert "one: clean" in lines
    (undefined,) = (line for line in lines if line.startswith("undefined: "))
    assert re.match(r"undefined: does not compile: clean\.comp:4: .*VALUE", undefined)
    (addresses,) = (line for line in lines if line.startswith("addresses.comp: not covered: "))
    assert "buffer reference" in addresses
    (wrong,) = (line for line in lines if line.startswith("wrong: error: "))
    assert "inputs: the shader has no binding 'dta'. Did you mean 'data'?" in wrong
    assert re.fullmatch(
        r"8 configurations in \d+\.\d s with 2 workers:"
        r" 2 clean, 2 with findings, 1 not covered, 1 does not compile, 2 error",
        lines[-1],
    )


def test_every_field_of_an_entry_is_documented(listed) -> None:
    text = (Path(__file__).parents[2] / "docs/shaders/testing.md").read_text()
    documented = set(re.findall(r"^\| `configurations\[\]\.(\w+)` \|", text, re.MULTILINE))
    *_, entries, _ = listed("--configuration", "one")
    assert documented == entries["one"].keys()
    for kind in OutcomeKind:
        assert f"`{kind.value}`" in text


def test_the_command_of_a_finding_shows_all_of_it(listed, capsys: pytest.CaptureFixture[str]) -> None:
    *_, entries, _ = listed()
    (finding,) = entries["racing"]["report"]["findings"]
    assert main(shlex.split(finding["command"])[1:]) == 1
    assert f"race: {finding['message']}" in capsys.readouterr().out


def test_an_unchanged_configuration_is_not_checked_again(listed, library: Path, tmp_path: Path) -> None:
    code, first, _ = listed()
    assert not any(entry["unchanged"] for entry in first.values())
    again_code, again, text = listed()
    assert again_code == code
    stored = {"one", "two", "inner/race.comp", "racing", "addresses.comp"}
    assert {name for name, entry in again.items() if entry["unchanged"]} == stored
    assert {name: entry["report"] for name, entry in again.items()} == {
        name: entry["report"] for name, entry in first.items()
    }
    assert "one: clean (unchanged)" in text
    assert text.splitlines()[-1].endswith("; 5 unchanged")
    # A changed shader, other inputs, other options and --no-cache are checked again.
    (library / "clean.comp").write_text(CLEAN.replace("+=", "-="))
    _, changed, _ = listed()
    assert {name for name, entry in changed.items() if entry["unchanged"]} == stored - {"one", "two"}
    data = json.loads((tmp_path / "all.json").read_text())
    data["configurations"][1]["inputs"]["data"] = {"arange": 33}
    (tmp_path / "all.json").write_text(json.dumps(data))
    _, changed, _ = listed()
    assert {name for name, entry in changed.items() if entry["unchanged"]} == stored - {"two"}
    assert not any(entry["unchanged"] for entry in listed("--seed", "3")[1].values())
    assert not any(entry["unchanged"] for entry in listed("--no-cache")[1].values())


def test_another_version_of_vkgroup_checks_again() -> None:
    outcome = ConfigurationOutcome(OutcomeKind.CLEAN, "clean", ("text",), {"findings": []}, 1.5)
    key = outcome_cache.key(CheckRequest(MODULE, seed=0))
    outcome_cache.store(key, outcome)
    assert outcome_cache.load(key) == outcome
    assert outcome_cache.load(outcome_cache.key(CheckRequest(MODULE, seed=1))) is None
    outcome_cache.program.cache_clear()
    file = Path(outcome_cache.__file__)
    before = file.stat()
    try:
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1000))
        assert outcome_cache.key(CheckRequest(MODULE, seed=0)) != key
    finally:
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        outcome_cache.program.cache_clear()


def test_a_damaged_entry_of_the_cache_is_ignored(cache: Path) -> None:
    key = outcome_cache.key(CheckRequest(MODULE))
    outcome_cache.store(key, ConfigurationOutcome(OutcomeKind.CLEAN, "clean"))
    (entry,) = (path for path in (cache / "checks").rglob("*.json"))
    for text in ("{", "{}", '{"kind": "other"}', "[]"):
        entry.write_text(text)
        assert outcome_cache.load(key) is None


def test_an_entry_of_the_cache_under_another_key_is_ignored(cache: Path) -> None:
    """Otherwise a shader with a race would be reported as clean."""
    keys = [outcome_cache.key(CheckRequest(MODULE, seed=seed)) for seed in (0, 1)]
    for key, kind in zip(keys, (OutcomeKind.CLEAN, OutcomeKind.FINDINGS), strict=True):
        outcome_cache.store(key, ConfigurationOutcome(kind, kind.value))
    clean, found = sorted((cache / "checks").rglob("*.json"), key=lambda path: "findings" in path.read_text())
    found.write_text(clean.read_text())
    assert outcome_cache.load(keys[0]) is not None
    assert outcome_cache.load(keys[1]) is None


def test_all_compute_shaders_of_a_folder_are_checked(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (library / "clean.comp").write_text(CLEAN.replace("VALUE", "1"))
    (library / "not_compute.frag").write_text("#version 450\nvoid main() {}\n")
    (library / "plain.hlsl").write_text(
        "RWStructuredBuffer<uint> data;\n[numthreads(32, 1, 1)]\n"
        "void main(uint3 id : SV_DispatchThreadID) { data[id.x] += 1; }\n"
    )
    (library / "common.hlsl").write_text("uint twice(uint x) { return 2 * x; }\n")
    report = tmp_path / "report.json"
    options = ["--jobs", "1", "--subgroup-size", "8", "--groups", "1", "--json", str(report)]
    assert main(["check", str(library), *options]) == 1
    entries = json.loads(report.read_text())["configurations"]
    assert {entry["name"]: entry["outcome"] for entry in entries} == {
        **{"addresses.comp": "not covered", "clean.comp": "clean"},
        **{"inner/race.comp": "findings", "plain.hlsl": "clean"},
    }
    assert "4 configurations in" in capsys.readouterr().out


def test_a_folder_without_shaders_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path)]) == 2
    assert "has no compute shader" in capsys.readouterr().err


def test_one_configuration_of_a_folder_may_be_chosen(listed) -> None:
    code, entries, _ = listed("--configuration", "t*")
    assert (code, list(entries)) == (0, ["two"])


def test_junit_has_all_outcomes(listed, tmp_path: Path) -> None:
    listed("--junit", str(tmp_path / "junit.xml"))
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "8", "failures": "2", "errors": "3", "skipped": "1"}
    cases = {case.get("name"): case for case in suite}
    failure = cases["racing"].find("failure")
    assert failure is not None
    assert "race: an invocation writes memory" in (failure.get("message") or "")
    assert "data[gl_GlobalInvocationID.x / 2u]" in (failure.text or "")
    assert len(cases["one"]) == 0
    assert cases["addresses.comp"].find("skipped") is not None
    assert cases["undefined"].find("error") is not None


def test_github_gets_each_finding_once(listed, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(library))
    *_, text = listed("--annotations", "github")
    commands = [line for line in text.splitlines() if line.startswith("::error")]
    (race,) = (line for line in commands if "inner/race.comp" in line)
    assert race.startswith(
        "::error title=vkgroup check%3A race,file=inner/race.comp,line=4::an invocation writes memory of Data"
    )
    assert race.endswith("%0Aconfigurations: inner/race.comp, racing")
    assert len(commands) == 4


def test_gitlab_gets_a_code_quality_report(
    listed, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI_PROJECT_DIR", str(library))
    monkeypatch.chdir(tmp_path)
    listed("--annotations", "gitlab")
    entries = json.loads((tmp_path / "gl-code-quality-report.json").read_text())
    race = next(entry for entry in entries if entry["check_name"] == "race")
    assert race["location"] == {"path": "inner/race.comp", "lines": {"begin": 4}}
    assert len({entry["fingerprint"] for entry in entries}) == len(entries) == 4


@pytest.mark.parametrize("option", ["--jobs=2", "--no-cache"])
def test_options_of_folders_are_refused_for_one_shader(
    option: str, library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(library / "clean.comp"), option]) == 2
    assert "only for several shaders or a folder" in capsys.readouterr().err


def test_files_that_cannot_be_written_are_refused_first(
    library: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["--json", "."], ["--json", str(tmp_path / "no" / "x.json")], ["--junit", "."]):
        assert main(["check", str(library), *words]) == 2
        captured = capsys.readouterr()
        assert "cannot be written: " in captured.err
        assert not captured.out


def test_a_configuration_may_name_a_shader_outside_of_the_folder(listed, library: Path) -> None:
    shader = library.parent / "outside.comp"
    shader.write_text((library / "inner" / "race.comp").read_text())
    (library.parent / "all.json").write_text(json.dumps({"shader": str(shader), "groups": 1}))
    code, entries, _ = listed()
    assert (code, list(entries)) == (1, [str(shader)])


@pytest.mark.parametrize("option", ["--repro=x", "--save-with=x.json"])
def test_options_of_one_shader_are_refused_for_folders(
    option: str, library: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(library), option]) == 2
    assert "only for one shader" in capsys.readouterr().err


def test_a_time_limit_ends_one_configuration_only(listed, library: Path, tmp_path: Path) -> None:
    (library / "endless.comp").write_text(ENDLESS)
    entries = [{"shader": "endless.comp", "step_limit": 1 << 30}, {"shader": "inner/race.comp"}]
    (tmp_path / "all.json").write_text(
        json.dumps({"subgroup_sizes": [8], "groups": 1, "configurations": entries})
    )
    _, found, _ = listed("--timeout", "3", "--jobs", "1")
    # The limit of the configuration, or that of a single run, which is a fifth of it.
    assert re.match(r"no verdict: no end within (3|0\.6) s", found["endless.comp"]["summary"])
    assert found["inner/race.comp"]["outcome"] == "findings"


def test_ctrl_c_keeps_what_is_done(library: Path, tmp_path: Path) -> None:
    (library / "endless.comp").write_text(ENDLESS)
    entries = [{"shader": "inner/race.comp"}, {"shader": "endless.comp", "step_limit": 1 << 30}]
    (tmp_path / "all.json").write_text(
        json.dumps({"subgroup_sizes": [8], "groups": 1, "configurations": entries})
    )
    words = ["--with", str(tmp_path / "all.json"), "--jobs", "2", "--json", str(tmp_path / "report.json")]
    process = subprocess.Popen(
        [sys.executable, "-m", "vkgroup", "check", str(library), *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        out, error = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        # Python drops an interruption that arrives while it deletes an object: press Ctrl-C again.
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    assert first.startswith("[1/2] inner/race.comp: 1 finding: ")
    assert out.strip().endswith("1 with findings; 1 not checked")
    assert "interrupted; 1 of 2 configurations were checked" in error
    assert process.returncode == 128 + signal.SIGINT
    (entry,) = json.loads((tmp_path / "report.json").read_text())["configurations"]
    assert entry["outcome"] == "findings"


# --- workers ----------------------------------------------------------------------------------------------


class Session:
    """A session whose jobs end in the ways that a check may end."""

    def __init__(self) -> None:
        self.device: DeviceInfo = select("reference")
        self.timeout = 1.0

    def open(self) -> Session:
        return self

    def close(self) -> None:
        pass

    def perform(self, job: str) -> ConfigurationOutcome:
        if job == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if job == "error":
            raise RuntimeError("not expected")
        if job == "hang":
            time.sleep(100)
        return ConfigurationOutcome(OutcomeKind.CLEAN, job)


def test_a_crash_is_one_line_and_the_rest_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    # The worker imports the session by the name of its module.
    monkeypatch.setattr(Session, "__module__", Path(__file__).stem)
    jobs = ["a", "crash", "b", "error", "hang", "c"]
    outcomes = dict(check_all(Session(), jobs, 2, [2.0] * len(jobs), 0.5))
    assert [outcomes[index].kind.value for index in range(6)] == [
        *("clean", "error", "clean", "error", "no verdict", "clean"),
    ]
    assert outcomes[1].summary.startswith("crash: the process was killed by signal 11")
    assert "RuntimeError: not expected" in outcomes[3].summary
    assert outcomes[4].summary == "no verdict: no end within 2 s"


def test_findings_come_before_errors_in_the_exit_code() -> None:
    assert worst([]) == worst([0, 0]) == 0
    assert worst([0, 3, 2, 1]) == 1
    assert worst([3, 2]) == 2
    assert worst([0, 3]) == 3


def test_the_report_shows_all_configurations(listed, tmp_path: Path) -> None:
    listed()
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "report.json"), "-o", str(page)]) == 0
    text = page.read_text()
    assert "race.comp, configuration racing" in text
    assert "clean.comp, configuration one" in text
