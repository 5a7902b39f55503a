"""Targets that read whole runs: databases, reports, expectations, folders that repeat a finding."""

from __future__ import annotations

import contextlib
import io
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import fuzz_corpora as corpora
import fuzz_inputs as make
from fuzz_target import Command, Damage, Target

from vkgroup.base.errors import InvalidInput
from vkgroup.cli.main import main
from vkgroup.cli.parser import COMMANDS
from vkgroup.record.journal import RESULTS, RUN

_RECORD = "repro.json"


@cache
def _databases() -> tuple[bytes, ...]:
    """A database of a run, a probe and a benchmark."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        runs = _written(folder)
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(["history", "add", str(folder / "runs.db"), *map(str, runs)]) == 0
        return ((folder / "runs.db").read_bytes(),)


def _written(folder: Path) -> list[Path]:
    """Write a run's folder, a probe and a benchmark."""
    (folder / "run").mkdir()
    (folder / "run" / RESULTS).write_bytes(corpora.lines()[0])
    (folder / "run" / RUN).write_bytes(corpora.descriptions()[0])
    (folder / "probe.json").write_bytes(_probes()[0])
    (folder / "bench.json").write_bytes(corpora.recorded()[0])
    return [folder / "run", folder / "probe.json", folder / "bench.json"]


@cache
def _probes() -> tuple[bytes, ...]:
    return tuple(file.read_bytes() for file in sorted((corpora.ROOT / "bench/results").glob("*/probe.json")))


@cache
def _repros() -> tuple[dict[str, bytes], ...]:
    """Folders that `check --repro` writes: their files by name."""
    shader = corpora.ROOT / "tests/check/wrong/everybody_increments.comp"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "repro"
        words = ("check", str(shader), "--device", "none", "--subgroup-size", "4", "--repro", str(folder))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert main(words) == 1
        files = (file for file in folder.rglob("*") if file.is_file())
        return ({str(file.relative_to(folder)): file.read_bytes() for file in files},)


def _baselines() -> tuple[bytes, ...]:
    return (
        b"# of a driver\nvote.compute.subgroupAll.bool.all.exact,Fail\nquad.compute.x,Crash,note\n\n",
        b"dEQP-VK.subgroups.vote.compute.subgroupallequal_bool,Fail\r\na,Timeout\r\n",
    )


def _patterns() -> tuple[bytes, ...]:
    khronos = b"dEQP-VK\\.subgroups\\.vote\\..*(vec[24]|bool)$\ndEQP-VK.reconvergence.+nesting2\n"
    return (
        khronos,
        b"# slow\nvote\\..*\n(a|b)+[0-9]{2,5}$\n",
        b"^shuffle\\.(?!x).*\\.uint\\b\n(?P<x>y)(?i:Z)\n",
    )


def _expectations(option: str) -> Any:
    def call(data: bytes, folder: Path) -> object:
        from vkgroup.conformance.expectations import read_expectations
        from vkgroup.record.record import Status

        file = folder / "expected.txt"
        file.write_bytes(data)
        expectations = read_expectations(**{option: [file]})
        expectations.strangers()
        return expectations.outcome("vote.compute.subgroupAllEqual.ivec2.all.exact", Status.FAIL)

    return call


def _drawn(corpus: Callable[[], tuple[bytes, ...]], damage: Damage) -> Callable[[], make.Inputs]:
    return lambda: make.damaged(corpus(), damage)


def targets(command: Command) -> list[Target]:
    """Return the targets of the commands that there are."""

    def database(data: bytes, folder: Path) -> None:
        _empty(folder)
        file = folder / "runs.db"
        file.write_bytes(data)
        command("history", "--db", str(file))
        command("diff", "--db", str(file))

    def report_database(data: bytes, folder: Path) -> None:
        _empty(folder)
        file = folder / "runs.db"
        file.write_bytes(data)
        runs = ("latest", "latest~1", "latest~2")
        command("report", *runs, "--db", str(file), "-o", str(folder / "report.html"))

    def report(name: str) -> Any:
        def call(data: bytes, folder: Path) -> None:
            _empty(folder)
            runs = _written(folder)
            ({"run": runs[0] / RESULTS} | {run.stem: run for run in runs[1:]})[name].write_bytes(data)
            command("report", *map(str, runs), "-o", str(folder / "report.html"))

        return call

    def repeated(data: bytes, folder: Path) -> None:
        _empty(folder)
        for name, content in _repros()[0].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        (folder / _RECORD).write_bytes(data)
        command("run", str(folder), "--device", "reference", "--timeout", "2")

    found: list[Target] = []
    if "history" in COMMANDS:
        found.append(Target("database", 2_000, _drawn(_databases, make.in_bytes), database, ()))
    if "report" in COMMANDS:
        rows = (
            ("run", corpora.lines, make.in_json_lines),
            ("probe", _probes, make.in_json),
            ("bench", corpora.recorded, make.in_json),
        )
        found += [
            Target(f"report_{name}", 300, _drawn(corpus, damage), report(name), ())
            for name, corpus, damage in rows
        ]
        drawn = _drawn(_databases, make.in_bytes)
        found.append(Target("report_database", 300, drawn, report_database, ()))
    if (corpora.ROOT / "vkgroup/conformance/expectations.py").is_file():
        found += [
            Target(
                "baseline",
                2_000,
                _drawn(_baselines, make.in_bytes),
                _expectations("baselines"),
                (InvalidInput,),
            ),
            Target(
                "skips",
                1_000,
                _drawn(_patterns, make.in_bytes),
                _expectations("skips"),
                (InvalidInput,),
            ),
        ]
    if (corpora.ROOT / "vkgroup/outputs/reproduction").is_dir():
        found.append(
            Target(
                "repro_record",
                700,
                _drawn(lambda: (_repros()[0][_RECORD],), make.in_json),
                repeated,
                (),
            )
        )
    return found


def _empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
